// Tests of the nodes of a lineage.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { lineage, sandbox, snapshot } from './lineages.ts';

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
