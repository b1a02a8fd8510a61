// What the description of a workspace says of its last start.

import type { Workspace } from '../../../client/src/index.ts';

/** Whether the last save of an active workspace is the snapshot that was restored: later changes are not saved yet. */
export function isRestoredSave({ state, lastSavedAt, restoredFrom }: Workspace): boolean {
  return state === 'active' && lastSavedAt !== undefined && lastSavedAt === restoredFrom?.createdAt;
}

/** The beginning of the cause of an empty start after a loss, in the history. */
const EMPTY_START = 'it was started empty';

/** Whether an active workspace was started without files, although it had files that may be lost. */
export function wasStartedEmpty({ state, mayHaveLost, restoredFrom, history }: Workspace): boolean {
  if (state !== 'active' || !mayHaveLost || restoredFrom) return false;
  const lastStart = history.find(({ from, to }) => from === 'restoring' && to === 'active');
  return lastStart?.cause.startsWith(EMPTY_START) === true;
}

/** Whether the files that a last start may have lost are past: a later stop saved all files, or saves none. */
export function isLossPast({
  state,
  mayHaveLost,
  containerEnded,
  lastSavedAt,
  persistent,
}: Workspace): boolean {
  const isStopped = state === 'stopped' && !containerEnded;
  return mayHaveLost === true && isStopped && (lastSavedAt !== undefined || !persistent);
}
