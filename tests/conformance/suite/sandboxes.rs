//! The calls to sandboxes.

use std::time::Duration;

use sandbox_snapshotter::model::{
    BackupLocation, Directory, DirectoryContent, Probe, SandboxId, SandboxStatus, Status,
};
use sandbox_snapshotter::ports::{BackupStore, Clock, SandboxSession, Sandboxes};

use super::world::{World, backup_options, create_backup, work_dir};
use super::{Case, background, changes, checkpoints, container, file_calls, file_parts, freezes, markers};

pub fn cases<W: World>() -> Vec<Case<W>> {
    let cases = vec![
        case!(async status_of_a_new_sandbox_is_down_and_starts_nothing),
        case!(async configure_starts_nothing),
        case!(async probe_starts_the_container_and_returns_its_age),
        case!(async probe_returns_the_content_of_the_directory),
        case!(async last_change_identifies_one_container),
        case!(async replaced_note_stays_until_it_is_removed_or_the_container_ends),
        case!(async backup_starts_an_ended_sandbox_and_is_empty),
        case!(async backup_does_not_change_the_sandbox),
        case!(async restored_sandbox_has_the_files_of_the_backup),
        case!(async restore_of_a_missing_backup_fails),
        case!(async destroyed_sandbox_is_down_and_empty),
        case!(async destroy_without_a_container_leaves_the_sandbox_down),
    ];
    cases
        .into_iter()
        .chain(markers::cases())
        .chain(container::cases())
        .chain(changes::cases())
        .chain(checkpoints::cases())
        .chain(background::cases())
        .chain(file_calls::cases())
        .chain(file_parts::cases())
        .chain(freezes::cases())
        .collect()
}

async fn status_of_a_new_sandbox_is_down_and_starts_nothing(world: &impl World) {
    let id = world.sandbox("agent");
    let first = status_of(world, &id).await;
    assert_eq!(first.status, Status::Down);
    assert_eq!(status_of(world, &id).await, first);
}

async fn configure_starts_nothing(world: &impl World) {
    let id = world.sandbox("agent");
    for image in [None, Some("python"), None] {
        world.sandboxes().configure(&id, Some(600), image).await.unwrap();
        assert_eq!(status_of(world, &id).await.status, Status::Down);
    }
}

async fn probe_starts_the_container_and_returns_its_age(world: &impl World) {
    let id = world.sandbox("agent");
    let first = probe(world, &id, "/workspace").await;
    assert_eq!((first.directory_content, first.is_replacement), (DirectoryContent::Empty, false));
    assert_eq!(status_of(world, &id).await.status, Status::Healthy);
    let second = probe(world, &id, "/workspace").await;
    assert!((0..60_000).contains(&first.age_millis), "{first:?}");
    assert!(second.age_millis >= first.age_millis, "{first:?}, then {second:?}");
}

async fn probe_returns_the_content_of_the_directory(world: &impl World) {
    let id = world.sandbox("agent");
    world.write_file(&id, "/workspace/file", "content").await;
    world.write_file(&id, "/workspace/it's \"here\"", "content").await;
    world.create_symlink(&id, "/workspace/link").await;
    for (dir, content) in [
        ("/workspace", DirectoryContent::NonEmpty),
        ("/workspace/nothing", DirectoryContent::Missing),
        ("/workspace/file", DirectoryContent::NotDirectory),
        ("/workspace/it's \"here\"", DirectoryContent::NotDirectory),
        ("/workspace/link", DirectoryContent::Symlink),
        ("/home", DirectoryContent::Empty),
    ] {
        assert_eq!(probe(world, &id, dir).await.directory_content, content, "{dir}");
    }
}

async fn last_change_identifies_one_container(world: &impl World) {
    let id = world.sandbox("agent");
    world.write_file(&id, "/workspace/file", "content").await;
    let before = status_of(world, &id).await;
    probe(world, &id, "/workspace").await;
    assert_eq!(status_of(world, &id).await, before, "it is the same container");
    world.sandboxes().destroy(&id).await.unwrap();
    probe(world, &id, "/workspace").await;
    let after = status_of(world, &id).await;
    assert_eq!(after.status, Status::Healthy);
    assert!(after.last_change > before.last_change, "{before:?}, then {after:?}");
}

async fn replaced_note_stays_until_it_is_removed_or_the_container_ends(world: &impl World) {
    let id = world.sandbox("agent");
    let sandboxes = world.sandboxes();
    for note in [true, true, false, false, true] {
        sandboxes.set_replaced_note(&id, note).await.unwrap();
        assert_eq!(probe(world, &id, "/workspace").await.is_replacement, note, "{note}");
    }
    sandboxes.destroy(&id).await.unwrap();
    assert!(!probe(world, &id, "/workspace").await.is_replacement);
}

