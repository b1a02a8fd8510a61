//! A short ref selects a snapshot as its full ref does, and is refused if it is altered.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, SnapshotRequest};
use serde_json::{Value, json};

use crate::support::{ExpectError, FILE, Fixture, WORKSPACE, sandbox};

/// Takes a snapshot of a sandbox with this content and returns the answer.
fn snapshot_of(fixture: &Fixture, id: &str, content: &str) -> Value {
    fixture.world.write_file(id, FILE, content);
    fixture.world.advance_clock(60_000);
    fixture.run(Operation::Snapshot, &json!(SnapshotRequest::of(sandbox(id)))).unwrap()
}

fn with_snapshot() -> (Fixture, Value) {
    let fixture = Fixture::with_local_bucket(false);
    let answer = snapshot_of(&fixture, "agent-42", "first");
    fixture.world.reset_calls();
    (fixture, answer)
}

#[test]
fn answer_contains_the_id_and_the_short_ref() {
    let (fixture, answer) = with_snapshot();
    assert_eq!(answer["snapshotId"], answer["ref"]["snapshotId"]);
    let short = answer["shortRef"].as_str().unwrap();
    assert!(short.starts_with("snap_") && short.len() < 100, "{short}");
    let found = fixture.run(Operation::Get, &json!({ "ref": answer })).unwrap();
    assert_eq!(found["shortRef"], answer["shortRef"]);
    let list = fixture.run(Operation::List, &json!({ "sandboxId": "agent-42" })).unwrap();
    assert_eq!(list["snapshots"][0]["shortRef"], answer["shortRef"]);
}

#[test]
fn every_operation_accepts_a_short_ref() {
    let (fixture, answer) = with_snapshot();
    let short = &answer["shortRef"];
    let calls = [
        (Operation::Restore, json!({ "ref": short })),
        (Operation::Branch, json!({ "ref": short })),
        (Operation::Get, json!({ "ref": short })),
        (Operation::Manifest, json!({ "ref": short })),
        (Operation::Verify, json!({ "ref": short })),
        (Operation::Label, json!({ "ref": short, "newLabel": "mine" })),
        (Operation::Pin, json!({ "ref": short })),
        (Operation::Unpin, json!({ "ref": short })),
        (Operation::Delete, json!({ "ref": short, "force": true })),
    ];
    for (operation, arguments) in calls {
        fixture.run(operation, &arguments).unwrap_or_else(|error| panic!("{operation:?}: {error}"));
    }
    // Its dependents keep the row.
    assert_eq!(fixture.run(Operation::Get, &json!({ "ref": short })).unwrap()["state"], json!("deleted"));
}

#[test]
fn restored_sandbox_has_the_files_of_the_short_ref() {
    let (fixture, answer) = with_snapshot();
    let restored = fixture.run(Operation::Restore, &json!({ "ref": answer["shortRef"] })).unwrap();
    let id = restored["ref"]["sandboxId"].as_str().unwrap();
    assert_eq!(fixture.world.files(id).unwrap()[FILE], "first");
}

#[test]
fn short_ref_with_parts_of_another_is_refused() {
    let (fixture, first) = with_snapshot();
    let second = snapshot_of(&fixture, "agent-42", "second");
    let other = snapshot_of(&fixture, "agent-7", "a secret of another lineage");
    fixture.world.reset_calls();
    let parts = |answer: &Value| -> Vec<String> {
        answer["shortRef"].as_str().unwrap().splitn(3, '.').map(str::to_owned).collect()
    };
    for foreign in [&second, &other] {
        for part in 0..3 {
            let mut forged = parts(&first);
            forged[part] = parts(foreign).swap_remove(part);
            if forged == parts(&first) {
                continue;
            }
            let arguments = json!({ "ref": forged.join(".") });
            fixture.run(Operation::Restore, &arguments).expect_code(Code::RefMismatch);
        }
    }
    assert!(fixture.world.calls().is_empty(), "touched: {:?}", fixture.world.calls());
}

#[test]
fn short_ref_with_any_replaced_character_is_refused() {
    let (fixture, answer) = with_snapshot();
    let short = answer["shortRef"].as_str().unwrap();
    for at in 0..short.len() {
        for replacement in ["a", "b", "Z", "0", ".", "-", "", "aa"] {
            let altered = format!("{}{replacement}{}", &short[..at], &short[at + 1..]);
            if altered == short {
                continue;
            }
            let error = fixture.run(Operation::Restore, &json!({ "ref": altered })).expect_err(&altered);
            assert!([Code::RefMismatch, Code::InvalidRef].contains(&error.code()), "{altered}: {error}");
        }
    }
    assert!(fixture.world.calls().is_empty(), "touched: {:?}", fixture.world.calls());
}

#[test]
fn signature_of_a_full_ref_does_not_sign_a_short_one() {
    let (fixture, answer) = with_snapshot();
    let full = answer["ref"]["signature"].as_str().unwrap();
    let short = answer["shortRef"].as_str().unwrap();
    let (unsigned, signature) = short.match_indices('.').nth(1).map(|(at, _)| short.split_at(at + 1)).unwrap();
    for forged in [full, &full[..signature.len()]] {
        let arguments = json!({ "ref": format!("{unsigned}{forged}") });
        fixture.run(Operation::Restore, &arguments).expect_code(Code::RefMismatch);
    }
    let mut altered = answer.clone();
    altered["ref"]["signature"] = json!(signature);
    fixture.run(Operation::Restore, &json!({ "ref": altered })).expect_code(Code::RefMismatch);
}

#[test]
fn short_refs_of_the_previous_key_are_accepted_and_older_ones_refused() {
    let (fixture, answer) = with_snapshot();
    let get = || fixture.run(Operation::Get, &json!({ "ref": answer["shortRef"] }));
    let rotate = || fixture.run(Operation::RotateKey, &json!({ "sandboxId": "agent-42" })).unwrap();
    rotate();
    get().unwrap();
    rotate();
    get().expect_code(Code::RefMismatch);
}

#[test]
fn promote_of_an_altered_short_ref_is_an_invalid_ref() {
    let fixture = Fixture::with_workspace();
    let sandbox_id = fixture.sandbox_of(WORKSPACE);
    let taken = fixture.run(Operation::Snapshot, &json!({ "sandboxId": sandbox_id })).unwrap();
    let altered = format!("{}~", taken["shortRef"].as_str().unwrap());
    fixture.promote_workspace(WORKSPACE, &json!({ "from": altered })).expect_code(Code::InvalidRef);
}
