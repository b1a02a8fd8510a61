//! A token for some workspaces permits these, what was made from them, and nothing else.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::Code;
use sandbox_snapshotter::service::access::Access;
use serde_json::{Value, json};

use crate::support::{ExpectError, Fixture, MINUTE, Method, WORKSPACE, no_expiry};

/// The active workspaces `work` and `other`, each with a snapshot, and a token for `work`.
struct Tenants {
    fixture: Fixture,
    access: Access,
    /// The sandboxes of `work` and `other`.
    own: String,
    foreign: String,
    own_snapshot: Value,
    foreign_snapshot: Value,
}

impl Tenants {
    fn new() -> Self {
        let fixture = Fixture::with_workspace();
        fixture.create_workspace("other", &no_expiry()).unwrap();
        fixture.world.advance_clock(MINUTE);
        fixture.write_workspace_file("other", "secret");
        let take = |name: &str| {
            let id = fixture.sandbox_of(name);
            let taken = fixture.run(Operation::Snapshot, &json!({ "sandboxId": id })).unwrap();
            (id, taken)
        };
        let ((own, own_snapshot), (foreign, foreign_snapshot)) = (take(WORKSPACE), take("other"));
        let access = fixture.access_to(&[WORKSPACE]);
        Self { fixture, access, own, foreign, own_snapshot, foreign_snapshot }
    }

    #[track_caller]
    fn permits(&self, operation: Operation, options: &Value) -> Value {
        self.fixture.run_as(&self.access, operation, options).unwrap()
    }

    #[track_caller]
    fn refuses(&self, operation: Operation, options: &Value) {
        let error = self.fixture.run_as(&self.access, operation, options).expect_code(Code::NotPermitted);
        assert!(error.message().ends_with("or it does not exist."), "{error}");
    }
}

fn by_ref(taken: &Value) -> Value {
    json!({ "ref": { "providerId": taken["providerId"], "ref": taken["ref"] } })
}

fn merged(base: &Value, more: &Value) -> Value {
    let mut all = base.as_object().unwrap().clone();
    all.extend(more.as_object().unwrap().clone());
    Value::Object(all)
}

/// Returns the selections of a snapshot, in all of their forms.
fn selections(sandbox: &str, taken: &Value) -> Vec<Value> {
    let id = &taken["snapshotId"];
    vec![by_ref(taken), json!({ "ref": taken["shortRef"] }), json!({ "sandboxId": sandbox, "snapshotId": id })]
}

#[test]
fn every_selection_of_a_foreign_snapshot_is_refused() {
    let it = Tenants::new();
    let reads = [
        (Operation::Get, json!({})),
        (Operation::Manifest, json!({})),
        (Operation::Verify, json!({})),
        (Operation::ListFiles, json!({})),
        (Operation::StatFile, json!({ "path": "notes.txt" })),
        (Operation::ReadFile, json!({ "path": "notes.txt" })),
        (Operation::SummarizeFiles, json!({})),
        (Operation::Pin, json!({})),
        (Operation::Unpin, json!({})),
        (Operation::Label, json!({ "newLabel": "mine" })),
        (Operation::Restore, json!({})),
        (Operation::Branch, json!({})),
        (Operation::Delete, json!({ "force": true })),
        (Operation::RestoreFiles, json!({ "paths": ["notes.txt"], "to": it.own })),
    ];
    it.fixture.world.reset_calls();
    for (operation, more) in &reads {
        for selection in selections(&it.foreign, &it.foreign_snapshot) {
            it.refuses(*operation, &merged(&selection, more));
        }
        it.refuses(*operation, &merged(&json!({ "sandboxId": it.foreign, "label": "any" }), more));
    }
    for selection in selections(&it.own, &it.own_snapshot) {
        it.permits(Operation::Get, &selection);
    }
}

#[test]
fn comparison_needs_both_snapshots() {
    let it = Tenants::new();
    let (own, foreign) = (by_ref(&it.own_snapshot), by_ref(&it.foreign_snapshot));
    it.refuses(Operation::Diff, &json!({ "from": own, "to": foreign }));
    it.refuses(Operation::Diff, &json!({ "from": foreign, "to": own }));
    it.permits(Operation::Diff, &json!({ "from": own, "to": own }));
}

