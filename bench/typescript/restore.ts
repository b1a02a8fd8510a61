// The restore of a snapshot into a new sandbox.

import { randomBytes } from 'node:crypto';

import { headBackup, ownerOf } from './backups.ts';
import { SnapshotterError, notFound } from './errors.ts';
import { RECONCILE_DELAY, handleOf, type SnapshotRow } from './ledger.ts';
import type { SnapshotRef } from './refs.ts';
import { verifyContainer } from './sandboxes.ts';
import type { Workspace } from './workspace.ts';

/** The maximum size of the archive of an empty directory, in bytes. */
const EMPTY_ARCHIVE = 4096;

/** Restores a snapshot into a new sandbox. Destroys the sandbox if the restore fails. */
export async function restore(workspace: Workspace, ref: SnapshotRef) {
  const row = workspace.select(ref, ['ready']);
  const { snapshot_id } = row;
  const backup = handleOf(row);
  const minted = `${workspace.id}-restored-${randomBytes(8).reduce((text, byte) => text + (byte % 36).toString(36), '')}`;
  const { root_id } = workspace.ensureInitialized();
  const parent = { originId: workspace.id, snapshotId: snapshot_id, needed: true };
  const [claimed] = await Promise.all([
    workspace.other(minted).claim(root_id, parent),
    verifyStored(workspace, row),
  ]);
  if (!claimed) throw new SnapshotterError('INTERNAL', `The id ${minted} is in use.`, 'Try again.');
  if (workspace.ledger.snapshot(snapshot_id)?.state !== 'ready') throw notFound(snapshot_id);

  const due = Date.now() + RECONCILE_DELAY;
  workspace.inFlight.add(minted);
  workspace.ledger.rows(`INSERT INTO derivations VALUES (?, ?, 'pending', 1, ?)`, minted, snapshot_id, due);
  workspace.ledger.scheduleAlarm(due);
  const sandbox = workspace.sandbox(minted);
  try {
    const { success } = await sandbox.restoreBackup(backup);
    const { content } = await verifyContainer(sandbox, minted, backup.dir, Date.now());
    const arrived = content === 'full' || (content === 'empty' && row.size_bytes! <= EMPTY_ARCHIVE);
    if (!success || !arrived)
      throw new SnapshotterError('RESTORE_FAILED', `The files are not in ${minted}.`, 'Try again.');
  } catch (error) {
    workspace.ledger.rows(
      `UPDATE derivations SET state = 'ending', needs_snapshot = 0 WHERE sandbox_id = ?`,
      minted,
    );
    await sandbox.destroy();
    throw error;
  } finally {
    workspace.inFlight.delete(minted);
  }
  workspace.ledger.rows(`UPDATE derivations SET state = 'ready', due = NULL WHERE sandbox_id = ?`, minted);
  workspace.updateExpiration(snapshot_id, { last_used_at: Date.now() });
  return {
    providerId: 'cloudflare-sandbox',
    ref: { sandboxId: minted, rootId: root_id },
    capabilities: { fs: true, shell: true, code: true, snapshot: true },
    schemaVersion: 1,
  };
}

/** Verifies that the backup in R2 matches the row of its snapshot. */
export async function verifyStored(workspace: Workspace, row: SnapshotRow) {
  const stored = await headBackup(workspace.bucket, handleOf(row).id);
  const matches =
    stored.name === ownerOf(row.snapshot_id, workspace.id) &&
    Date.parse(stored.createdAt) === row.created_at &&
    stored.sizeBytes === row.size_bytes &&
    (stored.checksum === null || row.checksum === null || stored.checksum === row.checksum);
  if (!matches)
    throw new SnapshotterError(
      'BACKUP_INCOMPLETE',
      'The backup in R2 does not match the ledger.',
      'Use another snapshot.',
    );
}
