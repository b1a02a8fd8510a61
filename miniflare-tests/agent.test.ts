// The example agent, as the demo runs it.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { AGENT, SNAPSHOTTER, startLocal, type Local } from '../scripts/local.ts';
import type { Attempt, Change, Output } from '../examples/agent/src/answers.ts';

let local: Local;
before(async () => {
  local = await startLocal({
    workers: [{ config: AGENT }, { config: SNAPSHOTTER }],
  });
});
after(() => local.close());

async function ask<T>(agent: string, method: string, ...list: unknown[]): Promise<T> {
  const init = { method: 'POST', body: JSON.stringify(list) };
  const response = await local.miniflare.dispatchFetch(`http://agent/${agent}/${method}`, init);
  return (await response.json()) as T;
}

test('an agent whose risky command fails goes on in a new sandbox with the files from before', async () => {
  await ask('risky', 'run', 'echo good > file');
  const { wentBackTo } = await ask<Attempt>('risky', 'attempt', 'echo bad > file; false');
  const { sandboxId, stdout } = await ask<Output>('risky', 'run', 'cat file');
  assert.match(sandboxId, /^agent-risky-restored-[a-z0-9]{8}$/);
  assert.deepEqual([sandboxId, stdout], [wentBackTo, 'good']);
  assert.equal(local.engine.running().length, 1, 'the sandbox that it left is ended');
});

test('an agent whose risky command ends its session goes back too', async () => {
  await ask('exits', 'run', 'echo good > file');
  const { wentBackTo } = await ask<Attempt>('exits', 'attempt', 'rm file; exit 1');
  assert.match(wentBackTo ?? '', /^agent-exits-restored-/);
});

test('an agent goes back as often as it has to', async () => {
  await ask('persistent', 'run', 'echo good > file');
  for (const attempt of ['first', 'second']) {
    const { wentBackTo } = await ask<Attempt>('persistent', 'attempt', 'echo bad > file; false');
    assert.ok(wentBackTo, attempt);
  }
  assert.equal((await ask<Output>('persistent', 'run', 'cat file')).stdout, 'good');
  assert.equal((await ask<Attempt>('persistent', 'attempt', 'echo better > file')).wentBackTo, undefined);
  assert.equal((await ask<Attempt>('persistent', 'attempt', 'echo best > file')).wentBackTo, undefined);
});

test('an agent whose risky command succeeds stays where it is', async () => {
  await ask('lucky', 'run', 'echo good > file');
  assert.equal((await ask<Attempt>('lucky', 'attempt', 'echo better > file')).wentBackTo, undefined);
  assert.equal((await ask<Output>('lucky', 'run', 'cat file')).stdout, 'better');
});

test('an agent whose small change fails undoes it where it is', async () => {
  await ask('tidy', 'run', 'echo good > file');
  const { undone } = await ask<Change>('tidy', 'change', 'echo bad > file; echo more > another; false');
  assert.match(undone ?? '', /^-good$/m);
  const { sandboxId, stdout } = await ask<Output>('tidy', 'run', 'cat *');
  assert.deepEqual([sandboxId, stdout], ['agent-tidy', 'good']);
});

test('an agent whose small change succeeds keeps it', async () => {
  await ask('proud', 'run', 'echo good > file');
  assert.equal((await ask<Change>('proud', 'change', 'echo better > file')).undone, undefined);
  assert.equal((await ask<Output>('proud', 'run', 'cat file')).stdout, 'better');
});

test('an agent explores several ways from one state, each in a sandbox of its own', async () => {
  await ask('curious', 'run', 'echo start > file');
  const ways = await ask<Output[]>('curious', 'explore', [
    'echo one >> file; cat file',
    'echo two >> file; cat file',
  ]);
  assert.deepEqual(
    ways.map(({ stdout }) => stdout),
    ['start\none', 'start\ntwo'],
  );
  assert.equal((await ask<Output>('curious', 'run', 'cat file')).stdout, 'start');
});
