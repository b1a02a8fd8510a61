//! Checkpoints in the container of a sandbox.

use sandbox_snapshotter::model::checkpoint::CheckpointCursor;
use sandbox_snapshotter::model::checkpoint_call::{CheckpointCall, CheckpointOutcome, CheckpointRefusal};
use sandbox_snapshotter::model::named::ContainerMarker;
use sandbox_snapshotter::model::required_container::{ContainerRefusal, Refusal, RequiredContainer};
use sandbox_snapshotter::model::{CheckpointDescription, CheckpointName, Directory, DirectoryContent, SandboxId};
use sandbox_snapshotter::ports::{CallerCommands, Sandboxes};

use super::Case;
use super::markers::put_marker;
use super::sandboxes::probe;
use super::world::{ANY_CONTAINER, World, work_dir};

pub fn cases<W: World>() -> Vec<Case<W>> {
    vec![
        case!(async checkpoint_is_created_listed_diffed_and_restored),
        case!(async reused_name_moves_to_the_new_checkpoint),
        case!(async list_has_pages),
        case!(async deleted_checkpoint_is_gone),
        case!(async missing_checkpoint_is_not_found),
        case!(async path_without_a_directory_is_refused),
        case!(async container_that_is_too_young_is_refused),
        case!(async replacement_container_is_refused),
        case!(async container_without_a_ready_marker_is_refused),
    ]
}

fn name() -> CheckpointName {
    CheckpointName::parse("s1").unwrap()
}

/// The first page.
const LIST_ALL: CheckpointCall = CheckpointCall::List { after: None, limit: 100 };

fn create() -> CheckpointCall {
    let description = CheckpointDescription::parse("it's \"odd\"\n$(x)\n").unwrap();
    CheckpointCall::Create { name: name(), description, expiration_seconds: 0 }
}

fn restore() -> CheckpointCall {
    CheckpointCall::Restore { name: name(), prune: false }
}

fn delete() -> CheckpointCall {
    CheckpointCall::Delete { name: name() }
}

fn diff() -> CheckpointCall {
    CheckpointCall::Diff { name: name(), max_bytes: 1000 }
}

async fn run_call(
    world: &impl World,
    id: &SandboxId,
    required: &RequiredContainer,
    call: &CheckpointCall,
) -> Result<CheckpointOutcome, Refusal<CheckpointRefusal>> {
    world.sandboxes().run_checkpoint(id, &work_dir(), required, call).await.unwrap()
}

/// Asserts that every call is refused and has no effect.
async fn assert_refused(
    world: &impl World,
    id: &SandboxId,
    required: &RequiredContainer,
    expected: impl Fn(&ContainerRefusal) -> bool,
) {
    for call in [create(), LIST_ALL, restore(), diff(), delete()] {
        let refusal = world.sandboxes().run_checkpoint(id, &work_dir(), required, &call).await.unwrap().unwrap_err();
        assert!(matches!(&refusal, Refusal::Container(refusal) if expected(refusal)), "{call:?}: {refusal:?}");
    }
    assert_eq!(probe(world, id, "/workspace").await.directory_content, DirectoryContent::Empty);
}

async fn checkpoint_is_created_listed_diffed_and_restored(world: &impl World) {
    let id = world.sandbox("agent");
    world.write_file(&id, "/workspace/file", "first").await;
    let Ok(CheckpointOutcome::Created(created)) = run_call(world, &id, ANY_CONTAINER, &create()).await else {
        panic!()
    };
    assert_eq!((created.replaced, created.checkpoint.description.as_str()), (None, "it's \"odd\"\n$(x)\n"));
    let Ok(CheckpointOutcome::Listed(listed)) = run_call(world, &id, ANY_CONTAINER, &LIST_ALL).await else { panic!() };
    assert_eq!(listed.checkpoints, std::slice::from_ref(&created.checkpoint));

    world.write_file(&id, "/workspace/file", "second").await;
    world.write_file(&id, "/workspace/new", "new").await;
    let Ok(CheckpointOutcome::Diffed(diffed)) = run_call(world, &id, ANY_CONTAINER, &diff()).await else { panic!() };
    assert!(diffed.diff.contains("file") && diffed.diff.contains("new") && !diffed.truncated, "{diffed:?}");
    let Ok(CheckpointOutcome::Restored(restored)) = run_call(world, &id, ANY_CONTAINER, &restore()).await else {
        panic!()
    };
    assert_eq!((restored.commit, restored.changed_count), (created.checkpoint.commit, 2));
    assert_eq!(restored.changed, ["file", "new"]);
    assert!(restored.before.is_some());
    assert_eq!(world.read_file(&id, "/workspace/file").await.as_deref(), Some("first"));
    assert_eq!(world.read_file(&id, "/workspace/new").await, None);

    let Ok(CheckpointOutcome::Restored(again)) = run_call(world, &id, ANY_CONTAINER, &restore()).await else {
        panic!()
    };
    assert_eq!((again.changed_count, again.before), (0, None));
    let Ok(CheckpointOutcome::Diffed(same)) = run_call(world, &id, ANY_CONTAINER, &diff()).await else { panic!() };
    assert_eq!((same.diff.as_str(), same.size_bytes), ("", 0));
}

