// The files of a snapshot, read from its archive in R2 without a container.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import type { SnapshotRef } from '../client/src/index.ts';
import { World } from './world.ts';

let world: World;
let ref: SnapshotRef;

before(async () => {
  world = await World.start();
  const script = `mkdir -p src/deep; echo 'fn main() {}' > src/main.rs; printf '\\377\\376' > binary; ln -s src link
    head -c 3000000 /dev/urandom > large; sha256sum < large > large.sha256; chmod 600 large
    touch $'src/\\377odd' src/ü src/a src/b`;
  await world.exec('origin', script);
  ref = await world.snapshot('origin');
  await world.kill('origin');
});
after(() => world[Symbol.asyncDispose]());

for (const transport of ['rpc', 'http'] as const) {
  describe(`over ${transport}`, () => {
    const call = (operation: string, options: object) =>
      world[transport](`files/${operation}`, { ref, ...options });

    test('a list has the files of a directory, sorted by the bytes of their names', async () => {
      const { snapshotId, files, cursor } = await call('list', { path: 'src' });
      assert.equal(snapshotId, ref.ref.snapshotId);
      const names = files.map(({ name }: { name: string }) => name);
      assert.deepEqual(names, ['a', 'b', 'deep', 'main.rs', 'ü', '\ufffdodd']);
      assert.equal(cursor, undefined);
      assert.deepEqual(files.at(-1).nameBytes, Buffer.from('\xffodd', 'latin1').toString('base64'));
      assert.deepEqual([files[2].type, files[3].type, files[3].sizeBytes], ['directory', 'file', 13]);
    });

    test('the pages of a list are complete', async () => {
      const names = [];
      let cursor: string | undefined;
      do {
        const page: any = await call('list', { limit: 2, cursor });
        names.push(...page.files.map(({ name }: { name: string }) => name));
        ({ cursor } = page);
      } while (cursor !== undefined);
      assert.deepEqual(names, ['binary', 'large', 'large.sha256', 'link', 'src']);
    });

    test('the attributes of a file are those in the sandbox', async () => {
      const { path, type, sizeBytes, mode, uid, modifiedAt } = await call('stat', { path: 'large' });
      assert.deepEqual([path, type, sizeBytes, mode, uid], ['large', 'file', 3_000_000, '0600', 0]);
      assert.ok(Math.abs(Date.now() - Date.parse(modifiedAt)) < 3600_000);
      assert.deepEqual((await call('stat', { path: '/link' })).target, 'src');
      assert.equal((await call('stat', { path: '/' })).type, 'directory');
    });

    test('text is returned as text, and other content in Base64', async () => {
      const text = await call('read', { path: 'src/main.rs' });
      assert.deepEqual([text.encoding, text.content, text.length], ['utf8', 'fn main() {}\n', 13]);
      const part = await call('read', { path: 'src/main.rs', offset: 3, length: 4 });
      assert.deepEqual([part.content, part.offset, part.sizeBytes], ['main', 3, 13]);
      const binary = await call('read', { path: 'binary' });
      assert.deepEqual([binary.encoding, binary.content], ['base64', '//4=']);
      assert.equal((await call('read', { path: 'binary', offset: 100 })).length, 0);
    });

    test('a large file is read in parts, and not as a whole', async () => {
      const error = await world.failure(call('read', { path: 'large' }));
      assert.match(error.message, /"large" has \d+ bytes, and an answer has at most 1048576\./);
      const parts: Buffer[] = [];
      let offset = 0;
      for (let sizeBytes = 1; offset < sizeBytes;) {
        const part = await call('read', { path: 'large', offset, length: 1_000_000 });
        assert.equal(part.encoding, 'base64');
        parts.push(Buffer.from(part.content, 'base64'));
        offset += part.length;
        ({ sizeBytes } = part);
      }
      const digest = await crypto.subtle.digest('SHA-256', Buffer.concat(parts));
      const { content } = await call('read', { path: 'large.sha256' });
      assert.equal(content, `${Buffer.from(digest).toString('hex')}  -\n`);
    });

    test('a path that does not fit is refused', async () => {
      const code = async (operation: string, path: string) =>
        (await world.failure(call(operation, { path }))).code;
      assert.equal(await code('stat', 'missing'), 'FILE_NOT_FOUND');
      assert.equal(await code('list', 'src/main.rs'), 'NOT_A_DIRECTORY');
      assert.equal(await code('stat', 'link/main.rs'), 'NOT_A_DIRECTORY');
      assert.equal(await code('read', 'src'), 'NOT_A_FILE');
      assert.equal(await code('read', '../etc/passwd'), 'INVALID_ARGUMENT');
    });
  });
}

test('no container runs', () => assert.deepEqual(world.running(), []));

test('a damaged archive is reported', async () => {
  await world.exec('damaged', 'echo x > file');
  const { ref } = await world.snapshot('damaged');
  const key = `backups/${ref.backup.id}/data.sqsh`;
  await world.write(key, 'hsqs but nothing more');
  const options = { sandboxId: 'damaged', snapshotId: ref.snapshotId, path: 'file' };
  const error = await world.failure(world.rpc('files/read', options));
  assert.equal(error.code, 'BACKUP_INCOMPLETE');
  await world.delete(key);
  assert.equal((await world.failure(world.rpc('files/read', options))).code, 'BACKUP_INCOMPLETE');
});
