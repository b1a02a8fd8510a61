//! Checkpoints in a sandbox's container.

use sandbox_snapshotter::model::checkpoint::CheckpointCursor;
use sandbox_snapshotter::model::checkpoint_call::{
    CheckpointCall, CheckpointOutcome, CheckpointRefusal, RequiredContainer,
};
use sandbox_snapshotter::model::named::ContainerMarker;
use sandbox_snapshotter::model::{CheckpointDescription, CheckpointName, Directory, DirectoryContent, SandboxId};
use sandbox_snapshotter::ports::Sandboxes;

use super::Case;
use super::container::put_marker;
use super::sandboxes::probe;
use super::world::{World, work_dir};

/// Any container that carries no note.
const ANY_CONTAINER: RequiredContainer = RequiredContainer::OlderThan(0);

pub fn cases<W: World>() -> Vec<Case<W>> {
    vec![
        case!(async a_checkpoint_is_made_listed_compared_and_gone_back_to),
        case!(async a_name_that_is_used_again_moves),
        case!(async a_list_has_pages),
        case!(async a_checkpoint_that_is_not_there_is_unknown),
        case!(async checkpoints_of_what_is_no_directory_are_refused),
        case!(async nothing_is_done_in_a_container_that_is_too_young),
        case!(async nothing_is_done_in_a_container_that_took_the_place_of_another),
        case!(async nothing_is_done_in_a_container_that_was_not_handed_out),
    ]
}

fn name() -> CheckpointName {
    CheckpointName::parse("s1").unwrap()
}

/// The first page.
const LIST_ALL: CheckpointCall = CheckpointCall::List { after: None, limit: 100 };

fn create() -> CheckpointCall {
    CheckpointCall::Create { name: name(), description: CheckpointDescription::parse("it's \"odd\"\n$(x)\n").unwrap() }
}

fn restore() -> CheckpointCall {
    CheckpointCall::Restore { name: name() }
}

fn diff() -> CheckpointCall {
    CheckpointCall::Diff { name: name(), max_bytes: 1000 }
}

async fn all_calls(
    world: &impl World,
    id: &SandboxId,
    meant: RequiredContainer,
    call: &CheckpointCall,
) -> Result<CheckpointOutcome, CheckpointRefusal> {
    world.sandboxes().run_checkpoint(id, &work_dir(), meant, call).await.unwrap()
}

/// Every call is refused, and nothing was done.
async fn assert_refused(
    world: &impl World,
    id: &SandboxId,
    meant: RequiredContainer,
    expected: impl Fn(&CheckpointRefusal) -> bool,
) {
    for call in [create(), LIST_ALL, restore(), diff()] {
        let refusal = all_calls(world, id, meant, &call).await.unwrap_err();
        assert!(expected(&refusal), "{call:?}: {refusal:?}");
    }
    assert_eq!(probe(world, id, "/workspace").await.directory_content, DirectoryContent::Empty);
}

async fn a_checkpoint_is_made_listed_compared_and_gone_back_to(world: &impl World) {
    let id = world.sandbox("agent");
    world.write_file(&id, "/workspace/file", "first").await;
    let Ok(CheckpointOutcome::Created(made)) = all_calls(world, &id, ANY_CONTAINER, &create()).await else { panic!() };
    assert_eq!((made.replaced, made.checkpoint.description.as_str()), (None, "it's \"odd\"\n$(x)\n"));
    let Ok(CheckpointOutcome::Listed(listed)) = all_calls(world, &id, ANY_CONTAINER, &LIST_ALL).await else { panic!() };
    assert_eq!(listed.checkpoints, std::slice::from_ref(&made.checkpoint));

    world.write_file(&id, "/workspace/file", "second").await;
    world.write_file(&id, "/workspace/new", "new").await;
    let Ok(CheckpointOutcome::Diffed(compared)) = all_calls(world, &id, ANY_CONTAINER, &diff()).await else { panic!() };
    assert!(compared.diff.contains("file") && compared.diff.contains("new") && !compared.truncated, "{compared:?}");
    let Ok(CheckpointOutcome::Restored(restored)) = all_calls(world, &id, ANY_CONTAINER, &restore()).await else {
        panic!()
    };
    assert_eq!((restored.commit, restored.changed_count), (made.checkpoint.commit, 2));
    assert_eq!(restored.changed, ["file", "new"]);
    assert!(restored.before.is_some());
    assert_eq!(world.read_file(&id, "/workspace/file").await.as_deref(), Some("first"));
    assert_eq!(world.read_file(&id, "/workspace/new").await, None);

    let Ok(CheckpointOutcome::Restored(again)) = all_calls(world, &id, ANY_CONTAINER, &restore()).await else {
        panic!()
    };
    assert_eq!((again.changed_count, again.before), (0, None));
    let Ok(CheckpointOutcome::Diffed(same)) = all_calls(world, &id, ANY_CONTAINER, &diff()).await else { panic!() };
    assert_eq!((same.diff.as_str(), same.size_bytes), ("", 0));
}

