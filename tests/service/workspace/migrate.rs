//! `migrate` moves a stopped workspace to another runtime. Its name, its sandbox id, its ledger and its snapshots stay.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{ArchiveFormat, Code, Failure, Runtime};
use serde_json::json;

use crate::support::{
    CallPhase, ExpectError, FILE, Fixture, HOUR, MINUTE, Method, WORKSPACE, no_expiry, workspace_args,
};

/// The active workspace `work` in the runtime of the SDK 0.12, with the file content `first`, in a deployment with both
/// runtimes. Calls are counted from here.
fn with_workspace() -> Fixture {
    let fixture = Fixture::with_workspace();
    fixture.deploy_both_runtimes(Runtime::Sdk012);
    fixture.world.reset_calls();
    fixture
}

fn start(fixture: &Fixture) -> String {
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.world.advance_clock(MINUTE);
    fixture.read_workspace_file(WORKSPACE).unwrap()
}

/// Returns the ids of the running sandboxes in the world.
fn running(fixture: &Fixture) -> Vec<String> {
    fixture.world.running_sandboxes().into_iter().collect()
}

#[test]
fn migrate_captures_an_active_workspace_and_the_next_start_restores_it_in_the_other_runtime() {
    let fixture = with_workspace();
    let id = fixture.sandbox_of(WORKSPACE);
    let migrated = fixture.migrate_workspace(WORKSPACE, "container").unwrap();
    assert_eq!((&migrated["state"], &migrated["runtime"]), (&json!("stopped"), &json!("container")));
    assert_eq!(migrated["history"][0]["cause"], json!("it is migrated to the runtime container"));
    assert_eq!(fixture.snapshots_of(&id), [migrated["lastSnapshot"]["id"].as_str().unwrap()]);
    assert!(running(&fixture).is_empty());
    assert_eq!(start(&fixture), "first");
    assert_eq!(running(&fixture), [format!("container:{id}")]);
    assert_eq!(fixture.sandbox_of(WORKSPACE), id);
}

#[test]
fn workspace_moves_back_with_its_history_and_new_files() {
    let fixture = with_workspace();
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.migrate_workspace(WORKSPACE, "container").unwrap();
    start(&fixture);
    fixture.write_workspace_file(WORKSPACE, "second");
    fixture.world.advance_clock(MINUTE);
    let back = fixture.migrate_workspace(WORKSPACE, "sdk-0.12").unwrap();
    assert_eq!(back["runtime"], json!("sdk-0.12"));
    assert_eq!(fixture.snapshots_of(&id).len(), 2);
    assert_eq!(start(&fixture), "second");
    assert_eq!(running(&fixture), [id]);
    let first = fixture.snapshots_of(&fixture.sandbox_of(WORKSPACE)).pop().unwrap();
    fixture.revert_workspace(WORKSPACE, &json!(first)).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
}

#[test]
fn repeated_migrate_stops_nothing() {
    let fixture = with_workspace();
    fixture.migrate_workspace(WORKSPACE, "container").unwrap();
    start(&fixture);
    let before = fixture.record(WORKSPACE);
    let again = fixture.migrate_workspace(WORKSPACE, "container").unwrap();
    assert_eq!((&again["state"], &again["runtime"]), (&json!("active"), &json!("container")));
    assert_eq!(fixture.record(WORKSPACE), before);
    assert!(fixture.has_container(WORKSPACE));
}

#[test]
fn migrate_captures_a_workspace_that_is_not_persistent() {
    let mut options = no_expiry();
    options["persistent"] = json!(false);
    let fixture = Fixture::with_workspace_options(&options);
    fixture.deploy_both_runtimes(Runtime::Sdk012);
    fixture.migrate_workspace(WORKSPACE, "container").unwrap();
    assert_eq!(start(&fixture), "first");
}

#[test]
fn workspace_whose_files_can_not_be_captured_is_not_migrated() {
    let fixture = with_workspace();
    fixture
        .world
        .before(Method::CreateBackup)
        .fail_with(Failure::new("Error", "no space left").with_code("BACKUP_CREATE_FAILED"));
    fixture.migrate_workspace(WORKSPACE, "container").expect_code(Code::BackupFailed);
    fixture.world.clear_faults();
    let described = fixture.get_workspace(WORKSPACE).unwrap();
    assert_eq!((&described["state"], &described["runtime"]), (&json!("active"), &json!("sdk-0.12")));
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
}

