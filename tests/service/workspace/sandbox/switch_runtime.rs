//! The sandbox of a workspace changes its runtime only when nothing of the former one is left.

use sandbox_snapshotter::model::named::messages::SwitchRuntimeRequest;
use sandbox_snapshotter::model::{Code, Result, Runtime};
use serde_json::json;

use crate::support::{ExpectError, Fixture, HOUR, Method, PendingOperation, WORKSPACE, address};

fn switch(fixture: &Fixture, dry_run: bool) -> Result<Option<Runtime>> {
    let version = fixture.record(WORKSPACE).version;
    let request = SwitchRuntimeRequest { address: address(WORKSPACE), runtime: Runtime::Container, version, dry_run };
    let object = fixture.snapshotter(&fixture.sandbox_of(WORKSPACE));
    PendingOperation::start_with_background(&fixture.world, async move { object.switch_runtime(request).await })
        .answer()
}

fn with_stopped_workspace() -> Fixture {
    let fixture = Fixture::with_stopped_workspace();
    fixture.deploy_both_runtimes(Runtime::Sdk012);
    fixture
}

#[test]
fn stopped_sandbox_is_switched() {
    let fixture = with_stopped_workspace();
    assert_eq!(switch(&fixture, false).unwrap(), Some(Runtime::Container));
    assert_eq!(fixture.runtime_of(&fixture.sandbox_of(WORKSPACE)), Some(Runtime::Container));
    assert_eq!(switch(&fixture, false).unwrap(), Some(Runtime::Container));
}

#[test]
fn dry_run_changes_nothing() {
    let fixture = with_stopped_workspace();
    assert_eq!(switch(&fixture, true).unwrap(), Some(Runtime::Sdk012));
    assert_eq!(fixture.runtime_of(&fixture.sandbox_of(WORKSPACE)), None);
    assert_eq!(fixture.world.call_count(Method::Status), 0);
}

#[test]
fn sandbox_with_a_container_is_not_switched() {
    let fixture = with_stopped_workspace();
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.world.write_file(&id, "/workspace/new", "second");
    switch(&fixture, false).expect_code(Code::OperationInterrupted);
    assert_eq!(fixture.runtime_of(&id), None);
    assert!(fixture.world.files(&id).unwrap().contains_key("/workspace/new"));
}

#[test]
fn container_that_starts_during_the_switch_is_found() {
    let fixture = with_stopped_workspace();
    let id = fixture.sandbox_of(WORKSPACE);
    let late = id.clone();
    fixture.world.after(Method::Status).nth(1).run(move |world| world.write_file(&late, "/workspace/new", "second"));
    switch(&fixture, false).expect_code(Code::OperationInterrupted);
    assert_eq!(fixture.runtime_of(&id), None);
}

#[test]
fn sandbox_with_an_unconfirmed_call_is_not_switched_until_it_was_checked() {
    let fixture = Fixture::with_stopped_workspace();
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.world.before(Method::BeginRestore).nth(1).hang();
    assert!(fixture.start_workspace(WORKSPACE, &json!({})).is_err(), "the start times out");
    fixture.world.clear_faults();
    fixture.stop_workspace(WORKSPACE).unwrap();
    fixture.deploy_both_runtimes(Runtime::Sdk012);
    switch(&fixture, false).expect_code(Code::SandboxTimeout);
    assert_eq!(fixture.runtime_of(&id), None);
    fixture.advance_with_alarms(3 * HOUR);
    switch(&fixture, false).unwrap();
}
