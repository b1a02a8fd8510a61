// Tests of what a snapshot can be compared with.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { find, lineage, sandbox, snapshot, workspace } from './lineages.ts';

const { allPresentFiles, comparable, presentChoices, snapshotChoices, sourceChoices } =
  await import('../src/views/compare-choices.ts');
const { dateTime } = await import('../src/format.ts');

const EARLY = '2026-11-20T10:00:00.000Z';
const LATE = '2026-11-20T11:00:00.000Z';
const NOW = Date.parse('2026-11-20T12:00:00Z');

const fork = sandbox('fork-1', [snapshot('s3', [], { label: 'forked', createdAt: LATE })], { of: 'attempt' });
const present = sandbox('desk-2', [snapshot('s2', [], { label: 'g3', createdAt: LATE })], { of: 'desk' });
const nodes = lineage(
  sandbox(
    'desk-1',
    [
      snapshot('s1', [sandbox('alone'), fork, present], { label: 'g3', createdAt: EARLY }),
      snapshot('s0', [sandbox('ended', [], { running: false })], { label: 'first', createdAt: EARLY }),
    ],
    { of: 'desk', running: false },
  ),
);
const node = find(nodes, 'desk-1', 's0');
const page = workspace('desk', 'desk-2', ['desk-1']);

test('present files are those of all running sandboxes, the own workspace first', () => {
  const names = allPresentFiles(node, nodes, page).map(({ name }) => name);
  assert.deepEqual(names, ['desk', 'alone', 'attempt']);
});

test('present files of a workspace that ended, and of the snapshot’s own ended sandbox, are no choice', () => {
  const stopped = lineage(sandbox('desk-1', [snapshot('s0')], { of: 'desk', running: false }));
  const own = find(stopped, 'desk-1', 's0');
  assert.deepEqual(allPresentFiles(own, stopped, workspace('desk', 'desk-1')), []);
  assert.deepEqual(allPresentFiles(own, stopped), []);
});

test('present files of sandboxes with the same name have their ids', () => {
  const twice = lineage(sandbox('a', [snapshot('s0', [sandbox('b', [], { of: 'desk' })])], { of: 'desk' }));
  const choices = presentChoices(allPresentFiles(find(twice, 'a', 's0'), twice));
  assert.deepEqual(
    choices.map(([, text]) => text),
    ['Present files of desk, a', 'Present files of desk, b'],
  );
});

test('a workspace of another tenant has its tenant', () => {
  const other = sandbox('b', [], { workspace: { name: 'copy', tenant: 'lab' } });
  const mixed = lineage(sandbox('a', [snapshot('s0', [other])], { of: 'desk' }));
  const names = allPresentFiles(find(mixed, 'a', 's0'), mixed, workspace('desk', 'a'));
  assert.deepEqual(names.at(-1), { name: '@lab/copy', sandboxId: 'b' });
});

test('snapshots with the same label have the time, and their former sandbox or workspace', () => {
  const choices = snapshotChoices(node, comparable(node, nodes), nodes, page, NOW);
  assert.deepEqual(
    choices.map(([, text]) => text).sort(),
    [
      'forked, 1 h ago, of attempt',
      `g3, ${dateTime(EARLY)}, of a former sandbox of desk`,
      `g3, ${dateTime(LATE)}`,
    ].sort(),
  );
});

test('a label that the snapshot itself has is not unique', () => {
  const own = find(nodes, 'desk-2', 's2');
  const texts = snapshotChoices(own, comparable(own, nodes), nodes, page, NOW).map(([, text]) => text);
  assert.ok(texts.includes(`g3, ${dateTime(EARLY)}, of a former sandbox of desk`), texts.join('\n'));
});

test('snapshots of the same label have their seconds and their causes', () => {
  const at = (second: number) => `2026-11-20T10:00:0${second}.000Z`;
  const twins = lineage(
    sandbox('a', [
      snapshot('s2', [], { label: 'g3', createdAt: at(2) }),
      snapshot('s1', [], { label: 'g3', createdAt: at(1), cause: 'beforeRollback' }),
      snapshot('s0'),
    ]),
  );
  const own = find(twins, 'a', 's0');
  const texts = snapshotChoices(own, comparable(own, twins), twins, undefined, NOW).map(([, text]) => text);
  assert.deepEqual(texts, [`g3, ${dateTime(at(2))}`, `g3, before rollback, ${dateTime(at(1))}`]);
  assert.match(dateTime(at(2)), /:02/);
});

test('snapshots of the same label and second have their ids', () => {
  const same = { label: 'g3', createdAt: EARLY };
  const twins = lineage(sandbox('a', [snapshot('s2', [], same), snapshot('s1', [], same), snapshot('s0')]));
  const own = find(twins, 'a', 's0');
  const texts = snapshotChoices(own, comparable(own, twins), twins, undefined, NOW).map(([, text]) => text);
  assert.deepEqual(texts, [`g3, ${dateTime(EARLY)}, s2`, `g3, ${dateTime(EARLY)}, s1`]);
});

test('a workspace can continue from each snapshot of its lineage that is ready, by its id', () => {
  const own = lineage(sandbox('a', [snapshot('s1', [], { label: 'g1', createdAt: EARLY })], { of: 'desk' }));
  assert.deepEqual(sourceChoices(own, workspace('desk', 'a'), NOW), [['s1', 'g1, 2 h ago']]);
  assert.ok(sourceChoices(nodes, page, NOW).some(([id, text]) => id === 's3' && text.endsWith('of attempt')));
  const gone = lineage(sandbox('a', [snapshot('s1', [], { state: 'deleted' })]));
  assert.deepEqual(sourceChoices(gone, workspace('desk', 'a'), NOW), []);
});
