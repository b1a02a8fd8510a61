//! The list of a tenant's named workspaces.

use sandbox_snapshotter::model::Runtime;
use sandbox_snapshotter::model::named::answer::WorkspaceEntry;
use sandbox_snapshotter::model::named::{State, StoragePolicy, WorkspaceName};
use sandbox_snapshotter::ports::DirectoryStore;

use super::Case;
use super::ledger::rows::{minute_after_start, sandbox};

pub fn cases<S: DirectoryStore>() -> Vec<Case<S>> {
    vec![
        case!(new_store_is_empty),
        case!(entry_is_stored_and_replaced_completely),
        case!(deleted_workspace_is_readable_but_not_listed),
        case!(tombstones_are_deleted_when_last_updated_before_the_limit),
        case!(reused_name_is_listed_again),
        case!(names_are_compared_exactly),
        case!(prefix_is_compared_exactly),
        case!(pages_contain_each_entry_once),
        case!(page_begins_after_its_cursor_even_if_that_entry_is_missing),
    ]
}

/// Names that are easily confused with each other, in their order.
const NAMES: [&str; 14] = ["0", "A", "A-1", "A.1", "A1", "AA", "A_1", "Aa", "Z", "_", "_a", "a", "a.b", "aa"];

fn new_store_is_empty(store: &impl DirectoryStore) {
    assert_eq!(store.entry(&name("a")).unwrap(), None);
    assert_eq!(store.entries(None, None, 10).unwrap(), []);
    assert_eq!(store.entries(Some(&name("a")), Some("a"), 10).unwrap(), []);
}

fn entry_is_stored_and_replaced_completely(store: &impl DirectoryStore) {
    for state in State::ALL {
        let entry = WorkspaceEntry {
            name: name("it_s.a-name"),
            state,
            sandbox_id: sandbox(&format!("it's {state} 🗂")),
            runtime: Some(Runtime::Container),
            storage: StoragePolicy::Platform,
            size_bytes: Some(u64::MAX),
            autosave: true,
            last_saved_at: None,
            unsaved_since: None,
            container_ended: false,
            problem_code: None,
            created_at: minute_after_start(-5),
            source_sandbox_id: Some(sandbox("agent-42")),
            updated_at: minute_after_start(3),
            version: u64::MAX,
        };
        store.put_entry(&entry).unwrap();
        assert_eq!(store.entry(&entry.name).unwrap(), Some(entry));
    }
}

fn deleted_workspace_is_readable_but_not_listed(store: &impl DirectoryStore) {
    put_entries(store, &["a", "b", "c"]);
    let deleted = WorkspaceEntry { state: State::Deleted, version: 2, ..entry("b") };
    store.put_entry(&deleted).unwrap();
    assert_eq!(store.entry(&name("b")).unwrap(), Some(deleted));
    assert_eq!(names(store, None, None, 10), ["a", "c"]);
    assert_eq!(names(store, Some("a"), None, 1), ["c"], "it does not count towards the limit");
    assert_eq!(names(store, None, Some("b"), 10), [""; 0]);
}

fn tombstones_are_deleted_when_last_updated_before_the_limit(store: &impl DirectoryStore) {
    for (text, state, at) in [("a", State::Deleted, 1), ("b", State::Deleted, 2), ("c", State::Stopped, 1)] {
        store.put_entry(&WorkspaceEntry { state, updated_at: minute_after_start(at), ..entry(text) }).unwrap();
    }
    store.delete_tombstones(minute_after_start(2)).unwrap();
    let exists = |text| store.entry(&name(text)).unwrap().is_some();
    assert_eq!(["a", "b", "c"].map(exists), [false, true, true]);
}

fn reused_name_is_listed_again(store: &impl DirectoryStore) {
    for state in [State::Deleted, State::Provisioning, State::Failed, State::Deleted, State::Active] {
        store.put_entry(&WorkspaceEntry { state, ..entry("a") }).unwrap();
        let listed = store.entries(None, None, 10).unwrap();
        assert_eq!(listed.is_empty(), state == State::Deleted, "{state}");
    }
}

