// An application's unmodified class, as Cloudflare's guide for the SDK 1.0 describes it, with the mixin.

import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { after, before, test } from 'node:test';

import { until, World } from '../world.ts';

let world: World;
before(async () => {
  const main = fileURLToPath(new URL('./guide-class.ts', import.meta.url));
  world = await World.start({ sandboxesOf: 'application', mode: 'container', caller: { main } });
});
after(() => world[Symbol.asyncDispose]());

const run = async (id: string, argv: string[], input?: string) =>
  (await world.sandbox(id, 'run', argv, ...(input === undefined ? [] : [input]))).stdout;

test('what the class stores in its container is captured, restored and branched', async () => {
  await world.sandbox('agent', 'start');
  await world.sandbox('agent', 'run', ['tee', '/workspace/file'], 'first\n');
  const ref = await world.snapshot('agent');
  await world.sandbox('agent', 'run', ['tee', '/workspace/file'], 'second\n');
  for (const { ref: created } of [await world.restore(ref), await world.branch(ref)])
    assert.equal(await run(created.sandboxId, ['cat', '/workspace/file']), 'first\n');
  assert.equal(await run('agent', ['cat', '/workspace/file']), 'second\n');
});

test('the alarm of the class runs before and after the mixin uses the alarm, too', async () => {
  const checks = (): Promise<number> => world.sandbox('checked', 'checks');
  const continues = async () => {
    const before = await checks();
    await until(async () => (await checks()) > before + 1);
  };
  await world.sandbox('checked', 'start');
  await continues();
  await world.sandbox('checked', 'setSleepAfter', '8h');
  await continues();
  await world.snapshot('checked');
  await continues();
  await world.sandbox('checked', 'setSleepAfter', '5m');
  await continues();
});

test('a container that the class ended is not captured, and another one is not taken for it', async () => {
  await world.sandbox('ended', 'start');
  await world.sandbox('ended', 'run', ['tee', '/workspace/file'], 'first\n');
  const ref = await world.snapshot('ended');
  await world.sandbox('ended', 'shutDown');
  assert.equal((await world.sandbox('ended', 'getState')).status, 'stopped');
  assert.equal((await world.failure(world.snapshot('ended'))).code, 'SANDBOX_NOT_RUNNING');
  await world.sandbox('ended', 'start');
  assert.equal((await world.failure(world.snapshot('ended'))).code, 'SANDBOX_REPLACED');
  await world.assertRestores(ref, 'cat file', 'first\n');
});
