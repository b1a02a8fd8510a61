// The differences between two snapshots, read from their archives in R2 without a container.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import type { FileChange, SnapshotDiff, SnapshotRef } from '../client/src/index.ts';
import { World } from './world.ts';

let world: World;
let first: SnapshotRef;
let second: SnapshotRef;

before(async () => {
  world = await World.start();
  await world.exec(
    'origin',
    `mkdir -p src removed; echo same > src/same; echo 1 > src/grown; echo old > removed/file; echo x > mode
    echo 'the same content' > old-name; ln -s one link`,
  );
  first = await world.snapshot('origin');
  await world.exec(
    'origin',
    `echo 12 > src/grown; rm -r removed; mkdir added; echo new > added/file; chmod 700 mode; mv old-name new-name
    ln -sfn two link`,
  );
  second = await world.snapshot('origin');
  await world.kill('origin');
});
after(() => world[Symbol.asyncDispose]());

const text = ({ change, path, previousPath, differences }: FileChange) =>
  [change, ...(differences ?? []), ...(previousPath ? [previousPath] : []), path].join(' ');

for (const transport of ['rpc', 'http'] as const) {
  describe(`over ${transport}`, () => {
    const diff = (options: object = {}): Promise<SnapshotDiff> =>
      world[transport]('diff', { from: { ref: first }, to: { ref: second }, ...options });

    test('a diff has every change, sorted by path', async () => {
      const { from, to, changes, cursor } = await diff();
      assert.deepEqual([from, to], [first.ref.snapshotId, second.ref.snapshotId]);
      assert.deepEqual(changes.map(text), [
        'added added',
        'added added/file',
        'changed target link',
        'changed mode mode',
        'renamed old-name new-name',
        'removed removed',
        'removed removed/file',
        'changed content src/grown',
      ]);
      const grown = changes.at(-1);
      assert.deepEqual([grown?.from?.sizeBytes, grown?.to?.sizeBytes, grown?.certainty], [2, 3, 'content']);
      assert.equal(cursor, undefined);
    });

    test('the pages of a diff are complete', async () => {
      const paths = [];
      let cursor: string | undefined;
      do {
        const page = await diff({ limit: 2, cursor });
        paths.push(...page.changes.map(({ path }) => path));
        ({ cursor } = page);
      } while (cursor !== undefined);
      assert.deepEqual(
        new Set(paths.filter((path) => !path.endsWith('-name'))),
        new Set(['added', 'added/file', 'link', 'mode', 'removed', 'removed/file', 'src/grown']),
      );
    });

    test('a snapshot has no differences to itself', async () => {
      assert.deepEqual((await diff({ to: { ref: first } })).changes, []);
    });

    test('snapshots of two lineages are refused', async () => {
      await world.exec('other', 'echo x > file');
      const other = await world.snapshot('other');
      assert.equal((await world.failure(diff({ to: { ref: other } }))).code, 'CROSS_LINEAGE');
    });
  });
}

test('a missing archive is reported for its snapshot', async () => {
  await world.exec('damaged', 'echo x > file');
  const { ref } = await world.snapshot('damaged');
  await world.delete(`backups/${ref.backup.id}/data.sqsh`);
  const selection = { sandboxId: 'damaged', snapshotId: ref.snapshotId };
  const error = await world.failure(world.rpc('diff', { from: selection, to: selection }));
  assert.equal(error.code, 'BACKUP_INCOMPLETE');
  assert.ok(error.message.includes(ref.backup.id));
});
