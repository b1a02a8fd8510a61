//! Which permission permits which operation.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::Code;
use sandbox_snapshotter::model::token::Permission;
use sandbox_snapshotter::service::access::Access;
use serde_json::{Value, json};

use crate::lineage::scope::arguments;
use crate::support::{ExpectError, Fixture, WORKSPACE};

/// Each operation, with the permissions that permit it by themselves: `r` read, `s` snapshot, `w` work, `a` admin. An
/// operation without any needs the API token or a service binding.
const TABLE: &[(&str, &str)] = &[
    ("snapshot", "-s-a"),
    ("restore", "-s-a"),
    ("branch", "-s-a"),
    ("revive", "-s-a"),
    ("list", "rswa"),
    ("get", "rswa"),
    ("manifest", "rswa"),
    ("verify", "rswa"),
    ("diff", "rswa"),
    ("label", "-s-a"),
    ("pin", "-s-a"),
    ("unpin", "-s-a"),
    ("delete", "-s-a"),
    ("import", "----"),
    ("lineage", "rswa"),
    ("retention", "rswa"),
    ("setRetention", "-s-a"),
    ("applyRetention", "-s-a"),
    ("rotateKey", "---a"),
    ("exec", "--wa"),
    ("usage", "rswa"),
    ("sweep", "----"),
    ("workspaces/create", "-s-a"),
    ("workspaces/getOrCreate", "-s-a"),
    ("workspaces/getByName", "rswa"),
    ("workspaces/list", "rswa"),
    ("workspaces/start", "-s-a"),
    ("workspaces/stop", "-s-a"),
    ("workspaces/fork", "-s-a"),
    ("workspaces/update", "-s-a"),
    ("workspaces/turnEnded", "-s-a"),
    ("workspaces/promote", "-s-a"),
    ("workspaces/migrate", "-s-a"),
    ("workspaces/delete", "-s-a"),
    ("checkpoints/create", "-s-a"),
    ("checkpoints/list", "rswa"),
    ("checkpoints/restore", "-s-a"),
    ("checkpoints/diff", "rswa"),
    ("checkpoints/delete", "-s-a"),
    ("commands/start", "--wa"),
    ("commands/list", "--wa"),
    ("commands/output", "--wa"),
    ("commands/end", "--wa"),
    ("files/list", "rswa"),
    ("files/stat", "rswa"),
    ("files/read", "rswa"),
    ("files/summary", "rswa"),
    ("files/write", "--wa"),
    ("files/mkdir", "--wa"),
    ("files/move", "--wa"),
    ("files/remove", "--wa"),
    ("files/restore", "--wa"),
    ("tools/list", "rswa"),
    ("tools/call", "rswa"),
    ("tools/grant", "---a"),
    ("tokens/create", "---a"),
    ("tokens/list", "---a"),
    ("tokens/revoke", "---a"),
    ("tokens/current", "rswa"),
    ("health", "rswa"),
];

#[test]
fn every_operation_is_permitted_by_exactly_the_permissions_of_its_row() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let accesses = Permission::ALL.map(|permission| fixture.access(&[permission.as_str()]));
    let names: Vec<_> = Operation::ALL.iter().map(|operation| operation.name()).collect();
    assert_eq!(names, TABLE.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    for (name, permitted) in TABLE {
        let operation = Operation::by_name(name).unwrap();
        let mut options = arguments(operation, &snapshot);
        if name.starts_with("tools/") && *name != "tools/grant" {
            options["readOnly"] = json!(true);
        }
        for (access, (permission, flag)) in accesses.iter().zip(Permission::ALL.iter().zip(permitted.chars())) {
            let outcome = fixture.authorize(access, operation, &options);
            let code = outcome.err().map(|error| error.code());
            let expected = (flag == '-').then_some(Code::PermissionMissing);
            assert_eq!(code, expected, "{name} with {permission}");
        }
    }
}

#[test]
fn refused_call_has_no_effect() {
    let fixture = Fixture::with_workspace();
    let read = fixture.access(&["read"]);
    fixture.world.reset_calls();
    let error =
        fixture.run_on(&read, Operation::StopWorkspace, WORKSPACE, &json!({})).expect_code(Code::PermissionMissing);
    assert_eq!(error.message(), "`workspaces/stop` needs the permission `snapshot`, and the token has: read.");
    fixture
        .run_on(&read, Operation::Exec, WORKSPACE, &json!({ "command": "true" }))
        .expect_code(Code::PermissionMissing);
    assert_eq!(fixture.world.calls(), []);
}

#[test]
fn permissions_can_be_combined() {
    let fixture = Fixture::with_workspace();
    let both = fixture.access(&["snapshot", "work"]);
    fixture.run_on(&both, Operation::Exec, WORKSPACE, &json!({ "command": "true" })).unwrap();
    fixture.run_on(&both, Operation::StopWorkspace, WORKSPACE, &json!({})).unwrap();
}

