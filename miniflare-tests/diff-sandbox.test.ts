// The differences between a snapshot and the present files of a running sandbox.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import type { FileChange, SnapshotDiff, SnapshotRef, WorkspaceRef } from '../client/src/index.ts';
import { World } from './world.ts';

let world: World;
let ref: SnapshotRef;

before(async () => {
  world = await World.start();
  await world.exec(
    'origin',
    `mkdir -p src/deep removed; echo same > src/deep/same; echo 1 > src/grown; echo old > removed/file; echo x > mode
    echo 'the same content' > old-name; ln -s one link; echo content A > edited; echo same > touched; echo x > "it's \$(odd)"
    touch -d @1234567890 edited touched old-name`,
  );
  ref = await world.snapshot('origin');
});
after(() => world[Symbol.asyncDispose]());

const diff = (sandboxId: string, options: object = {}): Promise<SnapshotDiff> =>
  world.rpc('diff', { from: { ref }, to: { sandboxId }, ...options });

const text = ({ change, path, previousPath, differences, certainty }: FileChange) =>
  [change, ...(differences ?? []), ...(previousPath ? [previousPath] : []), path, certainty].join(' ');

const CHANGES = [
  'added added content',
  'added added/file content',
  'changed content edited content',
  'changed target link content',
  'changed mode mode content',
  'renamed old-name new-name content',
  'removed removed content',
  'removed removed/file content',
  'changed content src/grown content',
];

test('the present files are compared with a snapshot, before and after a restore', async () => {
  const restored: WorkspaceRef = await world.rpc('restore', { ref });
  for (const id of ['origin', restored.ref.sandboxId]) {
    assert.deepEqual((await diff(id)).changes, [], id);
    await world.exec(
      id,
      `echo 12 > src/grown; rm -r removed; mkdir added; echo new > added/file; chmod 700 mode; mv old-name new-name
      ln -sfn two link; echo content B > edited; touch touched`,
    );
    const { from, to, sandboxId, changes, cursor } = await diff(id);
    assert.deepEqual([from, to, sandboxId, cursor], [ref.ref.snapshotId, undefined, id, undefined]);
    assert.deepEqual(changes.map(text), CHANGES, id);
    const grown = changes.at(-1);
    assert.deepEqual([grown?.from?.sizeBytes, grown?.to?.sizeBytes], [2, 3]);
  }
});

test('a file that was changed in the second of the capture is compared by its content', async () => {
  await world.exec('racy', 'echo port=8080 > config; echo same > same; touch -d @4000000000 config same');
  const captured: SnapshotRef = await world.snapshot('racy');
  const compare = (to: object): Promise<SnapshotDiff> => world.rpc('diff', { from: { ref: captured }, to });
  assert.deepEqual((await compare({ sandboxId: 'racy' })).changes, []);
  await world.exec('racy', 'sed -i s/8080/9090/ config; touch -d @4000000000 config');
  assert.deepEqual((await compare({ sandboxId: 'racy' })).changes.map(text), [
    'changed content config content',
  ]);
  const later: SnapshotRef = await world.snapshot('racy', { incremental: false });
  assert.deepEqual((await compare({ ref: later })).changes.map(text), ['changed content config content']);
});

test('the pages of a comparison have the files at its begin', async () => {
  const paths = [];
  let cursor: string | undefined;
  do {
    const page = await diff('origin', { limit: 3, cursor });
    paths.push(...page.changes.map(({ path }) => path));
    await world.exec('origin', 'echo later > zz-later');
    ({ cursor } = page);
  } while (cursor !== undefined);
  const expected = ['added', 'added/file', 'edited', 'link', 'mode', 'new-name', 'removed', 'removed/file'];
  // Where a page ends depends on the files whose content it compares. A rename within a page has one path.
  const found = paths.filter((path) => path !== 'old-name');
  assert.deepEqual(found, [...expected, 'src/grown']);
});

test('a sandbox that is not running stays so', async () => {
  await world.kill('origin');
  assert.equal((await world.failure(diff('origin'))).code, 'SANDBOX_NOT_RUNNING');
  assert.equal((await world.failure(diff('origin'))).code, 'SANDBOX_NOT_RUNNING');
});
