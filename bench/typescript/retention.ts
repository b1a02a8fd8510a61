// What the alarm does: what is left of who died or failed is followed up, and what the policy says is let go.

import { removeMarked, markOf } from './backups.ts';
import { handleOf, type DerivationRow, type Policy, type SnapshotRow } from './ledger.ts';
import type { Workspace } from './workspace.ts';

/** How long answers to idempotency keys are kept, in milliseconds: two days. */
const ANSWERS_KEPT = 48 * 3600 * 1000;

/** When what could not be done is tried again, in milliseconds. */
const AGAIN = 60_000;

/** Follows up what is due. */
export async function followUp(workspace: Workspace) {
  const { ledger } = workspace;
  const now = Date.now();
  for (const row of ledger.rows<SnapshotRow>('SELECT * FROM snapshots WHERE due <= ?', now)) {
    if (workspace.underway.has(row.snapshot_id)) continue;
    if (row.state === 'deleting') await workspace.finishDeletion(row.snapshot_id);
    else await followUpCapture(workspace, row);
  }
  for (const { sandbox_id } of ledger.rows<DerivationRow>('SELECT * FROM derivations WHERE due <= ?', now)) {
    if (workspace.underway.has(sandbox_id)) continue;
    await workspace.sandbox(sandbox_id).destroy();
    ledger.rows('DELETE FROM derivations WHERE sandbox_id = ?', sandbox_id);
  }
  ledger.rows('DELETE FROM requests WHERE at < ?', now - ANSWERS_KEPT);
  const [next] = ledger.rows<{ due: number | null }>(
    'SELECT min(due) AS due FROM (SELECT due FROM snapshots UNION ALL SELECT due FROM derivations)',
  );
  if (next?.due) ledger.wakeBy(Math.max(next.due, now + AGAIN));
}

/** A capture whose sandbox answered is recovered, if its backup is whole; what is there of another one is removed. */
async function followUpCapture(workspace: Workspace, row: SnapshotRow) {
  const mark = markOf(row.snapshot_id, workspace.id);
  try {
    const backup = handleOf(row);
    if (!backup) throw new Error('The sandbox did not answer.');
    workspace.finish(row.snapshot_id, backup, await workspace.confirm(backup, mark, row.dir, row.began_at));
  } catch {
    await removeMarked(workspace.bucket, mark);
    workspace.ledger.rows('DELETE FROM snapshots WHERE snapshot_id = ?', row.snapshot_id);
  }
}

/** Sees to it that a policy which counts is applied soon. */
export function wakeByPolicy(workspace: Workspace) {
  const { keepLast } = JSON.parse(workspace.founded().policy) as Policy;
  if (keepLast !== undefined || expired(workspace).length > 0) workspace.ledger.wakeBy(Date.now());
}

/** Lets go what has expired, and what is not among the newest, except for what is needed and the newest of all. */
export async function retain(workspace: Workspace) {
  const { ledger } = workspace;
  const { keepLast } = JSON.parse(workspace.founded().policy) as Policy;
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
