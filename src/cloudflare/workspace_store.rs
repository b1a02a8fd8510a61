//! The SQL storage and the alarm of a `NamedWorkspace` object.

use serde_json::json;
use wasm_bindgen::JsValue;

use super::log::LogLine;
use super::sql::{self, Database};
use crate::model::named::{Address, NamedRecord, Transition};
use crate::model::{Result, Timestamp};
use crate::ports::WorkspaceStore;

/// The schema versions: see [`Migrations`](super::sql::Migrations).
const MIGRATIONS: [&[&str]; 2] = [TABLES, RENAMED_FIELDS];

/// From this version on, the fields of records have other names. Earlier releases cannot read them, and refuse the
/// storage because of its version.
const RENAMED_FIELDS: &[&str] = &[];

const TABLES: &[&str] = &[
    "CREATE TABLE schema (version INTEGER NOT NULL) STRICT",
    "INSERT INTO schema VALUES (0)",
    "CREATE TABLE home (
       one INTEGER PRIMARY KEY CHECK (one = 1),
       alarm_at INTEGER,
       record TEXT
     ) STRICT",
    "INSERT INTO home (one) VALUES (1)",
];

/// The record of a named workspace in the storage of a Durable Object.
pub struct SqlWorkspaceStore {
    database: Database,
}

impl SqlWorkspaceStore {
    /// Opens the record in the storage of `ctx`, and migrates the storage to the version of this release.
    ///
    /// # Errors
    /// [`Code::LedgerTooNew`](crate::model::Code::LedgerTooNew) when the storage has a later version.
    pub fn open(ctx: &JsValue) -> Result<Self> {
        Ok(Self { database: Database::open(ctx, &MIGRATIONS)? })
    }
}

impl WorkspaceStore for SqlWorkspaceStore {
    fn record(&self) -> Result<Option<NamedRecord>> {
        let rows = self.database.records("home", "SELECT 'home' AS key, record FROM home", &[])?;
        Ok(rows.into_iter().next())
    }

    fn put_record(&self, record: &NamedRecord) -> Result<()> {
        self.database.write("UPDATE home SET record = ?", &[sql::json(record)?]).map(drop)
    }

    fn log_transition(&self, address: &Address, transition: &Transition) {
        LogLine::for_current_call("workspace.transition")
            .with("tenant", address.tenant.as_str())
            .with("name", address.name.as_str())
            .with("from", json!(transition.from))
            .with("to", json!(transition.to))
            .with("cause", transition.cause.as_str())
            .with("at", json!(transition.at))
            .write();
    }

    fn alarm(&self) -> Result<Option<Timestamp>> {
        self.database.alarm("home")
    }

    fn set_alarm(&self, at: Option<Timestamp>) -> Result<()> {
        self.database.set_alarm("home", at)
    }
}
