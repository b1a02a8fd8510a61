//! `lineage`: the tree of sandboxes and snapshots that grows from one root sandbox.

mod by_name;
pub mod scope;
mod selection;

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::record::{Derivation, DerivedState, ParentLink, SandboxRecord, SnapshotRecord};
use sandbox_snapshotter::model::{DerivationKind, SnapshotId, SnapshotRef};
use sandbox_snapshotter::ports::Ledger;
use serde_json::{Value, json};

use crate::support::{Fixture, Method, by_ref, sandbox};

fn lineage(fixture: &Fixture, id: &str) -> Value {
    fixture.run(Operation::Lineage, &json!({ "sandboxId": id })).unwrap()
}

/// Renders the tree as `sandbox(label(sandbox…) label(…))`.
fn render_tree(branch: &Value) -> String {
    let node = |node: &Value| {
        let derived: Vec<_> = node["derived"].as_array().unwrap().iter().map(render_tree).collect();
        let label = node["label"].as_str().unwrap_or("gone").to_owned();
        if derived.is_empty() { label } else { format!("{label}({})", derived.join(" ")) }
    };
    let snapshots: Vec<_> = branch["snapshots"].as_array().unwrap().iter().map(node).collect();
    let id = branch["sandboxId"].as_str().unwrap();
    if snapshots.is_empty() { id.to_owned() } else { format!("{id}({})", snapshots.join(" ")) }
}

/// Returns `agent-42` with two snapshots, a sandbox restored from the first one with its own snapshot, and a branch of
/// that snapshot.
fn with_lineage() -> (Fixture, [SnapshotRef; 2], [String; 2]) {
    let fixture = Fixture::with_sandbox();
    let [one, two] = ["one", "two"].map(|label| fixture.snapshot_labelled("agent-42", label));
    let restored = fixture.restore(&one).unwrap().sandbox_id().to_string();
    let own = fixture.snapshot_labelled(&restored, "own");
    let branch = fixture.branch(&own).unwrap().sandbox_id().to_string();
    fixture.world.finish_background();
    fixture.world.reset_calls();
    (fixture, [one, two], [restored, branch])
}

#[test]
fn unknown_sandbox_is_a_tree_of_its_own() {
    let tree = lineage(&Fixture::empty(), "agent-42");
    assert_eq!(
        tree,
        json!({ "root": { "sandboxId": "agent-42", "snapshots": [] }, "sandboxes": 1, "truncated": false })
    );
}

#[test]
fn tree_contains_every_sandbox_and_snapshot() {
    let (fixture, _, [restored, branch]) = with_lineage();
    let tree = lineage(&fixture, "agent-42");
    assert_eq!(render_tree(&tree["root"]), format!("agent-42(two one({restored}(own({branch}))))"));
    assert_eq!((&tree["sandboxes"], &tree["truncated"]), (&json!(3), &json!(false)));
}

#[test]
fn tree_is_the_same_from_every_sandbox_in_it() {
    let (fixture, _, [restored, branch]) = with_lineage();
    let tree = lineage(&fixture, "agent-42");
    for id in [restored, branch] {
        assert_eq!(lineage(&fixture, &id), tree, "{id}");
    }
}

#[test]
fn tree_distinguishes_branches_and_restored_sandboxes() {
    let (fixture, ..) = with_lineage();
    let tree = lineage(&fixture, "agent-42");
    let restored = &tree["root"]["snapshots"][1]["derived"][0];
    assert_eq!(tree["root"].get("lineage"), None);
    assert_eq!(restored["lineage"], "restored");
    assert_eq!(restored["snapshots"][0]["derived"][0]["lineage"], "branch");
}