async fn reused_name_moves_to_the_new_checkpoint(world: &impl World) {
    let id = world.sandbox("agent");
    world.write_file(&id, "/workspace/file", "first").await;
    let Ok(CheckpointOutcome::Created(first)) = run_call(world, &id, ANY_CONTAINER, &create()).await else { panic!() };
    world.write_file(&id, "/workspace/file", "second").await;
    let Ok(CheckpointOutcome::Created(second)) = run_call(world, &id, ANY_CONTAINER, &create()).await else { panic!() };
    assert_eq!(second.replaced, Some(first.checkpoint.commit));
    let Ok(CheckpointOutcome::Listed(listed)) = run_call(world, &id, ANY_CONTAINER, &LIST_ALL).await else { panic!() };
    assert_eq!(listed.checkpoints, [second.checkpoint]);
}

async fn list_has_pages(world: &impl World) {
    let id = world.sandbox("agent");
    world.write_file(&id, "/workspace/file", "first").await;
    for name in ["a", "b", "c"] {
        let name = CheckpointName::parse(name).unwrap();
        let description = CheckpointDescription::default_for(&name);
        let create = CheckpointCall::Create { description, name, expiration_seconds: 3600 };
        run_call(world, &id, ANY_CONTAINER, &create).await.unwrap();
    }
    let Ok(CheckpointOutcome::Listed(whole)) = run_call(world, &id, ANY_CONTAINER, &LIST_ALL).await else { panic!() };
    let (mut read, mut after, mut sizes) = (Vec::new(), None, Vec::new());
    loop {
        let call = CheckpointCall::List { after, limit: 2 };
        let Ok(CheckpointOutcome::Listed(page)) = run_call(world, &id, ANY_CONTAINER, &call).await else { panic!() };
        sizes.push(page.checkpoints.len());
        read.extend(page.checkpoints);
        let Some(cursor) = page.cursor else { break };
        after = Some(CheckpointCursor::parse(&cursor).unwrap());
    }
    assert_eq!((sizes, whole.cursor), (vec![2, 1], None));
    assert_eq!(read, whole.checkpoints);
}

async fn deleted_checkpoint_is_gone(world: &impl World) {
    let id = world.sandbox("agent");
    world.write_file(&id, "/workspace/file", "first").await;
    let Ok(CheckpointOutcome::Created(created)) = run_call(world, &id, ANY_CONTAINER, &create()).await else {
        panic!()
    };
    for commit in [Some(created.checkpoint.commit), None] {
        let Ok(CheckpointOutcome::Deleted(deleted)) = run_call(world, &id, ANY_CONTAINER, &delete()).await else {
            panic!()
        };
        assert_eq!((deleted.removed, deleted.commit), (commit.is_some(), commit));
    }
    assert_eq!(run_call(world, &id, ANY_CONTAINER, &restore()).await, Err(CheckpointRefusal::NotFound.into()));
}

async fn missing_checkpoint_is_not_found(world: &impl World) {
    let id = world.sandbox("agent");
    world.write_file(&id, "/workspace/file", "first").await;
    for call in [restore(), diff()] {
        assert_eq!(run_call(world, &id, ANY_CONTAINER, &call).await, Err(CheckpointRefusal::NotFound.into()));
    }
}

async fn path_without_a_directory_is_refused(world: &impl World) {
    let id = world.sandbox("agent");
    world.write_file(&id, "/workspace/file", "first").await;
    for (dir, content) in
        [("/workspace/missing", DirectoryContent::Missing), ("/workspace/file", DirectoryContent::NotDirectory)]
    {
        let dir = Directory::parse(dir).unwrap();
        let answer = world.sandboxes().run_checkpoint(&id, &dir, ANY_CONTAINER, &create()).await.unwrap();
        assert_eq!(answer, Err(CheckpointRefusal::NotADirectory(content).into()));
    }
}

async fn container_that_is_too_young_is_refused(world: &impl World) {
    let id = world.sandbox("agent");
    let age = probe(world, &id, "/workspace").await.age_millis;
    let hour_older = age + 3_600_000;
    let reports_age = |refusal: &ContainerRefusal| matches!(refusal, ContainerRefusal::TooYoung { age_millis } if (age..hour_older).contains(age_millis));
    assert_refused(world, &id, &RequiredContainer::OlderThan { millis: hour_older }, reports_age).await;
    run_call(world, &id, &RequiredContainer::OlderThan { millis: age }, &create()).await.unwrap();
}

async fn replacement_container_is_refused(world: &impl World) {
    let id = world.sandbox("agent");
    world.sandboxes().set_replaced_note(&id, true).await.unwrap();
    assert_refused(world, &id, ANY_CONTAINER, |refusal| *refusal == ContainerRefusal::OtherContainer).await;
}

async fn container_without_a_ready_marker_is_refused(world: &impl World) {
    let id = world.sandbox("agent");
    let is_not_ready = |refusal: &ContainerRefusal| *refusal == ContainerRefusal::OtherContainer;
    assert_refused(world, &id, &RequiredContainer::Ready, is_not_ready).await;
    let [restoring, ready] = [ContainerMarker::Restoring("a".into()), ContainerMarker::Ready("a".into())];
    assert!(put_marker(world, &id, None, &restoring).await);
    assert_refused(world, &id, &RequiredContainer::Ready, is_not_ready).await;
    assert!(put_marker(world, &id, Some(&restoring), &ready).await);
    run_call(world, &id, &RequiredContainer::Ready, &create()).await.unwrap();
}