#[test]
fn foreign_sandbox_is_refused_like_one_that_does_not_exist() {
    let it = Tenants::new();
    for id in [it.foreign.as_str(), "never-seen", "../etc/passwd", "a/b"] {
        for (operation, more) in [
            (Operation::Snapshot, json!({})),
            (Operation::List, json!({})),
            (Operation::Lineage, json!({})),
            (Operation::Retention, json!({})),
            (Operation::SetRetention, json!({ "policy": {} })),
            (Operation::ApplyRetention, json!({})),
            (Operation::Exec, json!({ "command": "true" })),
            (Operation::StartCommand, json!({ "command": "true" })),
            (Operation::ListCommands, json!({})),
            (Operation::ReadCommandOutput, json!({ "commandId": "c1" })),
            (Operation::EndCommand, json!({ "commandId": "c1" })),
            (Operation::ListCheckpoints, json!({})),
            (Operation::CreateCheckpoint, json!({ "name": "a" })),
            (Operation::RestoreCheckpoint, json!({ "name": "a" })),
            (Operation::DeleteCheckpoint, json!({ "name": "a" })),
            (Operation::DiffCheckpoint, json!({ "name": "a" })),
        ] {
            it.refuses(operation, &merged(&json!({ "sandboxId": id }), &more));
        }
        it.refuses(Operation::List, &json!({ "sandboxId": it.own, "lineageScope": id }));
        it.refuses(
            Operation::RestoreFiles,
            &merged(&by_ref(&it.own_snapshot), &json!({ "paths": ["notes.txt"], "to": id })),
        );
    }
    assert!(it.fixture.world.hook_calls().is_empty());
    it.permits(Operation::Exec, &json!({ "sandboxId": it.own, "command": "true" }));
}

#[test]
fn foreign_workspace_is_refused_like_one_that_does_not_exist() {
    let it = Tenants::new();
    for name in ["other", "never-seen"] {
        for (operation, more) in [
            (Operation::GetWorkspaceByName, json!({})),
            (Operation::CreateWorkspace, json!({})),
            (Operation::GetOrCreateWorkspace, json!({})),
            (Operation::GetOrCreateWorkspace, json!({ "sourceWorkspace": WORKSPACE })),
            (Operation::StartWorkspace, json!({})),
            (Operation::StopWorkspace, json!({})),
            (Operation::ForkWorkspace, json!({})),
            (Operation::UpdateWorkspace, json!({ "persistent": false })),
            (Operation::PromoteWorkspace, json!({ "from": WORKSPACE })),
            (Operation::MigrateWorkspace, json!({ "runtime": "container" })),
            (Operation::DeleteWorkspace, json!({})),
            (Operation::Exec, json!({ "command": "true" })),
            (Operation::StartCommand, json!({ "command": "true" })),
            (Operation::ListCommands, json!({})),
            (Operation::ReadCommandOutput, json!({ "commandId": "c1" })),
            (Operation::EndCommand, json!({ "commandId": "c1" })),
            (Operation::Snapshot, json!({})),
            (Operation::List, json!({})),
            (Operation::Lineage, json!({})),
        ] {
            it.refuses(operation, &merged(&json!({ "name": name }), &more));
        }
        it.refuses(Operation::ListCheckpoints, &json!({ "workspace": name }));
        it.refuses(Operation::PromoteWorkspace, &json!({ "name": WORKSPACE, "from": name }));
        it.refuses(Operation::CreateWorkspace, &json!({ "name": "copy", "sourceWorkspace": name }));
    }
    it.refuses(Operation::CreateWorkspace, &json!({ "name": "copy", "sourceSnapshot": by_ref(&it.foreign_snapshot) }));
    // The error about a lineage scope would name the lineage of the scope.
    let scoped = merged(&by_ref(&it.own_snapshot), &json!({ "lineageScope": it.foreign }));
    it.refuses(Operation::CreateWorkspace, &json!({ "name": "work-copy", "sourceSnapshot": scoped }));
    let other = json!({ "name": WORKSPACE, "tenant": "acme" });
    let error = it.fixture.run_as(&it.access, Operation::GetWorkspaceByName, &other).expect_code(Code::NotPermitted);
    assert!(error.message().contains("the workspace \"work\" of the tenant \"acme\""), "{error}");
    it.permits(Operation::GetWorkspaceByName, &json!({ "name": WORKSPACE }));
}

