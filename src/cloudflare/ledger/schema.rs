//! The schema of the ledger: its tables, indexes and migrations.
//!
//! A row contains its record as JSON, and the columns that queries use. Each index costs one more written row for every
//! row in it, so many indexes are partial.

/// The schema versions: see [`Migrations`](crate::cloudflare::sql::Migrations).
pub(super) const MIGRATIONS: [&[&str]; 3] = [TABLES, STATE_INDEXES, RENAMED_STATE];

const TABLES: &[&str] = &[
    "CREATE TABLE schema (version INTEGER NOT NULL) STRICT",
    "INSERT INTO schema VALUES (0)",
    "CREATE TABLE workspace (
       one INTEGER PRIMARY KEY CHECK (one = 1),
       alarm_at INTEGER,
       record TEXT
     ) STRICT",
    "INSERT INTO workspace (one) VALUES (1)",
    "CREATE TABLE snapshots (
       snapshot_id TEXT PRIMARY KEY,
       label TEXT NOT NULL,
       state TEXT NOT NULL,
       created_at INTEGER NOT NULL,
       expires_at INTEGER,
       ended_at INTEGER,
       record TEXT NOT NULL
     ) STRICT, WITHOUT ROWID",
    "CREATE UNIQUE INDEX snapshots_by_label ON snapshots (label) WHERE state <> 'deleted'",
    "CREATE INDEX snapshots_by_age ON snapshots (created_at, snapshot_id) WHERE state <> 'deleted'",
    "CREATE TABLE derivations (
       sandbox_id TEXT PRIMARY KEY,
       snapshot_id TEXT NOT NULL,
       settled INTEGER NOT NULL,
       record TEXT NOT NULL
     ) STRICT, WITHOUT ROWID",
    "CREATE INDEX derivations_by_snapshot ON derivations (snapshot_id)",
    "CREATE TABLE requests (
       key TEXT PRIMARY KEY,
       asked_at INTEGER NOT NULL,
       answered INTEGER NOT NULL,
       record TEXT NOT NULL
     ) STRICT, WITHOUT ROWID",
    "CREATE TABLE releases (
       snapshot_id TEXT PRIMARY KEY,
       record TEXT NOT NULL
     ) STRICT, WITHOUT ROWID",
];

const STATE_INDEXES: &[&str] = &[
    "CREATE INDEX snapshots_unfinished ON snapshots (snapshot_id) WHERE state IN ('making', 'deleting')",
    "CREATE INDEX snapshots_expiring ON snapshots (expires_at) WHERE state = 'ready' AND expires_at IS NOT NULL",
    "CREATE INDEX snapshots_deleted ON snapshots (ended_at) WHERE state = 'deleted'",
    "CREATE INDEX derivations_unsettled ON derivations (sandbox_id) WHERE settled = 0",
    "CREATE INDEX requests_by_age ON requests (answered, asked_at)",
];

/// From this version on, the state `making` is called `creating`, and the fields of records have other names. Earlier
/// releases cannot read them, and refuse the ledger because of its version.
const RENAMED_STATE: &[&str] = &[
    "UPDATE snapshots SET state = 'creating' WHERE state = 'making'",
    "DROP INDEX snapshots_unfinished",
    "CREATE INDEX snapshots_unfinished ON snapshots (snapshot_id) WHERE state IN ('creating', 'deleting')",
];
