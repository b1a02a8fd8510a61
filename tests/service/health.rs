//! Whether what a deployment is configured with answers.

use futures_executor::block_on;
use sandbox_snapshotter::model::Code;
use sandbox_snapshotter::model::health::{Health, HealthCheck, Part};
use sandbox_snapshotter::service::health;

use super::support::{Method, Stage};

const CONFIGURED: [Part; 2] = [Part::Bucket, Part::Directory];

fn looked(stage: &Stage) -> Health {
    let configured = CONFIGURED.map(|name| HealthCheck::right(name, "It is bound."));
    block_on(health(&stage.entrypoint(), configured.to_vec()))
}

/// The parts that are wrong, with their codes.
fn wrong(health: &Health) -> Vec<(Part, Option<Code>)> {
    health.checks.iter().filter(|check| check.ok == Some(false)).map(|check| (check.name, check.code)).collect()
}

#[test]
fn a_deployment_that_answers_is_well() {
    let stage = Stage::empty();
    let health = looked(&stage);
    assert!(health.ok, "{health:?}");
    assert_eq!(health.time, stage.world.moment());
}

#[test]
fn nothing_is_changed_by_a_look() {
    let stage = Stage::empty();
    looked(&stage);
    let methods: Vec<_> = stage.world.calls().into_iter().map(|(method, _)| method).collect();
    assert_eq!(methods, [Method::List, Method::ListNames]);
}

#[test]
fn a_bucket_that_does_not_answer_is_told_and_the_rest_is_looked_at() {
    let stage = Stage::empty();
    stage.world.before(Method::List).first(9).fails_in_passing();
    let health = looked(&stage);
    assert!(!health.ok);
    assert_eq!(wrong(&health), [(Part::Bucket, Some(Code::StorageUnavailable))]);
    assert_eq!(stage.world.count(Method::ListNames), 1);
}

#[test]
fn a_directory_that_does_not_answer_is_told() {
    let stage = Stage::empty();
    stage.world.before(Method::ListNames).first(9).fails_in_passing();
    assert_eq!(wrong(&looked(&stage)), [(Part::Directory, Some(Code::DirectoryUnavailable))]);
}

#[test]
fn what_is_not_configured_is_not_asked() {
    let stage = Stage::empty();
    let missing =
        CONFIGURED.map(|name| HealthCheck::wrong(name, Code::R2BindingMissing, "It is not bound.", "Bind it."));
    let health = block_on(health(&stage.entrypoint(), missing.to_vec()));
    assert_eq!(health.checks, missing);
    assert!(stage.world.calls().is_empty());
}
