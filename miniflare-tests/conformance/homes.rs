//! What holds for the storage of named workspaces and of Directories alone.

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

use crate::storage::Object;
use crate::suite::Case;
use crate::suite::directory_store::{entry, name};
use crate::suite::ledger::rows::{minute_after_start, ready};
use crate::suite::workspace_store::{address, full_record, minimal_record, transition};

pub fn cases() -> Vec<Case<Object>> {
    vec![
        case!(what_was_kept_is_there_when_it_is_opened_again),
        case!(async the_platform_has_the_alarm_that_the_home_has),
        case!(a_storage_of_a_later_version_is_refused_and_left_as_it_is),
        case!(what_is_of_another_kind_is_refused),
        case!(a_record_that_cant_be_read_is_named_without_what_is_in_it),
        case!(a_transition_is_a_line_of_the_log),
        case!(a_page_of_names_is_found_by_its_index_without_sorting),
        case!(a_page_of_names_passes_over_what_is_gone),
    ]
}

fn what_was_kept_is_there_when_it_is_opened_again(object: &Object) {
    let home = object.home();
    home.put_record(&full_record()).unwrap();
    home.set_alarm(Some(minute_after_start(1))).unwrap();
    let reopened = object.home();
    assert_eq!(reopened.record().unwrap(), Some(full_record()));
    assert_eq!(reopened.alarm().unwrap(), Some(minute_after_start(1)));
}

async fn the_platform_has_the_alarm_that_the_home_has(object: &Object) {
    let home = object.home();
    let soon = WorkerClock.now().plus_millis(3_600_000);
    for at in [Some(soon), Some(soon.plus_millis(1)), None] {
        home.set_alarm(at).unwrap();
        assert_eq!(object.alarm().await, at.map(Timestamp::as_millis));
    }
    home.set_alarm(Some(Timestamp::MAX)).unwrap();
    assert!(object.alarm().await > Some(soon.as_millis()), "it is the latest that the platform takes");
}

fn a_storage_of_a_later_version_is_refused_and_left_as_it_is(object: &Object) {
    object.home().put_record(&minimal_record()).unwrap();
    object.run("UPDATE schema SET version = 3; ALTER TABLE home RENAME TO place");
    let before = object.contents();
    let error = SqlWorkspaceStore::open(&object.0).err().unwrap();
    assert_eq!(error.code(), Code::LedgerTooNew);
    assert!(error.message().contains("version 3") && error.message().contains("up to 2"), "{}", error.message());
    assert_eq!(object.contents(), before);
}

fn what_is_of_another_kind_is_refused(object: &Object) {
    SqlLedger::open(&object.0).unwrap().put_snapshot(&ready(1)).unwrap();
    let before = object.contents();
    assert_eq!(SqlWorkspaceStore::open(&object.0).err().unwrap().code(), Code::LedgerTooNew);
    assert_eq!(SqlDirectoryStore::open(&object.0).err().unwrap().code(), Code::LedgerTooNew);
    assert_eq!(object.contents(), before);
}

fn a_record_that_cant_be_read_is_named_without_what_is_in_it(object: &Object) {
    let home = object.home();
    home.put_record(&full_record()).unwrap();
    object.run("UPDATE home SET record = json_set(record, '$.state', 'secret')");
    let error = home.record().unwrap_err();
    assert_eq!(error.code(), Code::LedgerCorrupt);
    assert!(error.message().contains("\"home\" of the table home"), "{}", error.message());
    assert!(!format!("{error:?}").contains("secret"), "{error:?}");
}

fn a_transition_is_a_line_of_the_log(object: &Object) {
    let home = object.home();
    let lines = Rc::new(RefCell::new(Vec::new()));
    let console = Reflect::get(&js_sys::global(), &"console".into()).unwrap();
    let before = Reflect::get(&console, &"log".into()).unwrap();
    let kept = Rc::clone(&lines);
    let keep = Closure::<dyn FnMut(JsValue)>::new(move |line: JsValue| {
        kept.borrow_mut().push(line.as_string().unwrap());
    });
    Reflect::set(&console, &"log".into(), keep.as_ref()).unwrap();
    home.log_transition(&address(), &transition());
    home.log_transition(
        &address(),
        &Transition { from: None, to: State::Provisioning, at: minute_after_start(0), cause: "create".into() },
    );
    Reflect::set(&console, &"log".into(), &before).unwrap();
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

fn a_page_of_names_is_found_by_its_index_without_sorting(object: &Object) {
    let index = object.index();
    assert_eq!(index.page_query_plan().unwrap(), "SEARCH entries USING INDEX entries_listed (name>? AND name<?)");
}

fn a_page_of_names_passes_over_what_is_gone(object: &Object) {
    let index = object.index();
    for number in 0..1000 {
        let state = if number % 10 == 5 { State::Active } else { State::Deleted };
        index.put_entry(&WorkspaceEntry { state, ..entry(&format!("a{number:03}")) }).unwrap();
    }
    let listed = |after: &str, prefix| index.entries(Some(&name(after)), prefix, 2).unwrap();
    let names =
        |entries: Vec<WorkspaceEntry>| entries.into_iter().map(|entry| entry.name.to_string()).collect::<Vec<_>>();
    assert_eq!(names(listed("a500", None)), ["a505", "a515"]);
    assert_eq!(names(listed("a", Some("a99"))), ["a995"]);
}

impl Object {
    fn home(&self) -> SqlWorkspaceStore {
        SqlWorkspaceStore::open(&self.0).unwrap()
    }

    fn index(&self) -> SqlDirectoryStore {
        SqlDirectoryStore::open(&self.0).unwrap()
    }
}