#[test]
fn snapshot_in_tree_has_the_essential_fields() {
    let (fixture, [one, _], _) = with_lineage();
    fixture.run(Operation::Pin, &by_ref(&one)).unwrap();
    let node = lineage(&fixture, "agent-42")["root"]["snapshots"][1].clone();
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
fn deleted_snapshot_stays_in_tree_when_sandboxes_derive_from_it() {
    let (fixture, [one, two], [restored, branch]) = with_lineage();
    for snapshot in [&one, &two] {
        fixture.run(Operation::Delete, &by_ref(snapshot)).unwrap();
    }
    let tree = lineage(&fixture, "agent-42");
    assert_eq!(render_tree(&tree["root"]), format!("agent-42(gone({restored}(own({branch}))))"));
    assert_eq!(tree["root"]["snapshots"][0]["state"], "deleted");
    assert_eq!(tree["root"]["snapshots"][0]["snapshotId"], json!(one.snapshot_id()));
}

#[test]
fn tree_names_sandbox_that_does_not_answer_and_contains_the_rest() {
    let (fixture, _, [restored, _]) = with_lineage();
    fixture.world.before(Method::Describe).nth(1).fail_transiently();
    let tree = lineage(&fixture, "agent-42");
    let missing = &tree["root"]["snapshots"][1]["derived"][0];
    assert_eq!(missing["sandboxId"], json!(restored));
    assert!(missing["problem"].as_str().unwrap().contains("did not answer"), "{missing}");
    assert_eq!(tree["root"].get("problem"), None);
}

#[test]
fn tree_begins_after_an_ancestor_that_does_not_answer() {
    let (fixture, [one, _], [restored, branch]) = with_lineage();
    fixture.world.before(Method::Describe).fail_transiently();
    let tree = lineage(&fixture, &restored);
    assert_eq!(render_tree(&tree["root"]), format!("{restored}(own({branch}))"));
    assert_eq!(tree["parent"], json!({ "originId": "agent-42", "snapshotId": one.snapshot_id() }));
    assert_eq!((&tree["sandboxes"], &tree["truncated"]), (&json!(2), &json!(true)));
}

#[test]
fn failed_restore_is_removed_from_tree_within_an_hour() {
    use crate::support::HOUR;
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.world.before(Method::RestoreBackup).fail_transiently();
    fixture.restore(&snapshot).expect_err("it fails");
    fixture.advance_with_alarms(HOUR);
    assert_eq!(lineage(&fixture, "agent-42")["sandboxes"], 1);
}

#[test]
fn lineage_reads_only_the_ledgers() {
    let (fixture, ..) = with_lineage();
    lineage(&fixture, "agent-42");
    assert!(fixture.world.calls().iter().all(|(method, _)| *method == Method::Describe), "{:?}", fixture.world.calls());
}

#[test]
fn snapshot_in_tree_names_its_dependents() {
    let (fixture, [one, _], [restored, branch]) = with_lineage();
    let another = fixture.branch(&one).unwrap().sandbox_id().to_string();
    let root = lineage(&fixture, "agent-42")["root"].clone();
    assert_eq!(root["snapshots"][0]["dependents"], json!([]));
    assert_eq!(root["snapshots"][1]["dependents"], json!([another]), "{restored} has a snapshot of its own");
    let derived = root["snapshots"][1]["derived"].as_array().unwrap();
    let owner = derived.iter().find(|child| child["sandboxId"] == json!(restored)).unwrap();
    assert_eq!(owner["snapshots"][0]["dependents"], json!([branch]));
}

#[test]
fn lineage_with_check_reports_which_sandboxes_run() {
    let (fixture, _, [restored, branch]) = with_lineage();
    fixture.world.end_container(&restored);
    fixture.world.before(Method::Status).nth(3).fail_transiently();
    let tree = fixture.run(Operation::Lineage, &json!({ "sandboxId": "agent-42", "check": true })).unwrap();
    let child = &tree["root"]["snapshots"][1]["derived"][0];
    let grandchild = &child["snapshots"][0]["derived"][0];
    assert_eq!(grandchild["sandboxId"], json!(branch));
    let running = [&tree["root"], child, grandchild].map(|sandbox| sandbox.get("running").cloned());
    assert_eq!(
        running,
        [Some(json!(true)), Some(json!(false)), None],
        "the status of a sandbox that does not answer is unknown"
    );
}

#[test]
fn lineage_with_check_starts_no_sandbox() {
    let (fixture, _, [restored, _]) = with_lineage();
    fixture.world.end_container(&restored);
    fixture.run(Operation::Lineage, &json!({ "sandboxId": "agent-42", "check": true })).unwrap();
    assert!(!fixture.world.running_sandboxes().contains(&restored));
}

#[test]
fn sandboxes_of_one_snapshot_are_in_the_tree_newest_first() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let mut made: Vec<_> = (0..8)
        .map(|_| {
            fixture.world.advance_clock(1000);
            fixture.branch(&snapshot).unwrap().sandbox_id().to_string()
        })
        .collect();
    made.reverse();
    let tree = lineage(&fixture, "agent-42");
    let derived = tree["root"]["snapshots"][0]["derived"].as_array().unwrap();
    assert_eq!(derived.iter().map(|sandbox| sandbox["sandboxId"].as_str().unwrap()).collect::<Vec<_>>(), made);
}

