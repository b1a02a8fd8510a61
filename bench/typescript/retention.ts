// The work of the alarm: reconciles unfinished captures, restores and deletions, and applies the retention policy.

import { ownerOf, removeByOwner } from './backups.ts';
import { handleOf, type DerivationRow, type Policy, type SnapshotRow } from './ledger.ts';
import type { Workspace } from './workspace.ts';

/** The time for which answers to idempotency keys are stored, in milliseconds: two days. */
const ANSWER_TTL = 48 * 3600 * 1000;

/** The delay before a failed task is repeated, in milliseconds. */
const RETRY_DELAY = 60_000;

/** Reconciles unfinished work that is due. */
export async function reconcile(workspace: Workspace) {
  const { ledger } = workspace;
  const now = Date.now();
  for (const row of ledger.rows<SnapshotRow>('SELECT * FROM snapshots WHERE due <= ?', now)) {
    if (workspace.inFlight.has(row.snapshot_id)) continue;
    if (row.state === 'deleting') await workspace.finishDeletion(row.snapshot_id);
    else await reconcileCapture(workspace, row);
  }
  for (const { sandbox_id } of ledger.rows<DerivationRow>('SELECT * FROM derivations WHERE due <= ?', now)) {
    if (workspace.inFlight.has(sandbox_id)) continue;
    await workspace.sandbox(sandbox_id).destroy();
    ledger.rows('DELETE FROM derivations WHERE sandbox_id = ?', sandbox_id);
  }
  ledger.rows('DELETE FROM requests WHERE at < ?', now - ANSWER_TTL);
  const [next] = ledger.rows<{ due: number | null }>(
    'SELECT min(due) AS due FROM (SELECT due FROM snapshots UNION ALL SELECT due FROM derivations)',
  );
  if (next?.due) ledger.scheduleAlarm(Math.max(next.due, now + RETRY_DELAY));
}

/** Completes a capture whose backup is known and complete. Otherwise deletes the row and any backup of the capture. */
async function reconcileCapture(workspace: Workspace, row: SnapshotRow) {
  const owner = ownerOf(row.snapshot_id, workspace.id);
  try {
    const backup = handleOf(row);
    if (!backup) throw new Error('The sandbox did not answer.');
    workspace.finish(row.snapshot_id, backup, await workspace.verify(backup, owner, row.dir, row.began_at));
  } catch {
    await removeByOwner(workspace.bucket, owner);
    workspace.ledger.rows('DELETE FROM snapshots WHERE snapshot_id = ?', row.snapshot_id);
  }
}

/** Schedules the alarm at once if the policy limits the count of snapshots, or if snapshots have expired. */
export function scheduleRetention(workspace: Workspace) {
  const { keepLast } = JSON.parse(workspace.ensureInitialized().policy) as Policy;
  if (keepLast !== undefined || expired(workspace).length > 0) workspace.ledger.scheduleAlarm(Date.now());
}

/** Deletes expired and evicted snapshots, except for the newest one and snapshots with dependents. */
export async function retain(workspace: Workspace) {
  const { ledger } = workspace;
  const { keepLast } = JSON.parse(workspace.ensureInitialized().policy) as Policy;
  const newest = ledger.first<SnapshotRow>(
    `SELECT * FROM snapshots WHERE state = 'ready' ORDER BY created_at DESC, snapshot_id DESC LIMIT 1`,
  );
  const evicted =
    keepLast === undefined
      ? []
      : ledger.rows<SnapshotRow>(
          `SELECT * FROM snapshots WHERE state = 'ready' ORDER BY created_at DESC, snapshot_id DESC LIMIT -1 OFFSET ?`,
          keepLast,
        );
  const ids = new Set([...expired(workspace), ...evicted].map(({ snapshot_id }) => snapshot_id));
  for (const id of ids) {
    if (id === newest?.snapshot_id || ledger.dependents(id).length > 0) continue;
    workspace.markDeleting(id);
    await workspace.finishDeletion(id);
  }
}

function expired({ ledger }: Workspace): SnapshotRow[] {
  return ledger.rows(
    `SELECT * FROM snapshots WHERE state = 'ready' AND expires_at <= ? LIMIT 500`,
    Date.now(),
  );
}
