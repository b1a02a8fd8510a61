//! The ledger of a workspace: the SQL storage and the alarm of its Durable Object.
//!
//! - `schema`: the tables and their versions

mod schema;

use std::cell::RefCell;

use serde::de::DeserializeOwned;
use wasm_bindgen::JsValue;

use super::sql::{Database, decoded, json, millis};
use crate::model::record::{Derivation, Release, RequestRecord, SnapshotRecord, Stage, WorkspaceRecord};
use crate::model::request::Cursor;
use crate::model::{Label, Result, SandboxId, SnapshotId, Timestamp};
use crate::ports::Ledger;

/// What the workspace is noted as, as long as nothing else is kept: of most that are claimed for a minted sandbox, nothing ever
/// is.
const WORKSPACE: &str = "workspace";

/// A page of the snapshots that are not deleted, from behind a place on.
const PAGE: &str = "SELECT snapshot_id AS key, record FROM snapshots INDEXED BY snapshots_by_age
     WHERE state <> 'deleted' AND (created_at, snapshot_id) < (?1, ?2)
     ORDER BY created_at DESC, snapshot_id DESC LIMIT ?3";

/// The same with a prefix of their labels: the byte 255 is in no text, and comes behind all of them.
const PAGE_OF_PREFIX: &str = "SELECT snapshot_id AS key, record FROM snapshots INDEXED BY snapshots_by_label
     WHERE state <> 'deleted' AND (created_at, snapshot_id) < (?1, ?2)
       AND label >= ?4 AND label < ?4 || CAST(x'ff' AS TEXT)
     ORDER BY created_at DESC, snapshot_id DESC LIMIT ?3";

/// A snapshot as it most often changes: without the columns of other indexes, whose rows stay as they are.
const UPDATE_SNAPSHOT: &str = "UPDATE snapshots SET expires_at = ?5, record = ?7
     WHERE snapshot_id = ?1 AND label = ?2 AND state = ?3 AND created_at = ?4 AND ended_at IS ?6 RETURNING 1";

const PUT_SNAPSHOT: &str = "INSERT INTO snapshots
       (snapshot_id, label, state, created_at, expires_at, ended_at, record) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
     ON CONFLICT (snapshot_id) DO UPDATE SET label = ?2, state = ?3, created_at = ?4, expires_at = ?5, ended_at = ?6,
       record = ?7";

/// The ledger in a Durable Object's storage.
pub struct SqlLedger {
    database: Database,
    /// The workspace's record as it is kept, once it was read: most calls ask for it often.
    workspace: RefCell<Option<WorkspaceRecord>>,
}

impl SqlLedger {
    /// The ledger of the object whose state `ctx` is. It is brought to the version of this release, if need be; one of a later
    /// version is refused with [`Code::LedgerTooNew`](crate::model::Code::LedgerTooNew).
    pub fn open(ctx: &JsValue) -> Result<Self> {
        Ok(Self { database: Database::open(ctx, &schema::MIGRATIONS)?, workspace: RefCell::default() })
    }

    /// How the database finds a page of snapshots, with a prefix of their labels or without.
    pub fn plan_of_page(&self, prefix: bool) -> Result<String> {
        let (statement, prefix) = if prefix { (PAGE_OF_PREFIX, Some("a")) } else { (PAGE, None) };
        self.database.plan(statement, &page_values(None, prefix, 1))
    }

    /// The snapshots that the rest of the statement is about.
    fn snapshot_rows(&self, rest: &str, values: &[JsValue]) -> Result<Vec<SnapshotRecord>> {
        self.rows("snapshots", "snapshot_id", rest, values)
    }

    fn derivation_rows(&self, rest: &str, values: &[JsValue]) -> Result<Vec<Derivation>> {
        self.rows("derivations", "sandbox_id", rest, values)
    }

    fn request_rows(&self, rest: &str, values: &[JsValue]) -> Result<Vec<RequestRecord>> {
        self.rows("requests", "key", rest, values)
    }

