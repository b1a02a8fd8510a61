//! The tables of the ledger, and how those of an older version become those of this one.
//!
//! A row is its record as JSON, next to the columns that it is looked for by. Each index is one more row to be written,
//! and paid for, with every row that is in it: hence so many partial ones.

use super::sql::{Database, Row};
use crate::model::{Code, Error, Result};

/// The `n`th brings a database of the version `n - 1` to the version `n`. What was released is never changed: a new
/// version appends.
const MIGRATIONS: [&[&str]; 2] = [TABLES, INDEXES_OF_STATES];

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

const INDEXES_OF_STATES: &[&str] = &[
    "CREATE INDEX snapshots_unfinished ON snapshots (snapshot_id) WHERE state IN ('making', 'deleting')",
    "CREATE INDEX snapshots_expiring ON snapshots (expires_at) WHERE state = 'ready' AND expires_at IS NOT NULL",
    "CREATE INDEX snapshots_deleted ON snapshots (ended_at) WHERE state = 'deleted'",
    "CREATE INDEX derivations_unsettled ON derivations (sandbox_id) WHERE settled = 0",
    "CREATE INDEX requests_by_age ON requests (answered, asked_at)",
];

/// Makes the database one of this version, if it is not. One of a later version is left as it is.
pub(super) fn migrate(database: &Database) -> Result<()> {
    let version = version(database)?;
    if version > MIGRATIONS.len() {
        return Err(too_new(version));
    }
    if version == MIGRATIONS.len() {
        return Ok(());
    }
    database.transaction(|| {
        for statement in MIGRATIONS.iter().skip(version).copied().flatten() {
            database.run(statement, &[])?;
        }
        database.run("UPDATE schema SET version = ?", &[MIGRATIONS.len().into()]).map(drop)
    })
}

/// The version of a database; 0 of one that is empty.
fn version(database: &Database) -> Result<usize> {
    let number = |statement: &str| {
        let rows = database.run(statement, &[])?;
        Ok(rows.first().and_then(Row::number).unwrap_or_default())
    };
    if number("SELECT 1 AS value FROM sqlite_schema WHERE name = 'schema'")? == 0.0 {
        return Ok(0);
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // It saturates.
    number("SELECT version AS value FROM schema").map(|version| version as usize)
}

fn too_new(version: usize) -> Error {
    Error::new(
        Code::LedgerTooNew,
        format!(
            "The storage of the workspace has the version {version}, and this release of the Worker knows it up to {}. \
             Nothing was touched.",
            MIGRATIONS.len()
        ),
        "Deploy the release that wrote it, or a later one.",
    )
}
