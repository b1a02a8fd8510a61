//! The sandboxes.

use std::time::Duration;

use sandbox_snapshotter::model::{Directory, DirectoryContent, Probe, SandboxId, SandboxStatus, Status};
use sandbox_snapshotter::ports::{BackupStore, Clock, SandboxSession, Sandboxes};

use super::world::{World, backup_options, create_backup, work_dir};
use super::{Case, checkpoints, container};

pub fn cases<W: World>() -> Vec<Case<W>> {
    let cases = vec![
        case!(async one_that_never_ran_is_down_and_stays_so_when_it_is_asked),
        case!(async being_told_its_name_starts_nothing),
        case!(async a_probe_starts_the_container_and_tells_its_age),
        case!(async a_probe_tells_what_the_directory_is),
        case!(async the_last_change_is_that_of_one_container),
        case!(async the_note_stays_until_it_is_taken_away_or_the_container_ends),
        case!(async a_backup_of_one_that_does_not_run_starts_it_and_is_empty),
        case!(async a_backup_leaves_the_sandbox_as_it_is),
        case!(async a_restored_sandbox_has_what_was_backed_up),
        case!(async a_backup_that_is_not_there_is_not_restored),
        case!(async one_that_was_destroyed_is_down_and_empty),
        case!(async destroying_one_without_a_container_leaves_it_down),
    ];
    cases.into_iter().chain(container::cases()).chain(checkpoints::cases()).collect()
}

async fn one_that_never_ran_is_down_and_stays_so_when_it_is_asked(world: &impl World) {
    let id = world.sandbox("agent");
    let first = state(world, &id).await;
    assert_eq!(first.status, Status::Down);
    assert_eq!(state(world, &id).await, first);
}

async fn being_told_its_name_starts_nothing(world: &impl World) {
    let id = world.sandbox("agent");
    for _ in 0..2 {
        world.sandboxes().configure(&id, Some(600)).await.unwrap();
        assert_eq!(state(world, &id).await.status, Status::Down);
    }
}

async fn a_probe_starts_the_container_and_tells_its_age(world: &impl World) {
    let id = world.sandbox("agent");
    let first = probe(world, &id, "/workspace").await;
    assert_eq!((first.directory_content, first.is_replacement), (DirectoryContent::Empty, false));
    assert_eq!(state(world, &id).await.status, Status::Healthy);
    let second = probe(world, &id, "/workspace").await;
    assert!((0..60_000).contains(&first.age_millis), "{first:?}");
    assert!(second.age_millis >= first.age_millis, "{first:?}, then {second:?}");
}

async fn a_probe_tells_what_the_directory_is(world: &impl World) {
    let id = world.sandbox("agent");
    world.write_file(&id, "/workspace/file", "content").await;
    world.write_file(&id, "/workspace/it's \"here\"", "content").await;
    world.create_symlink(&id, "/workspace/link").await;
    for (dir, place) in [
        ("/workspace", DirectoryContent::NonEmpty),
        ("/workspace/nothing", DirectoryContent::Missing),
        ("/workspace/file", DirectoryContent::NotDirectory),
        ("/workspace/it's \"here\"", DirectoryContent::NotDirectory),
        ("/workspace/link", DirectoryContent::Symlink),
        ("/home", DirectoryContent::Empty),
    ] {
        assert_eq!(probe(world, &id, dir).await.directory_content, place, "{dir}");
    }
}

async fn the_last_change_is_that_of_one_container(world: &impl World) {
    let id = world.sandbox("agent");
    world.write_file(&id, "/workspace/file", "content").await;
    let before = state(world, &id).await;
    probe(world, &id, "/workspace").await;
    assert_eq!(state(world, &id).await, before, "it is the same one");
    world.sandboxes().destroy(&id).await.unwrap();
    probe(world, &id, "/workspace").await;
    let after = state(world, &id).await;
    assert_eq!(after.status, Status::Healthy);
    assert!(after.last_change > before.last_change, "{before:?}, then {after:?}");
}

