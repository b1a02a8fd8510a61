//! `image` of a workspace: each container that is started for it starts from the chosen image of its class.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Runtime};
use serde_json::{Value, json};

use super::platform::{start, with_storage};
use crate::support::{DAY, ExpectError, Fixture, MINUTE, Method, WORKSPACE, no_expiry};

/// The active workspace `work` with a file, whose class has the images `base`, its default, and `python`.
fn active(options: &Value) -> Fixture {
    let fixture = Fixture::empty();
    fixture.world.set_image_names(&["base", "python"]);
    fixture.world.enable_platform_snapshots();
    fixture.create_workspace(WORKSPACE, options).unwrap();
    fixture.world.advance_clock(MINUTE);
    fixture.write_workspace_file(WORKSPACE, "first");
    fixture.world.reset_calls();
    fixture
}

fn stopped(options: &Value) -> Fixture {
    let fixture = active(options);
    fixture.stop_workspace(WORKSPACE).unwrap();
    fixture.world.advance_clock(MINUTE);
    fixture.world.reset_calls();
    fixture
}

fn with_image(mut options: Value, image: &str) -> Value {
    options["image"] = image.into();
    options
}

/// Returns the name of the image of the running container.
fn image(fixture: &Fixture, name: &str) -> Option<String> {
    fixture.world.image_name(&fixture.sandbox_of(name))
}

