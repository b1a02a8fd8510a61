//! The storage of the ledger in SQLite: query plans, migrations and failures.

use sandbox_snapshotter::cloudflare::ledger::SqlLedger;
use sandbox_snapshotter::cloudflare::runtime::WorkerClock;
use sandbox_snapshotter::model::record::{IdempotencyRecord, SandboxRecord, SnapshotRecord};
use sandbox_snapshotter::model::{Code, Timestamp};
use sandbox_snapshotter::ports::{Clock, Ledger};
use serde_json::Value;
use wasm_bindgen::{JsCast, JsValue};
use worker::worker_sys::DurableObjectState;
use worker::{State, Storage};

use crate::suite::Case;
use crate::suite::ledger::rows::{deleted, minute_after_start, ready, sandbox_record, snapshot_id};

/// A database that the release with version 1 of the schema wrote.
const VERSION_1: &str = include_str!("version-1.sql");

/// A Durable Object with empty storage.
pub struct Object(pub JsValue);

pub fn cases() -> Vec<Case<Object>> {
    vec![
        case!(reopened_ledger_returns_the_snapshot_and_the_alarm),
        case!(reads_create_no_tables),
        case!(sandbox_record_creates_no_tables_and_survives_their_creation),
        case!(async set_alarm_sets_the_alarm_of_the_platform),
        case!(page_query_uses_the_index_by_age),
        case!(page_query_with_a_prefix_uses_the_index_of_labels),
        case!(migration_from_version_1_preserves_all_rows),
        case!(migration_from_version_1_creates_the_schema_of_a_new_database),
        case!(open_refuses_a_later_version_and_changes_nothing),
        case!(failed_migration_changes_nothing),
        case!(error_of_an_unreadable_row_names_the_row_without_its_content),
        case!(refused_statement_is_the_cause_of_the_error),
    ]
}

fn reopened_ledger_returns_the_snapshot_and_the_alarm(object: &Object) {
    let ledger = object.open();
    ledger.put_snapshot(&ready(1)).unwrap();
    ledger.set_alarm(Some(minute_after_start(1))).unwrap();
    let reopened = object.open();
    assert_eq!(reopened.snapshot(&snapshot_id(1)).unwrap(), Some(ready(1)));
    assert_eq!(reopened.alarm().unwrap(), Some(minute_after_start(1)));
}

fn reads_create_no_tables(object: &Object) {
    let ledger = object.open();
    ledger.snapshot_page(None, None, 10).unwrap();
    ledger.unfinished_snapshots().unwrap();
    ledger.set_alarm(None).unwrap();
    assert!(!ledger.delete_tombstones(Timestamp::MAX).unwrap());
    assert!(object.schema().is_empty());
}

fn sandbox_record_creates_no_tables_and_survives_their_creation(object: &Object) {
    let ledger = object.open();
    ledger.put_sandbox(&sandbox_record()).unwrap();
    assert!(object.schema().is_empty());
    assert_eq!(object.open().sandbox().unwrap(), Some(sandbox_record()));
    ledger.set_alarm(Some(minute_after_start(1))).unwrap();
    assert_eq!(object.open().sandbox().unwrap(), Some(sandbox_record()));
    let later = SandboxRecord { decommissioned_at: Some(minute_after_start(1)), ..sandbox_record() };
    ledger.put_sandbox(&later).unwrap();
    assert_eq!(object.open().sandbox().unwrap(), Some(later));
}

async fn set_alarm_sets_the_alarm_of_the_platform(object: &Object) {
    let ledger = object.open();
    let soon = WorkerClock.now().plus_millis(3_600_000);
    for at in [Some(soon), Some(soon.plus_millis(1)), None] {
        ledger.set_alarm(at).unwrap();
        assert_eq!(object.alarm().await, at.map(Timestamp::as_millis));
    }
    ledger.set_alarm(Some(Timestamp::MAX)).unwrap();
    assert!(object.alarm().await > Some(soon.as_millis()), "the latest time that the platform accepts");
}

fn page_query_uses_the_index_by_age(object: &Object) {
    let ledger = object.put_a_thousand_snapshots();
    assert_eq!(
        ledger.page_query_plan(false).unwrap(),
        "SEARCH snapshots USING INDEX snapshots_by_age ((created_at,snapshot_id)<(?,?))"
    );
}

fn page_query_with_a_prefix_uses_the_index_of_labels(object: &Object) {
    let ledger = object.put_a_thousand_snapshots();
    assert_eq!(
        ledger.page_query_plan(true).unwrap(),
        "SEARCH snapshots USING INDEX snapshots_by_label (label>? AND label<?)\nUSE TEMP B-TREE FOR ORDER BY"
    );
}

