// Tests of the nodes of a lineage.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { find, lineage, sandbox, snapshot } from './lineages.ts';

const { precedes } = await import('../src/tree/nodes.ts');

test('siblings have the order of the service', () => {
  const forks = ['second', 'third', 'first'].map((id) => sandbox(id));
  const nodes = lineage(sandbox('origin', [snapshot('newer', forks), snapshot('older')]));
  const names = [...nodes.values()].map(({ name }) => name);
  assert.deepEqual(names, ['origin', 'newer', 'second', 'third', 'first', 'older']);
  const parent = [...nodes.values()].find(({ name }) => name === 'newer');
  assert.deepEqual(
    parent?.children.map((id) => nodes.get(id)?.name),
    ['second', 'third', 'first'],
  );
});

test('a snapshot precedes the sandboxes that were created from it or from a later one', () => {
  const at = (hour: number) => ({ createdAt: `2026-11-20T${hour}:00:00.000Z` });
  const copy = sandbox('copy', [snapshot('copied', [], at(14))]);
  const fork = sandbox('fork', [snapshot('forked', [copy], at(13))]);
  const nodes = lineage(
    sandbox('desk', [
      snapshot('late', [], at(12)),
      snapshot('source', [fork], at(11)),
      snapshot('early', [], at(10)),
    ]),
  );
  const isBefore = (snapshotId: string, sandboxId: string, owner = 'desk') =>
    precedes(find(nodes, owner, snapshotId), sandboxId, nodes);
  assert.deepEqual([isBefore('early', 'fork'), isBefore('source', 'copy')], [true, true]);
  assert.deepEqual([isBefore('late', 'fork'), isBefore('early', 'desk')], [false, false]);
  assert.equal(isBefore('forked', 'desk', 'fork'), false);
});