/// Verifies that the error lists the images, and that nothing was captured, destroyed or started.
#[track_caller]
fn assert_unknown(fixture: &Fixture, answer: sandbox_snapshotter::model::Result<Value>) {
    let error = answer.expect_code(Code::ImageNotFound);
    assert!(error.message().contains(r#"no image "rust". It has only "base", "python"."#), "{error}");
    assert_untouched(fixture);
}

#[track_caller]
fn assert_untouched(fixture: &Fixture) {
    for method in [Method::CreateBackup, Method::Destroy, Method::BeginRestore, Method::Configure] {
        assert_eq!(fixture.world.call_count(method), 0, "{method:?}");
    }
}

#[test]
fn every_container_of_a_workspace_starts_from_its_image() {
    let fixture = active(&with_image(no_expiry(), "python"));
    assert_eq!(image(&fixture, WORKSPACE).unwrap(), "python");
    fixture.stop_workspace(WORKSPACE).unwrap();
    start(&fixture);
    assert_eq!(image(&fixture, WORKSPACE).unwrap(), "python");
    fixture.world.replace_container(&fixture.sandbox_of(WORKSPACE));
    assert_eq!(image(&fixture, WORKSPACE).unwrap(), "python", "another call may start a container");
    let first = fixture.snapshots_of(&fixture.sandbox_of(WORKSPACE)).pop().unwrap();
    start(&fixture);
    fixture.revert_workspace(WORKSPACE, &json!(first)).unwrap();
    assert_eq!(image(&fixture, WORKSPACE).unwrap(), "python", "the next sandbox");
    assert_eq!(fixture.get_workspace(WORKSPACE).unwrap()["image"], "python");
}

#[test]
fn workspace_without_image_starts_from_the_default_of_the_class() {
    let fixture = active(&no_expiry());
    assert_eq!(image(&fixture, WORKSPACE).unwrap(), "base");
    assert_eq!(fixture.get_workspace(WORKSPACE).unwrap()["image"], Value::Null);
    assert_eq!(fixture.world.call_count(Method::ImageNames), 0);
}

#[test]
fn running_container_keeps_its_image_until_the_next_start() {
    let fixture = active(&no_expiry());
    let updated = fixture.update_workspace(WORKSPACE, &json!({ "image": "python" })).unwrap();
    assert_eq!((&updated["image"], &updated["state"]), (&json!("python"), &json!("active")));
    assert_eq!(image(&fixture, WORKSPACE).unwrap(), "base");
    assert_eq!(fixture.world.call_count(Method::CreateBackup), 0);
    fixture.stop_workspace(WORKSPACE).unwrap();
    start(&fixture);
    assert_eq!(image(&fixture, WORKSPACE).unwrap(), "python");
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
}

#[test]
fn null_is_the_default_of_the_class_and_other_updates_keep_the_image() {
    let fixture = stopped(&with_image(no_expiry(), "python"));
    let kept = fixture.update_workspace(WORKSPACE, &json!({ "persistent": true })).unwrap();
    assert_eq!(kept["image"], "python");
    let reset = fixture.update_workspace(WORKSPACE, &json!({ "image": null })).unwrap();
    assert_eq!(reset["image"], Value::Null);
    start(&fixture);
    assert_eq!(image(&fixture, WORKSPACE).unwrap(), "base");
}

#[test]
fn unknown_image_is_refused_before_anything_begins() {
    let rust = json!({ "image": "rust" });
    for fixture in [active(&no_expiry()), stopped(&no_expiry())] {
        let state = fixture.state(WORKSPACE);
        assert_unknown(&fixture, fixture.update_workspace(WORKSPACE, &rust));
        assert_eq!((fixture.state(WORKSPACE), fixture.has_container(WORKSPACE)), (state, state == "active"));
    }
}

#[test]
fn workspace_with_unknown_image_is_not_created_and_captures_no_other_one() {
    let fixture = active(&no_expiry());
    for source in [json!({}), json!({ "sourceWorkspace": WORKSPACE })] {
        let refused = fixture.create_workspace("new", &with_image(source, "rust"));
        refused.expect_code(Code::ImageNotFound);
        fixture.get_workspace("new").expect_code(Code::WorkspaceNotFound);
        let calls = [Method::CreateBackup, Method::BeginRestore].map(|method| fixture.world.call_count(method));
        assert_eq!((calls, fixture.world.running_sandboxes().len()), ([0, 0], 1));
    }
}

#[test]
fn invalid_name_of_an_image_is_refused() {
    let fixture = active(&no_expiry());
    for name in ["", "a\nb", &"a".repeat(129)] {
        fixture.update_workspace(WORKSPACE, &json!({ "image": name })).expect_code(Code::InvalidArgument);
    }
}

#[test]
fn class_that_starts_no_image_by_its_name_refuses_the_setting() {
    let fixture = Fixture::with_workspace();
    let python = json!({ "image": "python" });
    let error = fixture.update_workspace(WORKSPACE, &python).expect_code(Code::Unsupported);
    assert!(error.message().contains("by its name"), "{error}");
    assert!(error.remediation().contains("runtime `container`"), "{error}");
    assert_untouched(&fixture);
    fixture.create_workspace("new", &python).expect_code(Code::Unsupported);
}

#[test]
fn workspace_with_an_image_does_not_migrate_to_the_sdk() {
    let fixture = active(&with_image(no_expiry(), "python"));
    fixture.deploy_both_runtimes(Runtime::Container);
    let error = fixture.migrate_workspace(WORKSPACE, "sdk-0.12").expect_code(Code::Unsupported);
    assert!(error.remediation().contains("image: null"), "{error}");
    assert_untouched(&fixture);
}

#[test]
fn forks_have_the_image_of_the_workspace() {
    let fixture = active(&with_image(no_expiry(), "python"));
    fixture.fork_workspace(WORKSPACE, &json!({ "newName": "copy" })).unwrap();
    assert_eq!(image(&fixture, "copy").unwrap(), "python");
}

#[test]
fn fork_is_refused_before_its_capture_if_the_image_is_gone() {
    let fixture = active(&with_image(no_expiry(), "python"));
    fixture.world.set_image_names(&["base"]);
    fixture.fork_workspace(WORKSPACE, &json!({ "newName": "copy" })).expect_code(Code::ImageNotFound);
    assert_untouched(&fixture);
}

#[test]
fn start_is_refused_if_the_image_is_gone_and_succeeds_with_another_one() {
    let fixture = stopped(&with_image(no_expiry(), "python"));
    fixture.world.set_image_names(&["base"]);
    fixture.start_workspace(WORKSPACE, &json!({})).expect_code(Code::ImageNotFound);
    assert_untouched(&fixture);
    assert_eq!(fixture.state(WORKSPACE), "stopped");
    fixture.update_workspace(WORKSPACE, &json!({ "image": null })).unwrap();
    start(&fixture);
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
}

#[test]
fn chosen_image_is_a_change_of_the_image_at_the_next_start() {
    for (policy, outcome) in [("report", Ok(1)), ("allow", Ok(0)), ("fail", Err(Code::SnapshotStale))] {
        let mut options = no_expiry();
        options["dependsOn"] = json!({ "onImageChange": policy });
        let fixture = stopped(&options);
        fixture.update_workspace(WORKSPACE, &json!({ "image": "python" })).unwrap();
        let started = fixture.start_workspace(WORKSPACE, &json!({}));
        let started = started.map(|answer| answer["stale"].as_array().unwrap().len()).map_err(|error| error.code());
        assert_eq!(started, outcome, "{policy}");
        fixture.start_workspace(WORKSPACE, &json!({ "acceptStale": true })).unwrap();
        assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
    }
}

#[test]
fn start_from_another_image_uses_the_archive_instead_of_the_platform_snapshot() {
    let fixture = stopped(&with_storage("both"));
    fixture.update_workspace(WORKSPACE, &json!({ "image": "python" })).unwrap();
    let started = start(&fixture);
    assert_eq!(started["restoredFrom"]["storage"], "archive");
    assert!(started["platformFallback"].as_str().unwrap().contains("the image of the sandbox is"), "{started}");
    assert_eq!(image(&fixture, WORKSPACE).unwrap(), "python");
    fixture.stop_workspace(WORKSPACE).unwrap();
    assert_eq!(start(&fixture)["restoredFrom"]["storage"], "platform");
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
}

#[test]
fn change_of_the_image_stores_files_in_an_archive_that_only_the_platform_had() {
    let fixture = stopped(&with_storage("platform"));
    start(&fixture);
    fixture.world.reset_calls();
    fixture.update_workspace(WORKSPACE, &json!({ "image": "python" })).unwrap();
    assert_eq!(fixture.world.call_count(Method::CreateBackup), 1, "before the image is accepted");
    fixture.world.end_container(&fixture.sandbox_of(WORKSPACE));
    fixture.world.advance_clock(MINUTE);
    assert_eq!(start(&fixture)["restoredFrom"]["storage"], "archive");
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
}

#[test]
fn stop_stores_an_archive_if_the_next_start_uses_another_image() {
    let fixture = active(&with_storage("platform"));
    fixture.update_workspace(WORKSPACE, &json!({ "image": "python" })).unwrap();
    fixture.write_workspace_file(WORKSPACE, "second");
    fixture.world.advance_clock(MINUTE);
    let stopped = fixture.stop_workspace(WORKSPACE).unwrap();
    assert_eq!(stopped["platformSnapshot"]["archiveId"], stopped["lastSnapshot"]["id"]);
    assert_eq!(start(&fixture)["restoredFrom"]["storage"], "archive");
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "second");
    fixture.world.reset_calls();
    fixture.stop_workspace(WORKSPACE).unwrap();
    assert_eq!(fixture.world.call_count(Method::CreateBackup), 0, "the image stays");
    assert_eq!(start(&fixture)["restoredFrom"]["storage"], "platform");
}

#[test]
fn platform_snapshot_of_a_container_that_started_for_archives_has_its_image() {
    let (image, storage) = (json!({ "image": "python" }), json!({ "storage": "platform", "durable": false }));
    let mut both = storage.clone();
    both["image"] = "python".into();
    for updates in [vec![both], vec![image, storage]] {
        let fixture = active(&no_expiry());
        for update in updates {
            fixture.update_workspace(WORKSPACE, &update).unwrap();
        }
        let stopped = fixture.stop_workspace(WORKSPACE).unwrap();
        let taken = stopped["platformSnapshot"]["image"].as_str().unwrap();
        assert!(taken.ends_with("base"), "{taken}");
        assert_eq!(start(&fixture)["restoredFrom"]["storage"], "archive");
        assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
    }
}

#[test]
fn container_that_ran_across_a_deployment_of_its_image_is_stored_in_an_archive_too() {
    let fixture = active(&no_expiry());
    fixture.world.set_image_version("another");
    fixture.update_workspace(WORKSPACE, &json!({ "storage": "platform", "durable": false })).unwrap();
    let stopped = fixture.stop_workspace(WORKSPACE).unwrap();
    let archive = stopped["lastSnapshot"]["id"].as_str().unwrap();
    assert_eq!(stopped["platformSnapshot"]["archiveId"], archive);
    start(&fixture);
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
    fixture.world.reset_calls();
    fixture.stop_workspace(WORKSPACE).unwrap();
    assert_eq!(fixture.world.call_count(Method::CreateBackup), 0, "the image of this container is known");
}

#[test]
fn stopped_workspace_whose_only_copy_is_bound_to_its_image_keeps_it() {
    let fixture = stopped(&with_storage("platform"));
    let error = fixture.update_workspace(WORKSPACE, &json!({ "image": "python" })).expect_code(Code::Unsupported);
    assert!(error.message().contains("only in the platform snapshot"), "{error}");
    assert_eq!(start(&fixture)["restoredFrom"]["storage"], "platform");
}

#[test]
fn adopted_container_has_the_image_with_which_the_class_started_it() {
    let fixture = stopped(&with_storage("both"));
    start(&fixture);
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.world.end_container(&id);
    fixture.world.advance_clock(MINUTE);
    fixture.world.write_file(&id, "/workspace/file", "second");
    fixture.world.advance_clock(MINUTE);
    fixture.update_workspace(WORKSPACE, &json!({ "image": "python" })).unwrap();
    fixture.start_workspace(WORKSPACE, &json!({ "onDiverged": "adopt" })).unwrap();
    assert_eq!(image(&fixture, WORKSPACE).unwrap(), "base");
    let base = fixture.stop_workspace(WORKSPACE).unwrap()["platformSnapshot"]["image"].clone();
    assert!(base.as_str().unwrap().ends_with("base"), "{base}");
    assert_eq!(start(&fixture)["restoredFrom"]["storage"], "archive");
    assert_eq!(image(&fixture, WORKSPACE).unwrap(), "python");
}

/// The active workspace `work` of the storage `platform`, whose container ended before any stop.
fn ended() -> Fixture {
    let fixture = active(&with_storage("platform"));
    fixture.world.end_container(&fixture.sandbox_of(WORKSPACE));
    fixture.world.advance_clock(MINUTE);
    fixture
}

#[test]
fn files_of_an_adopted_container_are_restored_with_another_image_after_an_attempt_that_failed() {
    let fixture = ended();
    fixture.write_workspace_file(WORKSPACE, "second");
    fixture.world.advance_clock(MINUTE);
    fixture.update_workspace(WORKSPACE, &json!({ "image": "python" })).unwrap();
    fixture.world.after(Method::Configure).fail_transiently();
    fixture.start_workspace(WORKSPACE, &json!({ "onDiverged": "adopt" })).unwrap_err();
    fixture.world.clear_faults();
    fixture.start_workspace(WORKSPACE, &json!({ "onDiverged": "adopt" })).unwrap();
    assert_eq!(image(&fixture, WORKSPACE).unwrap(), "base");
    fixture.stop_workspace(WORKSPACE).unwrap();
    start(&fixture);
    assert_eq!(image(&fixture, WORKSPACE).unwrap(), "python");
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "second");
}

