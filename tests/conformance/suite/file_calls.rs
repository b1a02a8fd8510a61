//! The calls about files in the container of a sandbox.

use sandbox_snapshotter::model::SandboxId;
use sandbox_snapshotter::model::archive::EntryKind;
use sandbox_snapshotter::model::file_call::{FileAction, FileCall, FileInput, FileOutcome, FileRefusal};
use sandbox_snapshotter::model::files::FilePath;
use sandbox_snapshotter::model::required_container::{Refusal, RequiredContainer};
use sandbox_snapshotter::ports::CallerCommands;

use super::Case;
use super::world::{ANY_CONTAINER, World, work_dir};

pub fn cases<W: World>() -> Vec<Case<W>> {
    vec![
        case!(async written_file_is_read_and_has_the_etag_of_its_content),
        case!(async file_with_another_etag_is_not_written),
        case!(async list_continues_after_a_name),
        case!(async moved_file_replaces_another_only_on_request),
        case!(async directory_is_removed_with_its_files_on_request),
        case!(async call_is_refused_in_another_container),
    ]
}

async fn call(
    world: &impl World,
    id: &SandboxId,
    path: &str,
    action: FileAction,
) -> Result<FileOutcome, Refusal<FileRefusal>> {
    let path = FilePath::parse(path).unwrap();
    let call = FileCall { id: "call".into(), dir: work_dir(), has_dir: false, path, action };
    world.sandboxes().call_files(id, ANY_CONTAINER, &call).await.unwrap()
}

async fn write(
    world: &impl World,
    id: &SandboxId,
    path: &str,
    content: &str,
    if_match: Option<String>,
) -> Result<Option<String>, Refusal<FileRefusal>> {
    let action = FileAction::Write { content: FileInput::Bytes(content.into()), mode: None, if_match };
    match call(world, id, path, action).await? {
        FileOutcome::Entry(_, etag) => Ok(etag),
        other => panic!("{other:?}"),
    }
}

async fn written_file_is_read_and_has_the_etag_of_its_content(world: &impl World) {
    let id = world.sandbox("agent");
    world.write_file(&id, "/workspace/other", "other").await;
    let path = "new/it's $(odd)/file";
    let etag = write(world, &id, path, "content", None).await.unwrap();
    assert_eq!(world.read_file(&id, "/workspace/new/it's $(odd)/file").await.as_deref(), Some("content"));
    let read = FileAction::Read { offset: 3, length: 2 };
    let Ok(FileOutcome::Content(attributes, read_etag, bytes)) = call(world, &id, path, read).await else {
        panic!("a content")
    };
    assert_eq!((attributes.kind, attributes.size, bytes.as_slice()), (EntryKind::File, 7, &b"te"[..]));
    assert_eq!((etag.as_deref(), &read_etag), (Some(super::container::CONTENT_SHA256), &etag));
}

async fn file_with_another_etag_is_not_written(world: &impl World) {
    let id = world.sandbox("agent");
    let etag = write(world, &id, "file", "first", None).await.unwrap();
    write(world, &id, "file", "second", etag.clone()).await.unwrap();
    assert_eq!(write(world, &id, "file", "third", etag.clone()).await, Err(FileRefusal::Changed.into()));
    assert_eq!(write(world, &id, "missing", "third", etag).await, Err(FileRefusal::Changed.into()));
    assert_eq!(world.read_file(&id, "/workspace/file").await.as_deref(), Some("second"));
}

async fn list_continues_after_a_name(world: &impl World) {
    let id = world.sandbox("agent");
    for path in ["b", "a/deep", "c"] {
        world.write_file(&id, &format!("/workspace/{path}"), "x").await;
    }
    let mut after = None;
    for (expected, kind) in [("a", EntryKind::Directory), ("b", EntryKind::File), ("c", EntryKind::File)] {
        let Ok(FileOutcome::Page { entries, next }) =
            call(world, &id, "", FileAction::List { after: after.clone(), limit: 1 }).await
        else {
            panic!("a page")
        };
        assert_eq!((entries[0].name.as_bytes(), entries[0].attributes.kind), (expected.as_bytes(), kind));
        after = next.map(|next| next.as_bytes().to_vec());
    }
    assert_eq!(after, None);
}

async fn moved_file_replaces_another_only_on_request(world: &impl World) {
    let id = world.sandbox("agent");
    world.write_file(&id, "/workspace/old", "old").await;
    world.write_file(&id, "/workspace/new", "new").await;
    let to_old = |overwrite| FileAction::Move { to: FilePath::parse("old").unwrap(), overwrite };
    assert_eq!(call(world, &id, "new", to_old(false)).await, Err(FileRefusal::Exists.into()));
    call(world, &id, "new", to_old(true)).await.unwrap();
    assert_eq!(world.read_file(&id, "/workspace/old").await.as_deref(), Some("new"));
    assert_eq!(call(world, &id, "new", FileAction::Stat).await, Err(FileRefusal::NotFound.into()));
}

async fn directory_is_removed_with_its_files_on_request(world: &impl World) {
    let id = world.sandbox("agent");
    world.write_file(&id, "/workspace/a/b", "b").await;
    let remove = |recursive| FileAction::Remove { recursive };
    assert_eq!(call(world, &id, "a", remove(false)).await, Err(FileRefusal::NotEmpty.into()));
    assert_eq!(call(world, &id, "a", remove(true)).await, Ok(FileOutcome::Removed(true)));
    assert_eq!(call(world, &id, "a", remove(true)).await, Ok(FileOutcome::Removed(false)));
}

async fn call_is_refused_in_another_container(world: &impl World) {
    let id = world.sandbox("agent");
    world.write_file(&id, "/workspace/file", "newer").await;
    let content = FileInput::Bytes(b"old".to_vec());
    let action = FileAction::Write { content, mode: None, if_match: None };
    let call =
        FileCall { id: "call".into(), dir: work_dir(), has_dir: false, path: FilePath::parse("file").unwrap(), action };
    for container in [RequiredContainer::Ready, RequiredContainer::OlderThan { millis: 1_000_000_000_000 }] {
        let refused = world.sandboxes().call_files(&id, &container, &call).await.unwrap();
        assert!(matches!(refused, Err(Refusal::Container(_))), "{refused:?}");
    }
    assert_eq!(world.read_file(&id, "/workspace/file").await.as_deref(), Some("newer"));
}