#[test]
fn workspace_that_was_never_started_is_migrated() {
    let fixture = Fixture::with_both_runtimes();
    fixture.world.before(Method::BeginRestore).fail_transiently();
    assert!(fixture.create_workspace(WORKSPACE, &no_expiry()).is_err());
    fixture.world.clear_faults();
    fixture.create_workspace(WORKSPACE, &no_expiry()).unwrap();
    fixture.migrate_workspace(WORKSPACE, "container").unwrap();
    let started = fixture.start_workspace(WORKSPACE, &json!({ "allowEmpty": true })).unwrap();
    assert_eq!(started["runtime"], json!("container"));
}

#[test]
fn migrate_rescues_files_of_a_cold_started_container() {
    let fixture = Fixture::with_diverged_workspace();
    fixture.deploy_both_runtimes(Runtime::Sdk012);
    let migrated = fixture.migrate_workspace(WORKSPACE, "container").unwrap();
    assert!(migrated["rescueSnapshotId"].is_string());
    assert_eq!(start(&fixture), "first");
}

#[test]
fn migrate_to_a_runtime_without_a_binding_is_refused_and_stops_nothing() {
    let fixture = Fixture::with_workspace();
    fixture.migrate_workspace(WORKSPACE, "container").expect_code(Code::InvalidArgument);
    assert!(fixture.has_container(WORKSPACE));
}

#[test]
fn migrate_with_a_tar_as_newest_snapshot_is_refused_and_the_workspace_keeps_running() {
    let fixture = with_workspace();
    fixture.migrate_workspace(WORKSPACE, "container").unwrap();
    start(&fixture);
    fixture.world.edit_backups(|backup| backup.metadata.as_mut().unwrap().format = ArchiveFormat::TarZstd);
    let error = fixture.migrate_workspace(WORKSPACE, "sdk-0.12").expect_code(Code::Unsupported);
    assert!(error.remediation().contains("squashfs-tools"), "{error}");
    assert!(fixture.has_container(WORKSPACE));
    assert_eq!(fixture.record(WORKSPACE).state.as_str(), "active");
}

#[test]
fn migrate_is_refused_if_its_own_capture_is_a_tar() {
    let fixture = with_workspace();
    fixture.migrate_workspace(WORKSPACE, "container").unwrap();
    start(&fixture);
    fixture.world.reset_calls();
    fixture.world.after(Method::CreateBackup).nth(1).run(|world| {
        world.edit_backups(|backup| backup.metadata.as_mut().unwrap().format = ArchiveFormat::TarZstd);
    });
    fixture.migrate_workspace(WORKSPACE, "sdk-0.12").expect_code(Code::Unsupported);
    let described = fixture.get_workspace(WORKSPACE).unwrap();
    assert_eq!((&described["state"], &described["runtime"]), (&json!("stopped"), &json!("container")));
    assert_eq!(start(&fixture), "first");
}

#[test]
fn migrate_continues_in_another_sandbox_if_a_call_to_the_container_may_still_take_effect() {
    let fixture = Fixture::with_stopped_workspace();
    let former = fixture.sandbox_of(WORKSPACE);
    fixture.world.before(Method::BeginRestore).nth(1).hang();
    assert!(fixture.start_workspace(WORKSPACE, &json!({})).is_err(), "the start times out");
    fixture.world.clear_faults();
    fixture.deploy_both_runtimes(Runtime::Sdk012);
    let migrated = fixture.migrate_workspace(WORKSPACE, "container").unwrap();
    assert_eq!(migrated["formerSandboxIds"], json!([former]));
    assert_eq!(start(&fixture), "first");
    fixture.advance_with_alarms(3 * HOUR);
    assert_eq!(running(&fixture), [fixture.world_id(&fixture.sandbox_of(WORKSPACE))]);
}

#[test]
fn migrate_that_crashes_after_the_switch_is_completed_by_a_start_or_a_repetition() {
    for operation in [Operation::StartWorkspace, Operation::MigrateWorkspace] {
        let fixture = with_workspace();
        let gate = fixture.world.after(Method::SwitchRuntime).nth(2).block();
        let options = json!({ "runtime": "container" });
        let migration = fixture.begin_in_workspace(Operation::MigrateWorkspace, WORKSPACE, &options);
        assert!(gate.is_reached());
        fixture.crash_during(migration);
        fixture.world.clear_faults();
        assert_eq!(fixture.record(WORKSPACE).runtime, Some(Runtime::Sdk012), "the record lags behind the ledger");
        let repeats = operation == Operation::MigrateWorkspace;
        let answer = fixture.run(operation, &workspace_args(WORKSPACE, &if repeats { options } else { json!({}) }));
        assert_eq!(answer.unwrap()["runtime"], json!("container"));
        assert_eq!(start(&fixture), "first");
        assert!(fixture.world.running_sandboxes().iter().all(|id| id.starts_with("container:")));
    }
}