#[test]
fn files_of_a_start_without_an_answer_are_restored_with_another_image() {
    let fixture = ended();
    fixture.world.after(Method::EnsureRunning).fail_transiently();
    fixture.start_workspace(WORKSPACE, &json!({ "allowEmpty": true })).unwrap_err();
    fixture.world.clear_faults();
    fixture.write_workspace_file(WORKSPACE, "second");
    fixture.update_workspace(WORKSPACE, &json!({ "image": "python" })).unwrap();
    fixture.advance_with_alarms(10 * MINUTE);
    assert!(!fixture.has_container(WORKSPACE));
    start(&fixture);
    assert_eq!(image(&fixture, WORKSPACE).unwrap(), "python");
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "second");
}

#[test]
fn image_is_kept_while_only_the_platform_has_the_files_of_a_stop_without_an_answer() {
    let fixture = active(&with_storage("platform"));
    fixture.world.after(Method::StopSandbox).fail_transiently();
    fixture.stop_workspace(WORKSPACE).unwrap_err();
    fixture.world.clear_faults();
    fixture.update_workspace(WORKSPACE, &json!({ "storage": "archive" })).unwrap();
    let error = fixture.update_workspace(WORKSPACE, &json!({ "image": "python" })).expect_code(Code::Unsupported);
    assert!(error.message().contains("only in the platform snapshot"), "{error}");
    start(&fixture);
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
}

