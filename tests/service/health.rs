//! `health`: whether the configured components of a deployment answer.

use futures_executor::block_on;
use sandbox_snapshotter::model::health::{Health, HealthCheck, HealthComponent};
use sandbox_snapshotter::model::{Code, Failure};
use sandbox_snapshotter::service::health;

use super::support::{DAY, Fixture, MINUTE, Method, WORKSPACE, no_expiry};

const CONFIGURED: [HealthComponent; 2] = [HealthComponent::Bucket, HealthComponent::Directory];

fn check_health(fixture: &Fixture) -> Health {
    let configured = CONFIGURED.map(|name| HealthCheck::healthy(name, "It is bound."));
    block_on(health(&fixture.entrypoint(), configured.to_vec()))
}

/// Returns the unhealthy components with their error codes.
fn failing_components(health: &Health) -> Vec<(HealthComponent, Option<Code>)> {
    health.checks.iter().filter(|check| check.ok == Some(false)).map(|check| (check.name, check.code)).collect()
}

#[test]
fn health_is_ok_when_all_components_answer() {
    let fixture = Fixture::empty();
    let health = check_health(&fixture);
    assert!(health.ok, "{health:?}");
    assert_eq!(health.time, fixture.world.current_time());
}

#[test]
fn health_makes_only_read_calls() {
    let fixture = Fixture::empty();
    check_health(&fixture);
    let methods: Vec<_> = fixture.world.calls().into_iter().map(|(method, _)| method).collect();
    assert_eq!(methods, [Method::List, Method::ListWorkspaces]);
}

#[test]
fn health_reports_failing_bucket_and_checks_the_other_components() {
    let fixture = Fixture::empty();
    fixture.world.before(Method::List).first(9).fail_transiently();
    let health = check_health(&fixture);
    assert!(!health.ok);
    assert_eq!(failing_components(&health), [(HealthComponent::Bucket, Some(Code::StorageUnavailable))]);
    assert_eq!(fixture.world.call_count(Method::ListWorkspaces), 1);
}

#[test]
fn health_reports_failing_directory() {
    let fixture = Fixture::empty();
    fixture.world.before(Method::ListWorkspaces).first(9).fail_transiently();
    assert_eq!(
        failing_components(&check_health(&fixture)),
        [(HealthComponent::Directory, Some(Code::DirectoryUnavailable))]
    );
}

#[test]
fn health_makes_no_calls_to_unconfigured_components() {
    let fixture = Fixture::empty();
    let missing =
        CONFIGURED.map(|name| HealthCheck::unhealthy(name, Code::R2BindingMissing, "It is not bound.", "Bind it."));
    let health = block_on(health(&fixture.entrypoint(), missing.to_vec()));
    assert_eq!(health.checks, missing);
    assert!(fixture.world.calls().is_empty());
}

/// A stopped workspace whose files are only in a platform snapshot.
fn with_platform_only() -> Fixture {
    let fixture = Fixture::empty();
    fixture.world.enable_platform_snapshots();
    let mut options = no_expiry();
    options["storage"] = "platform".into();
    options["durable"] = false.into();
    fixture.create_workspace(WORKSPACE, &options).unwrap();
    fixture.write_workspace_file(WORKSPACE, "only");
    fixture.stop_workspace(WORKSPACE).unwrap();
    fixture
}

fn platform_check(fixture: &Fixture) -> Option<HealthCheck> {
    check_health(fixture).checks.into_iter().find(|check| check.name == HealthComponent::PlatformSnapshots)
}

#[test]
fn health_checks_platform_snapshots_that_are_the_only_copy_of_files() {
    assert_eq!(platform_check(&Fixture::with_stopped_workspace_options(&no_expiry())), None);
    assert_eq!(platform_check(&with_platform_only()).unwrap().ok, Some(true));
}

#[test]
fn health_names_a_workspace_whose_platform_snapshot_is_not_refreshed() {
    let fixture = with_platform_only();
    fixture.world.set_image_version("another");
    fixture.advance_with_alarms(21 * DAY);
    let check = platform_check(&fixture).unwrap();
    assert_eq!((check.ok, check.code), (Some(false), Some(Code::NothingRestorable)));
    assert!(check.detail.contains(WORKSPACE) && check.detail.contains("was not refreshed"), "{}", check.detail);
    assert!(check.remediation.unwrap().contains("storage"));
}

fn autosave_check(fixture: &Fixture) -> Option<HealthCheck> {
    check_health(fixture).checks.into_iter().find(|check| check.name == HealthComponent::Autosaves)
}

#[test]
fn health_names_a_workspace_whose_automatic_saves_fail() {
    assert_eq!(autosave_check(&Fixture::with_workspace()), None);
    let mut options = no_expiry();
    options["autosave"] = serde_json::json!({ "everySeconds": 60 });
    let fixture = Fixture::with_workspace_options(&options);
    assert_eq!(autosave_check(&fixture).unwrap().ok, Some(true));
    fixture.world.before(Method::CreateBackup).fail_with(Failure::new("BackupCreateError", "no room"));
    fixture.advance_with_alarms(2 * MINUTE);
    let check = autosave_check(&fixture).unwrap();
    assert_eq!((check.ok, check.code), (Some(false), Some(Code::BackupFailed)));
    assert!(check.detail.contains(WORKSPACE), "{}", check.detail);
    fixture.world.clear_faults();
    fixture.advance_with_alarms(2 * MINUTE);
    assert_eq!(autosave_check(&fixture).unwrap().ok, Some(true));
}