    fn rows<T: DeserializeOwned>(&self, table: &str, key: &str, rest: &str, values: &[JsValue]) -> Result<Vec<T>> {
        self.database.records(table, &format!("SELECT {key} AS key, record FROM {table} {rest}"), values)
    }

    /// Whether there are any such rows.
    fn any(&self, rows: &str) -> Result<bool> {
        let found = self.database.run(&format!("SELECT 1 FROM {rows} LIMIT 1"), &[])?;
        Ok(!found.is_empty())
    }

    fn keep(&self, statement: &str, values: &[JsValue]) -> Result<()> {
        self.database.keep(statement, values).map(drop)
    }

    fn remove(&self, rows: &str, values: &[JsValue]) -> Result<()> {
        self.database.run(&format!("DELETE FROM {rows}"), values).map(drop)
    }
}

impl Ledger for SqlLedger {
    fn workspace(&self) -> Result<Option<WorkspaceRecord>> {
        if let Some(known) = &*self.workspace.borrow() {
            return Ok(Some(known.clone()));
        }
        let kept = match self.rows("workspace", "'workspace'", "", &[]).map(first)? {
            Some(kept) => Some(kept),
            None => self.database.noted(WORKSPACE)?.map(|text| decoded(WORKSPACE, WORKSPACE, &text)).transpose()?,
        };
        self.workspace.borrow_mut().clone_from(&kept);
        Ok(kept)
    }

    fn put_workspace(&self, workspace: &WorkspaceRecord) -> Result<()> {
        let record = json(workspace)?;
        // What fails may be kept or not.
        self.workspace.take();
        if self.database.is_made() {
            self.keep("UPDATE workspace SET record = ?", &[record])?;
        } else {
            self.database.note(WORKSPACE, &record)?;
        }
        *self.workspace.borrow_mut() = Some(workspace.clone());
        Ok(())
    }

    fn snapshot(&self, id: &SnapshotId) -> Result<Option<SnapshotRecord>> {
        self.snapshot_rows("WHERE snapshot_id = ?", &[id.as_str().into()]).map(first)
    }

    fn labelled(&self, label: &Label) -> Result<Option<SnapshotRecord>> {
        self.snapshot_rows("WHERE label = ? AND state <> 'deleted'", &[label.as_str().into()]).map(first)
    }

    fn put_snapshot(&self, snapshot: &SnapshotRecord) -> Result<()> {
        let ended_at = match &snapshot.stage {
            Stage::Deleted { end, .. } => Some(end.at),
            Stage::Making(_) | Stage::Ready { .. } | Stage::Deleting { .. } => None,
        };
        let values = [
            snapshot.snapshot_id.as_str().into(),
            snapshot.label.as_str().into(),
            snapshot.state().as_str().into(),
            millis(snapshot.created_at()),
            snapshot.expires_at.map_or(JsValue::NULL, millis),
            ended_at.map_or(JsValue::NULL, millis),
            json(snapshot)?,
        ];
        if self.database.keep(UPDATE_SNAPSHOT, &values)?.is_empty() {
            self.keep(PUT_SNAPSHOT, &values)?;
        }
        Ok(())
    }

    fn forget_snapshot(&self, id: &SnapshotId) -> Result<()> {
        self.remove("snapshots WHERE snapshot_id = ?", &[id.as_str().into()])
    }

    fn page(&self, after: Option<&Cursor>, prefix: Option<&str>, limit: u32) -> Result<Vec<SnapshotRecord>> {
        let statement = if prefix.is_some() { PAGE_OF_PREFIX } else { PAGE };
        self.database.records("snapshots", statement, &page_values(after, prefix, limit))
    }

    fn unfinished(&self) -> Result<Vec<SnapshotRecord>> {
        self.snapshot_rows("WHERE state IN ('making', 'deleting') ORDER BY snapshot_id", &[])
    }

