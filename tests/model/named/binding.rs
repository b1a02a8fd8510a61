//! The binding of a sandbox to its named workspace, container markers, and dependencies.

use std::collections::BTreeMap;

use proptest::prelude::*;
use sandbox_snapshotter::model::named::ContainerMarker;
use sandbox_snapshotter::model::named::binding::{Dependencies, WorkspaceBinding};
use serde_json::{Value, json};

use crate::support::cases;

fn all_markers(nonce: &str) -> [ContainerMarker; 4] {
    [ContainerMarker::Restoring, ContainerMarker::Restored, ContainerMarker::Adopted, ContainerMarker::Ready]
        .map(|marker| marker(nonce.to_owned()))
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn marker_round_trips(nonce in "[a-z0-9]{1,20}") {
        for marker in all_markers(&nonce) {
            prop_assert_eq!(ContainerMarker::parse(&marker.to_string()), Some(marker.clone()));
            prop_assert_eq!(ContainerMarker::parse(&format!("{marker}\n")), Some(marker));
        }
    }
}

#[test]
fn invalid_marker_is_not_parsed() {
    for text in ["", "ready", "readynonce", "Ready nonce", "odd nonce", " "] {
        assert_eq!(ContainerMarker::parse(text), None, "{text:?}");
    }
}

#[test]
fn only_the_ready_marker_is_ready() {
    assert_eq!(all_markers("n").map(|marker| marker.is_ready()), [false, false, false, true]);
}

#[test]
fn markers_with_different_nonces_are_different() {
    assert_ne!(ContainerMarker::Ready("a".into()), ContainerMarker::Ready("b".into()));
}

fn dependencies(value: Value) -> Dependencies {
    serde_json::from_value(value).unwrap()
}

/// Counts the differences between the dependencies of a snapshot and the present ones: of files and fingerprint, and of the
/// image.
fn stale_counts(then: Value, now: Value) -> (usize, usize) {
    let (stale, image) = dependencies(then).compare(&dependencies(now), &BTreeMap::new());
    (stale.len(), image.len())
}

#[test]
fn equal_dependencies_are_not_stale() {
    let dependencies_json = json!({ "files": { "/a": "1", "/b": "" }, "fingerprint": "v1", "image": "i" });
    assert_eq!(stale_counts(dependencies_json.clone(), dependencies_json), (0, 0));
}

#[test]
fn each_changed_file_is_reported() {
    assert_eq!(
        stale_counts(json!({ "files": { "/a": "1", "/b": "2" } }), json!({ "files": { "/a": "3", "/b": "4" } })),
        (2, 0)
    );
}

#[test]
fn added_or_removed_file_is_a_change() {
    assert_eq!(stale_counts(json!({ "files": { "/a": "1" } }), json!({ "files": { "/a": "" } })), (1, 0));
    assert_eq!(stale_counts(json!({ "files": { "/a": "" } }), json!({ "files": { "/a": "1" } })), (1, 0));
}

#[test]
fn file_that_only_one_side_declares_is_not_stale() {
    assert_eq!(stale_counts(json!({}), json!({ "files": { "/a": "1" } })), (0, 0));
    assert_eq!(stale_counts(json!({ "files": { "/a": "1" } }), json!({})), (0, 0));
}

#[test]
fn fingerprint_is_compared_if_both_sides_have_one() {
    let compared =
        |then: Value, now: Value| stale_counts(json!({ "fingerprint": then }), json!({ "fingerprint": now })).0;
    assert_eq!(compared(json!("v1"), json!("v2")), 1);
    assert_eq!(compared(json!("v1"), json!("v1")), 0);
    assert_eq!((compared(json!(null), json!("v2")), compared(json!("v1"), json!(null))), (0, 0));
}

#[test]
fn image_is_compared_separately() {
    assert_eq!(stale_counts(json!({ "image": "i" }), json!({ "image": "j" })), (0, 1));
    assert_eq!(stale_counts(json!({}), json!({ "image": "j" })), (0, 0));
}

#[test]
fn hashes_that_a_caller_expects_are_compared_case_insensitively() {
    let then = dependencies(json!({ "files": { "/a": "ab" } }));
    let expecting = |path: &str, hash: &str| {
        let expect = BTreeMap::from([(path.to_owned(), hash.to_owned())]);
        then.compare(&Dependencies::default(), &expect).0.len()
    };
    assert_eq!((expecting("/a", "ab"), expecting("/a", "AB"), expecting("/a", "cd")), (0, 0, 1));
    assert_eq!((expecting("/b", "ab"), expecting("/b", "")), (1, 0), "of a file that the snapshot does not list");
}

#[test]
fn row_of_an_earlier_release_is_read() {
    let least = json!({ "address": { "tenant": "t", "name": "n" }, "dir": "/workspace" });
    let binding: WorkspaceBinding = serde_json::from_value(least.clone()).unwrap();
    assert_eq!(binding, WorkspaceBinding::new(binding.address.clone(), binding.start.dir.clone()));
    assert_eq!(serde_json::to_value(binding).unwrap(), least);
}
