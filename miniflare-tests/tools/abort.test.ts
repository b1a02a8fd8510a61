// Aborts of tool calls in progress.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { CallInterceptor, isArchiving } from '../workspaces/calls.ts';
import { World } from '../world.ts';

test('an aborted tool call fails with ABORTED instead of an answer for the model', async () => {
  const calls = new CallInterceptor();
  await using world = await World.start({ onCall: calls.onCall });
  await world.exec('agent', 'echo good > file');
  const { reached, release } = calls.block(isArchiving);
  const workspaces = [{ name: 'work', snapshot: true, sandboxId: 'agent' }];
  const options = { workspaces, name: 'workspace__work__snapshot' };
  const failed = world.failure(world.rpc('tools/call', options, true));
  await reached;
  await world.abort();
  assert.equal((await failed).code, 'ABORTED');
  release();
});
