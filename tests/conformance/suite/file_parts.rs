//! The parts of files that are written to the container of a sandbox.

use sandbox_snapshotter::model::file_part::{FileEnd, FilePart, PartOutcome, PartRefusal};
use sandbox_snapshotter::model::files::FilePath;
use sandbox_snapshotter::model::required_container::{Refusal, RequiredContainer};
use sandbox_snapshotter::model::{Directory, DirectoryContent, SandboxId};
use sandbox_snapshotter::ports::CallerCommands;

use super::Case;
use super::world::{ANY_CONTAINER, World, work_dir};

pub fn cases<W: World>() -> Vec<Case<W>> {
    vec![
        case!(async file_appears_when_its_last_part_is_written),
        case!(async existing_file_is_replaced_only_on_request),
        case!(async place_below_a_file_or_of_a_directory_is_blocked),
        case!(async incomplete_file_of_another_size_is_refused),
        case!(async part_for_a_missing_directory_is_refused),
        case!(async part_for_a_container_that_is_too_young_or_not_ready_is_refused),
    ]
}

fn part(path: &str, offset: u64, bytes: &str, size: Option<u64>, overwrite: bool) -> FilePart {
    let end = size.map(|size| FileEnd { size, mode: 0o640, uid: 0, gid: 0, mtime: 1_234_567_890, overwrite });
    FilePart { path: FilePath::parse(path).unwrap(), token: "token".into(), offset, bytes: bytes.into(), end }
}

async fn write(world: &impl World, id: &SandboxId, part: FilePart) -> Result<PartOutcome, Refusal<PartRefusal>> {
    world.sandboxes().write_file_part(id, &work_dir(), ANY_CONTAINER, &part).await.unwrap()
}

async fn file_appears_when_its_last_part_is_written(world: &impl World) {
    let id = world.sandbox("agent");
    world.write_file(&id, "/workspace/other", "other").await;
    let path = "new/it's $(odd)/file";
    assert_eq!(write(world, &id, part(path, 0, "first ", None, false)).await, Ok(PartOutcome::Stored));
    assert_eq!(world.read_file(&id, "/workspace/new/it's $(odd)/file").await, None);
    assert_eq!(write(world, &id, part(path, 6, "second", Some(12), false)).await, Ok(PartOutcome::Placed));
    assert_eq!(world.read_file(&id, "/workspace/new/it's $(odd)/file").await.as_deref(), Some("first second"));
    assert_eq!(write(world, &id, part("empty", 0, "", Some(0), false)).await, Ok(PartOutcome::Placed));
    assert_eq!(world.read_file(&id, "/workspace/empty").await.as_deref(), Some(""));
}

async fn existing_file_is_replaced_only_on_request(world: &impl World) {
    let id = world.sandbox("agent");
    world.write_file(&id, "/workspace/file", "newer").await;
    assert_eq!(write(world, &id, part("file", 0, "old", Some(3), false)).await, Ok(PartOutcome::Exists));
    assert_eq!(world.read_file(&id, "/workspace/file").await.as_deref(), Some("newer"));
    assert_eq!(write(world, &id, part("file", 0, "old", Some(3), true)).await, Ok(PartOutcome::Placed));
    assert_eq!(world.read_file(&id, "/workspace/file").await.as_deref(), Some("old"));
}

async fn place_below_a_file_or_of_a_directory_is_blocked(world: &impl World) {
    let id = world.sandbox("agent");
    world.write_file(&id, "/workspace/a/b", "b").await;
    for path in ["a/b/c", "a"] {
        assert_eq!(
            write(world, &id, part(path, 0, "x", Some(1), true)).await,
            Err(PartRefusal::Blocked.into()),
            "{path}"
        );
    }
    assert_eq!(world.read_file(&id, "/workspace/a/b").await.as_deref(), Some("b"));
}

async fn incomplete_file_of_another_size_is_refused(world: &impl World) {
    let id = world.sandbox("agent");
    world.write_file(&id, "/workspace/file", "newer").await;
    for part in [part("file", 3, "x", Some(4), true), part("file", 0, "x", Some(4), true)] {
        let refused = write(world, &id, part).await;
        assert!(matches!(refused, Err(Refusal::Call(PartRefusal::Failed(_)))), "{refused:?}");
    }
    assert_eq!(world.read_file(&id, "/workspace/file").await.as_deref(), Some("newer"));
}

async fn part_for_a_missing_directory_is_refused(world: &impl World) {
    let id = world.sandbox("agent");
    world.write_file(&id, "/workspace/file", "x").await;
    let missing = Directory::parse("/workspace/missing").unwrap();
    let part = part("file", 0, "x", Some(1), true);
    let refused = world.sandboxes().write_file_part(&id, &missing, ANY_CONTAINER, &part).await.unwrap();
    assert_eq!(refused, Err(PartRefusal::NotADirectory(DirectoryContent::Missing).into()));
}

async fn part_for_a_container_that_is_too_young_or_not_ready_is_refused(world: &impl World) {
    let id = world.sandbox("agent");
    world.write_file(&id, "/workspace/file", "newer").await;
    let part = part("file", 0, "old", Some(3), true);
    let young = RequiredContainer::OlderThan { millis: 1_000_000_000_000 };
    for (required, expected) in [(young, "TooYoung"), (RequiredContainer::Ready, "OtherContainer")] {
        let refused = world.sandboxes().write_file_part(&id, &work_dir(), &required, &part).await.unwrap();
        assert!(format!("{refused:?}").contains(expected), "{refused:?}");
    }
    assert_eq!(world.read_file(&id, "/workspace/file").await.as_deref(), Some("newer"));
}
