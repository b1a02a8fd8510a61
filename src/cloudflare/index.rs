//! The Directory of a tenant's named workspaces: the SQL storage of its Durable Object.

use wasm_bindgen::JsValue;

use super::sql::{Database, json, millis};
use crate::model::named::answer::Entry;
use crate::model::named::{State, WorkspaceName};
use crate::model::{Result, Timestamp};
use crate::ports::Index;

/// When an entry was gone, in milliseconds; 0 where it is not. The versions: see [`Migrations`](super::sql::Migrations).
const MIGRATIONS: [&[&str]; 1] = [&[
    "CREATE TABLE schema (version INTEGER NOT NULL) STRICT",
    "INSERT INTO schema VALUES (0)",
    "CREATE TABLE entries (
       name TEXT PRIMARY KEY,
       gone INTEGER NOT NULL,
       record TEXT NOT NULL
     ) STRICT, WITHOUT ROWID",
    "CREATE INDEX entries_listed ON entries (name) WHERE gone = 0",
    "CREATE INDEX entries_gone ON entries (gone) WHERE gone > 0",
]];

/// A page, from the later of its cursor and its prefix on, and without the cursor itself. The byte 255 is in no text, and comes
/// behind all of them.
const PAGE: &str = "SELECT name AS key, record FROM entries INDEXED BY entries_listed
     WHERE gone = 0 AND name >= ?1 AND name < ?2 || CAST(x'ff' AS TEXT) AND name IS NOT ?3
     ORDER BY name LIMIT ?4";

/// A Directory in a Durable Object's storage.
pub struct SqlIndex {
    database: Database,
}

impl SqlIndex {
    /// That of the object whose state `ctx` is. It is brought to the version of this release, if need be; one of a later
    /// version is refused with [`Code::LedgerTooNew`](crate::model::Code::LedgerTooNew).
    pub fn open(ctx: &JsValue) -> Result<Self> {
        Ok(Self { database: Database::open(ctx, &MIGRATIONS)? })
    }

    /// How the database finds a page.
    pub fn plan_of_page(&self) -> Result<String> {
        self.database.plan(PAGE, &page_values(None, Some("a"), 1))
    }
}

impl Index for SqlIndex {
    fn entry(&self, name: &WorkspaceName) -> Result<Option<Entry>> {
        let statement = "SELECT name AS key, record FROM entries WHERE name = ?";
        let rows = self.database.records("entries", statement, &[name.as_str().into()])?;
        Ok(rows.into_iter().next())
    }

    fn put_entry(&self, entry: &Entry) -> Result<()> {
        let statement = "INSERT INTO entries (name, gone, record) VALUES (?1, ?2, ?3)
             ON CONFLICT (name) DO UPDATE SET gone = ?2, record = ?3";
        let gone = if entry.state == State::Deleted { millis(entry.updated_at) } else { 0.into() };
        self.database.keep(statement, &[entry.name.as_str().into(), gone, json(entry)?]).map(drop)
    }

    fn forget_gone(&self, before: Timestamp) -> Result<()> {
        self.database.run("DELETE FROM entries WHERE gone > 0 AND gone < ?", &[millis(before)]).map(drop)
    }

    fn entries(&self, after: Option<&WorkspaceName>, prefix: Option<&str>, limit: u32) -> Result<Vec<Entry>> {
        self.database.records("entries", PAGE, &page_values(after, prefix, limit))
    }
}

/// What is bound to the statement of a page.
fn page_values(after: Option<&WorkspaceName>, prefix: Option<&str>, limit: u32) -> [JsValue; 4] {
    let (after, prefix) = (after.map(WorkspaceName::as_str), prefix.unwrap_or_default());
    let first = after.unwrap_or_default().max(prefix);
    [first.into(), prefix.into(), after.map_or(JsValue::NULL, JsValue::from), limit.into()]
}