async fn a_name_that_is_used_again_moves(world: &impl World) {
    let id = world.sandbox("agent");
    world.write_file(&id, "/workspace/file", "first").await;
    let Ok(CheckpointOutcome::Created(first)) = all_calls(world, &id, ANY_CONTAINER, &create()).await else { panic!() };
    world.write_file(&id, "/workspace/file", "second").await;
    let Ok(CheckpointOutcome::Created(second)) = all_calls(world, &id, ANY_CONTAINER, &create()).await else {
        panic!()
    };
    assert_eq!(second.replaced, Some(first.checkpoint.commit));
    let Ok(CheckpointOutcome::Listed(listed)) = all_calls(world, &id, ANY_CONTAINER, &LIST_ALL).await else { panic!() };
    assert_eq!(listed.checkpoints, [second.checkpoint]);
}

async fn a_list_has_pages(world: &impl World) {
    let id = world.sandbox("agent");
    world.write_file(&id, "/workspace/file", "first").await;
    for name in ["a", "b", "c"] {
        let name = CheckpointName::parse(name).unwrap();
        let create = CheckpointCall::Create { description: CheckpointDescription::default_for(&name), name };
        all_calls(world, &id, ANY_CONTAINER, &create).await.unwrap();
    }
    let Ok(CheckpointOutcome::Listed(whole)) = all_calls(world, &id, ANY_CONTAINER, &LIST_ALL).await else { panic!() };
    let (mut read, mut after, mut sizes) = (Vec::new(), None, Vec::new());
    loop {
        let call = CheckpointCall::List { after, limit: 2 };
        let Ok(CheckpointOutcome::Listed(page)) = all_calls(world, &id, ANY_CONTAINER, &call).await else { panic!() };
        sizes.push(page.checkpoints.len());
        read.extend(page.checkpoints);
        let Some(cursor) = page.cursor else { break };
        after = Some(CheckpointCursor::parse(&cursor).unwrap());
    }
    assert_eq!((sizes, whole.cursor), (vec![2, 1], None));
    assert_eq!(read, whole.checkpoints);
}

async fn a_checkpoint_that_is_not_there_is_unknown(world: &impl World) {
    let id = world.sandbox("agent");
    world.write_file(&id, "/workspace/file", "first").await;
    for call in [restore(), diff()] {
        assert_eq!(all_calls(world, &id, ANY_CONTAINER, &call).await, Err(CheckpointRefusal::NotFound));
    }
}

async fn checkpoints_of_what_is_no_directory_are_refused(world: &impl World) {
    let id = world.sandbox("agent");
    world.write_file(&id, "/workspace/file", "first").await;
    for (dir, place) in
        [("/workspace/missing", DirectoryContent::Missing), ("/workspace/file", DirectoryContent::NotDirectory)]
    {
        let dir = Directory::parse(dir).unwrap();
        let answer = world.sandboxes().run_checkpoint(&id, &dir, ANY_CONTAINER, &create()).await.unwrap();
        assert_eq!(answer, Err(CheckpointRefusal::NotADirectory(place)));
    }
}

async fn nothing_is_done_in_a_container_that_is_too_young(world: &impl World) {
    let id = world.sandbox("agent");
    let age = probe(world, &id, "/workspace").await.age_millis;
    let an_hour = age + 3_600_000;
    let is_its_age = |refusal: &CheckpointRefusal| matches!(refusal, CheckpointRefusal::TooYoung { age_millis } if (age..an_hour).contains(age_millis));
    assert_refused(world, &id, RequiredContainer::OlderThan(an_hour), is_its_age).await;
    all_calls(world, &id, RequiredContainer::OlderThan(age), &create()).await.unwrap();
}

async fn nothing_is_done_in_a_container_that_took_the_place_of_another(world: &impl World) {
    let id = world.sandbox("agent");
    world.sandboxes().set_replaced_note(&id, true).await.unwrap();
    assert_refused(world, &id, ANY_CONTAINER, |refusal| *refusal == CheckpointRefusal::IsReplacement).await;
}

async fn nothing_is_done_in_a_container_that_was_not_handed_out(world: &impl World) {
    let id = world.sandbox("agent");
    let is_not_handed_out = |refusal: &CheckpointRefusal| *refusal == CheckpointRefusal::NotReady;
    assert_refused(world, &id, RequiredContainer::Ready, is_not_handed_out).await;
    let [filling, ready] = [ContainerMarker::Restoring("a".into()), ContainerMarker::Ready("a".into())];
    assert!(put_marker(world, &id, None, &filling).await);
    assert_refused(world, &id, RequiredContainer::Ready, is_not_handed_out).await;
    assert!(put_marker(world, &id, Some(&filling), &ready).await);
    all_calls(world, &id, RequiredContainer::Ready, &create()).await.unwrap();
}
