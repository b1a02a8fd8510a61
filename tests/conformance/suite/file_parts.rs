//! The parts of files, links and directories that are written to the container of a sandbox.

use sandbox_snapshotter::model::file_part::{
    FileEnd, FileOwner, FilePart, FileParts, PartContent, PartOutcome, PartRefusal, PartsRefusal,
};
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
        case!(async parts_are_written_until_one_is_refused),
        case!(async link_is_written_where_nothing_is),
        case!(async directory_is_made_unless_there_is_one),
        case!(async place_below_a_file_or_of_a_directory_is_blocked),
        case!(async incomplete_file_of_another_size_is_refused),
        case!(async part_for_a_missing_directory_is_refused),
        case!(async part_for_a_container_that_is_too_young_or_not_ready_is_refused),
    ]
}

const OWNER: FileOwner = FileOwner { uid: 0, gid: 0 };

fn path(path: &str) -> FilePath {
    FilePath::parse(path).unwrap()
}

fn part(at: &str, offset: u64, bytes: &str, size: Option<u64>) -> FilePart {
    let end = size.map(|size| FileEnd { size, mode: 0o640, owner: OWNER, mtime: 1_234_567_890 });
    FilePart { path: path(at), content: PartContent::Bytes { offset, bytes: bytes.into(), end } }
}

fn link(at: &str, target: &str) -> FilePart {
    FilePart {
        path: path(at),
        content: PartContent::Link { target: target.into(), owner: OWNER, mtime: 1_234_567_890 },
    }
}

fn directory(at: &str) -> FilePart {
    FilePart { path: path(at), content: PartContent::Directory { mode: 0o750, owner: OWNER } }
}

const fn parts(parts: Vec<FilePart>, overwrite: bool, token: String) -> FileParts {
    FileParts { token, overwrite, parts }
}

type Written = Result<Vec<PartOutcome>, Refusal<PartsRefusal>>;

async fn write(world: &impl World, id: &SandboxId, written: Vec<FilePart>, overwrite: bool) -> Written {
    let parts = parts(written, overwrite, "token".into());
    world.sandboxes().write_file_parts(id, &work_dir(), ANY_CONTAINER, &parts).await.unwrap()
}

fn refused(before: Vec<PartOutcome>, why: PartRefusal) -> Written {
    Err(PartsRefusal::Part { before, why }.into())
}

async fn file_appears_when_its_last_part_is_written(world: &impl World) {
    let id = world.sandbox("agent");
    world.write_file(&id, "/workspace/other", "other").await;
    let place = "new/it's $(odd)/file";
    let first = part(place, 0, "first ", None);
    assert_eq!(write(world, &id, vec![first], false).await, Ok(vec![PartOutcome::Stored]));
    assert_eq!(world.read_file(&id, "/workspace/new/it's $(odd)/file").await, None);
    let rest = vec![part(place, 6, "second", Some(12)), part("empty", 0, "", Some(0))];
    assert_eq!(write(world, &id, rest, false).await, Ok(vec![PartOutcome::Placed; 2]));
    assert_eq!(world.read_file(&id, "/workspace/new/it's $(odd)/file").await.as_deref(), Some("first second"));
    assert_eq!(world.read_file(&id, "/workspace/empty").await.as_deref(), Some(""));
}

async fn existing_file_is_replaced_only_on_request(world: &impl World) {
    let id = world.sandbox("agent");
    world.write_file(&id, "/workspace/file", "newer").await;
    let old = || vec![part("file", 0, "old", Some(3))];
    assert_eq!(write(world, &id, old(), false).await, Ok(vec![PartOutcome::Exists]));
    assert_eq!(world.read_file(&id, "/workspace/file").await.as_deref(), Some("newer"));
    assert_eq!(write(world, &id, old(), true).await, Ok(vec![PartOutcome::Placed]));
    assert_eq!(world.read_file(&id, "/workspace/file").await.as_deref(), Some("old"));
}

async fn parts_are_written_until_one_is_refused(world: &impl World) {
    let id = world.sandbox("agent");
    world.write_file(&id, "/workspace/file", "x").await;
    let written = vec![
        part("a", 0, "a", Some(1)),
        part("file", 0, "y", Some(1)),
        part("file/b", 0, "b", Some(1)),
        part("c", 0, "c", Some(1)),
    ];
    let before = vec![PartOutcome::Placed, PartOutcome::Exists];
    assert_eq!(write(world, &id, written, false).await, refused(before, PartRefusal::Blocked));
    assert_eq!(world.read_file(&id, "/workspace/a").await.as_deref(), Some("a"));
    assert_eq!(world.read_file(&id, "/workspace/c").await, None);
}

