//! Provenance: what the container of a snapshot ran on, compared when files are restored from it.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Runtime};
use sandbox_snapshotter::ports::Ledger;
use serde_json::{Value, json};

use crate::support::{ExpectError, Fixture, MINUTE, WORKSPACE, by_ref};

/// An image with other packages and another SDK than the one of the fixture, and the differences.
const OTHER_IMAGE: &str = "0.13.0 fedcba9876543210";
const DIFFERENCES: [&str; 2] = [
    "the sandbox's package hash is \"fedcba9876543210\", and was \"0123456789abcdef\" at the snapshot",
    "the sandbox's SDK version is \"0.13.0\", and was \"0.12.10\" at the snapshot",
];

/// Returns options that select a snapshot, with further options.
fn with(selection: &Value, further: &Value) -> Value {
    let mut options = selection.clone();
    options.as_object_mut().unwrap().extend(further.as_object().unwrap().clone());
    options
}

/// Returns the provenance of the newest snapshot of a sandbox.
fn newest_provenance(fixture: &Fixture, id: &str) -> Option<Value> {
    let listed = fixture.run(Operation::List, &json!({ "sandboxId": id })).unwrap();
    listed["snapshots"][0].get("provenance").cloned()
}

#[test]
fn every_view_of_a_snapshot_has_its_provenance() {
    for runtime in [Runtime::Sdk012, Runtime::Container] {
        let fixture = Fixture::of_runtime(runtime);
        fixture.world.set_image_version("0.12.10 0123456789abcdef 0.1.0 debian:12");
        fixture.start_sandbox("agent-42");
        let snapshot = by_ref(&fixture.snapshot().unwrap());
        let expected = json!({
            "image": "debian:12", "packages": "0123456789abcdef", "sdkVersion": "0.12.10", "classVersion": "0.1.0",
        });
        let sandbox = json!({ "sandboxId": "agent-42" });
        for view in [Operation::Manifest, Operation::Get] {
            assert_eq!(fixture.run(view, &snapshot).unwrap()["provenance"], expected, "{runtime:?}");
        }
        assert_eq!(newest_provenance(&fixture, "agent-42").as_ref(), Some(&expected));
        let lineage = fixture.run(Operation::Lineage, &sandbox).unwrap();
        assert_eq!(lineage["root"]["snapshots"][0]["provenance"], expected, "{lineage}");
    }
}

#[test]
fn snapshot_of_a_stop_has_the_image_of_the_start() {
    let fixture = Fixture::with_stopped_workspace();
    let provenance = newest_provenance(&fixture, &fixture.sandbox_of(WORKSPACE)).unwrap();
    assert_eq!(provenance["packages"], "0123456789abcdef");
}

#[test]
fn provenance_that_is_not_known_is_absent() {
    let fixture = Fixture::empty();
    fixture.world.set_image_version("unknown e3b0c44298fc1c14");
    fixture.start_sandbox("agent-42");
    let snapshot = by_ref(&fixture.snapshot().unwrap());
    assert_eq!(newest_provenance(&fixture, "agent-42"), None);
    fixture.world.set_image_version(OTHER_IMAGE);
    fixture.run(Operation::Restore, &with(&snapshot, &json!({ "onImageChange": "fail" }))).unwrap();
}

#[test]
fn other_image_is_reported_refused_or_allowed() {
    for operation in [Operation::Restore, Operation::Branch] {
        let (fixture, snapshot) = Fixture::with_snapshot();
        let call = |choice: &Value| fixture.run(operation, &with(&by_ref(&snapshot), choice));
        let (fail, allow) = (json!({ "onImageChange": "fail" }), json!({ "onImageChange": "allow" }));
        assert_eq!(call(&fail).unwrap().get("stale"), None, "the image is the same");
        fixture.world.set_image_version(OTHER_IMAGE);
        assert_eq!(call(&json!({})).unwrap()["stale"], json!(DIFFERENCES));
        assert_eq!(call(&allow).unwrap().get("stale"), None);
        let running = fixture.world.running_sandboxes();
        let error = call(&fail).expect_code(Code::SnapshotStale);
        assert!(DIFFERENCES.iter().all(|difference| error.message().contains(difference)), "{error}");
        assert_eq!(fixture.world.running_sandboxes(), running, "no sandbox is left");
    }
}

