// Calls to sandboxes that are left unanswered, and work that continues after their time limits.

import assert from 'node:assert/strict';

import { until, type World } from './world.ts';

/** Whether an unanswered call is carried out. */
export const UNANSWERED_MODES = ['lost', 'carried out'];

/** A duration longer than every time limit, in seconds. */
export const BEYOND_TIME_LIMITS = 3700;

/** Advances the clock beyond the time limit of each unanswered call until the work ends. Returns whether it succeeded. */
export async function runPastTimeLimits(world: World, work: Promise<unknown>): Promise<boolean> {
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
    if (isDone === undefined) await world.rpc('advanceClock', { seconds: BEYOND_TIME_LIMITS });
  }
  await settled;
  assert.notEqual(await world.rpc('unanswered'), 0, 'at least one call must be left unanswered');
  return isDone;
}
