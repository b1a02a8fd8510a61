// Tests of what a description says of the last start.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Workspace } from '../../client/src/index.ts';

const { isLossPast, isRestoredSave, wasStartedEmpty } = await import('../src/views/workspace-start.ts');

const described = (fields: Partial<Workspace>) =>
  ({ state: 'active', history: [], ...fields }) as Partial<Workspace> as Workspace;

const started = (cause: string) => ({ from: 'restoring', to: 'active', at: '', cause }) as const;
const EMPTY = started('it was started empty; its earlier files may be lost');

test('the last save is the restored snapshot until a later one is taken', () => {
  const restoredFrom = { createdAt: '2026-01-01T00:00:00Z' } as Workspace['restoredFrom'] & {};
  assert.ok(isRestoredSave(described({ restoredFrom, lastSavedAt: '2026-01-01T00:00:00Z' })));
  assert.ok(!isRestoredSave(described({ restoredFrom, lastSavedAt: '2026-01-02T00:00:00Z' })));
  assert.ok(!isRestoredSave(described({})));
});

test('an empty start after a loss is the last start of an active workspace', () => {
  assert.ok(wasStartedEmpty(described({ mayHaveLost: true, history: [EMPTY] })));
  assert.ok(!wasStartedEmpty(described({ history: [EMPTY] })), 'nothing is lost');
  assert.ok(!wasStartedEmpty(described({ state: 'stopped', mayHaveLost: true, history: [EMPTY] })));
  const adopted = started('its files were adopted');
  assert.ok(!wasStartedEmpty(described({ mayHaveLost: true, history: [adopted, EMPTY] })));
  const withoutFiles = started('it was started without files');
  assert.ok(!wasStartedEmpty(described({ mayHaveLost: true, history: [withoutFiles] })));
});

test('a possible loss is past after a stop that saved the files, or that saves none', () => {
  const stopped = { state: 'stopped', mayHaveLost: true, persistent: true } as const;
  const lastSavedAt = '2026-01-01T00:00:00Z';
  assert.ok(isLossPast(described({ ...stopped, lastSavedAt })));
  assert.ok(isLossPast(described({ ...stopped, persistent: false })));
  assert.ok(!isLossPast(described(stopped)), 'nothing is saved');
  assert.ok(
    !isLossPast(described({ ...stopped, lastSavedAt, containerEnded: true })),
    'the stop saved nothing',
  );
  assert.ok(!isLossPast(described({ ...stopped, lastSavedAt, state: 'active' })));
  assert.ok(!isLossPast(described({ ...stopped, lastSavedAt, mayHaveLost: false })));
});
