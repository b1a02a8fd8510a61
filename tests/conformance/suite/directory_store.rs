//! The Directory of a tenant's named workspaces.

use sandbox_snapshotter::model::named::answer::WorkspaceEntry;
use sandbox_snapshotter::model::named::{State, WorkspaceName};
use sandbox_snapshotter::ports::DirectoryStore;

use super::Case;
use super::ledger::rows::{minute_after_start, sandbox};

pub fn cases<I: DirectoryStore>() -> Vec<Case<I>> {
    vec![
        case!(a_new_one_lists_nothing),
        case!(an_entry_is_kept_whole_and_replaced_whole),
        case!(one_that_is_gone_is_known_and_not_listed),
        case!(one_that_is_gone_is_forgotten_when_it_was_last_heard_of_before_then),
        case!(a_name_is_listed_again_when_it_is_used_again),
        case!(names_are_taken_to_the_letter),
        case!(a_prefix_is_taken_to_the_letter),
        case!(pages_together_have_each_entry_once),
        case!(a_page_begins_behind_its_cursor_whether_or_not_that_entry_is_there),
    ]
}

/// Names that are easily taken for each other, in their order.
const NAMES: [&str; 14] = ["0", "A", "A-1", "A.1", "A1", "AA", "A_1", "Aa", "Z", "_", "_a", "a", "a.b", "aa"];

fn a_new_one_lists_nothing(index: &impl DirectoryStore) {
    assert_eq!(index.entry(&name("a")).unwrap(), None);
    assert_eq!(index.entries(None, None, 10).unwrap(), []);
    assert_eq!(index.entries(Some(&name("a")), Some("a"), 10).unwrap(), []);
}

fn an_entry_is_kept_whole_and_replaced_whole(index: &impl DirectoryStore) {
    for state in State::ALL {
        let entry = WorkspaceEntry {
            name: name("it_s.a-name"),
            state,
            sandbox_id: sandbox(&format!("it's {state} 🗂")),
            size_bytes: Some(u64::MAX),
            created_at: minute_after_start(-5),
            updated_at: minute_after_start(3),
            version: u64::MAX,
        };
        index.put_entry(&entry).unwrap();
        assert_eq!(index.entry(&entry.name).unwrap(), Some(entry));
    }
}

fn one_that_is_gone_is_known_and_not_listed(index: &impl DirectoryStore) {
    put_entries(index, &["a", "b", "c"]);
    let gone = WorkspaceEntry { state: State::Deleted, version: 2, ..entry("b") };
    index.put_entry(&gone).unwrap();
    assert_eq!(index.entry(&name("b")).unwrap(), Some(gone));
    assert_eq!(names(index, None, None, 10), ["a", "c"]);
    assert_eq!(names(index, Some("a"), None, 1), ["c"], "it does not count for the limit");
    assert_eq!(names(index, None, Some("b"), 10), [""; 0]);
}

fn one_that_is_gone_is_forgotten_when_it_was_last_heard_of_before_then(index: &impl DirectoryStore) {
    for (text, state, at) in [("a", State::Deleted, 1), ("b", State::Deleted, 2), ("c", State::Stopped, 1)] {
        index.put_entry(&WorkspaceEntry { state, updated_at: minute_after_start(at), ..entry(text) }).unwrap();
    }
    index.delete_tombstones(minute_after_start(2)).unwrap();
    let is_known = |text| index.entry(&name(text)).unwrap().is_some();
    assert_eq!(["a", "b", "c"].map(is_known), [false, true, true]);
}

fn a_name_is_listed_again_when_it_is_used_again(index: &impl DirectoryStore) {
    for state in [State::Deleted, State::Provisioning, State::Failed, State::Deleted, State::Active] {
        index.put_entry(&WorkspaceEntry { state, ..entry("a") }).unwrap();
        let listed = index.entries(None, None, 10).unwrap();
        assert_eq!(listed.is_empty(), state == State::Deleted, "{state}");
    }
}

fn names_are_taken_to_the_letter(index: &impl DirectoryStore) {
    put_entries(index, &NAMES);
    for text in NAMES {
        assert_eq!(index.entry(&name(text)).unwrap(), Some(entry(text)));
    }
    assert_eq!(names(index, None, None, 100), NAMES);
    assert_eq!(names(index, None, None, 3), NAMES[..3]);
    assert_eq!(names(index, None, None, 0), [""; 0]);
}

fn a_prefix_is_taken_to_the_letter(index: &impl DirectoryStore) {
    put_entries(index, &NAMES);
    for prefix in
        ["", "A", "A.", "A-", "A_", "A1", "a", "a.", "aa", "aaa", "_", "Z", "%", "A%", "*", "a'", "\0", "ä", "🗂"]
    {
        let expected: Vec<_> = NAMES.into_iter().filter(|name| name.starts_with(prefix)).collect();
        assert_eq!(names(index, None, Some(prefix), 100), expected, "{prefix:?}");
    }
}

fn pages_together_have_each_entry_once(index: &impl DirectoryStore) {
    put_entries(index, &NAMES);
    for text in ["A0", "a-"] {
        index.put_entry(&WorkspaceEntry { state: State::Deleted, ..entry(text) }).unwrap();
    }
    for prefix in [None, Some("A"), Some("a"), Some("")] {
        let expected: Vec<_> = NAMES.into_iter().filter(|name| name.starts_with(prefix.unwrap_or_default())).collect();
        for limit in [1, 2, 5, 13, 14, u32::MAX] {
            let mut listed: Vec<String> = Vec::new();
            loop {
                let page = names(index, listed.last().map(String::as_str), prefix, limit);
                assert!(page.len() <= limit as usize);
                if page.is_empty() {
                    break;
                }
                listed.extend(page);
            }
            assert_eq!(listed, expected, "by {limit}, with {prefix:?}");
        }
    }
}

fn a_page_begins_behind_its_cursor_whether_or_not_that_entry_is_there(index: &impl DirectoryStore) {
    put_entries(index, &NAMES);
    index.put_entry(&WorkspaceEntry { state: State::Deleted, ..entry("A.1") }).unwrap();
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
        assert_eq!(names(index, Some(after), prefix, 2), expected, "behind {after}, with {prefix:?}");
    }
}

pub fn name(text: &str) -> WorkspaceName {
    WorkspaceName::parse(text).unwrap()
}

/// The entry of a workspace that is active.
pub fn entry(text: &str) -> WorkspaceEntry {
    WorkspaceEntry {
        name: name(text),
        state: State::Active,
        sandbox_id: sandbox("agent-42"),
        size_bytes: None,
        created_at: minute_after_start(0),
        updated_at: minute_after_start(1),
        version: 1,
    }
}

/// Keeps the entries of workspaces that are active, in another order than that of their names.
fn put_entries(index: &impl DirectoryStore, names: &[&str]) {
    for name in names.iter().rev() {
        index.put_entry(&entry(name)).unwrap();
    }
}

fn names(index: &impl DirectoryStore, after: Option<&str>, prefix: Option<&str>, limit: u32) -> Vec<String> {
    let entries = index.entries(after.map(name).as_ref(), prefix, limit).unwrap();
    entries.into_iter().map(|entry| entry.name.to_string()).collect()
}
