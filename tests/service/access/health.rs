//! The health that a token shows names no workspace that the token does not permit.

use futures_executor::block_on;
use sandbox_snapshotter::model::Failure;
use sandbox_snapshotter::model::health::{Health, HealthCheck, HealthComponent};
use sandbox_snapshotter::service::access::Access;
use sandbox_snapshotter::service::health;
use serde_json::json;

use crate::support::{Fixture, MINUTE, Method, WORKSPACE, no_expiry};

/// The workspace `work`, whose automatic saves fail.
fn with_failing_saves() -> Fixture {
    let mut options = no_expiry();
    options["autosave"] = json!({ "everySeconds": 60 });
    let fixture = Fixture::with_workspace_options(&options);
    fixture.world.before(Method::CreateBackup).fail_with(Failure::new("BackupCreateError", "no room"));
    fixture.advance_with_alarms(2 * MINUTE);
    fixture
}

fn health_for(fixture: &Fixture, access: &Access) -> Health {
    let configured =
        [HealthComponent::Config, HealthComponent::Directory].map(|name| HealthCheck::healthy(name, "It is bound."));
    access.filter_health(block_on(health(&fixture.entrypoint(), configured.to_vec())))
}

#[test]
fn health_names_workspaces_only_for_tokens_of_the_whole_default_tenant() {
    let fixture = with_failing_saves();
    for options in [
        json!({ "permissions": ["admin"], "tenant": "acme" }),
        json!({ "permissions": ["read"], "workspaces": ["other"] }),
    ] {
        let health = health_for(&fixture, &fixture.access_of(&options));
        let names: Vec<_> = health.checks.iter().map(|check| check.name).collect();
        assert_eq!((health.ok, names), (true, vec![HealthComponent::Config, HealthComponent::Directory]));
    }
    for access in [fixture.access(&["read"]), Access::Everything] {
        let health = health_for(&fixture, &access);
        let failing: Vec<_> = health.checks.iter().filter(|check| check.ok == Some(false)).collect();
        assert!(matches!(failing.as_slice(), [check] if check.detail.contains(WORKSPACE)), "{health:?}");
    }
}
