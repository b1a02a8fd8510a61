//! The tree of sandboxes and snapshots that grows from one sandbox.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::record::{Derivation, DerivationState, SnapshotRecord};
use sandbox_snapshotter::model::{Lineage, SnapshotId, SnapshotRef};
use sandbox_snapshotter::ports::Ledger;
use serde_json::{Value, json};

use super::support::{Method, Stage, by_ref, sandbox};

fn lineage(stage: &Stage, id: &str) -> Value {
    stage.run(Operation::Lineage, &json!({ "sandboxId": id })).unwrap()
}

/// The tree in a few words: `sandbox(label(sandbox…) label(…))`.
fn words(branch: &Value) -> String {
    let node = |node: &Value| {
        let derived: Vec<_> = node["derived"].as_array().unwrap().iter().map(words).collect();
        let label = node["label"].as_str().unwrap_or("gone").to_owned();
        if derived.is_empty() { label } else { format!("{label}({})", derived.join(" ")) }
    };
    let snapshots: Vec<_> = branch["snapshots"].as_array().unwrap().iter().map(node).collect();
    let id = branch["sandboxId"].as_str().unwrap();
    if snapshots.is_empty() { id.to_owned() } else { format!("{id}({})", snapshots.join(" ")) }
}

/// `agent-42` with two snapshots; one sandbox restored from the first, with a snapshot of its own and a branch of that.
fn grown() -> (Stage, [SnapshotRef; 2], [String; 2]) {
    let stage = Stage::with_sandbox();
    let [one, two] = ["one", "two"].map(|label| stage.captures("agent-42", label));
    let restored = stage.restore(&one).unwrap().sandbox_id().to_string();
    let own = stage.captures(&restored, "own");
    let branch = stage.branch(&own).unwrap().sandbox_id().to_string();
    stage.world.finish_background();
    stage.world.forget_calls();
    (stage, [one, two], [restored, branch])
}

#[test]
fn a_sandbox_that_nobody_knows_is_a_tree_of_its_own() {
    let tree = lineage(&Stage::empty(), "agent-42");
    assert_eq!(
        tree,
        json!({ "root": { "sandboxId": "agent-42", "snapshots": [] }, "sandboxes": 1, "truncated": false })
    );
}

#[test]
fn the_tree_holds_every_sandbox_and_every_snapshot() {
    let (stage, _, [restored, branch]) = grown();
    let tree = lineage(&stage, "agent-42");
    assert_eq!(words(&tree["root"]), format!("agent-42(two one({restored}(own({branch}))))"));
    assert_eq!((&tree["sandboxes"], &tree["truncated"]), (&json!(3), &json!(false)));
}

#[test]
fn it_is_the_same_tree_from_everywhere_in_it() {
    let (stage, _, [restored, branch]) = grown();
    let tree = lineage(&stage, "agent-42");
    for id in [restored, branch] {
        assert_eq!(lineage(&stage, &id), tree, "{id}");
    }
}

#[test]
fn branches_and_restored_sandboxes_are_told_apart() {
    let (stage, ..) = grown();
    let tree = lineage(&stage, "agent-42");
    let restored = &tree["root"]["snapshots"][1]["derived"][0];
    assert_eq!(tree["root"].get("lineage"), None);
    assert_eq!(restored["lineage"], "restored");
    assert_eq!(restored["snapshots"][0]["derived"][0]["lineage"], "branch");
}

#[test]
fn a_snapshot_in_the_tree_tells_what_a_person_asks_for() {
    let (stage, [one, _], _) = grown();
    stage.run(Operation::Pin, &by_ref(&one)).unwrap();
    let node = lineage(&stage, "agent-42")["root"]["snapshots"][1].clone();
    for (field, value) in [
        ("snapshotId", json!(one.snapshot_id())),
        ("label", json!("one")),
        ("state", json!("ready")),
        ("createdAt", json!(one.created_at())),
        ("pinned", json!(true)),
    ] {
        assert_eq!(node[field], value, "{field}");
    }
    assert!(node["sizeBytes"].as_u64().is_some());
}

