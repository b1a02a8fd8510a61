// The main use: a Durable Object snapshots, restores and branches its sandbox, over RPC and HTTP.
// The class of the sandboxes is in the snapshotter's Worker or in the application's.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { PUBLISHED_CLASS, World } from './world.ts';

for (const sandboxesOf of ['snapshotter', 'application'] as const) {
  describe(`with the Sandbox class of the ${sandboxesOf}'s Worker`, () => {
    let world: World;
    before(async () => {
      world = await World.start({ sandboxesOf });
    });
    after(() => world[Symbol.asyncDispose]());

    for (const transport of ['rpc', 'http'] as const) {
      describe(`over ${transport}`, () => {
        const origin = `agent-${transport}`;

        before(() => world.exec(origin, 'echo good > file'));

        test('a snapshot returns a ref with the sandbox and its backup', async () => {
          const { providerId, ref } = await world[transport]('snapshot', { sandboxId: origin });
          assert.equal(providerId, 'cloudflare-sandbox');
          assert.equal(ref.schemaVersion, 1);
          assert.match(ref.snapshotId, /^snap-[a-z0-9]{16}$/);
          assert.deepEqual([ref.originId, ref.rootId], [origin, origin]);
          assert.equal(ref.backup.dir, '/workspace');
          assert.match(ref.createdAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
        });

        test('a backup has the mark of its snapshot', async () => {
          const { ref } = await world[transport]('snapshot', { sandboxId: origin });
          const metadata = JSON.parse((await world.read(`backups/${ref.backup.id}/meta.json`)) ?? '');
          assert.equal(metadata.name, `snapshotter/1 ${ref.snapshotId} ${origin}`);
          assert.equal(metadata.createdAt, ref.createdAt);
        });

        test('a restore returns a new sandbox with the files of the snapshot', async () => {
          const ref = await world[transport]('snapshot', { sandboxId: origin });
          const workspace = await world[transport]('restore', { ref });
          assert.match(workspace.ref.sandboxId, new RegExp(`^${origin}-restored-[a-z0-9]{8}$`));
          assert.deepEqual(workspace, {
            providerId: 'cloudflare-sandbox',
            ref: { sandboxId: workspace.ref.sandboxId, rootId: origin },
            capabilities: { fs: true, shell: true, code: true, snapshot: true },
            schemaVersion: 1,
          });
          assert.equal(await world.exec(workspace.ref.sandboxId, 'cat file'), 'good\n');
        });

        test('a branch returns a new sandbox with the files of the snapshot', async () => {
          const ref = await world[transport]('snapshot', { sandboxId: origin });
          const workspace = await world[transport]('branch', { ref });
          assert.match(workspace.ref.sandboxId, new RegExp(`^${origin}-branch-[a-z0-9]{8}$`));
          assert.equal(await world.exec(workspace.ref.sandboxId, 'cat file'), 'good\n');
        });
      });
    }

    test('a captured sandbox is unchanged, and independent of its branches', async () => {
      await world.exec('source', 'echo before > file');
      const ref = await world.snapshot('source');
      const [one, two] = await Promise.all([world.branch(ref), world.branch(ref)]);
      assert.notEqual(one.ref.sandboxId, two.ref.sandboxId);
      await world.exec(one.ref.sandboxId, 'echo one > file');
      await world.exec(two.ref.sandboxId, 'rm file');
      await world.exec('source', 'echo after >> file');
      assert.equal(await world.exec('source', 'cat file'), 'before\nafter\n');
      assert.equal(await world.exec(one.ref.sandboxId, 'cat file'), 'one\n');
      assert.equal(await world.exec(two.ref.sandboxId, 'ls'), '');
    });

    test('a restored sandbox can be captured and restored', async () => {
      await world.exec('chain', 'echo 1 > file');
      const first = await world.restore(await world.snapshot('chain'));
      await world.exec(first.ref.sandboxId, 'echo 2 >> file');
      const ref = await world.snapshot(first.ref.sandboxId);
      assert.deepEqual([ref.ref.originId, ref.ref.rootId], [first.ref.sandboxId, 'chain']);
      const second = await world.restore(ref);
      assert.ok(second.ref.sandboxId.startsWith(`${first.ref.sandboxId}-restored-`));
      assert.equal(second.ref.rootId, 'chain');
      assert.equal(await world.exec(second.ref.sandboxId, 'cat file'), '1\n2\n');
    });

    // The commands of the other class share no shell, and so no working directory.
    if (PUBLISHED_CLASS)
      test('the default session of a restored sandbox works', async () => {
        await world.exec('session', 'mkdir -p deep/er && echo x > deep/er/file');
        const workspace = await world.restore(await world.snapshot('session'));
        await world.exec(workspace.ref.sandboxId, 'cd deep/er');
        assert.equal(await world.exec(workspace.ref.sandboxId, 'pwd; cat file'), '/workspace/deep/er\nx\n');
      });
  });
}

test('an id is case-sensitive', async () => {
  await using world = await World.start();
  await world.exec('Agent_42', 'echo upper > file');
  await world.exec('agent_42', 'echo lower > file');
  const workspace = await world.restore(await world.snapshot('Agent_42'));
  assert.match(workspace.ref.sandboxId, /^Agent_42-restored-[a-z0-9]{8}$/);
  assert.equal(await world.exec(workspace.ref.sandboxId, 'cat file'), 'upper\n');
});

test('a snapshot supports another directory, exclusions and compression', async () => {
  await using world = await World.start();
  await world.exec(
    'options',
    'mkdir -p /home/me/logs && cd /home/me && echo k > included && echo l > logs/l && echo t > a.tmp',
  );
  const options = {
    dir: '/home/me',
    excludes: ['logs', '*.tmp'],
    compression: { format: 'zstd', threads: 1 },
  };
  const ref = await world.snapshot('options', options);
  const { dir } = JSON.parse((await world.read(`backups/${ref.ref.backup.id}/meta.json`)) ?? '');
  assert.equal(dir, '/home/me');
  const workspace = await world.restore(ref);
  assert.equal(await world.exec(workspace.ref.sandboxId, 'find /home/me -type f'), '/home/me/included\n');
});

test('a restore of a nested directory creates its parent directories', async () => {
  await using world = await World.start();
  await world.exec('deep', 'mkdir -p a/b/c; echo x > a/b/c/file');
  for (const dir of ['/workspace/a/b', '/workspace/a/b/c/']) {
    const ref = await world.snapshot('deep', { dir });
    await world.assertRestores(ref, 'cat a/b/c/file; pwd', 'x\n/workspace\n');
  }
  const workspace = world.workspace('deep');
  await workspace.create({ dir: '/workspace/a/b' });
  await workspace.exec('echo y > /workspace/a/b/file');
  await workspace.stop();
  await workspace.start();
  assert.equal(await workspace.exec('cat /workspace/a/b/file'), 'y\n');
});

test('the answer of a snapshot has its label and size', async () => {
  await using world = await World.start();
  await world.exec('named', 'echo x > file');
  const given = await world.snapshot('named', { label: 'custom' });
  assert.equal(given.capture?.label, 'custom');
  const metadata = JSON.parse((await world.read(`backups/${given.ref.backup.id}/meta.json`)) ?? '');
  assert.equal(given.capture?.sizeBytes, metadata.sizeBytes);
  assert.match((await world.snapshot('named')).capture?.label ?? '', /^snap-\d{8}-\d{6}$/);
});

test('a backup expires for the SDK after 100 years, regardless of the expiration of the snapshot', async () => {
  await using world = await World.start();
  await world.exec('lasting', 'echo x > file');
  const { ref } = await world.snapshot('lasting', { expirationSeconds: 60 });
  const { ttl } = JSON.parse((await world.read(`backups/${ref.backup.id}/meta.json`)) ?? '');
  assert.equal(ttl, 100 * 365 * 24 * 3600);
});

test('a snapshot with gitignore excludes files that git ignores', async () => {
  await using world = await World.start();
  await world.exec(
    'ignores',
    'git init -q . && echo secret > .env && echo .env > .gitignore && echo code > main.py',
  );
  const ref = await world.snapshot('ignores', { gitignore: true });
  const workspace = await world.restore(ref);
  assert.equal(
    await world.exec(workspace.ref.sandboxId, 'find . -path ./.git -prune -o -type f -print | sort'),
    './.gitignore\n./main.py\n',
  );
});
