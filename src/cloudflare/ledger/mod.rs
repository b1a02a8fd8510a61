//! The ledger of a sandbox: the SQL storage and the alarm of its Durable Object.
//!
//! - `schema`: the tables and their versions

mod schema;

use std::cell::RefCell;

use serde::de::DeserializeOwned;
use wasm_bindgen::JsValue;

use super::sql::{Database, decode_record, json, millis};
use crate::model::record::{Derivation, IdempotencyRecord, Release, SandboxRecord, SnapshotRecord};
use crate::model::request::SnapshotCursor;
use crate::model::{Label, Result, SandboxId, SnapshotId, Timestamp};
use crate::ports::Ledger;

/// The key of the record of the sandbox in the key-value storage, which contains it until the tables exist. Most ledgers
/// of minted sandboxes never need tables. The key, the table and the alarm are named "workspace", as earlier releases
/// named the record.
const WORKSPACE_KEY: &str = "workspace";

/// The statement of a page of the snapshots that are not deleted, newest first, after a cursor.
const PAGE: &str = "SELECT snapshot_id AS key, record FROM snapshots INDEXED BY snapshots_by_age
     WHERE state <> 'deleted' AND (created_at, snapshot_id) < (?1, ?2)
     ORDER BY created_at DESC, snapshot_id DESC LIMIT ?3";

/// As [`PAGE`], for labels with a prefix. The byte 255 occurs in no text and sorts after every text.
const PAGE_BY_PREFIX: &str = "SELECT snapshot_id AS key, record FROM snapshots INDEXED BY snapshots_by_label
     WHERE state <> 'deleted' AND (created_at, snapshot_id) < (?1, ?2)
       AND label >= ?4 AND label < ?4 || CAST(x'ff' AS TEXT)
     ORDER BY created_at DESC, snapshot_id DESC LIMIT ?3";

/// The statement of the most frequent update. It leaves the other indexed columns unchanged, and so writes no rows of
/// their indexes.
const UPDATE_SNAPSHOT: &str = "UPDATE snapshots SET expires_at = ?5, record = ?7
     WHERE snapshot_id = ?1 AND label = ?2 AND state = ?3 AND created_at = ?4 AND ended_at IS ?6 RETURNING 1";

const PUT_SNAPSHOT: &str = "INSERT INTO snapshots
       (snapshot_id, label, state, created_at, expires_at, ended_at, record) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
     ON CONFLICT (snapshot_id) DO UPDATE SET label = ?2, state = ?3, created_at = ?4, expires_at = ?5, ended_at = ?6,
       record = ?7";

/// The ledger in the storage of a Durable Object.
pub struct SqlLedger {
    database: Database,
    /// The cached record of the sandbox: most calls read it several times.
    sandbox: RefCell<Option<SandboxRecord>>,
}

impl SqlLedger {
    /// Opens the ledger in the storage of `ctx`, and migrates it to the version of this release.
    ///
    /// # Errors
    /// [`Code::LedgerTooNew`](crate::model::Code::LedgerTooNew) when the ledger has a later version.
    pub fn open(ctx: &JsValue) -> Result<Self> {
        Ok(Self { database: Database::open(ctx, &schema::MIGRATIONS)?, sandbox: RefCell::default() })
    }

    /// Returns the query plan of a page of snapshots, with a label prefix or without.
    pub fn page_query_plan(&self, prefix: bool) -> Result<String> {
        let (statement, prefix) = if prefix { (PAGE_BY_PREFIX, Some("a")) } else { (PAGE, None) };
        self.database.query_plan(statement, &page_values(None, prefix, 1))
    }

    /// Returns the snapshots that `rest` of the statement selects.
    fn snapshot_rows(&self, rest: &str, values: &[JsValue]) -> Result<Vec<SnapshotRecord>> {
        self.rows("snapshots", "snapshot_id", rest, values)
    }

    fn derivation_rows(&self, rest: &str, values: &[JsValue]) -> Result<Vec<Derivation>> {
        self.rows("derivations", "sandbox_id", rest, values)
    }

    fn request_rows(&self, rest: &str, values: &[JsValue]) -> Result<Vec<IdempotencyRecord>> {
        self.rows("requests", "key", rest, values)
    }

    fn rows<T: DeserializeOwned>(&self, table: &str, key: &str, rest: &str, values: &[JsValue]) -> Result<Vec<T>> {
        self.database.records(table, &format!("SELECT {key} AS key, record FROM {table} {rest}"), values)
    }

