// How a deployment comes back: calls are made again, time passes from alarm to alarm, the bucket is swept.

import { setTimeout } from 'node:timers/promises';

import { until } from '../../miniflare-tests/world.ts';
import type { Round } from './round.ts';

const HOUR = 3600;

/** How often three hours may pass until nothing is in a passing state. */
const LOOKS = 10;

/** How a minted id ends. */
const MINTED = /[\w.-]+-(?:restored|branch)-[a-z0-9]{8}/g;

/** Asks for everything that is not known to be done; and once more for everything that has a key. */
export async function askAgain(round: Round) {
  for (const named of round.named) named.pending = undefined;
  await Promise.all([...round.intentions].map((intention) => round.insist(intention)));
}

/** Lets enough time pass for everything that is followed up, at times with one more death in the midst of it. */
export async function recover(round: Round) {
  const { world } = round.stage;
  await settle(round);
  if (round.random.chance(0.2)) {
    const elapsing = elapse(round).catch(() => {});
    await setTimeout(round.random.next() ** 2 * 200);
    await world.crash();
    await elapsing;
  }
  for (let times = 0; (await passing(round)).length > 0; times += 1) {
    if (times === LOOKS) {
      round.violation(`It is in a passing state for ever: ${(await passing(round)).map(untold).join('\n')}`);
      break;
    }
    await settle(round);
    await elapse(round);
  }
  await world.rpc('trueTime');
}

/** Every Workspace object of the round. */
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

async function elapse(round: Round) {
  const { world } = round.stage;
  await world.rpc('elapse', { sandboxIds: workspaces(round), seconds: 3 * HOUR });
  for (const { name } of round.named) {
    const sandboxIds: string[] = await world.rpc('sandboxIds', { name });
    await world.rpc('elapse', { name, sandboxIds, seconds: 0 });
  }
}

async function passing(round: Round): Promise<string[]> {
  const { world } = round.stage;
  const rows: string[][] = [await world.rpc('passing', { sandboxIds: workspaces(round) })];
  for (const { name } of round.named) {
    const sandboxIds: string[] = await world.rpc('sandboxIds', { name });
    for (const id of sandboxIds) round.workspaces.add(id);
    rows.push(await world.rpc('passing', { name, sandboxIds }));
  }
  return [...new Set(rows.flat())];
}

/** Time that is put forward would be over before what takes its true time: backups, and the SDK's noticing of an end. */
async function settle(round: Round) {
  const { stage } = round;
  await stage.quiet();
  const ids = new Set([
    ...workspaces(round),
    ...(await passing(round)).flatMap((row) => row.match(MINTED) ?? []),
  ]);
  await Promise.all(
    [...ids].map(async (id) => {
      const hex = await round.learn(id);
      await until(async () => {
        const { status } = await stage.world.sandbox(id, 'getState');
        return status.startsWith('stop') || stage.world.running().includes(hex);
      });
    }),
  );
}

/** A row of a table without the keys in it. */
const untold = (row: string) => row.replace(/"(secret|env)":("[^"]*"|\{[^}]*\})/g, '"$1":…');
