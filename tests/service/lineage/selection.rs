//! A snapshot is selected in the workspace that the caller works in, by its id or its label, or by its id alone in a sandbox of
//! its lineage.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::Code;
use serde_json::{Value, json};

use crate::support::{ExpectError, Fixture, MINUTE, WORKSPACE, no_expiry};

/// The active workspace `work`, which was moved to a new sandbox, and the answer of a snapshot of its former sandbox.
fn with_moved_workspace() -> (Fixture, Value) {
    let fixture = Fixture::with_workspace();
    let options = json!({ "sandboxId": fixture.sandbox_of(WORKSPACE), "label": "base" });
    let taken = fixture.run(Operation::Snapshot, &options).unwrap();
    fixture.start_workspace(WORKSPACE, &json!({ "from": taken["snapshotId"] })).unwrap();
    fixture.world.advance_clock(MINUTE);
    (fixture, taken)
}

/// The operations that select one snapshot, each with its other options.
fn calls(fixture: &Fixture) -> Vec<(Operation, Value)> {
    vec![
        (Operation::Get, json!({})),
        (Operation::Manifest, json!({})),
        (Operation::Verify, json!({})),
        (Operation::Label, json!({ "newLabel": "base" })),
        (Operation::Pin, json!({})),
        (Operation::Unpin, json!({})),
        (Operation::Branch, json!({})),
        (Operation::Restore, json!({})),
        (Operation::ListFiles, json!({})),
        (Operation::StatFile, json!({ "path": "notes.txt" })),
        (Operation::ReadFile, json!({ "path": "notes.txt" })),
        (Operation::SummarizeFiles, json!({})),
        (Operation::RestoreFiles, json!({ "paths": ["notes.txt"], "to": fixture.sandbox_of(WORKSPACE) })),
    ]
}

fn merged(base: &Value, more: &Value) -> Value {
    let mut all = base.as_object().unwrap().clone();
    all.extend(more.as_object().unwrap().clone());
    Value::Object(all)
}

#[test]
fn snapshot_is_selected_in_a_workspace_and_in_any_sandbox_of_the_lineage() {
    let (fixture, taken) = with_moved_workspace();
    let present = fixture.sandbox_of(WORKSPACE);
    assert_ne!(taken["ref"]["originId"], present);
    for (operation, more) in calls(&fixture) {
        let id = &taken["snapshotId"];
        for selection in [
            json!({ "name": WORKSPACE, "snapshotId": id }),
            json!({ "name": WORKSPACE, "label": "base" }),
            json!({ "sandboxId": present, "snapshotId": id }),
        ] {
            let options = merged(&selection, &more);
            // The files of an archive are read by the module that the tests of `archive` cover.
            let by_short = fixture.run(operation, &merged(&json!({ "ref": taken["shortRef"] }), &more));
            let by_id = fixture.run(operation, &options);
            match (by_short, by_id) {
                (Ok(_), Ok(_)) => {}
                (Err(one), Err(other)) => assert_eq!(one.code(), other.code(), "{operation:?} {options}"),
                (one, other) => panic!("{operation:?} {options}: {one:?}, {other:?}"),
            }
        }
    }
}

#[test]
fn delete_of_a_snapshot_by_its_id_in_a_workspace_deletes_it() {
    let (fixture, taken) = with_moved_workspace();
    let selection = json!({ "name": WORKSPACE, "snapshotId": taken["snapshotId"], "force": true });
    assert_eq!(fixture.run(Operation::Delete, &selection).unwrap()["removed"], true);
}

#[test]
fn repeated_deletion_of_latest_deletes_no_other_snapshot() {
    let (fixture, taken) = with_moved_workspace();
    let latest = json!({ "name": WORKSPACE, "label": "latest", "force": true });
    let error = fixture.run(Operation::Delete, &latest).expect_code(Code::InvalidArgument);
    assert!(error.remediation().contains("`snapshotId`"), "{error:?}");
    let id = json!({ "name": WORKSPACE, "snapshotId": taken["snapshotId"] });
    fixture.run(Operation::Label, &merged(&id, &json!({ "newLabel": "latest" }))).unwrap();
    assert_eq!(fixture.run(Operation::Delete, &latest).unwrap()["removed"], true);
    fixture.run(Operation::Delete, &latest).unwrap_err();
}

#[test]
fn short_ref_is_accepted_as_the_id_of_a_snapshot() {
    let (fixture, taken) = with_moved_workspace();
    let (short, origin) = (&taken["shortRef"], &taken["ref"]["originId"]);
    for selection in [
        json!({ "snapshotId": short }),
        json!({ "sandboxId": origin, "snapshotId": short }),
        json!({ "name": WORKSPACE, "snapshotId": short }),
    ] {
        assert_eq!(fixture.run(Operation::Get, &selection).unwrap()["snapshotId"], taken["snapshotId"], "{selection}");
    }
    let other = json!({ "sandboxId": fixture.sandbox_of(WORKSPACE), "snapshotId": short });
    fixture.run(Operation::Get, &other).expect_code(Code::InvalidArgument);
}

