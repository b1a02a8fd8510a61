//! Operations on named workspaces, each with a prepared fixture, and the conditions that hold after any fault.

use std::cell::Cell;

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Runtime};
use sandbox_snapshotter::ports::{Ledger, WorkspaceStore};
use serde_json::{Value, json};

use crate::support::{FILE, Fixture, HOUR, MINUTE, Scenario, Setup, WORKSPACE, by_ref, workspace_args};

/// Returns the settings of the workspaces in scenarios.
fn settings() -> Value {
    json!({
        "expiry": { "idleSeconds": 0 },
        "hooks": { "afterStart": { "command": "exit 0" }, "beforeStop": { "command": "exit 0" } },
        "dependsOn": { "files": ["/etc/version"], "fingerprint": "v1" },
        "env": { "A": "1" },
    })
}

fn create_args(options: &Value) -> Value {
    let mut arguments = workspace_args(WORKSPACE, &settings());
    arguments.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
    arguments
}

/// The active workspace `work` with the file content `second`, and a snapshot with `first`.
pub fn with_active() -> Fixture {
    let fixture = Fixture::with_stopped_workspace_options(&settings());
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.world.advance_clock(MINUTE);
    fixture.write_workspace_file(WORKSPACE, "second");
    fixture.world.advance_clock(MINUTE);
    fixture
}

/// As [`with_active`], in a deployment with both runtimes.
fn with_active_in_both_runtimes() -> Fixture {
    let fixture = with_active();
    fixture.deploy_both_runtimes(Runtime::Sdk012);
    fixture
}

fn migrate_args() -> Value {
    workspace_args(WORKSPACE, &json!({ "runtime": "container" }))
}

/// The active workspace `work`, whose container ended and cold-started. The application wrote `second` after that.
pub fn with_diverged() -> Fixture {
    let fixture = with_active();
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.world.end_container(&id);
    fixture.world.write_file(&id, FILE, "second");
    fixture.world.advance_clock(MINUTE);
    fixture
}

/// The workspace `work` with a storage, stopped with the file content `first`.
fn with_storage(storage: &str) -> Fixture {
    let fixture = Fixture::empty();
    fixture.world.enable_platform_snapshots();
    let mut options = settings();
    options["storage"] = storage.into();
    options["durable"] = (storage != "platform").into();
    fixture.create_workspace(WORKSPACE, &options).unwrap();
    fixture.world.advance_clock(MINUTE);
    fixture.stop_with_content(WORKSPACE, "first");
    fixture
}

/// As [`with_storage`], active with the file content `second`.
fn active_with_storage(storage: &str) -> Fixture {
    let fixture = with_storage(storage);
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.world.advance_clock(MINUTE);
    fixture.write_workspace_file(WORKSPACE, "second");
    fixture.world.advance_clock(MINUTE);
    fixture
}

fn first_snapshot(fixture: &Fixture) -> Value {
    let rows = fixture.ledger(&fixture.sandbox_of(WORKSPACE)).snapshot_page(None, None, u32::MAX).unwrap();
    json!(rows.last().unwrap().snapshot_id)
}

