// The Workspace object of one sandbox: its operations and its ledger.

import { randomBytes } from 'node:crypto';

import { DurableObject } from 'cloudflare:workers';

import type { Capture, Deletion, Listing, Restoration } from './arguments.ts';
import { headBackup, ownerOf, remove, type StoredBackup } from './backups.ts';
import { Coalescer } from './coalescer.ts';
import { SnapshotterError, busy, notFound } from './errors.ts';
import { Idempotency } from './idempotency.ts';
import type { Env } from './index.ts';
import { Ledger, RECONCILE_DELAY, handleOf, type SnapshotRow, type WorkspaceRow } from './ledger.ts';
import { isSignedBy, signed, type Handle, type SnapshotRef } from './refs.ts';
import { restore, verifyStored } from './restore.ts';
import { reconcile, retain, scheduleRetention } from './retention.ts';
import { assertCapturable, assertRunning, sandboxOf, verifyContainer } from './sandboxes.ts';

/** The time to live of a backup, in seconds: 100 years. */
const TTL = 100 * 365 * 24 * 3600;

type Taken = SnapshotRef & { capture: object };

export class Workspace extends DurableObject<Env> {
  readonly ledger: Ledger;
  /** The ids of the snapshots and sandboxes in progress. The alarm does not reconcile them. */
  readonly inFlight = new Set<string>();
  #row: WorkspaceRow | undefined;
  #coalescer = new Coalescer<Capture, Taken>((capture) => this.#capture(capture));
  #idempotency: Idempotency;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.ledger = new Ledger(ctx.storage);
    this.#row = this.ledger.workspace();
    this.#idempotency = new Idempotency(this);
  }

  get id(): string {
    return this.ctx.id.name!;
  }

  get bucket(): R2Bucket {
    return this.env.BACKUP_BUCKET;
  }

  /** Returns the row of the workspace, and creates it if it does not exist. */
  ensureInitialized(): WorkspaceRow {
    return (this.#row ??= this.ledger.initialize(this.id, null));
  }

  sandbox(id = this.id) {
    return sandboxOf(this.env.Sandbox, id);
  }

  /** Returns the object of another sandbox. */
  other(id: string) {
    return this.env.Workspace.getByName(id);
  }

  /** Captures the sandbox, or shares the capture of an equal call. */
  snapshot(capture: Capture): Promise<Taken> {
    return this.#idempotency.runOnce('snapshot', capture, () => this.#coalescer.run(capture));
  }

  /** Restores a snapshot into a new sandbox. */
  restore(restoration: Restoration) {
    return this.#idempotency.runOnce('restore', restoration, () => restore(this, restoration.ref));
  }

  /** Returns a page of the snapshots, the newest first. */
  async list({ cursor, limit, labelPrefix, check }: Listing) {
    const { root_id, key } = this.ensureInitialized();
    const [time, after] = cursor ? JSON.parse(Buffer.from(cursor, 'base64url').toString()) : [Infinity, ''];
    const prefix = labelPrefix === undefined ? '' : 'AND substr(label, 1, length(?4)) = ?4';
    const rows = this.ledger.rows<SnapshotRow & { dependents: string }>(
      `SELECT *, (SELECT json_group_array(sandbox_id) FROM derivations
                   WHERE derivations.snapshot_id = snapshots.snapshot_id AND needs_snapshot = 1) AS dependents
         FROM snapshots
        WHERE state <> 'deleted' AND (created_at, snapshot_id) < (?1, ?2) ${prefix}
        ORDER BY created_at DESC, snapshot_id DESC LIMIT ?3`,
      ...[time, after, limit + 1, ...(labelPrefix === undefined ? [] : [labelPrefix])],
    );
    const last = rows.length > limit ? rows.splice(limit) && rows.at(-1) : undefined;
    const now = Date.now();
    const summary = async (row: (typeof rows)[number]) => ({
      snapshotId: row.snapshot_id,
      label: row.label,
      state: row.state,
      dir: row.dir,
      createdAt: new Date(row.created_at).toISOString(),
      ageSeconds: Math.max(0, Math.floor((now - row.created_at) / 1000)),
      ...(row.size_bytes === null ? {} : { sizeBytes: row.size_bytes }),
      lastUsedAt: new Date(row.last_used_at).toISOString(),
      ...(row.expires_at === null ? {} : { expiresAt: new Date(row.expires_at).toISOString() }),
      dependents: JSON.parse(row.dependents) as string[],
      restorable: check && row.state === 'ready' ? await this.#isRestorable(row) : row.state === 'ready',
      ...(row.backup === null ? {} : { ref: this.#ref(row, root_id, key) }),
    });
    const position = last && JSON.stringify([last.created_at, last.snapshot_id]);
    return {
      snapshots: await Promise.all(rows.map(summary)),
      ...(position ? { cursor: Buffer.from(position).toString('base64url') } : {}),
    };
  }

  /** Deletes a snapshot without dependents. Succeeds if it is deleted already. */
  async remove({ ref, force }: Deletion) {
    const row = this.select(ref, ['ready', 'deleting', 'deleted', 'creating']);
    const { snapshot_id } = row;
    if (row.state === 'creating') throw busy(snapshot_id);
    if (row.state === 'ready') {
      const dependents = this.ledger.dependents(snapshot_id);
      if (!force && dependents.length > 0)
        throw new SnapshotterError(
          'SNAPSHOT_HAS_DEPENDENTS',
          `The snapshot ${snapshot_id} has dependents: ${dependents}.`,
          'Pass `force: true`.',
        );
      this.markDeleting(snapshot_id);
    }
    if (row.state !== 'deleted') await this.finishDeletion(snapshot_id);
    return { snapshotId: snapshot_id, removed: row.state === 'ready' };
  }

  /** Marks a snapshot as deleting in the ledger, so that it can't be restored any more. */
  markDeleting(id: string) {
    const due = Date.now() + RECONCILE_DELAY;
    this.ledger.update(id, { state: 'deleting', due });
    this.ledger.scheduleAlarm(due);
  }

  /** Deletes the objects of a snapshot that is marked as deleting. */
  async finishDeletion(id: string) {
    const row = this.ledger.snapshot(id);
    if (row?.state !== 'deleting' || this.inFlight.has(id)) return;
    this.inFlight.add(id);
    try {
      await remove(this.bucket, handleOf(row).id, ownerOf(id, this.id));
      this.ledger.update(id, { state: 'deleted', due: null });
    } finally {
      this.inFlight.delete(id);
    }
  }

  /** Stores the parent of a minted sandbox. Returns false if the id has a workspace already. */
  claim(rootId: string, parent: object): boolean {
    if (this.#row) return false;
    this.#row = this.ledger.initialize(rootId, parent);
    return true;
  }

  /** Removes a dependent of a snapshot. */
  release(snapshotId: string, dependent: string) {
    this.ledger.rows(
      'UPDATE derivations SET needs_snapshot = 0 WHERE sandbox_id = ? AND snapshot_id = ?',
      dependent,
      snapshotId,
    );
    this.updateExpiration(snapshotId);
  }

  override async alarm() {
    this.ledger.rows('UPDATE workspace SET alarm_at = NULL');
    await reconcile(this);
    await retain(this);
  }

  /** Updates columns and the expiration of a snapshot, and schedules the alarm for it. */
  updateExpiration(id: string, columns: Partial<SnapshotRow> = {}) {
    const row = this.ledger.snapshot(id);
    if (!row) return;
    const policy = JSON.parse(this.ensureInitialized().policy);
    const seconds = row.expiration_seconds ?? policy.expirationSeconds;
    const lastUsed = columns.last_used_at ?? row.last_used_at;
    const stays = seconds === 0 || this.ledger.dependents(id).length > 0;
    const expires_at = stays ? null : lastUsed + seconds * 1000;
    this.ledger.update(id, { ...columns, expires_at });
    if (expires_at !== null) this.ledger.scheduleAlarm(expires_at);
  }

  /** Takes a snapshot. Leaves no row and no backup if it fails. */
  async #capture(capture: Capture): Promise<Taken> {
    const { dir, gitignore, excludes, compression } = capture;
    const sandbox = this.sandbox();
    const since = Date.now();
    await assertRunning(sandbox, this.id);

    const id = `snap-${randomBytes(16).reduce((text, byte) => text + (byte % 36).toString(36), '')}`;
    const owner = ownerOf(id, this.id);
    const { label, taken } = this.#label(capture);
    this.inFlight.add(id);
    try {
      this.#insertRow(id, label, capture, since);
      const options = {
        dir,
        name: owner,
        ttl: TTL,
        gitignore,
        excludes,
        localBucket: this.env.LOCAL_BUCKET === 'true',
      };
      const backup: Handle = await sandbox
        .createBackup({ ...options, ...(compression ? { compression } : {}) })
        .catch((error: unknown) => this.#failBackup(error));
      this.ledger.update(id, { backup: JSON.stringify(backup) });
      const stored = await this.verify(backup, owner, dir, since).catch(async (error: unknown) => {
        await remove(this.bucket, backup.id, owner);
        this.ledger.rows('DELETE FROM snapshots WHERE snapshot_id = ?', id);
        throw error;
      });
      return this.finish(id, backup, stored, taken);
    } finally {
      this.inFlight.delete(id);
    }
  }

  /** Verifies that the backup in R2 is complete, and that the container is the one of `since`. */
  async verify(backup: Handle, owner: string, dir: string, since: number): Promise<StoredBackup> {
    const [stored, probe] = await Promise.all([
      headBackup(this.bucket, backup.id),
      verifyContainer(this.sandbox(), this.id, dir, since),
    ]);
    assertCapturable(dir, probe);
    if (stored.name !== owner || stored.dir !== dir || backup.dir !== dir)
      throw new SnapshotterError(
        'BACKUP_INCOMPLETE',
        'The stored backup does not match the request.',
        'Report it.',
      );
    return stored;
  }

  /** Marks a snapshot as ready. */
  finish(id: string, backup: Handle, stored: StoredBackup, takesLabel?: string): Taken {
    const created_at = Date.parse(stored.createdAt);
    const { size_bytes, checksum } = { size_bytes: stored.sizeBytes, checksum: stored.checksum };
    if (takesLabel !== undefined) {
      const other = this.ledger.labelled(takesLabel);
      if (other) this.ledger.update(other.snapshot_id, { label: this.ledger.freeLabel(other.created_at) });
      this.ledger.update(id, { label: takesLabel });
    }
    const columns = {
      state: 'ready',
      created_at,
      last_used_at: created_at,
      size_bytes,
      checksum,
      due: null,
    } as const;
    this.updateExpiration(id, { ...columns, backup: JSON.stringify(backup) });
    scheduleRetention(this);
    this.#releaseParent();
    const row = this.ledger.snapshot(id)!;
    const capture = {
      label: row.label,
      sizeBytes: size_bytes,
      beganAt: new Date(row.began_at).toISOString(),
    };
    return {
      ...this.#ref(row, this.ensureInitialized().root_id, this.ensureInitialized().key),
      capture: { ...capture, shared: false },
    };
  }

  #insertRow(id: string, label: string, capture: Capture, since: number) {
    const due = Date.now() + RECONCILE_DELAY;
    this.ledger.rows(
      `INSERT INTO snapshots (snapshot_id, label, state, dir, began_at, created_at, last_used_at, expiration_seconds, due)
       VALUES (?, ?, 'creating', ?, ?, ?, ?, ?, ?)`,
      ...[id, label, capture.dir, since, since, since, capture.expirationSeconds ?? null, due],
    );
    this.ledger.scheduleAlarm(due);
  }

  /** Fails the capture, and keeps its row: the failed call may have stored a backup, which the alarm deletes. */
  #failBackup(error: unknown): never {
    const message = `The sandbox failed: ${(error as Error).message}`;
    throw new SnapshotterError(
      'BACKUP_FAILED',
      message,
      'Check that the files of the sandbox still exist, and try again.',
      error,
    );
  }

  #label({ label, replace }: Capture): { label: string; taken?: string } {
    this.ensureInitialized();
    if (label === undefined) return { label: this.ledger.freeLabel(Date.now()) };
    if (!this.ledger.labelled(label)) return { label };
    if (replace) return { label: this.ledger.freeLabel(Date.now()), taken: label };
    throw new SnapshotterError(
      'LABEL_TAKEN',
      `Another snapshot has the label ${JSON.stringify(label)}.`,
      'Pass another label, or `replace: true` to take the label from that snapshot.',
    );
  }

  /** Releases the snapshot that the sandbox was made from, because the sandbox has its own snapshot now. */
  #releaseParent() {
    const parent = JSON.parse(this.ensureInitialized().parent ?? 'null');
    if (!parent?.needed) return;
    this.ensureInitialized().parent = JSON.stringify({ ...parent, needed: false });
    this.ledger.rows('UPDATE workspace SET parent = ?', this.ensureInitialized().parent);
    this.ctx.waitUntil(Promise.resolve(this.other(parent.originId).release(parent.snapshotId, this.id)));
  }

  #isRestorable(row: SnapshotRow): Promise<boolean> {
    return verifyStored(this, row).then(
      () => true,
      () => false,
    );
  }

  /** Returns the row of the snapshot that a ref identifies. */
  select(ref: SnapshotRef, states: SnapshotRow['state'][]): SnapshotRow {
    if (!isSignedBy(ref, new Uint8Array(this.ensureInitialized().key)))
      throw new SnapshotterError(
        'REF_MISMATCH',
        `The snapshot ref of ${ref.ref.snapshotId} is not signed by this workspace.`,
        'Pass the ref exactly as snapshot() returned it.',
      );
    const row = this.ledger.snapshot(ref.ref.snapshotId);
    if (!row || !states.includes(row.state))
      throw row?.state === 'creating' ? busy(row.snapshot_id) : notFound(ref.ref.snapshotId);
    return row;
  }

  #ref(row: SnapshotRow, rootId: string, key: ArrayBuffer): SnapshotRef {
    const createdAt = new Date(row.created_at).toISOString();
    const ids = { schemaVersion: 1 as const, snapshotId: row.snapshot_id, originId: this.id, rootId };
    return signed({ ...ids, backup: handleOf(row), createdAt }, new Uint8Array(key));
  }
}