async fn the_note_stays_until_it_is_taken_away_or_the_container_ends(world: &impl World) {
    let id = world.sandbox("agent");
    let sandboxes = world.sandboxes();
    for note in [true, true, false, false, true] {
        sandboxes.set_replaced_note(&id, note).await.unwrap();
        assert_eq!(probe(world, &id, "/workspace").await.is_replacement, note);
    }
    sandboxes.destroy(&id).await.unwrap();
    assert!(!probe(world, &id, "/workspace").await.is_replacement);
}

async fn a_backup_of_one_that_does_not_run_starts_it_and_is_empty(world: &impl World) {
    let (id, copy) = (world.sandbox("agent"), world.sandbox("copy"));
    let sandboxes = world.sandboxes();
    let handle = sandboxes.open_session(&id).create_backup(&backup_options("empty"), None).await.unwrap();
    assert_eq!(state(world, &id).await.status, Status::Healthy);
    sandboxes.open_session(&copy).restore_backup(&handle, 0).await.unwrap();
    assert_eq!(probe(world, &copy, "/workspace").await.directory_content, DirectoryContent::Empty);
}

async fn a_backup_leaves_the_sandbox_as_it_is(world: &impl World) {
    let id = world.sandbox("agent");
    let first = create_backup(world, "agent", "content").await;
    let before = state(world, &id).await;
    let second = world.sandboxes().open_session(&id).create_backup(&backup_options("again"), None).await.unwrap();
    assert_ne!(first.id(), second.id(), "each has an id of its own");
    assert_eq!((first.dir(), second.dir()), (&work_dir(), &work_dir()));
    assert_eq!(state(world, &id).await, before);
    assert_eq!(world.read_file(&id, "/workspace/file").await.as_deref(), Some("content"));
}

async fn a_restored_sandbox_has_what_was_backed_up(world: &impl World) {
    let (id, copy) = (world.sandbox("agent"), world.sandbox("copy"));
    let handle = create_backup(world, "agent", "it's \"quoted\" 文件 🗂\n").await;
    world.write_file(&id, "/workspace/file", "changed").await;
    world.write_file(&id, "/workspace/later", "later").await;
    world.sandboxes().open_session(&copy).restore_backup(&handle, 0).await.unwrap();
    assert_eq!(state(world, &copy).await.status, Status::Healthy);
    assert_eq!(world.read_file(&copy, "/workspace/file").await.as_deref(), Some("it's \"quoted\" 文件 🗂\n"));
    assert_eq!(world.read_file(&copy, "/workspace/later").await, None);
    assert_eq!(world.read_file(&id, "/workspace/file").await.as_deref(), Some("changed"), "the origin stays as it was");
}

async fn a_backup_that_is_not_there_is_not_restored(world: &impl World) {
    let (id, copy) = (world.sandbox("agent"), world.sandbox("copy"));
    let handle = create_backup(world, "agent", "content").await;
    world.backups().delete(handle.id()).await.unwrap();
    let failure = world.sandboxes().open_session(&copy).restore_backup(&handle, 0).await.unwrap_err();
    assert_eq!(failure.code.as_deref(), Some("BACKUP_NOT_FOUND"), "{failure:?}");
    assert_eq!(world.read_file(&id, "/workspace/file").await.as_deref(), Some("content"));
}

async fn one_that_was_destroyed_is_down_and_empty(world: &impl World) {
    let id = world.sandbox("agent");
    world.write_file(&id, "/workspace/file", "content").await;
    world.sandboxes().destroy(&id).await.unwrap();
    assert_eq!(state(world, &id).await.status, Status::Down);
    assert_eq!(probe(world, &id, "/workspace").await.directory_content, DirectoryContent::Empty);
}

async fn destroying_one_without_a_container_leaves_it_down(world: &impl World) {
    let id = world.sandbox("agent");
    let sandboxes = world.sandboxes();
    sandboxes.destroy(&id).await.unwrap();
    assert_eq!(state(world, &id).await.status, Status::Down);
    world.write_file(&id, "/workspace/file", "content").await;
    for _ in 0..2 {
        sandboxes.destroy(&id).await.unwrap();
        assert_eq!(state(world, &id).await.status, Status::Down);
    }
}

pub async fn state(world: &impl World, id: &SandboxId) -> SandboxStatus {
    world.sandboxes().status(id).await.unwrap()
}

/// Looks into a sandbox. While its former container still comes to its end, the SDK interrupts what it is asked.
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
