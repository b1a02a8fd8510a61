//! The storage of named workspaces and Directories in SQLite.

use std::cell::RefCell;
use std::rc::Rc;

use js_sys::Reflect;
use sandbox_snapshotter::cloudflare::directory_store::SqlDirectoryStore;
use sandbox_snapshotter::cloudflare::ledger::SqlLedger;
use sandbox_snapshotter::cloudflare::runtime::WorkerClock;
use sandbox_snapshotter::cloudflare::workspace_store::SqlWorkspaceStore;
use sandbox_snapshotter::model::named::answer::WorkspaceEntry;
use sandbox_snapshotter::model::named::{State, Transition};
use sandbox_snapshotter::model::{Code, Timestamp};
use sandbox_snapshotter::ports::{Clock, DirectoryStore, Ledger, WorkspaceStore};
use serde_json::{Value, json};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::Closure;

use crate::ledger_storage::Object;
use crate::suite::Case;
use crate::suite::directory_store::{entry, name};
use crate::suite::ledger::rows::{minute_after_start, ready};
use crate::suite::workspace_store::{address, full_record, minimal_record, transition};

pub fn cases() -> Vec<Case<Object>> {
    vec![
        case!(reopened_store_returns_the_record_and_the_alarm),
        case!(async set_alarm_sets_the_alarm_of_the_platform),
        case!(open_refuses_a_later_version_and_changes_nothing),
        case!(open_refuses_the_storage_of_a_ledger),
        case!(error_of_an_unreadable_record_names_the_record_without_its_content),
        case!(log_transition_logs_a_line_of_json),
        case!(page_query_uses_the_index_without_sorting),
        case!(page_skips_deleted_workspaces),
    ]
}

fn reopened_store_returns_the_record_and_the_alarm(object: &Object) {
    let store = object.workspace_store();
    store.put_record(&full_record()).unwrap();
    store.set_alarm(Some(minute_after_start(1))).unwrap();
    let reopened = object.workspace_store();
    assert_eq!(reopened.record().unwrap(), Some(full_record()));
    assert_eq!(reopened.alarm().unwrap(), Some(minute_after_start(1)));
}

async fn set_alarm_sets_the_alarm_of_the_platform(object: &Object) {
    let store = object.workspace_store();
    let soon = WorkerClock.now().plus_millis(3_600_000);
    for at in [Some(soon), Some(soon.plus_millis(1)), None] {
        store.set_alarm(at).unwrap();
        assert_eq!(object.alarm().await, at.map(Timestamp::as_millis));
    }
    store.set_alarm(Some(Timestamp::MAX)).unwrap();
    assert!(object.alarm().await > Some(soon.as_millis()), "the latest time that the platform accepts");
}

fn open_refuses_a_later_version_and_changes_nothing(object: &Object) {
    object.workspace_store().put_record(&minimal_record()).unwrap();
    object.run("UPDATE schema SET version = 3; ALTER TABLE home RENAME TO place");
    let before = object.contents();
    let error = SqlWorkspaceStore::open(&object.0).err().unwrap();
    assert_eq!(error.code(), Code::LedgerTooNew);
    assert!(error.message().contains("version 3") && error.message().contains("up to 2"), "{}", error.message());
    assert_eq!(object.contents(), before);
}

fn open_refuses_the_storage_of_a_ledger(object: &Object) {
    SqlLedger::open(&object.0).unwrap().put_snapshot(&ready(1)).unwrap();
    let before = object.contents();
    assert_eq!(SqlWorkspaceStore::open(&object.0).err().unwrap().code(), Code::LedgerTooNew);
    assert_eq!(SqlDirectoryStore::open(&object.0).err().unwrap().code(), Code::LedgerTooNew);
    assert_eq!(object.contents(), before);
}

fn error_of_an_unreadable_record_names_the_record_without_its_content(object: &Object) {
    let store = object.workspace_store();
    store.put_record(&full_record()).unwrap();
    object.run("UPDATE home SET record = json_set(record, '$.state', 'secret')");
    let error = store.record().unwrap_err();
    assert_eq!(error.code(), Code::LedgerCorrupt);
    assert!(error.message().contains("\"home\" of the table home"), "{}", error.message());
    assert!(!format!("{error:?}").contains("secret"), "{error:?}");
}

fn log_transition_logs_a_line_of_json(object: &Object) {
    let store = object.workspace_store();
    let lines = Rc::new(RefCell::new(Vec::new()));
    let console = Reflect::get(&js_sys::global(), &"console".into()).unwrap();
    let console_log = Reflect::get(&console, &"log".into()).unwrap();
    let recorded = Rc::clone(&lines);
    let record = Closure::<dyn FnMut(JsValue)>::new(move |line: JsValue| {
        recorded.borrow_mut().push(line.as_string().unwrap());
    });
    Reflect::set(&console, &"log".into(), record.as_ref()).unwrap();
    store.log_transition(&address(), &transition());
    store.log_transition(
        &address(),
        &Transition { from: None, to: State::Provisioning, at: minute_after_start(0), cause: "create".into() },
    );
    Reflect::set(&console, &"log".into(), &console_log).unwrap();
    let lines: Vec<Value> = lines.borrow().iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let line = json!({ "event": "workspace.transition", "tenant": "Tenant-1", "name": "it_s.a-name" });
    let with = |more: Value| {
        let mut line = line.as_object().unwrap().clone();
        line.extend(more.as_object().unwrap().clone());
        Value::Object(line)
    };
    assert_eq!(
        lines,
        [
            with(json!({
                "from": "active", "to": "stopping", "cause": transition().cause, "at": "2026-11-20T00:03:00.000Z",
            })),
            with(json!({ "from": null, "to": "provisioning", "cause": "create", "at": "2026-11-20T00:00:00.000Z" })),
        ]
    );
}

fn page_query_uses_the_index_without_sorting(object: &Object) {
    let store = object.directory_store();
    assert_eq!(store.page_query_plan().unwrap(), "SEARCH entries USING INDEX entries_listed (name>? AND name<?)");
}

fn page_skips_deleted_workspaces(object: &Object) {
    let store = object.directory_store();
    for number in 0..1000 {
        let state = if number % 10 == 5 { State::Active } else { State::Deleted };
        store.put_entry(&WorkspaceEntry { state, ..entry(&format!("a{number:03}")) }).unwrap();
    }
    let listed = |after: &str, prefix| store.entries(Some(&name(after)), prefix, 2).unwrap();
    let names =
        |entries: Vec<WorkspaceEntry>| entries.into_iter().map(|entry| entry.name.to_string()).collect::<Vec<_>>();
    assert_eq!(names(listed("a500", None)), ["a505", "a515"]);
    assert_eq!(names(listed("a", Some("a99"))), ["a995"]);
}

impl Object {
    fn workspace_store(&self) -> SqlWorkspaceStore {
        SqlWorkspaceStore::open(&self.0).unwrap()
    }

    fn directory_store(&self) -> SqlDirectoryStore {
        SqlDirectoryStore::open(&self.0).unwrap()
    }
}