#[test]
fn what_was_made_from_a_workspace_is_permitted() {
    let it = Tenants::new();
    let restored = it.permits(Operation::Restore, &by_ref(&it.own_snapshot));
    let id = restored["ref"]["sandboxId"].as_str().unwrap();
    it.fixture.world.advance_clock(MINUTE);
    let again = it.permits(Operation::Snapshot, &json!({ "sandboxId": id }));
    it.permits(Operation::Branch, &by_ref(&again));
    it.permits(Operation::ForkWorkspace, &json!({ "name": WORKSPACE, "newName": "work-fork" }));
    it.permits(Operation::ForkWorkspace, &json!({ "name": "work-fork", "newName": "work-fork-fork" }));
    it.permits(Operation::Exec, &json!({ "name": "work-fork-fork", "command": "true" }));
    it.permits(Operation::CreateWorkspace, &json!({ "name": "work-copy", "sourceSnapshot": by_ref(&again) }));
    it.permits(Operation::StopWorkspace, &json!({ "name": "work-copy" }));
    it.permits(Operation::PromoteWorkspace, &json!({ "name": WORKSPACE, "from": "work-fork-fork" }));
    let names: Vec<_> = listed(&it);
    assert_eq!(names, [WORKSPACE, "work-copy", "work-fork", "work-fork-fork"]);
}

