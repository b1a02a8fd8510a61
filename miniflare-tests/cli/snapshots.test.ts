// The commands for snapshots, in both output modes.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';

import { start, type Cli } from './cli.ts';
import type { World } from '../world.ts';

let world: World;
let cli: Cli;
let origins = 0;
let origin: string;

before(async () => {
  ({ world, cli } = await start());
});
after(async () => {
  await cli[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});
beforeEach(async () => {
  origin = `origin-${++origins}`;
  await world.exec(origin, 'echo x > file; mkdir cache; echo y > cache/file');
});

describe('`snapshot create`', () => {
  test('prints the given label', async () => {
    const printed = await cli.print('snapshot', 'create', origin, '--label', 'before it');
    assert.match(
      printed,
      /^snapshot +snap-\w{16}\nlabel +before it\nsandbox +origin-\d+\ndirectory +\/workspace\nsize +4\.1 kB\n/,
    );
    assert.deepEqual(await world.labels(origin), ['before it']);
  });

  test('derives a label from the time, which is unique within the same second', async () => {
    const labels = [];
    for (let count = 0; count < 3; count++)
      labels.push((await cli.json('snapshot', 'create', origin)).capture.label);
    for (const label of labels) assert.match(label, /^snap-\d{8}-\d{6}(-\d)?$/);
    assert.equal(new Set(labels).size, 3);
    assert.deepEqual(await world.labels(origin), labels.toReversed());
  });

  test('fails if the label is taken, unless `--replace` is passed', async () => {
    const create = ['snapshot', 'create', origin, '--label', 'taken'];
    await cli.print(...create);
    const { error, exitCode } = await cli.failure(...create);
    assert.deepEqual([error.code, error.kind, exitCode], ['LABEL_TAKEN', 'conflict', 4]);
    assert.equal((await cli.json(...create, '--replace')).capture.label, 'taken');
  });

  test('refuses a label with the form of an id, as `label` and `import` do', async () => {
    const label = 'snap-0123456789abcdef';
    const handle = await cli.file('any.json', '{}');
    await cli.print('snapshot', 'create', origin, '--label', 'first');
    for (const command of [
      ['snapshot', 'create', origin, '--label', label],
      ['snapshot', 'label', origin, 'first', '--to', label],
      ['snapshot', 'import', origin, '--backup', handle, '--label', label],
    ])
      assert.deepEqual(await cli.code(...command), ['INVALID_LABEL', 2]);
  });

  test('reports remediations with flags of the command line', async () => {
    await cli.print('snapshot', 'create', origin, '--label', 'taken');
    const { stderr } = await cli.run(['snapshot', 'create', origin, '--label', 'taken']);
    assert.match(stderr, /^error\[LABEL_TAKEN\]: .*\nhelp: .*`--replace`.*\ncorrelation id: \w+\n$/);
  });

  test('passes its options to the server', async () => {
    await world.exec(origin, 'git init -q');
    const options = ['--exclude', 'cache', '--exclude', '*.log', '--gitignore', '--compression', 'gzip'];
    const more = ['--compression-threads', '1', '--dir', '/workspace/.', '--expires', '7d', '--fresh'];
    const id = await cli.id('snapshot', 'create', origin, ...options, ...more);
    const shown = await cli.json('snapshot', 'show', origin, id);
    assert.deepEqual(
      [shown.excludes, shown.gitignore, shown.compression, shown.dir, shown.expirationSeconds],
      [['cache', '*.log'], true, { format: 'gzip', threads: 1 }, '/workspace/.', 7 * 86_400],
    );
  });

  test('starts a sandbox that is not running with `--wake`', async () => {
    await world.kill(origin);
    assert.deepEqual(await cli.code('snapshot', 'create', origin), ['SANDBOX_NOT_RUNNING', 4]);
    assert.match(await cli.id('snapshot', 'create', origin, '--wake'), /^snap-/);
  });

  test('takes one snapshot for a repeated key', async () => {
    const create = ['snapshot', 'create', origin, '--idempotency-key', 'mine', '--fresh'];
    assert.deepEqual(await cli.json(...create), await cli.json(...create));
    assert.equal((await world.labels(origin)).length, 1);
  });
});

describe('`snapshot list`', () => {
  test('prints the newest snapshot first, with sizes and ages', async () => {
    await cli.print('snapshot', 'create', origin, '--label', 'one');
    const two = await cli.id('snapshot', 'create', origin, '--label', 'two');
    await cli.print('snapshot', 'pin', origin, 'two');
    const [head, ...rest] = (await cli.print('snapshot', 'list', origin)).trimEnd().split('\n');
    assert.match(head ?? '', /^ID +LABEL +SIZE +TAKEN +CAUSE +EXPIRES +STATE$/);
    assert.match(
      rest[0] ?? '',
      new RegExp(`^${two} +two +4\\.1 kB +(now|\\d+ s ago) +call +kept +ready, pinned$`),
    );
    assert.match(rest[1] ?? '', /^snap-\w+ +one +4\.1 kB +(now|\d+ s ago) +call +in 30 days +ready$/);
    assert.equal((await cli.print('snapshot', 'list', origin, '--quiet')).split('\n')[0], two);
  });

  test('reads all pages, or one page', async () => {
    for (const label of ['a-1', 'a-2', 'b-1'])
      await cli.print('snapshot', 'create', origin, '--label', label, '--fresh');
    const labels = async (...options: string[]) => {
      const { snapshots, cursor } = await cli.json('snapshot', 'list', origin, ...options);
      return { labels: snapshots.map(({ label }: { label: string }) => label), cursor };
    };
    assert.deepEqual(await labels(), { labels: ['b-1', 'a-2', 'a-1'], cursor: undefined });
    assert.deepEqual((await labels('--label-prefix', 'a-', '--no-check')).labels, ['a-2', 'a-1']);
    const first = await labels('--limit', '2');
    assert.deepEqual(first.labels, ['b-1', 'a-2']);
    assert.deepEqual(await labels('--limit', '2', '--cursor', first.cursor), {
      labels: ['a-1'],
      cursor: undefined,
    });
    assert.match(
      await cli.print('snapshot', 'list', origin, '--limit', '2'),
      new RegExp(`--cursor ${first.cursor}`),
    );
  });

  test('prints the answer of the API in JSON mode', async () => {
    await cli.print('snapshot', 'create', origin);
    const { snapshots, ...rest } = await cli.json('snapshot', 'list', origin, '--no-check');
    const [{ ageSeconds, ...expected }] = (await world.list(origin, { check: false })).snapshots as any;
    assert.deepEqual([snapshots.length, rest], [1, {}]);
    assert.deepEqual(snapshots[0], { ...expected, ageSeconds: snapshots[0].ageSeconds });
    assert.ok(ageSeconds >= snapshots[0].ageSeconds);
  });

  test('prints an empty list if there are no snapshots', async () => {
    assert.equal(await cli.print('snapshot', 'list', origin), 'There are no snapshots.\n');
    assert.deepEqual(await cli.json('snapshot', 'list', origin), { snapshots: [] });
    assert.equal(await cli.print('snapshot', 'list', origin, '--quiet'), '');
  });

  test('escapes invisible characters in labels', async () => {
    const label = 'a\u202eb';
    await world.snapshot(origin, { label });
    assert.match(await cli.print('snapshot', 'list', origin), / a\\u\{202e\}b /);
    const json = await cli.print('snapshot', 'list', origin, '--json');
    assert.deepEqual([JSON.parse(json).snapshots[0].label, json.includes(label)], [label, false]);
  });
});

describe('one snapshot', () => {
  let id: string;
  beforeEach(async () => {
    id = await cli.id('snapshot', 'create', origin, '--label', 'first');
  });

  test('is shown by its id and by its label', async () => {
    const shown = await cli.json('snapshot', 'show', origin, id);
    const { ageSeconds, checkedAt, ...known } = await cli.json('snapshot', 'show', origin, 'first');
    assert.deepEqual({ ...known, ageSeconds: shown.ageSeconds, checkedAt: shown.checkedAt }, shown);
    assert.ok(checkedAt >= shown.checkedAt && ageSeconds >= shown.ageSeconds);
    assert.match(await cli.print('snapshot', 'show', origin, id), /\nsize +4\.1 kB \(4096 bytes\)\n/);
  });

  test('is shown by its short ref, which must be of the sandbox', async () => {
    const { snapshotId, shortRef } = await cli.json('snapshot', 'create', origin, '--label', 'by ref');
    assert.equal((await cli.json('snapshot', 'show', origin, shortRef)).snapshotId, snapshotId);
    const { error, exitCode } = await cli.failure('snapshot', 'show', 'another', shortRef);
    assert.deepEqual([error.code, exitCode], ['INVALID_USAGE', 2]);
    assert.match(error.remediation, new RegExp(`^Pass ${origin} in place of another\\.$`));
  });

  test('is verified, and a damaged snapshot has the exit status 10', async () => {
    assert.match(
      await cli.print('snapshot', 'verify', origin, 'first'),
      /✓ objects: .*\n.* can be restored\n$/s,
    );
    const { objects } = await cli.json('snapshot', 'show', origin, 'first');
    await world.delete(objects[0]);
    const asText = await cli.run(['snapshot', 'verify', origin, 'first']);
    assert.deepEqual([asText.status, asText.stderr], [10, '']);
    assert.match(asText.stdout, /✗ objects: .* can't be restored\n$/s);
    const asJson = await cli.run(['snapshot', 'verify', origin, 'first', '--json']);
    assert.deepEqual([asJson.status, JSON.parse(asJson.stdout).ok], [10, false]);
  });

  test('is pinned and unpinned', async () => {
    assert.match(await cli.print('snapshot', 'pin', origin, 'first'), /\npinned +yes\n/);
    assert.equal((await cli.json('snapshot', 'unpin', origin, id)).pinned, false);
  });

  test('gets a new label', async () => {
    assert.equal((await cli.json('snapshot', 'label', origin, 'first', '--to', 'second')).label, 'second');
    const taken = ['snapshot', 'label', origin, await cli.id('snapshot', 'create', origin), '--to', 'second'];
    assert.deepEqual(await cli.code(...taken), ['LABEL_TAKEN', 4]);
    assert.match(await cli.print(...taken, '--replace'), /\nlabel +second\n/);
  });

  test('is deleted, and does not exist afterwards', async () => {
    assert.equal(await cli.print('snapshot', 'delete', origin, id, '--yes'), `Deleted ${id}\n`);
    assert.deepEqual(await cli.code('snapshot', 'show', origin, 'first'), ['SNAPSHOT_NOT_FOUND', 3]);
    assert.deepEqual(await cli.json('snapshot', 'delete', origin, id, '--yes'), {
      snapshotId: id,
      removed: false,
    });
  });

  test('with dependents is deleted only with `--force`', async () => {
    const made = await cli.id('restore', origin, id);
    const { error, exitCode } = await cli.failure('snapshot', 'delete', origin, id, '--yes');
    assert.deepEqual([error.code, exitCode], ['SNAPSHOT_HAS_DEPENDENTS', 4]);
    assert.ok(error.message.includes(made), error.message);
    // Without a confirmation too: there is nothing to confirm.
    const unconfirmed = await cli.failure('snapshot', 'delete', origin, id);
    assert.deepEqual(
      [unconfirmed.error.message, unconfirmed.error.remediation, unconfirmed.exitCode],
      [error.message, error.remediation, 4],
    );
    assert.equal(await cli.id('snapshot', 'delete', origin, id, '--force', '--yes'), id);
  });

  test('that is the newest one is not deleted as `latest`, which would be another one each time', async () => {
    const { error, exitCode } = await cli.failure('snapshot', 'delete', origin, 'latest', '--yes');
    assert.deepEqual([error.code, exitCode], ['INVALID_ARGUMENT', 2]);
    assert.ok(error.remediation.includes(id), error.remediation);
    await cli.print('snapshot', 'label', origin, id, '--to', 'latest');
    assert.equal(await cli.id('snapshot', 'delete', origin, 'latest', '--yes'), id);
  });

  test('that is pinned is not deleted, and the command that unpins it is named', async () => {
    await cli.print('snapshot', 'pin', origin, 'first');
    const { error } = await cli.failure('snapshot', 'delete', origin, 'first', '--yes');
    const [, unpin = ''] = /`snapshotter ([^`]*)`/.exec(error.remediation) ?? [];
    assert.equal(unpin, `snapshot unpin ${origin} first`);
    await cli.print(...unpin.split(' '));
    assert.equal(await cli.id('snapshot', 'delete', origin, 'first', '--yes'), id);
  });

  test('of another lineage is refused within a lineage scope', async () => {
    await world.exec('elsewhere', 'true');
    await cli.print('snapshot', 'create', 'elsewhere');
    const show = ['snapshot', 'show', origin, id, '--lineage-scope', 'elsewhere'];
    assert.deepEqual(await cli.code(...show), ['CROSS_LINEAGE', 5]);
    assert.equal((await cli.json(...show, '--allow-cross-lineage')).snapshotId, id);
  });

  test('that never existed is not found', async () => {
    for (const name of ['never', 'snap-0123456789abcdef']) {
      const { exitCode, error } = await cli.failure('restore', origin, name);
      assert.deepEqual([error.code, exitCode], ['SNAPSHOT_NOT_FOUND', 3]);
      assert.match(error.remediation, new RegExp(`\`snapshotter snapshot list ${origin}\` lists`));
    }
  });

  test('before its sandbox is shown in the right order', async () => {
    const order = (right: string) => `The sandbox or the workspace precedes the snapshot: \`${right}\`.`;
    for (const [command, words, right] of [
      [['diff'], ['before', '@desk'], '@desk before'],
      [['snapshot', 'show'], ['the risk', '@desk'], "@desk 'the risk'"],
      [['workspace', 'rollback'], ['before', '@desk'], '@desk before'],
    ] as const)
      assert.equal((await cli.failure(...command, ...words)).error.remediation, order(right));
    const { error } = await cli.failure('ls', '@desk:src', 'before');
    assert.equal(error.remediation, 'The path of a snapshot comes last: `@desk before src`.');
  });

  test('with a misspelled label suggests the most similar label', async () => {
    await cli.print('snapshot', 'create', origin, '--fresh', '--label', 'before the upgrade');
    const { error } = await cli.failure('restore', origin, 'before the upgrad');
    assert.equal(error.remediation, 'Did you mean the snapshot "before the upgrade"?');
  });
});

