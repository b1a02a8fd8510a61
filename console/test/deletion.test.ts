// Tests of the reasons why a snapshot can't be deleted.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { TreeSnapshot } from '../../client/src/index.ts';
import { find, lineage, sandbox, snapshot } from './lineages.ts';

const { refusalOf } = await import('../src/views/deletion.ts');

/** Returns why the newest snapshot of a workspace can't be deleted. */
function refusal(snapshots: TreeSnapshot[], running: boolean) {
  const nodes = lineage(sandbox('a', snapshots, { of: 'desk', running }));
  return refusalOf(find(nodes, 'a', snapshots[0]?.snapshotId ?? ''), nodes);
}

test('without the only snapshot of a stopped workspace, nothing would remain', () => {
  const reason = /nothing would remain to restore the stopped workspace desk from: start it first/;
  assert.match(refusal([snapshot('s1')], false) ?? '', reason);
  assert.match(refusal([snapshot('s1'), snapshot('s0', [], { state: 'deleted' })], false) ?? '', reason);
});

test('the newest of several snapshots of a stopped workspace has the only copy of its files', () => {
  const reason = /the only copy of the files of the stopped workspace desk: start it first/;
  assert.match(refusal([snapshot('s1'), snapshot('s0')], false) ?? '', reason);
});

test('the snapshot that a stopped workspace was created from remains', () => {
  const desk = sandbox('b', [snapshot('s1')], { of: 'desk', running: false });
  const nodes = lineage(sandbox('a', [snapshot('s0', [desk])]));
  assert.match(refusalOf(find(nodes, 'b', 's1'), nodes) ?? '', /the only copy of the files/);
});

test('a running workspace needs its only snapshot, and not its newest of several', () => {
  assert.match(refusal([snapshot('s1')], true) ?? '', /the only one that the workspace desk can start from/);
  assert.equal(refusal([snapshot('s1'), snapshot('s0')], true), undefined);
});