pub const SCENARIOS: [(&str, Setup); 30] = [
    ("create", || (Fixture::empty(), Operation::CreateWorkspace, create_args(&json!({ "idempotencyKey": "k" })))),
    ("create with a policy", || {
        let policy = json!({ "retention": { "keepDaily": 1 }, "idempotencyKey": "k" });
        (Fixture::empty(), Operation::CreateWorkspace, create_args(&policy))
    }),
    ("create from a snapshot", || {
        let (fixture, snapshot) = Fixture::with_snapshot();
        let source = json!({ "sourceSnapshot": by_ref(&snapshot), "idempotencyKey": "k" });
        (fixture, Operation::CreateWorkspace, create_args(&source))
    }),
    ("create from a workspace", || {
        let source = json!({ "sourceWorkspace": WORKSPACE, "idempotencyKey": "k" });
        (with_active(), Operation::CreateWorkspace, workspace_args("copy", &source))
    }),
    ("get or create", || (Fixture::empty(), Operation::GetOrCreateWorkspace, create_args(&json!({})))),
    ("start", || {
        (
            Fixture::with_stopped_workspace_options(&settings()),
            Operation::StartWorkspace,
            workspace_args(WORKSPACE, &json!({})),
        )
    }),
    ("start while running", || {
        (with_active(), Operation::StartWorkspace, workspace_args(WORKSPACE, &json!({ "fingerprint": "v1" })))
    }),
    ("start after container ended", || {
        let fixture = with_active();
        fixture.world.end_container(&fixture.sandbox_of(WORKSPACE));
        (fixture, Operation::StartWorkspace, workspace_args(WORKSPACE, &json!({})))
    }),
    ("start after cold start", || {
        let fixture = with_active();
        fixture.world.replace_container(&fixture.sandbox_of(WORKSPACE));
        (fixture, Operation::StartWorkspace, workspace_args(WORKSPACE, &json!({})))
    }),
    ("start with rescue", || {
        (with_diverged(), Operation::StartWorkspace, workspace_args(WORKSPACE, &json!({ "onDiverged": "rescue" })))
    }),
    ("start with adopt", || {
        (with_diverged(), Operation::StartWorkspace, workspace_args(WORKSPACE, &json!({ "onDiverged": "adopt" })))
    }),
    ("start with discard", || {
        (with_diverged(), Operation::StartWorkspace, workspace_args(WORKSPACE, &json!({ "onDiverged": "discard" })))
    }),
    ("stop", || (with_active(), Operation::StopWorkspace, workspace_args(WORKSPACE, &json!({})))),
    ("stop after cold start", || (with_diverged(), Operation::StopWorkspace, workspace_args(WORKSPACE, &json!({})))),
    ("start from both storages", || {
        (with_storage("both"), Operation::StartWorkspace, workspace_args(WORKSPACE, &json!({})))
    }),
    ("start from the platform", || {
        (with_storage("platform"), Operation::StartWorkspace, workspace_args(WORKSPACE, &json!({})))
    }),
    ("start without the platform snapshot", || {
        let fixture = with_storage("both");
        fixture.world.delete_disks();
        fixture.world.start_empty_without_disk();
        (fixture, Operation::StartWorkspace, workspace_args(WORKSPACE, &json!({})))
    }),
    ("stop to both storages", || {
        (active_with_storage("both"), Operation::StopWorkspace, workspace_args(WORKSPACE, &json!({})))
    }),
    ("stop to the platform", || {
        (active_with_storage("platform"), Operation::StopWorkspace, workspace_args(WORKSPACE, &json!({})))
    }),
    ("fork from both storages", || {
        let arguments = json!({ "newName": "copy", "count": 2, "idempotencyKey": "k" });
        (with_storage("both"), Operation::ForkWorkspace, workspace_args(WORKSPACE, &arguments))
    }),
    ("fork", || {
        let arguments = json!({ "newName": "copy", "count": 2, "idempotencyKey": "k" });
        (with_active(), Operation::ForkWorkspace, workspace_args(WORKSPACE, &arguments))
    }),
    ("fork while stopped", || {
        let arguments = json!({ "newName": "copy", "idempotencyKey": "k" });
        (
            Fixture::with_stopped_workspace_options(&settings()),
            Operation::ForkWorkspace,
            workspace_args(WORKSPACE, &arguments),
        )
    }),
    ("update", || {
        let changes = json!({ "retention": { "keepDaily": 2 }, "env": { "B": "2" } });
        (with_active(), Operation::UpdateWorkspace, workspace_args(WORKSPACE, &changes))
    }),
    ("revert", || {
        let fixture = with_active();
        let arguments = json!({ "currentSnapshotId": first_snapshot(&fixture), "retention": { "keepDaily": 2 } });
        (fixture, Operation::UpdateWorkspace, workspace_args(WORKSPACE, &arguments))
    }),
    ("revert while stopped", || {
        let fixture = with_active();
        fixture.stop_workspace(WORKSPACE).unwrap();
        let arguments = json!({ "currentSnapshotId": first_snapshot(&fixture) });
        (fixture, Operation::UpdateWorkspace, workspace_args(WORKSPACE, &arguments))
    }),
    ("promote", || {
        let fixture = with_active();
        fixture.fork_workspace(WORKSPACE, &json!({ "newName": "copy" })).unwrap();
        fixture.write_workspace_file("copy", "third");
        fixture.world.advance_clock(MINUTE);
        fixture.world.reset_calls();
        (
            fixture,
            Operation::PromoteWorkspace,
            workspace_args(WORKSPACE, &json!({ "from": "copy", "idempotencyKey": "k" })),
        )
    }),
    ("promote while stopped", || {
        let fixture = with_active();
        fixture.fork_workspace(WORKSPACE, &json!({ "newName": "copy" })).unwrap();
        fixture.stop_workspace(WORKSPACE).unwrap();
        fixture.write_workspace_file("copy", "third");
        fixture.stop_workspace("copy").unwrap();
        fixture.world.reset_calls();
        (fixture, Operation::PromoteWorkspace, workspace_args(WORKSPACE, &json!({ "from": "copy" })))
    }),
    ("migrate", || (with_active_in_both_runtimes(), Operation::MigrateWorkspace, migrate_args())),
    ("migrate while stopped", || {
        let fixture = with_active_in_both_runtimes();
        fixture.stop_workspace(WORKSPACE).unwrap();
        (fixture, Operation::MigrateWorkspace, migrate_args())
    }),
    ("delete", || {
        let fixture = with_active();
        fixture.fork_workspace(WORKSPACE, &json!({ "newName": "copy" })).unwrap();
        let snapshot_id = first_snapshot(&fixture);
        fixture.revert_workspace(WORKSPACE, &snapshot_id).unwrap();
        fixture.world.advance_clock(MINUTE);
        (fixture, Operation::DeleteWorkspace, workspace_args(WORKSPACE, &json!({})))
    }),
];

