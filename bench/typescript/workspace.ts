// The object that does the work for one sandbox, guards it, and keeps its ledger.

import { randomBytes } from 'node:crypto';

import { DurableObject } from 'cloudflare:workers';

import type { Capture, Deletion, Listing, Restoration } from './arguments.ts';
import { lookUp, markOf, remove, type Found } from './backups.ts';
import { SnapshotterError } from './errors.ts';
import type { Env } from './index.ts';
import { Ledger, handleOf, type SnapshotRow, type WorkspaceRow } from './ledger.ts';
import { Line } from './line.ts';
import { Once } from './once.ts';
import { isSignedBy, signed, type Handle, type SnapshotRef } from './refs.ts';
import { followUp, retain, wakeByPolicy } from './retention.ts';
import { canBeCaptured, isSame, isUp, sandboxOf } from './sandboxes.ts';

/** When what nobody works on is followed up, in milliseconds. */
const FOLLOWED_UP = 60_000;

/** The SDK keeps a backup for as long: a hundred years. */
const TTL = 100 * 365 * 24 * 3600;

/** The archive of an empty directory, in bytes, or of a little more. */
const EMPTY_ARCHIVE = 4096;

type Taken = SnapshotRef & { capture: object };

export class Workspace extends DurableObject<Env> {
  readonly ledger: Ledger;
  /** What is being worked on: nobody follows that up. */
  readonly underway = new Set<string>();
  #known: WorkspaceRow | undefined;
  #line = new Line<Capture, Taken>((capture) => this.#capture(capture));
  #once: Once;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.ledger = new Ledger(ctx.storage);
    this.#known = this.ledger.known();
    this.#once = new Once(this);
  }

  get id(): string {
    return this.ctx.id.name!;
  }

  get bucket(): R2Bucket {
    return this.env.BACKUP_BUCKET;
  }

  /** The workspace, which is kept from now on. */
  founded(): WorkspaceRow {
    return (this.#known ??= this.ledger.found(this.id, null));
  }

  sandbox(id = this.id) {
    return sandboxOf(this.env.Sandbox, id);
  }

  /** Captures the sandbox, or shares the capture of another caller who asked for the same. */
  snapshot(capture: Capture): Promise<Taken> {
    return this.#once.do('snapshot', capture, () => this.#line.share(capture));
  }

  /** Makes a new sandbox from a snapshot. */
  restore(restoration: Restoration) {
    return this.#once.do('restore', restoration, () => this.#restore(restoration.ref));
  }

  /** A page of the snapshots, the newest first. */
  async list({ cursor, limit, labelPrefix, check }: Listing) {
    const { root_id, key } = this.founded();
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

  /** Deletes a snapshot that nobody needs. One that is gone already is fine. */
  async remove({ ref, force }: Deletion) {
    const row = this.#select(ref, ['ready', 'deleting', 'deleted', 'creating']);
    const { snapshot_id } = row;
    if (row.state === 'creating') throw busy(snapshot_id);
    if (row.state === 'ready') {
      const dependents = this.ledger.dependents(snapshot_id);
      if (!force && dependents.length > 0)
        throw new SnapshotterError(
          'SNAPSHOT_HAS_DEPENDENTS',
          `It is needed by ${dependents}.`,
          'Pass `force: true`.',
        );
      this.markDeleting(snapshot_id);
    }
    if (row.state !== 'deleted') await this.finishDeletion(snapshot_id);
    return { snapshotId: snapshot_id, removed: row.state === 'ready' };
  }

  /** Marks a snapshot as deleting in the ledger: from now on it can't be restored. */
  markDeleting(id: string) {
    const due = Date.now() + FOLLOWED_UP;
    this.ledger.update(id, { state: 'deleting', due });
    this.ledger.wakeBy(due);
  }

  /** Deletes what is in R2 of a snapshot that is being deleted. */
  async finishDeletion(id: string) {
    const row = this.ledger.snapshot(id);
    if (row?.state !== 'deleting' || this.underway.has(id)) return;
    this.underway.add(id);
    try {
      await remove(this.bucket, handleOf(row).id, markOf(id, this.id));
      this.ledger.update(id, { state: 'deleted', due: null });
    } finally {
      this.underway.delete(id);
    }
  }

  /** Notes where a minted sandbox comes from, unless anything is known of that id. */
  claim(rootId: string, parent: object): boolean {
    if (this.#known) return false;
    this.#known = this.ledger.found(rootId, parent);
    return true;
  }

  /** Notes that a sandbox does not need a snapshot any more. */
  release(snapshotId: string, dependent: string) {
    this.ledger.rows(
      'UPDATE derivations SET needs_snapshot = 0 WHERE sandbox_id = ? AND snapshot_id = ?',
      dependent,
      snapshotId,
    );
    this.keep(snapshotId);
  }

  override async alarm() {
    this.ledger.rows('UPDATE workspace SET alarm_at = NULL');
    await followUp(this);
    await retain(this);
  }

  /** Works out when a snapshot expires, and sees to it that somebody looks then. */
  keep(id: string, columns: Partial<SnapshotRow> = {}) {
    const row = this.ledger.snapshot(id);
    if (!row) return;
    const policy = JSON.parse(this.founded().policy);
    const seconds = row.expiration_seconds ?? policy.expirationSeconds;
    const lastUsed = columns.last_used_at ?? row.last_used_at;
    const stays = seconds === 0 || this.ledger.dependents(id).length > 0;
    const expires_at = stays ? null : lastUsed + seconds * 1000;
    this.ledger.update(id, { ...columns, expires_at });
    if (expires_at !== null) this.ledger.wakeBy(expires_at);
  }

  /** Takes the snapshot, or leaves nothing behind. */
  async #capture(capture: Capture): Promise<Taken> {
    const { dir, gitignore, excludes, compression } = capture;
    const sandbox = this.sandbox();
    const since = Date.now();
    await isUp(sandbox, this.id);

    const id = `snap-${randomBytes(16).reduce((text, byte) => text + (byte % 36).toString(36), '')}`;
    const mark = markOf(id, this.id);
    const { label, taken } = this.#label(capture);
    this.underway.add(id);
    try {
      this.#intend(id, label, capture, since);
      const options = {
        dir,
        name: mark,
        ttl: TTL,
        gitignore,
        excludes,
        localBucket: this.env.LOCAL_BUCKET === 'true',
      };
      const backup: Handle = await sandbox
        .createBackup({ ...options, ...(compression ? { compression } : {}) })
        .catch((error: unknown) => this.#giveUp(error));
      this.ledger.update(id, { backup: JSON.stringify(backup) });
      const found = await this.confirm(backup, mark, dir, since).catch(async (error: unknown) => {
        await remove(this.bucket, backup.id, mark);
        this.ledger.rows('DELETE FROM snapshots WHERE snapshot_id = ?', id);
        throw error;
      });
      return this.finish(id, backup, found, taken);
    } finally {
      this.underway.delete(id);
    }
  }

  /** Makes sure that what is in R2 is the whole backup, and of the container that was there since. */
  async confirm(backup: Handle, mark: string, dir: string, since: number): Promise<Found> {
    const [found, seen] = await Promise.all([
      lookUp(this.bucket, backup.id),
      isSame(this.sandbox(), this.id, dir, since),
    ]);
    canBeCaptured(dir, seen);
    if (found.name !== mark || found.dir !== dir || backup.dir !== dir)
      throw new SnapshotterError(
        'BACKUP_INCOMPLETE',
        'The backup is not the one that was asked for.',
        'Report it.',
      );
    return found;
  }

  /** The snapshot is made. */
  finish(id: string, backup: Handle, found: Found, takesLabel?: string): Taken {
    const created_at = Date.parse(found.createdAt);
    const { size_bytes, checksum } = { size_bytes: found.sizeBytes, checksum: found.checksum };
    if (takesLabel !== undefined) {
      const other = this.ledger.labelled(takesLabel);
      if (other) this.ledger.update(other.snapshot_id, { label: this.ledger.freeLabel(other.created_at) });
      this.ledger.update(id, { label: takesLabel });
    }
    const stored = {
      state: 'ready',
      created_at,
      last_used_at: created_at,
      size_bytes,
      checksum,
      due: null,
    } as const;
    this.keep(id, { ...stored, backup: JSON.stringify(backup) });
    wakeByPolicy(this);
    this.#releaseParent();
    const row = this.ledger.snapshot(id)!;
    const capture = {
      label: row.label,
      sizeBytes: size_bytes,
      beganAt: new Date(row.began_at).toISOString(),
    };
    return {
      ...this.#ref(row, this.founded().root_id, this.founded().key),
      capture: { ...capture, shared: false },
    };
  }

  #intend(id: string, label: string, capture: Capture, since: number) {
    const due = Date.now() + FOLLOWED_UP;
    this.ledger.rows(
      `INSERT INTO snapshots (snapshot_id, label, state, dir, began_at, created_at, last_used_at, expiration_seconds, due)
       VALUES (?, ?, 'creating', ?, ?, ?, ?, ?, ?)`,
      ...[id, label, capture.dir, since, since, since, capture.expirationSeconds ?? null, due],
    );
    this.ledger.wakeBy(due);
  }

  /** What failed may have stored a backup all the same: the alarm looks for it. */
  #giveUp(error: unknown): never {
    const message = `The sandbox failed: ${(error as Error).message}`;
    throw new SnapshotterError(
      'BACKUP_FAILED',
      message,
      'Make sure that its files are there, and try again.',
      error,
    );
  }

  #label({ label, replace }: Capture): { label: string; taken?: string } {
    this.founded();
    if (label === undefined) return { label: this.ledger.freeLabel(Date.now()) };
    if (!this.ledger.labelled(label)) return { label };
    if (replace) return { label: this.ledger.freeLabel(Date.now()), taken: label };
    throw new SnapshotterError(
      'LABEL_TAKEN',
      `Another snapshot has the label ${JSON.stringify(label)} already.`,
      'Give another label, or pass `replace: true` to take it from that snapshot.',
    );
  }

  /** The sandbox has a snapshot of its own now: the one that it was made from is not needed here any more. */
  #releaseParent() {
    const parent = JSON.parse(this.founded().parent ?? 'null');
    if (!parent?.needed) return;
    this.founded().parent = JSON.stringify({ ...parent, needed: false });
    this.ledger.rows('UPDATE workspace SET parent = ?', this.founded().parent);
    const origin = this.env.Workspace.getByName(parent.originId);
    this.ctx.waitUntil(Promise.resolve(origin.release(parent.snapshotId, this.id)));
  }

  /** Makes the sandbox, or leaves none behind. */
  async #restore(ref: SnapshotRef) {
    const row = this.#select(ref, ['ready']);
    const { snapshot_id } = row;
    const backup = handleOf(row);
    const minted = `${this.id}-restored-${randomBytes(8).reduce((text, byte) => text + (byte % 36).toString(36), '')}`;
    const { root_id } = this.founded();
    const parent = { originId: this.id, snapshotId: snapshot_id, needed: true };
    const [claimed] = await Promise.all([
      this.env.Workspace.getByName(minted).claim(root_id, parent),
      this.#inspect(row),
    ]);
    if (!claimed)
      throw new SnapshotterError('INTERNAL', `The id ${minted} is somebody's already.`, 'Try again.');
    if (this.ledger.snapshot(snapshot_id)?.state !== 'ready') throw gone(snapshot_id);

    const due = Date.now() + FOLLOWED_UP;
    this.underway.add(minted);
    this.ledger.rows(`INSERT INTO derivations VALUES (?, ?, 'pending', 1, ?)`, minted, snapshot_id, due);
    this.ledger.wakeBy(due);
    const sandbox = this.sandbox(minted);
    try {
      const { success } = await sandbox.restoreBackup(backup);
      const { place } = await isSame(sandbox, minted, backup.dir, Date.now());
      const arrived = place === 'full' || (place === 'empty' && row.size_bytes! <= EMPTY_ARCHIVE);
      if (!success || !arrived)
        throw new SnapshotterError('RESTORE_FAILED', `The files are not in ${minted}.`, 'Try again.');
    } catch (error) {
      this.ledger.rows(
        `UPDATE derivations SET state = 'ending', needs_snapshot = 0 WHERE sandbox_id = ?`,
        minted,
      );
      await sandbox.destroy();
      throw error;
    } finally {
      this.underway.delete(minted);
    }
    this.ledger.rows(`UPDATE derivations SET state = 'ready', due = NULL WHERE sandbox_id = ?`, minted);
    this.keep(snapshot_id, { last_used_at: Date.now() });
    return {
      providerId: 'cloudflare-sandbox',
      ref: { sandboxId: minted, rootId: root_id },
      capabilities: { fs: true, shell: true, code: true, snapshot: true },
      schemaVersion: 1,
    };
  }

  /** Makes sure that what the ledger knows of a backup is what R2 has. */
  async #inspect(row: SnapshotRow) {
    const found = await lookUp(this.bucket, handleOf(row).id);
    const agrees =
      found.name === markOf(row.snapshot_id, this.id) &&
      Date.parse(found.createdAt) === row.created_at &&
      found.sizeBytes === row.size_bytes &&
      (found.checksum === null || row.checksum === null || found.checksum === row.checksum);
    if (!agrees)
      throw new SnapshotterError('BACKUP_INCOMPLETE', 'The backup is another one.', 'Use another snapshot.');
  }

  #isRestorable(row: SnapshotRow): Promise<boolean> {
    return this.#inspect(row).then(
      () => true,
      () => false,
    );
  }

  /** The snapshot that a ref means. */
  #select(ref: SnapshotRef, states: SnapshotRow['state'][]): SnapshotRow {
    if (!isSignedBy(ref, new Uint8Array(this.founded().key)))
      throw new SnapshotterError(
        'REF_MISMATCH',
        `The snapshot ref of ${ref.ref.snapshotId} is not signed by this workspace.`,
        'Pass the ref on exactly as snapshot() answered it.',
      );
    const row = this.ledger.snapshot(ref.ref.snapshotId);
    if (!row || !states.includes(row.state))
      throw row?.state === 'creating' ? busy(row.snapshot_id) : gone(ref.ref.snapshotId);
    return row;
  }

  #ref(row: SnapshotRow, rootId: string, key: ArrayBuffer): SnapshotRef {
    const createdAt = new Date(row.created_at).toISOString();
    const ids = { schemaVersion: 1 as const, snapshotId: row.snapshot_id, originId: this.id, rootId };
    return signed({ ...ids, backup: handleOf(row), createdAt }, new Uint8Array(key));
  }
}

function gone(id: string) {
  return new SnapshotterError(
    'SNAPSHOT_NOT_FOUND',
    `The ledger has no snapshot ${id}.`,
    'Use another snapshot.',
  );
}

function busy(id: string) {
  return new SnapshotterError('SNAPSHOT_BUSY', `The snapshot ${id} is still being made.`, 'Try again later.');
}