#[test]
fn partial_snapshot_is_marked_in_the_tree_and_in_lists() {
    let fixture = Fixture::with_sandbox();
    for options in [json!({ "excludes": ["*.log"] }), json!({ "gitignore": true }), json!({})] {
        fixture.world.advance_clock(1000);
        let mut options = options;
        options["sandboxId"] = json!("agent-42");
        fixture.run(Operation::Snapshot, &options).unwrap();
    }
    let flags = |snapshots: &Value| {
        let of = |snapshot: &Value| snapshot.get("partial").cloned();
        snapshots.as_array().unwrap().iter().map(of).collect::<Vec<_>>()
    };
    let expected = [None, Some(json!(true)), Some(json!(true))];
    assert_eq!(flags(&lineage(&fixture, "agent-42")["root"]["snapshots"]), expected);
    let list = fixture.run(Operation::List, &json!({ "sandboxId": "agent-42" })).unwrap();
    assert_eq!(flags(&list["snapshots"]), expected);
}

#[test]
fn tree_names_workspace_of_its_sandbox() {
    let fixture = Fixture::with_workspace();
    let id = fixture.get_workspace("work").unwrap()["sandboxId"].as_str().unwrap().to_owned();
    assert_eq!(lineage(&fixture, &id)["root"]["workspace"], json!({ "name": "work", "tenant": "default" }));
}

/// Records in the ledger of `from` that the sandbox `id` was made from `snapshot`.
fn record_derivation(fixture: &Fixture, snapshot: &SnapshotRef, from: &str, id: &str) {
    let derivation = Derivation {
        sandbox_id: sandbox(id),
        snapshot_id: snapshot.snapshot_id().clone(),
        kind: DerivationKind::Branch,
        runtime: None,
        began_at: snapshot.created_at(),
        state: DerivedState::Ready { needs_snapshot: true },
    };
    fixture.ledger(from).put_derived_sandbox(&derivation).unwrap();
}

/// Returns a sandbox with one snapshot, from which `derived` sandboxes were made.
fn with_many_derived(derived: usize) -> Fixture {
    let (fixture, snapshot) = Fixture::with_snapshot();
    for number in 0..derived {
        record_derivation(&fixture, &snapshot, "agent-42", &format!("agent-42-branch-{number:08}"));
    }
    fixture
}

#[test]
fn tree_with_too_many_sandboxes_is_truncated() {
    let tree = lineage(&with_many_derived(600), "agent-42");
    assert_eq!((&tree["sandboxes"], &tree["truncated"]), (&json!(500), &json!(true)));
    let derived = tree["root"]["snapshots"][0]["derived"].as_array().unwrap();
    assert_eq!(derived.len(), 600, "sandboxes beyond the limit are listed without details");
    assert_eq!(derived.iter().filter(|branch| branch.get("problem").is_some()).count(), 101);
}

#[test]
fn tree_at_the_sandbox_limit_is_not_truncated() {
    let sizes = [499, 500].map(|derived| lineage(&with_many_derived(derived), "agent-42"));
    let summaries = sizes.map(|tree| (tree["sandboxes"].clone(), tree["truncated"].clone()));
    assert_eq!(summaries, [(json!(500), json!(false)), (json!(500), json!(true))]);
}