    fn expiring(&self, until: Timestamp, limit: u32) -> Result<Vec<SnapshotRecord>> {
        let rest = "WHERE state = 'ready' AND expires_at <= ? ORDER BY expires_at, snapshot_id LIMIT ?";
        self.snapshot_rows(rest, &[millis(until), limit.into()])
    }

    fn forget_deleted(&self, before: Timestamp) -> Result<bool> {
        self.remove("snapshots WHERE state = 'deleted' AND ended_at < ?", &[millis(before)])?;
        self.any("snapshots WHERE state = 'deleted'")
    }

    fn derivation(&self, sandbox_id: &SandboxId) -> Result<Option<Derivation>> {
        self.derivation_rows("WHERE sandbox_id = ?", &[sandbox_id.as_str().into()]).map(first)
    }

    fn derived_from(&self, ids: &[SnapshotId]) -> Result<Vec<Derivation>> {
        let rest = "WHERE snapshot_id IN (SELECT value FROM json_each(?)) ORDER BY sandbox_id";
        self.derivation_rows(rest, &[json(&ids)?])
    }

    fn unsettled(&self) -> Result<Vec<Derivation>> {
        self.derivation_rows("WHERE settled = 0 ORDER BY sandbox_id", &[])
    }

    fn derivations(&self) -> Result<Vec<Derivation>> {
        self.derivation_rows("ORDER BY sandbox_id", &[])
    }

    fn put_derivation(&self, derivation: &Derivation) -> Result<()> {
        self.keep(
            "INSERT INTO derivations (sandbox_id, snapshot_id, settled, record) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (sandbox_id) DO UPDATE SET snapshot_id = ?2, settled = ?3, record = ?4",
            &[
                derivation.sandbox_id.as_str().into(),
                derivation.snapshot_id.as_str().into(),
                u32::from(derivation.loose().is_none()).into(),
                json(derivation)?,
            ],
        )
    }

    fn forget_derivation(&self, sandbox_id: &SandboxId) -> Result<()> {
        self.remove("derivations WHERE sandbox_id = ?", &[sandbox_id.as_str().into()])
    }

    fn request(&self, key: &str) -> Result<Option<RequestRecord>> {
        self.request_rows("WHERE key = ?", &[key.into()]).map(first)
    }

    fn put_request(&self, request: &RequestRecord) -> Result<()> {
        self.keep(
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

    fn forget_request(&self, key: &str) -> Result<()> {
        self.remove("requests WHERE key = ?", &[key.into()])
    }

    fn unanswered(&self) -> Result<Vec<RequestRecord>> {
        self.request_rows("WHERE answered = 0 ORDER BY key", &[])
    }

    fn forget_answered(&self, before: Timestamp) -> Result<bool> {
        self.remove("requests WHERE answered = 1 AND asked_at < ?", &[millis(before)])?;
        self.any("requests WHERE answered = 1")
    }

    fn releases(&self) -> Result<Vec<Release>> {
        self.rows("releases", "snapshot_id", "ORDER BY snapshot_id", &[])
    }

    fn put_release(&self, release: &Release) -> Result<()> {
        self.keep(
            "INSERT INTO releases (snapshot_id, record) VALUES (?1, ?2)
             ON CONFLICT (snapshot_id) DO UPDATE SET record = ?2",
            &[release.snapshot_id.as_str().into(), json(release)?],
        )
    }

    fn forget_release(&self, id: &SnapshotId) -> Result<()> {
        self.remove("releases WHERE snapshot_id = ?", &[id.as_str().into()])
    }

    fn alarm(&self) -> Result<Option<Timestamp>> {
        self.database.alarm("workspace")
    }

    fn set_alarm(&self, at: Option<Timestamp>) -> Result<()> {
        self.database.set_alarm("workspace", at)
    }
}

/// What is bound to the statement of a page. Without a cursor it begins behind the end of time.
fn page_values(after: Option<&Cursor>, prefix: Option<&str>, limit: u32) -> Vec<JsValue> {
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