#[test]
fn migrate_back_after_a_crash_asks_the_ledger_and_not_the_record() {
    let fixture = with_workspace();
    let gate = fixture.world.after(Method::SwitchRuntime).nth(2).block();
    let options = json!({ "runtime": "container" });
    let migration = fixture.begin_in_workspace(Operation::MigrateWorkspace, WORKSPACE, &options);
    assert!(gate.is_reached());
    fixture.crash_during(migration);
    fixture.world.clear_faults();
    fixture.migrate_workspace(WORKSPACE, "sdk-0.12").unwrap();
    assert_eq!(fixture.runtime_of(&fixture.sandbox_of(WORKSPACE)), Some(Runtime::Sdk012));
    assert_eq!(start(&fixture), "first");
    assert!(fixture.world.running_sandboxes().iter().all(|id| !id.starts_with("container:")));
}

#[test]
fn capture_that_began_before_the_migration_does_not_start_a_container_after_it() {
    for phase in CallPhase::BOTH {
        let fixture = with_workspace();
        let id = fixture.sandbox_of(WORKSPACE);
        let gate = match phase {
            CallPhase::Before => fixture.world.before(Method::CreateBackup).nth(1).block(),
            CallPhase::After => fixture.world.after(Method::CreateBackup).nth(1).block(),
        };
        let snapshot = fixture.begin(Operation::Snapshot, &json!({ "sandboxId": id, "label": "before" }));
        let options = json!({ "runtime": "container" });
        let migration = fixture.begin_in_workspace(Operation::MigrateWorkspace, WORKSPACE, &options);
        gate.open();
        migration.answer().unwrap();
        drop(snapshot.answer());
        assert!(running(&fixture).is_empty(), "{phase:?}");
        assert_eq!(start(&fixture), "first");
    }
}

#[test]
fn fork_of_a_migrated_workspace_begins_in_its_runtime() {
    let fixture = with_workspace();
    fixture.migrate_workspace(WORKSPACE, "container").unwrap();
    let forked = fixture.fork_workspace(WORKSPACE, &json!({ "newName": "fork" })).unwrap();
    let fork = &forked["forks"][0]["value"];
    assert_eq!(fork["runtime"], json!("container"));
    let files = fixture.world.files(&format!("container:{}", fork["sandboxId"].as_str().unwrap())).unwrap();
    assert_eq!(files[FILE], "first");
}

#[test]
fn fork_without_a_snapshot_of_its_own_is_migrated() {
    let fixture = with_workspace();
    fixture.fork_workspace(WORKSPACE, &json!({ "newName": "fork" })).unwrap();
    fixture.world.end_container(&fixture.sandbox_of("fork"));
    for runtime in ["container", "sdk-0.12"] {
        fixture.migrate_workspace("fork", runtime).unwrap();
        let started = fixture.start_workspace("fork", &json!({})).unwrap();
        assert_eq!((&started["runtime"], &started["how"]), (&json!(runtime), &json!("restored")));
        assert_eq!(fixture.read_workspace_file("fork").unwrap(), "first");
        fixture.world.end_container(&fixture.world_id(&fixture.sandbox_of("fork")));
    }
}

#[test]
fn deleted_workspace_is_not_found() {
    let fixture = with_workspace();
    fixture.delete_workspace(WORKSPACE).unwrap();
    fixture.migrate_workspace(WORKSPACE, "container").expect_code(Code::WorkspaceNotFound);
}

#[test]
fn runtime_without_a_binding_is_refused_without_the_advice_to_omit_it() {
    let fixture = Fixture::with_workspace();
    let error = fixture.migrate_workspace(WORKSPACE, "container").expect_code(Code::InvalidArgument);
    assert!(error.message().contains("no binding of this deployment has this runtime"), "{error}");
    assert!(!error.remediation().contains("Omit"), "{error}");
    assert!(error.remediation().contains("the var SANDBOXES"), "{error}");
    assert_eq!(fixture.state(WORKSPACE), "active");
}