async fn backup_starts_an_ended_sandbox_and_is_empty(world: &impl World) {
    let (id, copy) = (world.sandbox("agent"), world.sandbox("copy"));
    let sandboxes = world.sandboxes();
    let handle = sandboxes.open_session(&id).create_backup(&backup_options("empty"), None).await.unwrap();
    assert_eq!(status_of(world, &id).await.status, Status::Healthy);
    sandboxes.open_session(&copy).restore_backup(&handle, 0, None).await.unwrap();
    assert_eq!(probe(world, &copy, "/workspace").await.directory_content, DirectoryContent::Empty);
}

async fn backup_does_not_change_the_sandbox(world: &impl World) {
    let id = world.sandbox("agent");
    let first = create_backup(world, "agent", "content").await;
    let before = status_of(world, &id).await;
    let second = world.sandboxes().open_session(&id).create_backup(&backup_options("again"), None).await.unwrap();
    assert_ne!(first.id(), second.id(), "each backup has its own id");
    assert_eq!((first.dir(), second.dir()), (&work_dir(), &work_dir()));
    assert_eq!(status_of(world, &id).await, before);
    assert_eq!(world.read_file(&id, "/workspace/file").await.as_deref(), Some("content"));
}

async fn restored_sandbox_has_the_files_of_the_backup(world: &impl World) {
    let (id, copy) = (world.sandbox("agent"), world.sandbox("copy"));
    let handle = create_backup(world, "agent", "it's \"quoted\" 文件 🗂\n").await;
    world.write_file(&id, "/workspace/file", "changed").await;
    world.write_file(&id, "/workspace/later", "later").await;
    world.sandboxes().open_session(&copy).restore_backup(&handle, 0, None).await.unwrap();
    assert_eq!(status_of(world, &copy).await.status, Status::Healthy);
    assert_eq!(world.read_file(&copy, "/workspace/file").await.as_deref(), Some("it's \"quoted\" 文件 🗂\n"));
    assert_eq!(world.read_file(&copy, "/workspace/later").await, None);
    assert_eq!(world.read_file(&id, "/workspace/file").await.as_deref(), Some("changed"), "the origin is unchanged");
}

async fn restore_of_a_missing_backup_fails(world: &impl World) {
    let (id, copy) = (world.sandbox("agent"), world.sandbox("copy"));
    let handle = create_backup(world, "agent", "content").await;
    world.backups().delete(&BackupLocation::Pair(handle.id().clone())).await.unwrap();
    let failure = world.sandboxes().open_session(&copy).restore_backup(&handle, 0, None).await.unwrap_err();
    assert_eq!(failure.code.as_deref(), Some("BACKUP_NOT_FOUND"), "{failure:?}");
    assert_eq!(world.read_file(&id, "/workspace/file").await.as_deref(), Some("content"));
}

async fn destroyed_sandbox_is_down_and_empty(world: &impl World) {
    let id = world.sandbox("agent");
    world.write_file(&id, "/workspace/file", "content").await;
    world.sandboxes().destroy(&id).await.unwrap();
    assert_eq!(status_of(world, &id).await.status, Status::Down);
    assert_eq!(probe(world, &id, "/workspace").await.directory_content, DirectoryContent::Empty);
}

async fn destroy_without_a_container_leaves_the_sandbox_down(world: &impl World) {
    let id = world.sandbox("agent");
    let sandboxes = world.sandboxes();
    sandboxes.destroy(&id).await.unwrap();
    assert_eq!(status_of(world, &id).await.status, Status::Down);
    world.write_file(&id, "/workspace/file", "content").await;
    for _ in 0..2 {
        sandboxes.destroy(&id).await.unwrap();
        assert_eq!(status_of(world, &id).await.status, Status::Down);
    }
}

pub async fn status_of(world: &impl World, id: &SandboxId) -> SandboxStatus {
    world.sandboxes().status(id).await.unwrap()
}

/// Probes a sandbox. Repeats the call while the former container is still ending, because the SDK interrupts it then.
pub async fn probe(world: &impl World, id: &SandboxId, dir: &str) -> Probe {
    let dir = Directory::parse(dir).unwrap();
    loop {
        match world.sandboxes().probe(id, &dir).await {
            Err(failure) if failure.code.as_deref() == Some("OPERATION_INTERRUPTED") => {
                world.clock().sleep(Duration::from_millis(20)).await;
            }
            outcome => return outcome.unwrap(),
        }
    }
}