describe('`restore` and `branch`', () => {
  test('create a sandbox with the files', async () => {
    const ref = await world.snapshot(origin, { label: 'first' });
    for (const [command, kind] of [
      ['restore', 'restored'],
      ['branch', 'branch'],
    ] as const) {
      const sandbox = await cli.id(command, origin, 'first');
      assert.match(sandbox, new RegExp(`^${origin}-${kind}-\\w{8}$`));
      assert.equal(await world.exec(sandbox, 'cat file'), 'x\n');
      const answer = await cli.json(command, origin, ref.ref.snapshotId, '--idempotency-key', command);
      const again = await cli.print(command, origin, ref.ref.snapshotId, '--idempotency-key', command);
      assert.equal(again, `sandbox     ${answer.ref.sandboxId}\nlineage of  ${origin}\n`);
    }
  });

  test('read a printed ref from a pipe', async () => {
    const pipe = `snapshotter snapshot create ${origin} --json | snapshotter restore --ref - --quiet`;
    const { status, stdout, stderr } = await cli.shell(pipe);
    assert.deepEqual([status, stderr], [0, '']);
    assert.equal(await world.exec(stdout.trim(), 'cat file'), 'x\n');
  });

  test('read a ref from a file, also from the output of `snapshot show`', async () => {
    await cli.print('snapshot', 'create', origin, '--label', 'first');
    const shown = await cli.file(
      'shown.json',
      await cli.print('snapshot', 'show', origin, 'first', '--json'),
    );
    assert.match(await cli.id('branch', '--ref', shown), /-branch-/);
  });

  test('refuse an invalid or altered ref', async () => {
    const ref = await cli.print('snapshot', 'create', origin, '--json');
    const altered = ref.replace(`"originId":"${origin}"`, '"originId":"another"');
    assert.deepEqual(await cli.code('restore', '--ref', await cli.file('altered.json', altered)), [
      'REF_MISMATCH',
      5,
    ]);
    assert.deepEqual(await cli.code('restore', '--ref', await cli.file('none.json', '{}')), [
      'INVALID_REF',
      2,
    ]);
    assert.deepEqual(await cli.code('restore', '--ref', await cli.file('no.json', 'x')), [
      'INPUT_INVALID',
      2,
    ]);
    assert.deepEqual(await cli.code('restore', '--ref', '/nowhere'), ['INPUT_UNREADABLE', 2]);
  });
});

test('`snapshot import` imports a backup that the SDK created directly', async () => {
  const backup = await world.backUp(origin);
  const handle = await cli.file('handle.json', JSON.stringify(backup));
  const options = ['--backup', handle, '--label', 'imported', '--expires', '1d'];
  const { ref, capture } = await cli.json('snapshot', 'import', origin, ...options);
  assert.deepEqual([ref.originId, capture.label], [origin, 'imported']);
  assert.equal(await world.exec(await cli.id('restore', origin, 'imported'), 'cat file'), 'x\n');
});