async fn link_is_written_where_nothing_is(world: &impl World) {
    let id = world.sandbox("agent");
    world.write_file(&id, "/workspace/file", "x").await;
    world.write_file(&id, "/workspace/a/b", "b").await;
    let written = vec![link("new/link", "it's $(nowhere)"), link("file", "nowhere"), link("a", "nowhere")];
    let before = vec![PartOutcome::Placed, PartOutcome::Exists];
    assert_eq!(write(world, &id, written, false).await, refused(before, PartRefusal::Blocked));
    assert_eq!(world.read_file(&id, "/workspace/file").await.as_deref(), Some("x"));
    let again = vec![link("new/link", "other"), part("new/link", 0, "y", Some(1))];
    assert_eq!(write(world, &id, again, true).await, Ok(vec![PartOutcome::Placed; 2]));
    assert_eq!(world.read_file(&id, "/workspace/new/link").await.as_deref(), Some("y"));
}

async fn directory_is_made_unless_there_is_one(world: &impl World) {
    let id = world.sandbox("agent");
    world.write_file(&id, "/workspace/file", "x").await;
    let written = vec![directory("new"), part("new/file", 0, "y", Some(1)), directory("new"), directory("file")];
    let before = vec![PartOutcome::Placed, PartOutcome::Placed, PartOutcome::Exists];
    assert_eq!(write(world, &id, written, true).await, refused(before, PartRefusal::Blocked));
    assert_eq!(world.read_file(&id, "/workspace/new/file").await.as_deref(), Some("y"));
    assert_eq!(world.read_file(&id, "/workspace/file").await.as_deref(), Some("x"));
}

async fn place_below_a_file_or_of_a_directory_is_blocked(world: &impl World) {
    let id = world.sandbox("agent");
    world.write_file(&id, "/workspace/a/b", "b").await;
    for path in ["a/b/c", "a"] {
        let written = write(world, &id, vec![part(path, 0, "x", Some(1))], true).await;
        assert_eq!(written, refused(Vec::new(), PartRefusal::Blocked), "{path}");
    }
    assert_eq!(world.read_file(&id, "/workspace/a/b").await.as_deref(), Some("b"));
}

async fn incomplete_file_of_another_size_is_refused(world: &impl World) {
    let id = world.sandbox("agent");
    world.write_file(&id, "/workspace/file", "newer").await;
    for part in [part("file", 3, "x", Some(4)), part("file", 0, "x", Some(4))] {
        let refused = write(world, &id, vec![part], true).await;
        assert!(
            matches!(&refused, Err(Refusal::Call(PartsRefusal::Part { why: PartRefusal::Failed(_), .. }))),
            "{refused:?}"
        );
    }
    assert_eq!(world.read_file(&id, "/workspace/file").await.as_deref(), Some("newer"));
}

async fn part_for_a_missing_directory_is_refused(world: &impl World) {
    let id = world.sandbox("agent");
    world.write_file(&id, "/workspace/file", "x").await;
    let missing = Directory::parse("/workspace/missing").unwrap();
    let parts = parts(vec![part("file", 0, "x", Some(1))], true, "token".into());
    let refused = world.sandboxes().write_file_parts(&id, &missing, ANY_CONTAINER, &parts).await.unwrap();
    assert_eq!(refused, Err(PartsRefusal::NotADirectory(DirectoryContent::Missing).into()));
}

async fn part_for_a_container_that_is_too_young_or_not_ready_is_refused(world: &impl World) {
    let id = world.sandbox("agent");
    world.write_file(&id, "/workspace/file", "newer").await;
    let parts = parts(vec![part("file", 0, "old", Some(3))], true, "token".into());
    let young = RequiredContainer::OlderThan { millis: 1_000_000_000_000 };
    for (required, expected) in [(young, "TooYoung"), (RequiredContainer::Ready, "OtherContainer")] {
        let refused = world.sandboxes().write_file_parts(&id, &work_dir(), &required, &parts).await.unwrap();
        assert!(format!("{refused:?}").contains(expected), "{refused:?}");
    }
    assert_eq!(world.read_file(&id, "/workspace/file").await.as_deref(), Some("newer"));
}
