//! The SQL storage of a Directory object, which lists the named workspaces of a tenant, and stores its tokens.

use wasm_bindgen::JsValue;

use super::sql::{Database, decode_record, json, millis};
use crate::model::named::answer::WorkspaceEntry;
use crate::model::named::{State, WorkspaceName};
use crate::model::token::TokenId;
use crate::model::token_record::TokenRecord;
use crate::model::{Result, Timestamp};
use crate::ports::{DirectoryStore, TokenStore};

/// The schema versions: see [`Migrations`](super::sql::Migrations). The column `gone` is the time at which the
/// workspace was deleted, in milliseconds; 0 where it was not.
const MIGRATIONS: [&[&str]; 2] = [TABLES, RENAMED_FIELDS];

/// From this version on, the fields of records have other names. Earlier releases cannot read them, and refuse the
/// storage because of its version.
const RENAMED_FIELDS: &[&str] = &[];

const TABLES: &[&str] = &[
    "CREATE TABLE schema (version INTEGER NOT NULL) STRICT",
    "INSERT INTO schema VALUES (0)",
    "CREATE TABLE entries (
       name TEXT PRIMARY KEY,
       gone INTEGER NOT NULL,
       record TEXT NOT NULL
     ) STRICT, WITHOUT ROWID",
    "CREATE INDEX entries_listed ON entries (name) WHERE gone = 0",
    "CREATE INDEX entries_gone ON entries (gone) WHERE gone > 0",
];

/// The statement of a page. The page starts at the later of its cursor and its prefix, and excludes the cursor. The
/// byte 255 occurs in no text and sorts after every text.
const PAGE: &str = "SELECT name AS key, record FROM entries INDEXED BY entries_listed
     WHERE gone = 0 AND name >= ?1 AND name < ?2 || CAST(x'ff' AS TEXT) AND name IS NOT ?3
     ORDER BY name LIMIT ?4";

/// A Directory in the storage of a Durable Object.
pub struct SqlDirectoryStore {
    database: Database,
}

impl SqlDirectoryStore {
    /// Opens the Directory in the storage of `ctx`, and migrates it to the version of this release.
    ///
    /// # Errors
    /// [`Code::LedgerTooNew`](crate::model::Code::LedgerTooNew) when the storage has a later version.
    pub fn open(ctx: &JsValue) -> Result<Self> {
        Ok(Self { database: Database::open(ctx, &MIGRATIONS)? })
    }

    /// Returns the query plan of a page.
    pub fn page_query_plan(&self) -> Result<String> {
        self.database.query_plan(PAGE, &page_values(None, Some("a"), 1))
    }
}

impl DirectoryStore for SqlDirectoryStore {
    fn entry(&self, name: &WorkspaceName) -> Result<Option<WorkspaceEntry>> {
        let statement = "SELECT name AS key, record FROM entries WHERE name = ?";
        let rows = self.database.records("entries", statement, &[name.as_str().into()])?;
        Ok(rows.into_iter().next())
    }

    fn put_entry(&self, entry: &WorkspaceEntry) -> Result<()> {
        let statement = "INSERT INTO entries (name, gone, record) VALUES (?1, ?2, ?3)
             ON CONFLICT (name) DO UPDATE SET gone = ?2, record = ?3";
        let gone = if entry.state == State::Deleted { millis(entry.updated_at) } else { 0.into() };
        self.database.write(statement, &[entry.name.as_str().into(), gone, json(entry)?]).map(drop)
    }

    fn delete_tombstones(&self, before: Timestamp) -> Result<()> {
        self.database.run_if_created("DELETE FROM entries WHERE gone > 0 AND gone < ?", &[millis(before)]).map(drop)
    }

    fn entries(&self, after: Option<&WorkspaceName>, prefix: Option<&str>, limit: u32) -> Result<Vec<WorkspaceEntry>> {
        self.database.records("entries", PAGE, &page_values(after, prefix, limit))
    }
}

/// The key of the tokens in the key-value storage. They are few and small, so one text has all of them, and earlier releases
/// can read the tables.
const TOKENS_KEY: &str = "tokens";

impl TokenStore for SqlDirectoryStore {
    fn token(&self, id: &TokenId) -> Result<Option<TokenRecord>> {
        Ok(self.tokens()?.into_iter().find(|record| record.token.id == *id))
    }

    fn tokens(&self) -> Result<Vec<TokenRecord>> {
        let text = self.database.get_kv(TOKENS_KEY)?;
        text.map_or_else(|| Ok(Vec::new()), |text| decode_record(TOKENS_KEY, TOKENS_KEY, &text))
    }

    fn put_token(&self, record: &TokenRecord) -> Result<()> {
        let mut tokens = self.tokens()?;
        tokens.retain(|known| known.token.id != record.token.id);
        tokens.push(record.clone());
        tokens.sort_by(|one, other| one.token.id.cmp(&other.token.id));
        self.database.put_kv(TOKENS_KEY, &json(&tokens)?)
    }

    fn delete_token(&self, id: &TokenId) -> Result<bool> {
        let mut tokens = self.tokens()?;
        let count = tokens.len();
        tokens.retain(|known| known.token.id != *id);
        if tokens.len() == count {
            return Ok(false);
        }
        self.database.put_kv(TOKENS_KEY, &json(&tokens)?).map(|()| true)
    }
}

/// Returns the values for the statement of a page.
fn page_values(after: Option<&WorkspaceName>, prefix: Option<&str>, limit: u32) -> [JsValue; 4] {
    let (after, prefix) = (after.map(WorkspaceName::as_str), prefix.unwrap_or_default());
    let first = after.unwrap_or_default().max(prefix);
    [first.into(), prefix.into(), after.map_or(JsValue::NULL, JsValue::from), limit.into()]
}