/// Returns whether a container, a backup or a platform snapshot contains `content`.
pub fn is_content_preserved(fixture: &Fixture, content: &str) -> bool {
    let found = Cell::new(false);
    fixture.world.edit_backups(|backup| {
        let archive = String::from_utf8_lossy(backup.archive.as_ref().unwrap()).into_owned();
        found.set(found.get() || archive.contains(content));
    });
    let running = fixture.world.running_sandboxes();
    let in_disk = fixture.world.disks.borrow().values().any(|disk| disk.files.values().any(|file| file == content));
    found.get()
        || in_disk
        || running.iter().any(|id| fixture.world.files(id).unwrap().values().any(|file| file == content))
}

/// Verifies that after 3 hours of alarms no work is pending, no files are lost, and the workspaces can be started and
/// deleted.
#[track_caller]
pub fn assert_recovered(scenario: &Scenario) {
    let fixture = &scenario.fixture;
    fixture.world.run_background();
    fixture.advance_with_alarms(3 * HOUR);
    fixture.assert_nothing_pending();
    let discarding = ["start after container ended", "start after cold start", "start with discard"];
    let stopped =
        ["start", "start from both storages", "start from the platform", "start without the platform snapshot"];
    let forked = ["fork while stopped", "fork from both storages"];
    let has_second =
        !scenario.name.starts_with("create") && !scenario.name.starts_with("get") && !stopped.contains(&scenario.name);
    let is_expected = has_second && !discarding.contains(&scenario.name) && !forked.contains(&scenario.name);
    if is_expected && scenario.name != "delete" {
        assert!(is_content_preserved(fixture, "second"), "the content `second` is lost");
    }
    assert_startable(scenario);
    assert_all_deleted(fixture);
}