#[test]
fn image_that_tells_nothing_matches_every_snapshot() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.world.set_image_version("unknown e3b0c44298fc1c14");
    fixture.run(Operation::Restore, &with(&by_ref(&snapshot), &json!({ "onImageChange": "fail" }))).unwrap();
}

#[test]
fn snapshot_of_an_earlier_release_matches_every_image() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let ledger = fixture.ledger("agent-42");
    let mut row = ledger.snapshot(snapshot.snapshot_id()).unwrap().unwrap();
    row.provenance = None;
    ledger.put_snapshot(&row).unwrap();
    fixture.world.set_image_version(OTHER_IMAGE);
    let strict = with(&by_ref(&snapshot), &json!({ "onImageChange": "fail" }));
    assert_eq!(fixture.run(Operation::Restore, &strict).unwrap().get("stale"), None);
}

#[test]
fn provenance_costs_no_call_to_the_sandbox() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let calls = |choice: &str| {
        let before = fixture.world.calls().len();
        fixture.run(Operation::Restore, &with(&by_ref(&snapshot), &json!({ "onImageChange": choice }))).unwrap();
        fixture.world.calls().len() - before
    };
    assert_eq!(calls("allow"), calls("fail"));
}

#[test]
fn revived_sandbox_with_another_image_is_reported_refused_or_allowed() {
    let reviving = |choice: &str| {
        let (fixture, _) = Fixture::with_snapshot();
        fixture.world.end_container("agent-42");
        fixture.world.set_image_version(OTHER_IMAGE);
        let revived = fixture.run(Operation::Revive, &json!({ "sandboxId": "agent-42", "onImageChange": choice }));
        (fixture, revived)
    };
    assert_eq!(reviving("report").1.unwrap()["stale"], json!(DIFFERENCES));
    assert_eq!(reviving("allow").1.unwrap().get("stale"), None);
    let (fixture, refused) = reviving("fail");
    let error = refused.expect_code(Code::SnapshotStale);
    assert!(error.remediation().contains("onImageChange"), "{error}");
    let revived = fixture.run(Operation::Revive, &json!({ "sandboxId": "agent-42" })).unwrap();
    assert_eq!(revived["how"], "restored", "the refusal changed nothing");
}

#[test]
fn start_that_allows_another_image_does_not_report_it() {
    let fixture = Fixture::with_stopped_workspace();
    let settings = json!({ "name": WORKSPACE, "dependsOn": { "onImageChange": "allow" } });
    fixture.run(Operation::UpdateWorkspace, &settings).unwrap();
    fixture.world.advance_clock(MINUTE);
    fixture.world.set_image_version(OTHER_IMAGE);
    assert_eq!(fixture.start_workspace(WORKSPACE, &json!({})).unwrap()["stale"], json!([]));
}

#[test]
fn snapshot_of_adopted_files_has_not_the_image_of_the_start() {
    let fixture = Fixture::with_diverged_workspace();
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.world.set_image_version(OTHER_IMAGE);
    fixture.world.replace_container(&id);
    fixture.world.write_file(&id, "/workspace/file", "third");
    fixture.start_workspace(WORKSPACE, &json!({ "onDiverged": "adopt" })).unwrap();
    fixture.world.advance_clock(MINUTE);
    fixture.run(Operation::Snapshot, &json!({ "sandboxId": id })).unwrap();
    assert_eq!(newest_provenance(&fixture, &id).unwrap()["sdkVersion"], "0.13.0", "the watch of the capture has it");
    fixture.world.advance_clock(MINUTE);
    fixture.stop_workspace(WORKSPACE).unwrap();
    assert_eq!(newest_provenance(&fixture, &id), None, "the stop does not know it");
}

#[test]
fn start_compares_with_the_text_that_an_earlier_release_recorded() {
    let fixture = Fixture::with_stopped_workspace();
    fixture.world.advance_clock(MINUTE);
    // The text of an earlier release has no class and no image.
    fixture.world.set_image_version("0.12.10 0123456789abcdef 0.1.0 debian:12");
    assert_eq!(fixture.start_workspace(WORKSPACE, &json!({})).unwrap()["stale"], json!([]));
}