    /// Returns whether such rows exist.
    fn exists(&self, rows: &str) -> Result<bool> {
        let found = self.database.run_if_created(&format!("SELECT 1 FROM {rows} LIMIT 1"), &[])?;
        Ok(!found.is_empty())
    }

    fn write(&self, statement: &str, values: &[JsValue]) -> Result<()> {
        self.database.write(statement, values).map(drop)
    }

    fn delete(&self, rows: &str, values: &[JsValue]) -> Result<()> {
        self.database.run_if_created(&format!("DELETE FROM {rows}"), values).map(drop)
    }
}

impl Ledger for SqlLedger {
    fn sandbox(&self) -> Result<Option<SandboxRecord>> {
        if let Some(known) = &*self.sandbox.borrow() {
            return Ok(Some(known.clone()));
        }
        let record = match self.rows("workspace", "'workspace'", "", &[]).map(first)? {
            Some(record) => Some(record),
            None => self
                .database
                .get_kv(WORKSPACE_KEY)?
                .map(|text| decode_record(WORKSPACE_KEY, WORKSPACE_KEY, &text))
                .transpose()?,
        };
        self.sandbox.borrow_mut().clone_from(&record);
        Ok(record)
    }

    fn put_sandbox(&self, sandbox: &SandboxRecord) -> Result<()> {
        let record = json(sandbox)?;
        // A failed write may or may not have taken effect.
        self.sandbox.take();
        if self.database.has_tables() {
            self.write("UPDATE workspace SET record = ?", &[record])?;
        } else {
            self.database.put_kv(WORKSPACE_KEY, &record)?;
        }
        *self.sandbox.borrow_mut() = Some(sandbox.clone());
        Ok(())
    }

    fn snapshot(&self, id: &SnapshotId) -> Result<Option<SnapshotRecord>> {
        self.snapshot_rows("WHERE snapshot_id = ?", &[id.as_str().into()]).map(first)
    }

    fn snapshot_by_label(&self, label: &Label) -> Result<Option<SnapshotRecord>> {
        self.snapshot_rows("WHERE label = ? AND state <> 'deleted'", &[label.as_str().into()]).map(first)
    }

    fn deleted_snapshot_by_label(&self, label: &Label) -> Result<Option<SnapshotRecord>> {
        let newest = "WHERE label = ? AND state = 'deleted' ORDER BY created_at DESC, snapshot_id DESC LIMIT 1";
        self.snapshot_rows(newest, &[label.as_str().into()]).map(first)
    }

    fn put_snapshot(&self, snapshot: &SnapshotRecord) -> Result<()> {
        let values = [
            snapshot.snapshot_id.as_str().into(),
            snapshot.label.as_str().into(),
            snapshot.state().as_str().into(),
            millis(snapshot.created_at()),
            snapshot.expires_at.map_or(JsValue::NULL, millis),
            snapshot.ended_at().map_or(JsValue::NULL, millis),
            json(snapshot)?,
        ];
        if self.database.write(UPDATE_SNAPSHOT, &values)?.is_empty() {
            self.write(PUT_SNAPSHOT, &values)?;
        }
        Ok(())
    }

    fn delete_snapshot(&self, id: &SnapshotId) -> Result<()> {
        self.delete("snapshots WHERE snapshot_id = ?", &[id.as_str().into()])
    }

    fn snapshot_page(
        &self,
        after: Option<&SnapshotCursor>,
        prefix: Option<&str>,
        limit: u32,
    ) -> Result<Vec<SnapshotRecord>> {
        let statement = if prefix.is_some() { PAGE_BY_PREFIX } else { PAGE };
        self.database.records("snapshots", statement, &page_values(after, prefix, limit))
    }

    fn unfinished_snapshots(&self) -> Result<Vec<SnapshotRecord>> {
        self.snapshot_rows("WHERE state IN ('creating', 'deleting') ORDER BY snapshot_id", &[])
    }

    fn expiring_snapshots(&self, until: Timestamp, limit: u32) -> Result<Vec<SnapshotRecord>> {
        let rest = "WHERE state = 'ready' AND expires_at <= ? ORDER BY expires_at, snapshot_id LIMIT ?";
        self.snapshot_rows(rest, &[millis(until), limit.into()])
    }