#[test]
fn stop_stores_an_archive_if_the_class_knows_the_image_of_an_update_that_failed() {
    let fixture = active(&with_storage("platform"));
    fixture.update_workspace(WORKSPACE, &json!({ "image": "python" })).unwrap();
    fixture.world.after(Method::EnsureRunning).fail_transiently();
    fixture.update_workspace(WORKSPACE, &json!({ "image": null })).unwrap_err();
    fixture.world.clear_faults();
    fixture.write_workspace_file(WORKSPACE, "second");
    fixture.world.advance_clock(MINUTE);
    fixture.stop_workspace(WORKSPACE).unwrap();
    start(&fixture);
    assert_eq!(image(&fixture, WORKSPACE).unwrap(), "python");
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "second");
}

#[test]
fn refresh_of_an_adopted_container_whose_image_is_not_certain_takes_an_archive() {
    let fixture = stopped(&with_storage("platform"));
    start(&fixture);
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.world.end_container(&id);
    fixture.world.advance_clock(MINUTE);
    fixture.write_workspace_file(WORKSPACE, "second");
    fixture.world.advance_clock(MINUTE);
    fixture.start_workspace(WORKSPACE, &json!({ "onDiverged": "adopt" })).unwrap();
    fixture.world.reset_calls();
    fixture.advance_with_alarms(21 * DAY);
    assert_eq!(fixture.world.call_count(Method::CreateBackup), 1);
    fixture.world.end_container(&id);
    fixture.world.advance_clock(MINUTE);
    assert_eq!(start(&fixture)["restoredFrom"]["storage"], "archive");
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "second");
}

#[test]
fn nothing_is_restored_into_a_container_of_another_image_that_started_meanwhile() {
    for storage in ["archive", "both"] {
        let fixture = active(&with_image(with_storage(storage), "python"));
        let stopped = fixture.stop_workspace(WORKSPACE).unwrap();
        fixture.revert_workspace(WORKSPACE, &stopped["lastSnapshot"]["id"]).unwrap();

        // The class does not know the image of the new sandbox yet.
        let gate = fixture.world.before(Method::Configure).nth(1).block();
        let starting = fixture.begin_in_workspace(Operation::StartWorkspace, WORKSPACE, &json!({}));
        assert!(gate.is_reached());
        fixture.world.replace_container(&fixture.sandbox_of(WORKSPACE));
        gate.open();
        starting.answer().unwrap();
        assert_eq!(image(&fixture, WORKSPACE).unwrap(), "python", "{storage}");
        assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
    }
}
