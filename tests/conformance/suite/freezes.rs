//! The freezes of files in the container of a sandbox.

use sandbox_snapshotter::model::freeze::{Freeze, FreezeReport};
use sandbox_snapshotter::model::freeze_call::FreezeFailed;
use sandbox_snapshotter::model::{SandboxId, SnapshotId};
use sandbox_snapshotter::ports::Sandboxes;

use super::Case;
use super::world::{World, work_dir};

const CONSISTENT: FreezeReport = FreezeReport { consistent: true, thawed: true };

pub fn cases<W: World>() -> Vec<Case<W>> {
    vec![
        case!(async frozen_files_are_thawed_once),
        case!(async freeze_that_fails_has_its_exit_code),
        case!(async next_freeze_ends_an_earlier_one),
    ]
}

fn snapshot(number: u8) -> SnapshotId {
    SnapshotId::parse(&format!("snap-abcdefghij01234{number}")).unwrap()
}

async fn freeze(world: &impl World, id: &SandboxId, number: u8, command: &str) -> Result<(), FreezeFailed> {
    let commands = Freeze { freeze: command.into(), thaw: "true".into(), timeout_seconds: Freeze::MAX_SECONDS };
    world.sandboxes().freeze(id, &work_dir(), &snapshot(number), &commands, None).await.unwrap()
}

async fn thaw(world: &impl World, id: &SandboxId, number: u8) -> FreezeReport {
    world.sandboxes().thaw(id, &snapshot(number), None).await.unwrap()
}

async fn frozen_files_are_thawed_once(world: &impl World) {
    let id = world.sandbox("agent");
    world.write_file(&id, "/workspace/file", "content").await;
    assert_eq!(thaw(world, &id, 1).await, FreezeReport::default(), "nothing is frozen");
    assert_eq!(freeze(world, &id, 1, "true").await, Ok(()));
    assert_eq!(thaw(world, &id, 1).await, CONSISTENT);
    assert_eq!(thaw(world, &id, 1).await, FreezeReport::default());
}

async fn freeze_that_fails_has_its_exit_code(world: &impl World) {
    let id = world.sandbox("agent");
    world.write_file(&id, "/workspace/file", "content").await;
    let failed = FreezeFailed { exit_code: Some(3), output: String::new() };
    assert_eq!(freeze(world, &id, 1, "exit 3").await, Err(failed));
    assert_eq!(thaw(world, &id, 1).await, FreezeReport::default(), "it is thawed");
}

async fn next_freeze_ends_an_earlier_one(world: &impl World) {
    let id = world.sandbox("agent");
    world.write_file(&id, "/workspace/file", "content").await;
    freeze(world, &id, 1, "true").await.unwrap();
    freeze(world, &id, 2, "true").await.unwrap();
    assert_eq!(thaw(world, &id, 1).await, FreezeReport::default());
    assert_eq!(thaw(world, &id, 2).await, CONSISTENT);
}
