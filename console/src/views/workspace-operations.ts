// Starts and stops workspaces, and summarizes the results.

import type { HookRun, StartSettings, Workspace } from '../../../client/src/index.ts';
import type { Outcome } from '../action.ts';
import { duration, size } from '../format.ts';
import type { Address } from '../routes.ts';
import { client } from '../session.ts';

/** Receives the hooks that failed. Their output is too long for the notice. */
export type OnFailedHooks = (failed: HookRun[]) => void;

const RESULTS = {
  running: 'was already running',
  restored: 'was restored',
  empty: 'was started without files',
  adopted: 'adopted the files of its sandbox',
} as const;

/** Starts a workspace. */
export async function startWorkspace(
  address: Address,
  settings: StartSettings,
  onFailedHooks: OnFailedHooks,
): Promise<Outcome> {
  onFailedHooks([]);
  const started = await client.workspaces.start({ ...address, ...settings });
  const source = started.how === 'restored' ? ` from ${sourceOf(started)}` : '';
  const warnings = [
    ...(started.mayHaveLost ? [POSSIBLE_LOSS] : []),
    ...started.stale.map((reason) => `Stale: ${reason}.`),
  ];
  const result = `${address.name} ${RESULTS[started.how]}${source}.`;
  return summarize(result, warnings, started.hookRuns, onFailedHooks);
}

/** The report that a restore may have lost files. */
export const POSSIBLE_LOSS = 'Changes that are in no snapshot may be lost.';

/** The report that a promotion may have lost files. The answer does not say whether those of the source or of the workspace. */
export const LOSS_OF_PROMOTION =
  'Changes of what was promoted, or earlier ones of this workspace, that are in no snapshot may be lost.';

/** Returns the report that a rollback may have lost files: with a snapshot of the present ones, only earlier changes are lost. */
export function lossOfRollback({ mayHaveLost, formerSnapshotId }: Workspace): string | undefined {
  if (!mayHaveLost) return undefined;
  return formerSnapshotId ? 'Earlier changes that are in no snapshot may be lost.' : POSSIBLE_LOSS;
}

/** Describes the snapshot from which a workspace was restored. */
export function sourceOf({ restoredFrom }: Workspace): string {
  if (!restoredFrom) return 'a snapshot';
  const { storage, snapshotId } = restoredFrom;
  const disk = snapshotId ? `a platform snapshot with the files of ${snapshotId}` : 'a platform snapshot';
  return `${storage === 'platform' ? disk : snapshotId}, which was ${duration(restoredFrom.ageSeconds)} old`;
}

/** Stops a workspace, persistent or not. */
export async function stopWorkspace(address: Address, onFailedHooks: OnFailedHooks): Promise<Outcome> {
  onFailedHooks([]);
  const { lastSnapshot, changedDuringCapture, hadEnded, hookRuns } = await client.workspaces.stop(address);
  const saved = lastSnapshot
    ? `Its last snapshot is ${lastSnapshot.id}, ${size(lastSnapshot.sizeBytes)}.`
    : 'No snapshot was taken.';
  const warnings = [
    ...(hadEnded ? ['Its sandbox had ended before: files that were not in a snapshot are lost.'] : []),
    ...(changedDuringCapture
      ? ['Files changed during the capture: the snapshot may contain earlier versions.']
      : []),
  ];
  return summarize(`${address.name} is stopped. ${saved}`, warnings, hookRuns, onFailedHooks);
}

function summarize(
  result: string,
  warnings: string[],
  runs: HookRun[],
  onFailedHooks: OnFailedHooks,
): Outcome {
  const failed = runs.filter(({ ok }) => !ok);
  onFailedHooks(failed);
  const all = [...warnings, ...failed.map(({ hook }) => `The hook ${hook} failed.`)];
  return { message: [result, ...all].join(' '), isWarning: all.length > 0 };
}

/** Whether a workspace has or had a sandbox, and can be rolled back to its snapshots. */
export function ownsSandbox({ sandboxId, formerSandboxIds }: Workspace, id: string): boolean {
  return id === sandboxId || formerSandboxIds.includes(id);
}

/** Returns the subject of the actions on a workspace. */
export function subjectOf({ tenant, name }: Address): string {
  return JSON.stringify(['workspace', tenant, name]);
}