#[test]
fn freeze_needs_work_because_it_runs_commands() {
    let fixture = Fixture::with_workspace();
    let freeze = json!({ "freeze": "db freeze", "thaw": "db thaw" });
    let options = json!({ "sandboxId": fixture.sandbox_of(WORKSPACE), "freeze": freeze });
    let snapshot = fixture.access(&["snapshot"]);
    let error = fixture.run_as(&snapshot, Operation::Snapshot, &options).expect_code(Code::PermissionMissing);
    assert!(error.message().starts_with("`snapshot` with `freeze` needs the permission `work`"), "{error}");
    let work = fixture.access(&["work"]);
    fixture.run_as(&work, Operation::Snapshot, &options).expect_code(Code::PermissionMissing);
    assert!(fixture.world.hook_calls().is_empty());
    let both = fixture.access(&["snapshot", "work"]);
    fixture.run_as(&both, Operation::Snapshot, &options).unwrap();
    assert_eq!(fixture.world.hook_calls().len(), 2);
}

#[test]
fn hooks_and_variables_need_work_because_they_decide_which_commands_run() {
    let fixture = Fixture::with_workspace();
    let snapshot = fixture.access(&["snapshot"]);
    for settings in [
        json!({ "hooks": { "afterStart": { "command": "id" } } }),
        json!({ "env": { "NODE_OPTIONS": "--require /tmp/x" } }),
    ] {
        for (operation, name) in [
            (Operation::CreateWorkspace, "other"),
            (Operation::GetOrCreateWorkspace, "other"),
            (Operation::GetOrCreateWorkspace, WORKSPACE),
            (Operation::UpdateWorkspace, WORKSPACE),
        ] {
            fixture.run_on(&snapshot, operation, name, &settings).expect_code(Code::PermissionMissing);
        }
    }
    assert!(fixture.world.hook_calls().is_empty());
    let both = fixture.access(&["snapshot", "work"]);
    fixture.run_on(&both, Operation::UpdateWorkspace, WORKSPACE, &json!({ "env": { "A": "1" } })).unwrap();
}

#[test]
fn files_of_a_running_sandbox_need_work() {
    let fixture = Fixture::with_workspace();
    let (read, work) = (fixture.access(&["read", "snapshot"]), fixture.access(&["work"]));
    for operation in [Operation::ListFiles, Operation::StatFile, Operation::ReadFile] {
        let options = json!({ "name": WORKSPACE, "path": "/" });
        let error = fixture.authorize(&read, operation, &options).expect_code(Code::PermissionMissing);
        assert!(error.message().contains("needs the permission `work`"), "{error}");
        fixture.authorize(&work, operation, &options).unwrap();
    }
}

fn toolset(declared: &Value, read_only: bool) -> Value {
    let mut workspace = json!({ "name": WORKSPACE });
    workspace.as_object_mut().unwrap().extend(declared.as_object().unwrap().clone());
    json!({ "workspaces": [workspace], "readOnly": read_only })
}

#[test]
fn toolset_needs_the_permissions_of_its_tools() {
    let fixture = Fixture::with_workspace();
    for (declared, read_only, permitted) in [
        (json!({ "snapshot": true }), true, "rswa"),
        (json!({ "snapshot": true }), false, "-s-a"),
        (json!({ "checkpoint": true }), false, "-s-a"),
        (json!({ "work": true }), false, "--wa"),
        (json!({ "snapshot": true, "work": true }), false, "---a"),
    ] {
        for (permission, flag) in Permission::ALL.iter().zip(permitted.chars()) {
            let access = fixture.access(&[permission.as_str()]);
            let mut options = toolset(&declared, read_only);
            let listed = fixture.authorize(&access, Operation::ListTools, &options);
            options["name"] = json!("work_list_snapshots");
            for outcome in [listed, fixture.authorize(&access, Operation::CallTool, &options)] {
                let code = outcome.err().map(|error| error.code());
                let expected = (flag == '-').then_some(Code::PermissionMissing);
                assert_eq!(code, expected, "{declared} with {permission}");
            }
        }
    }
}

#[test]
fn token_grants_no_tools_that_reach_other_lineages() {
    let fixture = Fixture::with_workspace();
    let admin = fixture.access(&["admin"]);
    let declared = json!({ "snapshot": true, "allowCrossLineage": true });
    fixture.authorize(&admin, Operation::GrantTools, &toolset(&declared, false)).expect_code(Code::PermissionMissing);
    fixture.authorize(&admin, Operation::GrantTools, &toolset(&json!({ "snapshot": true }), false)).unwrap();
}

#[test]
fn caller_learns_what_it_may_do() {
    let fixture = Fixture::empty();
    let current = |access: Access| fixture.run_as(&access, Operation::CurrentToken, &json!({})).unwrap();
    let work = current(fixture.access_of(&json!({ "permissions": ["work"], "workspaces": ["work"], "label": "CI" })));
    assert_eq!(work["permissions"], json!(["read", "work"]));
    assert_eq!(work["token"]["workspaces"], json!(["work"]));
    assert_eq!(work["token"]["label"], json!("CI"));
    assert_eq!(current(fixture.access(&["admin"]))["permissions"], json!(["read", "snapshot", "work", "admin"]));
    let everything = fixture.run(Operation::CurrentToken, &json!({})).unwrap();
    assert_eq!(everything, json!({ "permissions": ["read", "snapshot", "work", "admin"] }));
}