fn names_are_compared_exactly(store: &impl DirectoryStore) {
    put_entries(store, &NAMES);
    for text in NAMES {
        assert_eq!(store.entry(&name(text)).unwrap(), Some(entry(text)));
    }
    assert_eq!(names(store, None, None, 100), NAMES);
    assert_eq!(names(store, None, None, 3), NAMES[..3]);
    assert_eq!(names(store, None, None, 0), [""; 0]);
}

fn prefix_is_compared_exactly(store: &impl DirectoryStore) {
    put_entries(store, &NAMES);
    for prefix in
        ["", "A", "A.", "A-", "A_", "A1", "a", "a.", "aa", "aaa", "_", "Z", "%", "A%", "*", "a'", "\0", "ä", "🗂"]
    {
        let expected: Vec<_> = NAMES.into_iter().filter(|name| name.starts_with(prefix)).collect();
        assert_eq!(names(store, None, Some(prefix), 100), expected, "{prefix:?}");
    }
}

fn pages_contain_each_entry_once(store: &impl DirectoryStore) {
    put_entries(store, &NAMES);
    for text in ["A0", "a-"] {
        store.put_entry(&WorkspaceEntry { state: State::Deleted, ..entry(text) }).unwrap();
    }
    for prefix in [None, Some("A"), Some("a"), Some("")] {
        let expected: Vec<_> = NAMES.into_iter().filter(|name| name.starts_with(prefix.unwrap_or_default())).collect();
        for limit in [1, 2, 5, 13, 14, u32::MAX] {
            let mut listed: Vec<String> = Vec::new();
            loop {
                let page = names(store, listed.last().map(String::as_str), prefix, limit);
                assert!(page.len() <= limit as usize);
                if page.is_empty() {
                    break;
                }
                listed.extend(page);
            }
            assert_eq!(listed, expected, "limit {limit}, prefix {prefix:?}");
        }
    }
}

fn page_begins_after_its_cursor_even_if_that_entry_is_missing(store: &impl DirectoryStore) {
    put_entries(store, &NAMES);
    store.put_entry(&WorkspaceEntry { state: State::Deleted, ..entry("A.1") }).unwrap();
    for (after, prefix, expected) in [
        ("A.1", None, ["A1", "AA"].as_slice()),
        ("A0", None, &["A1", "AA"]),
        ("zz", None, &[]),
        ("0", Some("a"), &["a", "a.b"]),
        ("a", Some("a"), &["a.b", "aa"]),
        ("a0", Some("a"), &["aa"]),
        ("b", Some("a"), &[]),
        ("A-1", Some("A"), &["A1", "AA"]),
    ] {
        assert_eq!(names(store, Some(after), prefix, 2), expected, "after {after}, prefix {prefix:?}");
    }
}

pub fn name(text: &str) -> WorkspaceName {
    WorkspaceName::parse(text).unwrap()
}

/// The entry of an active workspace.
pub fn entry(text: &str) -> WorkspaceEntry {
    WorkspaceEntry {
        name: name(text),
        state: State::Active,
        sandbox_id: sandbox("agent-42"),
        runtime: None,
        storage: StoragePolicy::Archive,
        size_bytes: None,
        autosave: true,
        last_saved_at: None,
        unsaved_since: None,
        container_ended: false,
        problem_code: None,
        created_at: minute_after_start(0),
        source_sandbox_id: None,
        updated_at: minute_after_start(1),
        version: 1,
    }
}

/// Stores the entries of active workspaces, not in the order of their names.
fn put_entries(store: &impl DirectoryStore, names: &[&str]) {
    for name in names.iter().rev() {
        store.put_entry(&entry(name)).unwrap();
    }
}

fn names(store: &impl DirectoryStore, after: Option<&str>, prefix: Option<&str>, limit: u32) -> Vec<String> {
    let entries = store.entries(after.map(name).as_ref(), prefix, limit).unwrap();
    entries.into_iter().map(|entry| entry.name.to_string()).collect()
}
