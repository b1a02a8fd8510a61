//! What is kept of a named workspace: the SQL storage and the alarm of its Durable Object.

use serde_json::json;
use wasm_bindgen::JsValue;

use super::log::Line;
use super::sql::{self, Database};
use crate::model::named::{Address, NamedRecord, Transition};
use crate::model::{Result, Timestamp};
use crate::ports::Home;

/// The versions: see [`Migrations`](super::sql::Migrations).
const MIGRATIONS: [&[&str]; 1] = [&[
    "CREATE TABLE schema (version INTEGER NOT NULL) STRICT",
    "INSERT INTO schema VALUES (0)",
    "CREATE TABLE home (
       one INTEGER PRIMARY KEY CHECK (one = 1),
       alarm_at INTEGER,
       record TEXT
     ) STRICT",
    "INSERT INTO home (one) VALUES (1)",
]];

/// A named workspace in a Durable Object's storage.
pub struct SqlHome {
    database: Database,
}

impl SqlHome {
    /// That of the object whose state `ctx` is. It is brought to the version of this release, if need be; one of a later
    /// version is refused with [`Code::LedgerTooNew`](crate::model::Code::LedgerTooNew).
    pub fn open(ctx: &JsValue) -> Result<Self> {
        Ok(Self { database: Database::open(ctx, &MIGRATIONS)? })
    }
}

impl Home for SqlHome {
    fn named(&self) -> Result<Option<NamedRecord>> {
        let rows = self.database.records("home", "SELECT 'home' AS key, record FROM home", &[])?;
        Ok(rows.into_iter().next())
    }

    fn put_named(&self, record: &NamedRecord) -> Result<()> {
        self.database.keep("UPDATE home SET record = ?", &[sql::json(record)?]).map(drop)
    }

    fn log(&self, address: &Address, transition: &Transition) {
        Line::here("workspace.transition")
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
