// The recovery after the faults: calls are repeated, and the clock advances from alarm to alarm.

import { setTimeout } from 'node:timers/promises';

import { until } from '../../miniflare-tests/world.ts';
import type { Round } from './round.ts';

const HOUR = 3600;

/** The maximum number of clock advances until no row is in a transitional state. */
const MAX_ADVANCES = 10;

/** A minted sandbox id. */
const MINTED = /[\w.-]+-(?:restored|branch)-[a-z0-9]{8}/g;

/** Repeats all calls with an unknown outcome, and all calls with a key. */
export async function repeatCalls(round: Round) {
  for (const named of round.named) named.pending = undefined;
  await Promise.all([...round.calls].map((call) => round.repeatUntilKnown(call)));
}

/** Advances the clock until all unfinished work is reconciled, sometimes with one more crash. */
export async function recover(round: Round) {
  const { world } = round.environment;
  await waitForSandboxes(round);
  if (round.random.chance(0.2)) {
    const advancing = advanceClock(round).catch(() => {});
    await setTimeout(round.random.next() ** 2 * 200);
    await world.crash();
    await advancing;
    await round.faults.disarm();
  }
  for (let advances = 0; (await transientRows(round)).length > 0; advances += 1) {
    if (advances === MAX_ADVANCES) {
      const rows = (await transientRows(round)).map(redacted).join('\n');
      round.violation(`Rows stay in a transitional state: ${rows}`);
      break;
    }
    await waitForSandboxes(round);
    await advanceClock(round);
  }
  await world.rpc('resetClock');
}

/** Returns the ids of all Workspace objects of the round. */
export function workspaces(round: Round): string[] {
  round.readLog();
  const known = [
    ...round.origins.map(({ id }) => id),
    ...round.sandboxes.map(({ id }) => id),
    ...round.named.flatMap(({ sandboxId }) => (sandboxId ? [sandboxId] : [])),
  ];
  for (const id of known) round.workspaces.add(id);
  return [...round.workspaces];
}

async function advanceClock(round: Round) {
  const { world } = round.environment;
  await world.rpc('advanceClock', { sandboxIds: workspaces(round), seconds: 3 * HOUR });
  for (const { name } of round.named) {
    const sandboxIds: string[] = await world.rpc('sandboxIds', { name });
    await world.rpc('advanceClock', { name, sandboxIds, seconds: 0 });
  }
}

async function transientRows(round: Round): Promise<string[]> {
  const { world } = round.environment;
  const rows: string[][] = [await world.rpc('transientRows', { sandboxIds: workspaces(round) })];
  for (const { name } of round.named) {
    const sandboxIds: string[] = await world.rpc('sandboxIds', { name });
    for (const id of sandboxIds) round.workspaces.add(id);
    rows.push(await world.rpc('transientRows', { name, sandboxIds }));
  }
  return [...new Set(rows.flat())];
}

/** Waits for work that the clock does not accelerate: backups, and the SDK's detection of ended containers. */
async function waitForSandboxes(round: Round) {
  const { environment } = round;
  await environment.waitForBackups();
  const ids = new Set([
    ...workspaces(round),
    ...(await transientRows(round)).flatMap((row) => row.match(MINTED) ?? []),
  ]);
  await Promise.all(
    [...ids].map(async (id) => {
      const objectId = await round.resolveObjectId(id);
      await until(async () => {
        const { status } = await environment.world.sandbox(id, 'getState');
        return status.startsWith('stop') || environment.world.running().includes(objectId);
      });
    }),
  );
}

/** Returns a row without its secrets. */
const redacted = (row: string) => row.replace(/"(secret|env)":("[^"]*"|\{[^}]*\})/g, '"$1":…');
