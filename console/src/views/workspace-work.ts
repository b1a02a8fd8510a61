// Starting and stopping workspaces, and what is said of it.

import type { HookRun, StartSettings } from '../../../client/src/index.ts';
import type { Done } from '../action.ts';
import type { Address } from '../routes.ts';
import { client } from '../session.ts';
import { size } from '../texts.ts';

/** Takes the hooks that failed: their output is too long for what is said. */
export type OnFailed = (failed: HookRun[]) => void;

const HOW = {
  running: 'was running',
  restored: 'was restored from its snapshot',
  empty: 'begins empty',
  adopted: 'runs with the files that were there',
} as const;

/** Starts a workspace. */
export async function startWorkspace(
  address: Address,
  settings: StartSettings,
  onFailed: OnFailed,
): Promise<Done> {
  onFailed([]);
  const { how, stale, hookRuns } = await client.workspaces.start({ ...address, ...settings });
  const said = [`${address.name} ${HOW[how]}.`, ...stale.map((what) => `Stale: ${what}.`)];
  return told(said, hookRuns, onFailed);
}

/** Stops a workspace, whether it keeps its files or not. */
export async function stopWorkspace(address: Address, onFailed: OnFailed): Promise<Done> {
  onFailed([]);
  const { lastSnapshot, changedDuringCapture, hadEnded, hookRuns } = await client.workspaces.stop(address);
  const kept = lastSnapshot
    ? `its files are in ${lastSnapshot.id}, ${size(lastSnapshot.sizeBytes)}`
    : 'without a snapshot';
  const said = [
    `${address.name} is stopped; ${kept}.`,
    ...(hadEnded ? ['Its sandbox had ended before: what was in no snapshot then is lost.'] : []),
    ...(changedDuringCapture ? ['Files were being changed meanwhile, and may be as they were before.'] : []),
  ];
  return told(said, hookRuns, onFailed);
}

function told(said: string[], runs: HookRun[], onFailed: OnFailed): Done {
  const failed = runs.filter(({ ok }) => !ok);
  onFailed(failed);
  return { said: [...said, ...failed.map(({ hook }) => `Its hook ${hook} failed.`)].join(' ') };
}

/** A workspace as the subject of what is done to it. */
export function subjectOf({ tenant, name }: Address): string {
  return JSON.stringify(['workspace', tenant, name]);
}
