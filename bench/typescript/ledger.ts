// The ledger of a workspace: the tables of its Durable Object. The platform stores writes before the object sends any message.

import { randomBytes } from 'node:crypto';

import type { Handle } from './refs.ts';

/** The delay after which the alarm reconciles unfinished work, in milliseconds. */
export const RECONCILE_DELAY = 60_000;

/** The row of the workspace. */
export interface WorkspaceRow {
  root_id: string;
  parent: string | null;
  key: ArrayBuffer;
  policy: string;
  alarm_at: number | null;
}

/** The retention policy. */
export interface Policy {
  expirationSeconds: number;
  keepLast?: number;
}

/** The row of a snapshot. */
export interface SnapshotRow {
  snapshot_id: string;
  label: string;
  state: 'creating' | 'ready' | 'deleting' | 'deleted';
  dir: string;
  began_at: number;
  created_at: number;
  last_used_at: number;
  expiration_seconds: number | null;
  expires_at: number | null;
  backup: string | null;
  size_bytes: number | null;
  checksum: string | null;
  due: number | null;
}

/** The row of a sandbox that was made from a snapshot. */
export interface DerivationRow {
  sandbox_id: string;
  snapshot_id: string;
  state: 'pending' | 'ready' | 'ending';
  needs_snapshot: number;
  due: number | null;
}

const TABLES = `
  CREATE TABLE workspace (root_id TEXT NOT NULL, parent TEXT, key BLOB NOT NULL, policy TEXT NOT NULL, alarm_at INTEGER);
  CREATE TABLE snapshots (
    snapshot_id TEXT PRIMARY KEY, label TEXT NOT NULL, state TEXT NOT NULL, dir TEXT NOT NULL, began_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL, last_used_at INTEGER NOT NULL, expiration_seconds INTEGER, expires_at INTEGER,
    backup TEXT, size_bytes INTEGER, checksum TEXT, due INTEGER
  ) WITHOUT ROWID;
  CREATE UNIQUE INDEX snapshots_by_label ON snapshots (label) WHERE state <> 'deleted';
  CREATE INDEX snapshots_by_age ON snapshots (created_at, snapshot_id) WHERE state <> 'deleted';
  CREATE INDEX snapshots_expiring ON snapshots (expires_at) WHERE state = 'ready' AND expires_at IS NOT NULL;
  CREATE INDEX snapshots_due ON snapshots (due) WHERE due IS NOT NULL;
  CREATE TABLE derivations (
    sandbox_id TEXT PRIMARY KEY, snapshot_id TEXT NOT NULL, state TEXT NOT NULL, needs_snapshot INTEGER NOT NULL, due INTEGER
  ) WITHOUT ROWID;
  CREATE INDEX derivations_by_snapshot ON derivations (snapshot_id);
  CREATE INDEX derivations_due ON derivations (due) WHERE due IS NOT NULL;
  CREATE TABLE requests (key TEXT PRIMARY KEY, payload TEXT NOT NULL, answer TEXT, at INTEGER NOT NULL) WITHOUT ROWID;`;

const DEFAULT_POLICY: Policy = { expirationSeconds: 30 * 24 * 3600 };

/** The ledger in a Durable Object's storage. */
export class Ledger {
  #storage: DurableObjectStorage;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
  }

  rows<T>(statement: string, ...values: unknown[]): T[] {
    return this.#storage.sql.exec(statement, ...values).toArray() as T[];
  }

  first<T>(statement: string, ...values: unknown[]): T | undefined {
    return this.rows<T>(statement, ...values)[0];
  }

  /** Returns the row of the workspace, if it exists. */
  workspace(): WorkspaceRow | undefined {
    const hasTables = this.first(`SELECT 1 FROM sqlite_schema WHERE name = 'workspace'`) !== undefined;
    return hasTables ? this.first<WorkspaceRow>('SELECT * FROM workspace') : undefined;
  }

  /** Creates the tables and the row of the workspace. */
  initialize(rootId: string, parent: object | null): WorkspaceRow {
    const key = new Uint8Array(randomBytes(32)).buffer;
    const row = {
      root_id: rootId,
      parent: parent && JSON.stringify(parent),
      key,
      policy: '',
      alarm_at: null,
    };
    row.policy = JSON.stringify(DEFAULT_POLICY);
    this.#storage.transactionSync(() => {
      this.rows(TABLES);
      this.rows('INSERT INTO workspace VALUES (?, ?, ?, ?, ?)', ...Object.values(row));
    });
    return row;
  }

  snapshot(id: string): SnapshotRow | undefined {
    return this.first('SELECT * FROM snapshots WHERE snapshot_id = ?', id);
  }

  /** Updates columns of a snapshot. */
  update(id: string, columns: Partial<SnapshotRow>) {
    const names = Object.keys(columns).map((name) => `${name} = ?`);
    this.rows(`UPDATE snapshots SET ${names} WHERE snapshot_id = ?`, ...Object.values(columns), id);
  }

  /** Returns an unused label of the form `snap-<time>`. */
  freeLabel(time: number): string {
    const compact = new Date(time).toISOString().replace(/[-:]/g, '').replace('T', '-').slice(0, 15);
    for (let number = 1; ; number++) {
      const label = `snap-${compact}${number > 1 ? `-${number}` : ''}`;
      if (!this.labelled(label)) return label;
    }
  }

  labelled(label: string): SnapshotRow | undefined {
    return this.first(`SELECT * FROM snapshots WHERE label = ? AND state <> 'deleted'`, label);
  }

  dependents(snapshotId: string): string[] {
    const rows = this.rows<DerivationRow>(
      'SELECT * FROM derivations WHERE snapshot_id = ? AND needs_snapshot = 1 ORDER BY sandbox_id',
      snapshotId,
    );
    return rows.map(({ sandbox_id }) => sandbox_id);
  }

  /** Schedules the alarm for this time or earlier. Reschedules an overdue alarm. */
  scheduleAlarm(at: number) {
    const set = this.first<WorkspaceRow>('SELECT alarm_at FROM workspace')?.alarm_at;
    if (set && set <= at && set > Date.now()) return;
    void this.#storage.setAlarm(at);
    this.rows('UPDATE workspace SET alarm_at = ?', at);
  }
}

/** Returns the handle of a snapshot's backup. */
export function handleOf({ backup }: SnapshotRow): Handle {
  return JSON.parse(backup ?? 'null');
}
