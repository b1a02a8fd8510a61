// Calls to sandboxes that are left unanswered, and work that goes on when their time limits have passed.

import assert from 'node:assert/strict';

import { until, type World } from './world.ts';

/** Whether a call that is not answered is carried out. */
export const HOW = ['lost', 'carried out'];

/** More than any time limit is, in seconds. */
export const LIMIT = 3700;

/** Lets the time limit of each unanswered call pass until the work has settled. Returns whether it succeeded. */
export async function outlast(world: World, work: Promise<unknown>): Promise<boolean> {
  let isDone: boolean | undefined;
  const settled = work.then(
    () => (isDone = true),
    (error: Error & { code?: string }) => {
      isDone = false;
      assert.ok(error.code !== undefined && error.code !== 'INTERNAL', error.message);
    },
  );
  settled.catch(() => {}); // It is awaited below.
  for (let passed = 0; isDone === undefined;) {
    await until(async () => isDone !== undefined || (await world.rpc('unanswered')) > passed);
    passed = await world.rpc('unanswered');
    if (isDone === undefined) await world.rpc('elapse', { seconds: LIMIT });
  }
  await settled;
  assert.notEqual(await world.rpc('unanswered'), 0, 'no call was left unanswered');
  return isDone;
}