#[test]
fn a_snapshot_that_is_gone_stays_where_something_was_made_from_it() {
    let (stage, [one, two], [restored, branch]) = grown();
    for snapshot in [&one, &two] {
        stage.run(Operation::Delete, &by_ref(snapshot)).unwrap();
    }
    let tree = lineage(&stage, "agent-42");
    assert_eq!(words(&tree["root"]), format!("agent-42(gone({restored}(own({branch}))))"));
    assert_eq!(tree["root"]["snapshots"][0]["state"], "deleted");
    assert_eq!(tree["root"]["snapshots"][0]["snapshotId"], json!(one.snapshot_id()));
}

#[test]
fn a_workspace_that_does_not_answer_is_named_and_the_rest_is_there() {
    let (stage, _, [restored, _]) = grown();
    stage.world.before(Method::Describe).nth(1).fails_in_passing();
    let tree = lineage(&stage, "agent-42");
    let missing = &tree["root"]["snapshots"][1]["derived"][0];
    assert_eq!(missing["sandboxId"], json!(restored));
    assert!(missing["problem"].as_str().unwrap().contains("did not answer"), "{missing}");
    assert_eq!(tree["root"].get("problem"), None);
}

#[test]
fn a_root_that_does_not_answer_is_named() {
    let (stage, _, [restored, _]) = grown();
    stage.world.before(Method::Describe).fails_in_passing();
    let tree = lineage(&stage, &restored);
    assert_eq!(tree["root"]["sandboxId"], "agent-42");
    assert!(tree["root"].get("problem").is_some(), "{tree}");
}

#[test]
fn a_failed_restore_is_not_in_the_tree_for_long() {
    use super::support::HOUR;
    let (stage, snapshot) = Stage::with_snapshot();
    stage.world.before(Method::RestoreBackup).fails_in_passing();
    stage.restore(&snapshot).expect_err("it fails");
    stage.passes(HOUR);
    assert_eq!(lineage(&stage, "agent-42")["sandboxes"], 1);
}

#[test]
fn nothing_outside_of_the_ledgers_is_looked_at() {
    let (stage, ..) = grown();
    lineage(&stage, "agent-42");
    assert!(stage.world.calls().iter().all(|(method, _)| *method == Method::Describe), "{:?}", stage.world.calls());
}

#[test]
fn a_snapshot_in_the_tree_names_who_needs_it() {
    let (stage, [one, _], [restored, branch]) = grown();
    let another = stage.branch(&one).unwrap().sandbox_id().to_string();
    let root = lineage(&stage, "agent-42")["root"].clone();
    assert_eq!(root["snapshots"][0]["holders"], json!([]));
    assert_eq!(root["snapshots"][1]["holders"], json!([another]), "{restored} has a snapshot of its own");
    let derived = root["snapshots"][1]["derived"].as_array().unwrap();
    let owner = derived.iter().find(|child| child["sandboxId"] == json!(restored)).unwrap();
    assert_eq!(owner["snapshots"][0]["holders"], json!([branch]));
}

#[test]
fn whether_sandboxes_run_is_told_where_that_is_asked() {
    let (stage, _, [restored, branch]) = grown();
    stage.world.stops(&restored);
    stage.world.before(Method::State).nth(3).fails_in_passing();
    let tree = stage.run(Operation::Lineage, &json!({ "sandboxId": "agent-42", "check": true })).unwrap();
    let child = &tree["root"]["snapshots"][1]["derived"][0];
    let grandchild = &child["snapshots"][0]["derived"][0];
    assert_eq!(grandchild["sandboxId"], json!(branch));
    let running = [&tree["root"], child, grandchild].map(|sandbox| sandbox.get("running").cloned());
    assert_eq!(running, [Some(json!(true)), Some(json!(false)), None], "what does not answer is not known");
}