    fn delete_tombstones(&self, before: Timestamp) -> Result<bool> {
        self.delete("snapshots WHERE state = 'deleted' AND ended_at < ?", &[millis(before)])?;
        self.exists("snapshots WHERE state = 'deleted' AND ended_at IS NOT NULL")
    }

    fn derived_sandbox(&self, sandbox_id: &SandboxId) -> Result<Option<Derivation>> {
        self.derivation_rows("WHERE sandbox_id = ?", &[sandbox_id.as_str().into()]).map(first)
    }

    fn derived_from(&self, ids: &[SnapshotId]) -> Result<Vec<Derivation>> {
        let rest = "WHERE snapshot_id IN (SELECT value FROM json_each(?)) ORDER BY sandbox_id";
        self.derivation_rows(rest, &[json(&ids)?])
    }

    fn unfinished_sandboxes(&self) -> Result<Vec<Derivation>> {
        self.derivation_rows("WHERE settled = 0 ORDER BY sandbox_id", &[])
    }

    fn derived_sandboxes(&self) -> Result<Vec<Derivation>> {
        self.derivation_rows("ORDER BY sandbox_id", &[])
    }

    fn put_derived_sandbox(&self, derivation: &Derivation) -> Result<()> {
        self.write(
            "INSERT INTO derivations (sandbox_id, snapshot_id, settled, record) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (sandbox_id) DO UPDATE SET snapshot_id = ?2, settled = ?3, record = ?4",
            &[
                derivation.sandbox_id.as_str().into(),
                derivation.snapshot_id.as_str().into(),
                u32::from(derivation.task().is_none()).into(),
                json(derivation)?,
            ],
        )
    }

    fn delete_derived_sandbox(&self, sandbox_id: &SandboxId) -> Result<()> {
        self.delete("derivations WHERE sandbox_id = ?", &[sandbox_id.as_str().into()])
    }

    fn idempotency_record(&self, key: &str) -> Result<Option<IdempotencyRecord>> {
        self.request_rows("WHERE key = ?", &[key.into()]).map(first)
    }

    fn put_idempotency_record(&self, request: &IdempotencyRecord) -> Result<()> {
        self.write(
            "INSERT INTO requests (key, asked_at, answered, record) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (key) DO UPDATE SET asked_at = ?2, answered = ?3, record = ?4",
            &[
                request.key.as_str().into(),
                millis(request.at),
                u32::from(request.answer.is_some()).into(),
                json(request)?,
            ],
        )
    }

    fn delete_idempotency_record(&self, key: &str) -> Result<()> {
        self.delete("requests WHERE key = ?", &[key.into()])
    }

    fn unanswered_calls(&self) -> Result<Vec<IdempotencyRecord>> {
        self.request_rows("WHERE answered = 0 ORDER BY key", &[])
    }

    fn delete_answered_calls(&self, before: Timestamp) -> Result<bool> {
        self.delete("requests WHERE answered = 1 AND asked_at < ?", &[millis(before)])?;
        self.exists("requests WHERE answered = 1")
    }

    fn releases(&self) -> Result<Vec<Release>> {
        self.rows("releases", "snapshot_id", "ORDER BY snapshot_id", &[])
    }

    fn put_release(&self, release: &Release) -> Result<()> {
        self.write(
            "INSERT INTO releases (snapshot_id, record) VALUES (?1, ?2)
             ON CONFLICT (snapshot_id) DO UPDATE SET record = ?2",
            &[release.snapshot_id.as_str().into(), json(release)?],
        )
    }

    fn delete_release(&self, id: &SnapshotId) -> Result<()> {
        self.delete("releases WHERE snapshot_id = ?", &[id.as_str().into()])
    }

    fn alarm(&self) -> Result<Option<Timestamp>> {
        self.database.alarm("workspace")
    }

    fn set_alarm(&self, at: Option<Timestamp>) -> Result<()> {
        self.database.set_alarm("workspace", at)
    }
}

/// Returns the values for the statement of a page. Without a cursor, the page starts at the newest snapshot.
fn page_values(after: Option<&SnapshotCursor>, prefix: Option<&str>, limit: u32) -> Vec<JsValue> {
    let (time, id) = match after {
        Some(after) => (millis(after.created_at), after.snapshot_id.as_str()),
        None => (f64::INFINITY.into(), ""),
    };
    let values = [time, id.into(), limit.into()];
    values.into_iter().chain(prefix.map(JsValue::from)).collect()
}

fn first<T>(rows: Vec<T>) -> Option<T> {
    rows.into_iter().next()
}