/// Returns the contents that the file of `work` may have after a start, and the codes with which a start may fail.
fn allowed_outcomes(scenario: &Scenario) -> (Vec<Option<&'static str>>, Vec<Code>) {
    let is_reverted = scenario
        .fixture
        .workspace_store(WORKSPACE)
        .record()
        .unwrap()
        .is_some_and(|record| !record.former_sandbox_ids.is_empty());
    match scenario.name {
        "create from a snapshot" => (vec![Some("first")], vec![Code::WorkspaceNotFound]),
        "create from a workspace"
        | "update"
        | "stop"
        | "stop to both storages"
        | "stop to the platform"
        | "fork"
        | "start while running" => (vec![Some("second")], vec![]),
        name if name.starts_with("create") || name.starts_with("get") => (vec![None], vec![Code::WorkspaceNotFound]),
        "start"
        | "start after container ended"
        | "start after cold start"
        | "start from both storages"
        | "start from the platform"
        | "start without the platform snapshot"
        | "fork while stopped"
        | "fork from both storages" => (vec![Some("first")], vec![]),
        "start with adopt" => (vec![Some("second"), Some("first")], vec![Code::WorkspaceDiverged]),
        "start with rescue" | "start with discard" | "stop after cold start" => {
            (vec![Some("first")], vec![Code::WorkspaceDiverged])
        }
        name if name.starts_with("promote") => (vec![Some(if is_reverted { "third" } else { "second" })], vec![]),
        name if name.starts_with("migrate") => (vec![Some("second")], vec![]),
        name if name.starts_with("revert") => (vec![Some(if is_reverted { "first" } else { "second" })], vec![]),
        "delete" => (vec![Some("first")], vec![Code::WorkspaceNotFound]),
        name => panic!("no expected outcome for {name:?}"),
    }
}

#[track_caller]
fn assert_startable(scenario: &Scenario) {
    let fixture = &scenario.fixture;
    let (files, refusals) = allowed_outcomes(scenario);
    match fixture.start_workspace(WORKSPACE, &json!({})) {
        Ok(_) => {
            let file = fixture.read_workspace_file(WORKSPACE);
            assert!(files.contains(&file.as_deref()), "got {file:?}, expected one of {files:?}");
        }
        Err(error) => assert!(refusals.contains(&error.code()), "{error}"),
    }
    for name in ["copy", "copy-1", "copy-2"] {
        match fixture.start_workspace(name, &json!({})) {
            Ok(_) => assert!(fixture.read_workspace_file(name).is_some(), "{name} has its files"),
            Err(error) => assert_eq!(error.code(), Code::WorkspaceNotFound, "{name}: {error}"),
        }
    }
}

/// Verifies that nothing is left over when all workspaces are deleted.
#[track_caller]
fn assert_all_deleted(fixture: &Fixture) {
    for address in fixture.world.workspace_addresses() {
        fixture.delete_workspace(address.name.as_str()).unwrap();
    }
    fixture.advance_with_alarms(3 * HOUR);
    fixture.assert_nothing_pending();
    for id in fixture.world.sandbox_ids() {
        for derivation in fixture.ledger(&id).derived_sandboxes().unwrap() {
            assert!(!derivation.needs_snapshot(), "{} still needs a snapshot of {id}", derivation.sandbox_id);
        }
        let is_bound = fixture.ledger(&id).sandbox().unwrap().is_some_and(|sandbox| sandbox.binding.is_some());
        assert!(!is_bound || fixture.snapshots_of(&id).is_empty(), "snapshots of {id} are left");
    }
    let leftover = fixture.world.running_sandboxes().into_iter().filter(|id| id != "agent-42" && id != "agent-7");
    assert_eq!(leftover.collect::<Vec<_>>(), [""; 0], "still running");
}