#[test]
fn source_of_a_workspace_is_selected_in_another_workspace() {
    let (fixture, taken) = with_moved_workspace();
    for (copy, selector) in [("one", json!({ "snapshotId": taken["snapshotId"] })), ("two", json!({ "label": "base" }))]
    {
        let selection = merged(&json!({ "name": WORKSPACE }), &selector);
        fixture.create_workspace(copy, &json!({ "sourceSnapshot": selection })).unwrap();
        assert_eq!(fixture.read_workspace_file(copy).as_deref(), Some("first"), "{selection}");
    }
}

#[test]
fn diff_of_two_labels_of_a_workspace_finds_each_in_its_sandbox() {
    let (fixture, taken) = with_moved_workspace();
    let present = fixture.sandbox_of(WORKSPACE);
    let later = fixture.run(Operation::Snapshot, &json!({ "sandboxId": present, "label": "later" })).unwrap();
    let labelled = |label: &str| json!({ "name": WORKSPACE, "label": label });
    let ids = json!({ "from": { "ref": taken["shortRef"] }, "to": { "ref": later["shortRef"] } });
    assert_eq!(
        fixture
            .run(Operation::Diff, &json!({ "from": labelled("base"), "to": labelled("later") }))
            .map_err(|it| it.code()),
        fixture.run(Operation::Diff, &ids).map_err(|it| it.code())
    );
}

#[test]
fn snapshot_of_another_lineage_is_not_found() {
    let (fixture, taken) = with_moved_workspace();
    fixture.create_workspace("other", &no_expiry()).unwrap();
    let id = &taken["snapshotId"];
    let other = fixture.sandbox_of("other");
    for selection in [json!({ "name": "other", "snapshotId": id }), json!({ "sandboxId": other, "snapshotId": id })] {
        fixture.run(Operation::Get, &selection).expect_code(Code::SnapshotNotFound);
    }
    fixture.run(Operation::Get, &json!({ "name": "missing", "snapshotId": id })).expect_code(Code::WorkspaceNotFound);
}

#[test]
fn null_selects_nothing_beside_the_workspace() {
    let (fixture, taken) = with_moved_workspace();
    let selection = json!({ "name": WORKSPACE, "snapshotId": taken["snapshotId"], "sandboxId": null, "tenant": null });
    assert_eq!(fixture.run(Operation::Get, &selection).unwrap()["snapshotId"], taken["snapshotId"]);
}

#[test]
fn workspace_is_not_searched_if_the_snapshot_is_selected_in_another_way_too() {
    let (fixture, taken) = with_moved_workspace();
    for (option, value) in
        [("label", json!("base")), ("label", json!(7)), ("sandboxId", json!("agent-42")), ("tenant", json!(7))]
    {
        let mut selection = json!({ "name": "missing", "snapshotId": taken["snapshotId"] });
        selection[option] = value;
        fixture.run(Operation::Get, &selection).expect_code(Code::InvalidArgument);
    }
}

#[test]
fn workspace_without_a_snapshot_is_answered_with_the_ways_to_select_one() {
    let (fixture, taken) = with_moved_workspace();
    let incomplete = [
        json!({ "name": WORKSPACE }),
        json!({ "name": WORKSPACE, "label": "base", "sandboxId": "agent-42" }),
        json!({ "name": WORKSPACE, "label": "base", "snapshotId": taken["snapshotId"] }),
    ];
    for (operation, more) in calls(&fixture) {
        for selection in &incomplete {
            if selection.get("label").is_none()
                && matches!(operation, Operation::ListFiles | Operation::StatFile | Operation::ReadFile)
            {
                continue; // The present files.
            }
            let error = fixture.run(operation, &merged(selection, &more)).expect_code(Code::InvalidArgument);
            let text = format!("{operation:?} {selection}: {} {}", error.message(), error.remediation());
            assert!(text.contains("select exactly one snapshot") && text.contains("`name`"), "{text}");
        }
    }
}

#[test]
fn operation_that_selects_no_snapshot_refuses_the_id_of_one() {
    let (fixture, taken) = with_moved_workspace();
    let options = json!({ "name": "missing", "snapshotId": taken["snapshotId"] });
    fixture.run(Operation::StopWorkspace, &options).expect_code(Code::InvalidArgument);
}

#[test]
fn diff_of_two_snapshots_selects_each_in_its_sandbox() {
    let (fixture, taken) = with_moved_workspace();
    let present = fixture.sandbox_of(WORKSPACE);
    let from = json!({ "sandboxId": present, "snapshotId": taken["snapshotId"] });
    let to = json!({ "ref": taken["shortRef"] });
    fixture.run(Operation::Diff, &json!({ "from": from, "to": to })).expect_code(Code::SnapshotNotFound);
    fixture.run(Operation::Diff, &json!({ "from": from, "to": { "sandboxId": present } })).unwrap();
}
