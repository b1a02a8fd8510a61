// Tests of the sandbox that a file of a snapshot is restored to.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Workspace } from '../../client/src/index.ts';
import './page.ts';

const { targetOf } = await import('../src/views/restore-target.ts');

const workspace = { name: 'notes', sandboxId: 'present', state: 'active' } as Workspace;

test('files of a former sandbox are restored to the present one of its workspace', () => {
  const target = targetOf({ sandboxId: 'former', running: false }, workspace, false);
  assert.deepEqual(target, { sandboxId: 'present', workspace, isRunning: true });
});

test('a sandbox that the user selected is the target, also if its workspace has another one', () => {
  const former = targetOf({ sandboxId: 'former', running: false }, workspace, true);
  assert.deepEqual(former, { sandboxId: 'former', isRunning: false });
  const present = targetOf({ sandboxId: 'present', running: true }, workspace, true);
  assert.equal(present.workspace, workspace);
});

test('files of a sandbox without a workspace are restored to it, unless it is known to have ended', () => {
  const isRunning = (running?: boolean) =>
    targetOf({ sandboxId: 'alone', ...(running !== undefined && { running }) }, undefined, false).isRunning;
  assert.deepEqual([isRunning(true), isRunning(), isRunning(false)], [true, true, false]);
});

test('a workspace is not running if it is not active, or its container has ended', () => {
  const isRunning = (changed: Partial<Workspace>) =>
    targetOf({ sandboxId: 'present', running: true }, { ...workspace, ...changed }, false).isRunning;
  assert.equal(isRunning({ state: 'stopped' }), false);
  assert.equal(isRunning({ containerEnded: true }), false);
});