fn migration_from_version_1_preserves_all_rows(object: &Object) {
    object.run(VERSION_1);
    let ledger = object.open();
    let labels = |snapshots: Vec<SnapshotRecord>| -> Vec<String> {
        snapshots.into_iter().map(|snapshot| snapshot.label.into()).collect()
    };
    assert_eq!(ledger.sandbox().unwrap().unwrap().policy.expiration_seconds, 3600);
    assert_eq!(ledger.alarm().unwrap(), Some(Timestamp::from_millis(1_795_143_600_000)));
    assert_eq!(labels(ledger.snapshot_page(None, None, 10).unwrap()), ["making", "ready"]);
    assert_eq!(labels(ledger.snapshot_page(None, Some("r"), 10).unwrap()), ["ready"]);
    assert_eq!(labels(ledger.unfinished_snapshots().unwrap()), ["making"]);
    assert_eq!(labels(ledger.expiring_snapshots(Timestamp::from_millis(1_795_143_600_000), 10).unwrap()), ["ready"]);
    assert!(ledger.snapshot(&snapshot_id(3)).unwrap().is_some());
    assert!(!ledger.delete_tombstones(Timestamp::MAX).unwrap());
    assert!(ledger.snapshot(&snapshot_id(3)).unwrap().is_none());
    assert_eq!(ledger.derived_from(&[snapshot_id(1)]).unwrap(), ledger.unfinished_sandboxes().unwrap());
    assert_eq!(ledger.unfinished_sandboxes().unwrap().len(), 1);
    assert_eq!(ledger.unanswered_calls().unwrap().len(), 1);
    assert!(matches!(ledger.idempotency_record("answered").unwrap(), Some(IdempotencyRecord { answer: Some(_), .. })));
    assert_eq!(ledger.releases().unwrap().len(), 1);
}

fn migration_from_version_1_creates_the_schema_of_a_new_database(object: &Object) {
    object.open().put_snapshot(&ready(1)).unwrap();
    let new = object.schema();
    for table in ["schema", "workspace", "snapshots", "derivations", "requests", "releases"] {
        object.run(&format!("DROP TABLE {table}"));
    }
    object.run(VERSION_1);
    object.open();
    assert_eq!(object.schema(), new);
}

fn open_refuses_a_later_version_and_changes_nothing(object: &Object) {
    object.open().put_snapshot(&ready(1)).unwrap();
    object.run("UPDATE schema SET version = 4; DROP TABLE releases; ALTER TABLE requests RENAME TO calls");
    let before = object.contents();
    let error = SqlLedger::open(&object.0).err().unwrap();
    assert_eq!(error.code(), Code::LedgerTooNew);
    assert!(error.message().contains("version 4") && error.message().contains("up to 3"), "{}", error.message());
    assert!(error.remediation().contains("Deploy the release that wrote it, or a later one."));
    assert_eq!(object.contents(), before);
}

fn failed_migration_changes_nothing(object: &Object) {
    object.run(VERSION_1);
    object.run("DROP TABLE requests");
    let before = object.contents();
    assert_eq!(SqlLedger::open(&object.0).err().unwrap().code(), Code::LedgerUnavailable);
    assert_eq!(object.contents(), before);
}

fn error_of_an_unreadable_row_names_the_row_without_its_content(object: &Object) {
    let ledger = object.open();
    ledger.put_snapshot(&ready(1)).unwrap();
    object.run("UPDATE snapshots SET record = json_set(record, '$.label', ' it is secret')");
    let error = ledger.snapshot(&snapshot_id(1)).unwrap_err();
    assert_eq!((error.code(), error.is_retryable()), (Code::LedgerCorrupt, false));
    assert!(error.message().contains("\"snap-0000000000000001\" of the table snapshots"), "{}", error.message());
    assert!(!format!("{error:?}").contains("secret"), "{error:?}");
}

fn refused_statement_is_the_cause_of_the_error(object: &Object) {
    let ledger = object.open();
    ledger.put_snapshot(&ready(1)).unwrap();
    let duplicate = SnapshotRecord { label: ready(1).label, ..ready(2) };
    let error = ledger.put_snapshot(&duplicate).unwrap_err();
    assert!(error.cause().unwrap().message.contains("UNIQUE constraint failed: snapshots.label"), "{error:?}");
    ledger.put_snapshot(&SnapshotRecord { label: ready(1).label, ..deleted(2, minute_after_start(1)) }).unwrap();
}

impl Object {
    fn open(&self) -> SqlLedger {
        SqlLedger::open(&self.0).unwrap()
    }

    fn put_a_thousand_snapshots(&self) -> SqlLedger {
        let ledger = self.open();
        for number in 1..=1000 {
            ledger.put_snapshot(&ready(number)).unwrap();
        }
        ledger
    }

    fn storage(&self) -> Storage {
        State::from(self.0.clone().unchecked_into::<DurableObjectState>()).storage()
    }

    pub async fn alarm(&self) -> Option<i64> {
        self.storage().get_alarm().await.unwrap()
    }

    /// Runs statements, and returns the rows of the last one.
    pub fn run(&self, statements: &str) -> Vec<Value> {
        self.storage().sql().exec(statements, None).unwrap().to_array().unwrap()
    }

    /// Returns the tables with their columns and types, and the statements of the indexes.
    fn schema(&self) -> Vec<String> {
        let columns =
            "SELECT m.name || '.' || c.name || ' ' || c.type AS what FROM sqlite_schema m, pragma_table_info(m.name) c
             WHERE m.name NOT LIKE '\\_cf\\_%' ESCAPE '\\'";
        let indexes = "SELECT sql AS what FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL";
        let rows = [self.run(columns), self.run(indexes)].concat();
        let mut schema: Vec<_> = rows.iter().map(|row| row["what"].as_str().unwrap().to_owned()).collect();
        schema.sort();
        schema
    }

    /// Returns the schema and all rows.
    pub fn contents(&self) -> Vec<Value> {
        let schema = self.run("SELECT type, name, sql FROM sqlite_schema ORDER BY name");
        let tables = schema.iter().filter(|row| row["type"] == "table").filter_map(|row| row["name"].as_str());
        let rows = tables
            .filter(|table| !table.starts_with('_'))
            .flat_map(|table| self.run(&format!("SELECT * FROM {table}")));
        schema.iter().cloned().chain(rows).collect()
    }
}