#[test]
fn asking_whether_sandboxes_run_starts_none() {
    let (stage, _, [restored, _]) = grown();
    stage.world.stops(&restored);
    stage.run(Operation::Lineage, &json!({ "sandboxId": "agent-42", "check": true })).unwrap();
    assert!(!stage.world.running().contains(&restored));
}

#[test]
fn a_sandbox_that_stands_for_a_name_tells_it() {
    let stage = Stage::with_work();
    let id = stage.described("work").unwrap()["sandboxId"].as_str().unwrap().to_owned();
    assert_eq!(lineage(&stage, &id)["root"]["workspace"], json!({ "name": "work", "tenant": "default" }));
}

/// Notes that a sandbox was made from a snapshot of another one.
fn derives(stage: &Stage, snapshot: &SnapshotRef, from: &str, id: &str) {
    let derivation = Derivation {
        sandbox_id: sandbox(id),
        snapshot_id: snapshot.snapshot_id().clone(),
        lineage: Lineage::Branch,
        began_at: snapshot.created_at(),
        state: DerivationState::Ready { holds: true },
    };
    stage.ledger(from).put_derivation(&derivation).unwrap();
}

/// A sandbox from whose snapshot so many others were made.
fn with_many(derived: usize) -> Stage {
    let (stage, snapshot) = Stage::with_snapshot();
    for number in 0..derived {
        derives(&stage, &snapshot, "agent-42", &format!("agent-42-branch-{number:08}"));
    }
    stage
}

#[test]
fn a_tree_that_is_too_large_is_cut_and_says_so() {
    let tree = lineage(&with_many(600), "agent-42");
    assert_eq!((&tree["sandboxes"], &tree["truncated"]), (&json!(500), &json!(true)));
    let derived = tree["root"]["snapshots"][0]["derived"].as_array().unwrap();
    assert_eq!(derived.len(), 600, "those that were not looked at are named all the same");
    assert_eq!(derived.iter().filter(|branch| branch.get("problem").is_some()).count(), 101);
}

#[test]
fn a_tree_of_as_many_sandboxes_as_are_shown_is_whole() {
    let sizes = [499, 500].map(|derived| lineage(&with_many(derived), "agent-42"));
    let told = sizes.map(|tree| (tree["sandboxes"].clone(), tree["truncated"].clone()));
    assert_eq!(told, [(json!(500), json!(false)), (json!(500), json!(true))]);
}

#[test]
fn a_tree_of_more_generations_than_are_shown_is_cut_and_says_so() {
    let trees = [28, 29, 30].map(|generations| {
        let (stage, snapshot) = Stage::with_snapshot();
        let id = |generation| if generation == 1 { "agent-42".to_owned() } else { format!("generation-{generation}") };
        for generation in 2..=generations {
            derives(&stage, &snapshot, &id(generation - 1), &id(generation));
        }
        lineage(&stage, "agent-42")
    });
    let told = trees.map(|tree| (tree["sandboxes"].clone(), tree["truncated"].clone()));
    assert_eq!(told, [(json!(28), json!(false)), (json!(28), json!(true)), (json!(28), json!(true))]);
}

#[test]
fn a_sandbox_with_more_snapshots_than_are_shown_is_cut_and_says_so() {
    let (stage, snapshot) = Stage::with_snapshot();
    let ledger = stage.ledger("agent-42");
    let row = ledger.snapshot(snapshot.snapshot_id()).unwrap().unwrap();
    let told = [1000, 1001].map(|count: u32| {
        for number in 1..count {
            let snapshot_id = SnapshotId::parse(&format!("snap-{number:016}")).unwrap();
            let label = number.to_string().try_into().unwrap();
            ledger.put_snapshot(&SnapshotRecord { snapshot_id, label, ..row.clone() }).unwrap();
        }
        let tree = lineage(&stage, "agent-42");
        (tree["root"]["snapshots"].as_array().unwrap().len(), tree["truncated"].clone())
    });
    assert_eq!(told, [(1000, json!(false)), (1000, json!(true))]);
}
