//! The container marker, which records the progress of a start.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::Code;
use serde_json::json;

use crate::support::{ExpectError, FILE, Fixture, Method, WORKSPACE};

#[test]
fn start_recognizes_a_marker_whose_answer_was_lost() {
    for call_number in 1..=3 {
        let fixture = Fixture::with_stopped_workspace();
        fixture.world.after(Method::UpdateMarker).nth(call_number).fail_transiently();
        fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
        assert_eq!(
            (fixture.world.call_count(Method::RestoreBackup), fixture.read_workspace_file(WORKSPACE)),
            (1, Some("first".into())),
            "{call_number}"
        );
    }
}

#[test]
fn start_restores_files_when_late_marker_arrives_on_new_container() {
    let fixture = Fixture::with_stopped_workspace();
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.world.before(Method::UpdateMarker).nth(1).fail_transiently();
    fixture.world.before(Method::UpdateMarker).nth(3).run(move |world| {
        world.replace_container(&id);
        world.apply_marker_late(&id, 1);
    });
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
}

#[test]
fn discard_succeeds_when_marker_update_fails() {
    let fixture = Fixture::with_stopped_workspace();
    let gate = fixture.world.before(Method::BeginRestore).block();
    let start = fixture.begin_in_workspace(Operation::StartWorkspace, WORKSPACE, &json!({}));
    assert!(gate.is_reached());
    fixture.crash_during(start);
    fixture.world.clear_faults();
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.world.write_file(&id, FILE, "second");
    fixture.world.before(Method::UpdateMarker).fail_transiently();
    let target = id.clone();
    fixture.world.before(Method::Destroy).run(move |world| {
        assert_eq!(world.files(&target).unwrap()[FILE], "second");
        world.clear_faults();
    });
    let started = fixture.start_workspace(WORKSPACE, &json!({ "onDiverged": "discard" })).unwrap();
    assert_eq!((&started["how"], fixture.read_workspace_file(WORKSPACE)), (&json!("restored"), Some("first".into())));
}

#[test]
fn replacement_of_restored_container_gets_no_marker() {
    let fixture = Fixture::with_stopped_workspace();
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.world.before(Method::CompleteRestore).run(move |world| world.replace_container(&id));
    fixture.start_workspace(WORKSPACE, &json!({})).expect_code(Code::OperationInterrupted);
    assert!(fixture.world.marker_on(&fixture.sandbox_of(WORKSPACE)).is_none());
}
