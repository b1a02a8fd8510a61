//! What is kept with a sandbox that stands for a name.

use std::collections::BTreeMap;

use proptest::prelude::*;
use sandbox_snapshotter::model::named::ContainerMarker;
use sandbox_snapshotter::model::named::binding::{Dependencies, WorkspaceBinding};
use serde_json::{Value, json};

use crate::support::cases;

fn all_markers(nonce: &str) -> [ContainerMarker; 4] {
    [ContainerMarker::Restoring, ContainerMarker::Restored, ContainerMarker::Adopted, ContainerMarker::Ready]
        .map(|stamp| stamp(nonce.to_owned()))
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn a_stamp_reads_what_it_writes(nonce in "[a-z0-9]{1,20}") {
        for stamp in all_markers(&nonce) {
            prop_assert_eq!(ContainerMarker::parse(&stamp.to_string()), Some(stamp.clone()));
            prop_assert_eq!(ContainerMarker::parse(&format!("{stamp}\n")), Some(stamp));
        }
    }
}

#[test]
fn what_is_no_stamp_is_not_read_as_one() {
    for text in ["", "ready", "readynonce", "Ready nonce", "odd nonce", " "] {
        assert_eq!(ContainerMarker::parse(text), None, "{text:?}");
    }
}

#[test]
fn only_what_was_handed_out_is_ready() {
    assert_eq!(all_markers("n").map(|stamp| stamp.is_ready()), [false, false, false, true]);
}

#[test]
fn stamps_of_two_fillings_are_two() {
    assert_ne!(ContainerMarker::Ready("a".into()), ContainerMarker::Ready("b".into()));
}

fn dependencies(value: Value) -> Dependencies {
    serde_json::from_value(value).unwrap()
}

/// In what a snapshot of `then` is stale `now`: the world, and the image.
fn stale_counts(then: Value, now: Value) -> (usize, usize) {
    let (stale, image) = dependencies(then).compare(&dependencies(now), &BTreeMap::new());
    (stale.len(), image.len())
}

#[test]
fn what_is_the_same_is_not_stale() {
    let world = json!({ "files": { "/a": "1", "/b": "" }, "fingerprint": "v1", "image": "i" });
    assert_eq!(stale_counts(world.clone(), world), (0, 0));
}

#[test]
fn each_file_that_is_another_is_told() {
    assert_eq!(
        stale_counts(json!({ "files": { "/a": "1", "/b": "2" } }), json!({ "files": { "/a": "3", "/b": "4" } })),
        (2, 0)
    );
}

#[test]
fn a_file_that_came_or_went_is_another() {
    assert_eq!(stale_counts(json!({ "files": { "/a": "1" } }), json!({ "files": { "/a": "" } })), (1, 0));
    assert_eq!(stale_counts(json!({ "files": { "/a": "" } }), json!({ "files": { "/a": "1" } })), (1, 0));
}

#[test]
fn a_file_of_which_the_snapshot_knows_nothing_is_not_stale() {
    assert_eq!(stale_counts(json!({}), json!({ "files": { "/a": "1" } })), (0, 0));
    assert_eq!(stale_counts(json!({ "files": { "/a": "1" } }), json!({})), (0, 0));
}

#[test]
fn a_fingerprint_is_compared_where_both_are_known() {
    let compared =
        |then: Value, now: Value| stale_counts(json!({ "fingerprint": then }), json!({ "fingerprint": now })).0;
    assert_eq!(compared(json!("v1"), json!("v2")), 1);
    assert_eq!(compared(json!("v1"), json!("v1")), 0);
    assert_eq!((compared(json!(null), json!("v2")), compared(json!("v1"), json!(null))), (0, 0));
}

#[test]
fn the_image_is_compared_for_itself() {
    assert_eq!(stale_counts(json!({ "image": "i" }), json!({ "image": "j" })), (0, 1));
    assert_eq!(stale_counts(json!({}), json!({ "image": "j" })), (0, 0));
}

#[test]
fn what_a_caller_expects_is_compared_with_the_snapshot_in_any_case() {
    let then = dependencies(json!({ "files": { "/a": "ab" } }));
    let expecting = |path: &str, hash: &str| {
        let expect = BTreeMap::from([(path.to_owned(), hash.to_owned())]);
        then.compare(&Dependencies::default(), &expect).0.len()
    };
    assert_eq!((expecting("/a", "ab"), expecting("/a", "AB"), expecting("/a", "cd")), (0, 0, 1));
    assert_eq!((expecting("/b", "ab"), expecting("/b", "")), (1, 0), "of a file that it does not know");
}

#[test]
fn a_row_of_an_earlier_release_is_read() {
    let least = json!({ "address": { "tenant": "t", "name": "n" }, "dir": "/workspace" });
    let standing: WorkspaceBinding = serde_json::from_value(least.clone()).unwrap();
    assert_eq!(standing, WorkspaceBinding::new(standing.address.clone(), standing.dir.clone()));
    assert_eq!(serde_json::to_value(standing).unwrap(), least);
}
