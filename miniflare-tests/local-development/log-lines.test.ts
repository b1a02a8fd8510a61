// The log of the snapshotter in the terminal of `npm run demo` and `npm run dev`.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { endOf, formatLogLine, isMissing, isOfSnapshotter, workspaceOf } from '../../scripts/log-lines.ts';

const done = { outcome: 'success', durationMs: 84 };

for (const [what, line, expected] of [
  [
    'a snapshot names the snapshot and its sandbox',
    { event: 'snapshot', ...done, snapshotId: 'snap-1', originId: 'ada' },
    '  · snapshot snap-1 of ada: 84 ms',
  ],
  [
    'a restore names the new sandbox',
    { event: 'restore', ...done, sandboxId: 'ada-restored-1', originId: 'ada' },
    '  · restore into ada-restored-1: 84 ms',
  ],
  [
    'an operation of a workspace names the workspace',
    { event: 'workspaces/stop', ...done, name: 'notebook', sandboxId: 'notebook-1' },
    '  · workspaces/stop notebook: 84 ms',
  ],
  ['an operation about no object names none', { event: 'health', ...done }, '  · health: 84 ms'],
  [
    'a transition gives its cause',
    { event: 'workspace.transition', name: 'notebook', from: 'active', to: 'stopping', cause: 'it was idle' },
    '  · notebook is stopping: it was idle',
  ],
  [
    'a failure gives its message',
    { event: 'restore', outcome: 'failure', code: 'REF_INVALID', message: 'The ref is not valid.' },
    '  · restore failed: The ref is not valid.',
  ],
  [
    'a failure whose message is withheld gives its code and cause',
    { event: 'restore', outcome: 'failure', code: 'RESTORE_FAILED', cause: { name: 'BackupError' } },
    '  · restore failed: RESTORE_FAILED: BackupError',
  ],
] as const)
  test(what, () => assert.equal(formatLogLine(JSON.stringify(line)), expected));

test('a line of another Worker stays as it is', () => {
  for (const line of ['listening', '{"level":"info"}', '{"event"']) {
    assert.equal(formatLogLine(line), line);
    assert.equal(isOfSnapshotter(line), false);
  }
});

test('a line about a workspace gives its address', () => {
  const address = { tenant: 'acme', name: 'web' };
  const transition = { event: 'workspace.transition', ...address, from: 'stopped', to: 'starting' };
  assert.deepEqual(workspaceOf(JSON.stringify(transition)), address);
  assert.deepEqual(workspaceOf(JSON.stringify({ event: 'exec', ...done, ...address })), address);
  for (const line of [JSON.stringify({ event: 'health', ...done }), 'listening'])
    assert.equal(workspaceOf(line), undefined);
});

for (const [what, stopped, expected] of [
  ['whose files are in a snapshot is saved', { persistent: true, hadEnded: false }, 'Saved ada.'],
  [
    'whose files are in a rescue snapshot is saved',
    { persistent: true, hadEnded: true, rescueSnapshotId: 'snap-1' },
    'Saved ada.',
  ],
  [
    'whose sandbox had ended is not saved',
    { persistent: true, hadEnded: true },
    'Ended ada: its sandbox had ended before, so files that were in no snapshot are gone.',
  ],
  [
    'that is not persistent is not saved',
    { persistent: false, hadEnded: false },
    'Ended ada: it is not persistent, so its files are gone.',
  ],
] as const)
  test(`a stopped workspace ${what}`, () => assert.equal(endOf('ada', stopped), expected));

test('a lookup that found no workspace is recognized', () => {
  const failed = { outcome: 'failure', code: 'WORKSPACE_NOT_FOUND', name: 'ada', tenant: 'default' };
  assert.ok(isMissing(JSON.stringify({ event: 'workspaces/getByName', ...failed })));
  assert.ok(!isMissing(JSON.stringify({ event: 'workspaces/stop', ...failed })));
  assert.ok(!isMissing(JSON.stringify({ event: 'workspaces/getByName', ...done })));
});