fn listed(it: &Tenants) -> Vec<String> {
    let page = it.permits(Operation::ListWorkspaces, &json!({}));
    page["workspaces"].as_array().unwrap().iter().map(|entry| entry["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn token_for_a_fork_does_not_permit_its_origin() {
    let it = Tenants::new();
    it.fixture.fork_workspace(WORKSPACE, &json!({ "newName": "fork" })).unwrap();
    let fork = it.fixture.access_to(&["fork"]);
    let refuse = |operation, options: &Value| {
        it.fixture.run_as(&fork, operation, options).expect_code(Code::NotPermitted);
    };
    refuse(Operation::Exec, &json!({ "name": WORKSPACE, "command": "true" }));
    refuse(Operation::Get, &by_ref(&it.own_snapshot));
    // The snapshots of the origin are of the same lineage.
    let id = &it.own_snapshot["snapshotId"];
    refuse(Operation::UpdateWorkspace, &json!({ "name": "fork", "currentSnapshotId": id }));
    refuse(Operation::PromoteWorkspace, &json!({ "name": "fork", "from": id }));
    refuse(Operation::StartWorkspace, &json!({ "name": "fork", "from": id }));
    refuse(Operation::GetOrCreateWorkspace, &json!({ "name": "fork", "from": id }));
    refuse(Operation::ForkWorkspace, &json!({ "name": "fork", "newName": "fork-fork", "from": id }));
    refuse(Operation::UpdateWorkspace, &json!({ "name": "fork", "currentSnapshotId": "snap-aaaaaaaaaaaaaaaa" }));
    // The fork has no snapshot yet: the newest one of its files is of the origin.
    refuse(Operation::Get, &json!({ "name": "fork", "label": "latest" }));
    let own = it.fixture.stop_with_content("fork", "second");
    it.fixture.run_as(&fork, Operation::UpdateWorkspace, &json!({ "name": "fork", "currentSnapshotId": own })).unwrap();
    it.fixture.run_as(&fork, Operation::StartWorkspace, &json!({ "name": "fork", "from": own })).unwrap();
}

#[test]
fn failure_to_find_the_origin_of_a_snapshot_is_not_reported_as_a_refusal() {
    let it = Tenants::new();
    let own = it.fixture.stop_with_content(WORKSPACE, "second");
    it.fixture.world.before(Method::OriginOf).fail_transiently();
    let options = json!({ "name": WORKSPACE, "currentSnapshotId": own });
    let error = it.fixture.run_as(&it.access, Operation::UpdateWorkspace, &options).expect_err("it fails");
    assert_ne!(error.code(), Code::NotPermitted, "{error}");
    it.fixture.world.clear_faults();
    it.permits(Operation::UpdateWorkspace, &options);
}

#[test]
fn promotion_does_not_make_the_promoted_workspace_accessible() {
    let it = Tenants::new();
    it.fixture.fork_workspace(WORKSPACE, &json!({ "newName": "fork" })).unwrap();
    it.fixture.promote_workspace(WORKSPACE, &json!({ "from": "fork" })).unwrap();
    // The sandbox of `work` is now made from a snapshot of the fork.
    let fork = it.fixture.access_to(&["fork"]);
    for options in [
        json!({ "name": WORKSPACE, "command": "true" }),
        json!({ "sandboxId": it.fixture.sandbox_of(WORKSPACE), "command": "true" }),
    ] {
        it.fixture.run_as(&fork, Operation::Exec, &options).expect_code(Code::NotPermitted);
    }
}

#[test]
fn lineage_shows_only_what_the_token_permits() {
    let it = Tenants::new();
    for name in ["fork", "sibling"] {
        it.fixture.fork_workspace(WORKSPACE, &json!({ "newName": name })).unwrap();
    }
    it.fixture.run(Operation::Restore, &by_ref(&it.own_snapshot)).unwrap();
    let whole = it.permits(Operation::Lineage, &json!({ "sandboxId": it.fixture.sandbox_of("fork") }));
    assert_eq!((&whole["root"]["sandboxId"], &whole["sandboxes"]), (&json!(it.own), &json!(4)));
    let fork = it.fixture.access_to(&["fork"]);
    let id = it.fixture.sandbox_of("fork");
    let tree = it.fixture.run_as(&fork, Operation::Lineage, &json!({ "sandboxId": id })).unwrap();
    assert_eq!((&tree["root"]["sandboxId"], &tree["sandboxes"]), (&json!(id), &json!(1)));
    let text = tree.to_string();
    assert!(!text.contains("sibling") && !text.contains(&format!("{:?}", it.own)), "{text}");
}

#[test]
fn lineage_of_a_token_does_not_name_a_parent_that_the_token_does_not_permit() {
    let it = Tenants::new();
    it.fixture.fork_workspace(WORKSPACE, &json!({ "newName": "fork" })).unwrap();
    let options = json!({ "sandboxId": it.fixture.sandbox_of("fork") });
    for (names, expected) in [(["fork"].as_slice(), None), (&["fork", WORKSPACE], Some(json!(it.own)))] {
        it.fixture.world.before(Method::Describe).fail_transiently();
        let tree = it.fixture.run_as(&it.fixture.access_to(names), Operation::Lineage, &options).unwrap();
        assert_eq!(tree["root"]["sandboxId"], options["sandboxId"]);
        assert_eq!(tree.get("parent").map(|parent| parent["originId"].clone()), expected, "{names:?}");
    }
}

#[test]
fn list_has_only_permitted_workspaces() {
    let it = Tenants::new();
    assert_eq!(listed(&it), [WORKSPACE]);
    it.refuses(Operation::ListWorkspaces, &json!({ "tenant": "acme" }));
}

#[test]
fn cursor_names_only_permitted_workspaces() {
    let it = Tenants::new();
    for name in ["a", "p", "zz"] {
        it.fixture.create_workspace(name, &no_expiry()).unwrap();
    }
    it.fixture.fork_workspace(WORKSPACE, &json!({ "newName": "fork" })).unwrap();
    let first = it.permits(Operation::ListWorkspaces, &json!({ "limit": 1 }));
    assert_eq!((&first["workspaces"][0]["name"], &first["cursor"]), (&json!("fork"), &json!("fork")));
    let second = it.permits(Operation::ListWorkspaces, &json!({ "limit": 1, "cursor": "fork" }));
    assert_eq!((&second["workspaces"][0]["name"], second.get("cursor")), (&json!(WORKSPACE), None));
    let prefixed = it.permits(Operation::ListWorkspaces, &json!({ "prefix": "p" }));
    assert_eq!(prefixed, json!({ "workspaces": [] }));
}

#[test]
fn sources_of_listed_workspaces_are_looked_up_once() {
    let it = Tenants::new();
    it.fixture.fork_workspace("other", &json!({ "newName": "fork", "count": 5 })).unwrap();
    it.fixture.world.reset_calls();
    assert_eq!(listed(&it), [WORKSPACE]);
    assert_eq!(it.fixture.world.call_count(Method::ParentOf), 1);
}

#[test]
fn token_of_another_tenant_permits_nothing() {
    let it = Tenants::new();
    let acme = it.fixture.access_of(&json!({ "permissions": ["admin"], "tenant": "acme" }));
    it.fixture.start_sandbox("unnamed");
    let restored = it.fixture.run(Operation::Restore, &by_ref(&it.own_snapshot)).unwrap();
    for options in [
        json!({ "sandboxId": it.own }),
        json!({ "sandboxId": restored["ref"]["sandboxId"] }),
        json!({ "sandboxId": "unnamed" }),
    ] {
        it.fixture.run_as(&acme, Operation::Snapshot, &options).expect_code(Code::NotPermitted);
        it.fixture.run_as(&acme, Operation::RotateKey, &options).expect_code(Code::NotPermitted);
    }
    it.fixture.run_on(&acme, Operation::StopWorkspace, WORKSPACE, &json!({})).expect_code(Code::NotPermitted);
    it.fixture.run_on(&acme, Operation::CreateWorkspace, WORKSPACE, &json!({ "tenant": "acme" })).unwrap();
    let page = it.fixture.run_as(&acme, Operation::ListWorkspaces, &json!({ "tenant": "acme" })).unwrap();
    assert_eq!(page["workspaces"].as_array().unwrap().len(), 1);
}

#[test]
fn sandbox_without_a_workspace_belongs_to_the_default_tenant() {
    let it = Tenants::new();
    it.fixture.start_sandbox("unnamed");
    let all = it.fixture.access(&["snapshot"]);
    it.fixture.run_as(&all, Operation::Snapshot, &json!({ "sandboxId": "unnamed" })).unwrap();
    it.refuses(Operation::Snapshot, &json!({ "sandboxId": "unnamed" }));
}

#[test]
fn tools_of_foreign_workspaces_are_refused() {
    let it = Tenants::new();
    for (declared, is_permitted) in [
        (json!({ "name": WORKSPACE, "work": true }), true),
        (json!({ "name": "code", "work": true, "sandboxId": it.own }), true),
        (json!({ "name": "other", "work": true }), false),
        (json!({ "name": "work", "work": true, "workspace": "other" }), false),
        (json!({ "name": "work", "work": true, "tenant": "acme" }), false),
        (json!({ "name": "code", "work": true, "sandboxId": it.foreign }), false),
    ] {
        for (operation, more) in [
            (Operation::ListTools, json!({})),
            (Operation::CallTool, json!({ "name": "workspace__code__exec", "arguments": { "command": "true" } })),
        ] {
            let options = merged(&json!({ "workspaces": [declared] }), &more);
            let code = it.fixture.authorize(&it.access, operation, &options).err().map(|error| error.code());
            assert_eq!(code, (!is_permitted).then_some(Code::NotPermitted), "{declared}");
        }
    }
}

#[test]
fn id_and_label_of_a_snapshot_in_a_foreign_workspace_are_refused() {
    let it = Tenants::new();
    for id in [&it.foreign_snapshot["snapshotId"], &json!("snap-aaaaaaaaaaaaaaaa")] {
        it.refuses(Operation::Get, &json!({ "name": "other", "snapshotId": id }));
        it.refuses(Operation::StartWorkspace, &json!({ "name": WORKSPACE, "from": id }));
        it.refuses(Operation::ForkWorkspace, &json!({ "name": WORKSPACE, "from": id }));
    }
    let label = &it.fixture.run(Operation::Get, &by_ref(&it.foreign_snapshot)).unwrap()["label"];
    for label in [label, &json!("missing")] {
        it.refuses(Operation::Get, &json!({ "name": "other", "label": label }));
    }
    let own = &it.own_snapshot["snapshotId"];
    assert_eq!(it.permits(Operation::Get, &json!({ "name": WORKSPACE, "snapshotId": own }))["snapshotId"], *own);
}
