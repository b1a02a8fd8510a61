// A call of a tool that is given up while it is under way.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Calls, isArchiving } from '../workspaces/calls.ts';
import { World } from '../world.ts';

test('a tool that its caller gives up is an error of the call, and no answer for a model', async () => {
  const calls = new Calls();
  await using world = await World.start({ onCall: calls.onCall });
  await world.exec('agent', 'echo good > file');
  const { reached, release } = calls.hold(isArchiving);
  const workspaces = [{ name: 'work', snapshot: true, sandboxId: 'agent' }];
  const options = { workspaces, name: 'workspace__work__snapshot' };
  const failed = world.failure(world.rpc('tools/call', options, true));
  await reached;
  await world.abort();
  assert.equal((await failed).code, 'ABORTED');
  release();
});