/// Returns a lineage in which each sandbox was made from the one before, and the snapshot that each of them has. The first one is
/// `agent-42`, the next one `generation-2`.
fn with_generations(generations: usize) -> (Fixture, SnapshotRef) {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let first = fixture.ledger("agent-42");
    let (record, row) = (first.sandbox().unwrap().unwrap(), first.snapshot(snapshot.snapshot_id()).unwrap().unwrap());
    for generation in 2..=generations {
        let [parent, id] = [generation - 1, generation].map(generation_id);
        record_derivation(&fixture, &snapshot, &parent, &id);
        let link = ParentLink {
            origin_id: sandbox(&parent),
            snapshot_id: snapshot.snapshot_id().clone(),
            kind: DerivationKind::Branch,
            needs_snapshot: true,
        };
        let ledger = fixture.ledger(&id);
        let record = SandboxRecord { sandbox_id: sandbox(&id), parent: Some(link), ..record.clone() };
        ledger.put_sandbox(&record).unwrap();
        ledger.put_snapshot(&row).unwrap();
    }
    (fixture, snapshot)
}

fn generation_id(generation: usize) -> String {
    if generation == 1 { "agent-42".to_owned() } else { format!("generation-{generation}") }
}

/// Returns the first and the last sandbox of a tree without branches, the number of its sandboxes, and whether it is truncated.
fn ends(tree: &Value) -> (String, String, u64, bool) {
    let mut last = &tree["root"];
    while let Some(derived) = last["snapshots"][0]["derived"].get(0).filter(|next| next.get("problem").is_none()) {
        last = derived;
    }
    let id = |sandbox: &Value| sandbox["sandboxId"].as_str().unwrap().to_owned();
    (id(&tree["root"]), id(last), tree["sandboxes"].as_u64().unwrap(), tree["truncated"].as_bool().unwrap())
}

#[test]
fn tree_of_the_first_of_too_many_generations_lacks_the_last_ones() {
    for (generations, truncated) in [(28, false), (29, true), (30, true)] {
        let tree = lineage(&with_generations(generations).0, "agent-42");
        assert_eq!(ends(&tree), ("agent-42".into(), "generation-28".into(), 28, truncated));
        assert_eq!(tree.get("parent"), None);
    }
}

#[test]
fn tree_of_the_last_of_too_many_generations_begins_later() {
    let (fixture, _) = with_generations(60);
    let tree = lineage(&fixture, "generation-60");
    assert_eq!(ends(&tree), ("generation-33".into(), "generation-60".into(), 28, true));
    assert_eq!(tree["parent"]["originId"], "generation-32");
    let earlier = lineage(&fixture, "generation-32");
    assert_eq!(ends(&earlier), ("generation-12".into(), "generation-39".into(), 28, true));
}

#[test]
fn tree_of_the_last_of_28_generations_is_complete() {
    let tree = lineage(&with_generations(28).0, "generation-28");
    assert_eq!(ends(&tree), ("agent-42".into(), "generation-28".into(), 28, false));
}

#[test]
fn tree_that_is_too_wide_contains_the_sandbox_that_it_is_about() {
    let (fixture, snapshot) = with_generations(3);
    for number in 0..600 {
        record_derivation(&fixture, &snapshot, "agent-42", &format!("agent-42-branch-{number:08}"));
    }
    let tree = lineage(&fixture, "generation-3");
    assert!(tree["truncated"].as_bool().unwrap());
    let own = "\"sandboxId\":\"generation-3\",\"snapshots\":[{";
    assert!(tree.to_string().contains(own));
}

#[test]
fn tree_with_too_many_snapshots_is_truncated() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let ledger = fixture.ledger("agent-42");
    let row = ledger.snapshot(snapshot.snapshot_id()).unwrap().unwrap();
    let summaries = [1000, 1001].map(|count: u32| {
        for number in 1..count {
            let snapshot_id = SnapshotId::parse(&format!("snap-{number:016}")).unwrap();
            let label = number.to_string().try_into().unwrap();
            ledger.put_snapshot(&SnapshotRecord { snapshot_id, label, ..row.clone() }).unwrap();
        }
        let tree = lineage(&fixture, "agent-42");
        (tree["root"]["snapshots"].as_array().unwrap().len(), tree["truncated"].clone())
    });
    assert_eq!(summaries, [(1000, json!(false)), (1000, json!(true))]);
}
