//! Checkpoints in a sandbox's container.

use sandbox_snapshotter::model::checkpoint::CheckpointCursor;
use sandbox_snapshotter::model::checkpoint_call::{CheckpointCall, CheckpointDone, CheckpointRefusal, Meant};
use sandbox_snapshotter::model::named::Stamp;
use sandbox_snapshotter::model::{CheckpointDescription, CheckpointName, Directory, Place, SandboxId};
use sandbox_snapshotter::ports::Sandboxes;

use super::Case;
use super::inside::puts;
use super::sandboxes::probe;
use super::world::{World, workspace};

/// Any container that carries no note.
const ANY: Meant = Meant::Aged(0);

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
const LIST: CheckpointCall = CheckpointCall::List { after: None, limit: 100 };

fn create() -> CheckpointCall {
    CheckpointCall::Create { name: name(), description: CheckpointDescription::parse("it's \"odd\"\n$(x)\n").unwrap() }
}

fn restore() -> CheckpointCall {
    CheckpointCall::Restore { name: name() }
}

fn diff() -> CheckpointCall {
    CheckpointCall::Diff { name: name(), max_bytes: 1000 }
}

async fn calls(
    world: &impl World,
    id: &SandboxId,
    meant: Meant,
    call: &CheckpointCall,
) -> Result<CheckpointDone, CheckpointRefusal> {
    world.sandboxes().checkpoint(id, &workspace(), meant, call).await.unwrap()
}

/// Every call is refused, and nothing was done.
async fn refused(world: &impl World, id: &SandboxId, meant: Meant, expected: impl Fn(&CheckpointRefusal) -> bool) {
    for call in [create(), LIST, restore(), diff()] {
        let refusal = calls(world, id, meant, &call).await.unwrap_err();
        assert!(expected(&refusal), "{call:?}: {refusal:?}");
    }
    assert_eq!(probe(world, id, "/workspace").await.place, Place::Empty);
}

async fn a_checkpoint_is_made_listed_compared_and_gone_back_to(world: &impl World) {
    let id = world.sandbox("agent");
    world.writes(&id, "/workspace/file", "first").await;
    let Ok(CheckpointDone::Created(made)) = calls(world, &id, ANY, &create()).await else { panic!() };
    assert_eq!((made.replaced, made.checkpoint.description.as_str()), (None, "it's \"odd\"\n$(x)\n"));
    let Ok(CheckpointDone::Listed(listed)) = calls(world, &id, ANY, &LIST).await else { panic!() };
    assert_eq!(listed.checkpoints, std::slice::from_ref(&made.checkpoint));

    world.writes(&id, "/workspace/file", "second").await;
    world.writes(&id, "/workspace/new", "new").await;
    let Ok(CheckpointDone::Compared(compared)) = calls(world, &id, ANY, &diff()).await else { panic!() };
    assert!(compared.diff.contains("file") && compared.diff.contains("new") && !compared.truncated, "{compared:?}");
    let Ok(CheckpointDone::Restored(restored)) = calls(world, &id, ANY, &restore()).await else { panic!() };
    assert_eq!((restored.commit, restored.changed_count), (made.checkpoint.commit, 2));
    assert_eq!(restored.changed, ["file", "new"]);
    assert!(restored.before.is_some());
    assert_eq!(world.reads(&id, "/workspace/file").await.as_deref(), Some("first"));
    assert_eq!(world.reads(&id, "/workspace/new").await, None);

    let Ok(CheckpointDone::Restored(again)) = calls(world, &id, ANY, &restore()).await else { panic!() };
    assert_eq!((again.changed_count, again.before), (0, None));
    let Ok(CheckpointDone::Compared(same)) = calls(world, &id, ANY, &diff()).await else { panic!() };
    assert_eq!((same.diff.as_str(), same.size_bytes), ("", 0));
}

async fn a_name_that_is_used_again_moves(world: &impl World) {
    let id = world.sandbox("agent");
    world.writes(&id, "/workspace/file", "first").await;
    let Ok(CheckpointDone::Created(first)) = calls(world, &id, ANY, &create()).await else { panic!() };
    world.writes(&id, "/workspace/file", "second").await;
    let Ok(CheckpointDone::Created(second)) = calls(world, &id, ANY, &create()).await else { panic!() };
    assert_eq!(second.replaced, Some(first.checkpoint.commit));
    let Ok(CheckpointDone::Listed(listed)) = calls(world, &id, ANY, &LIST).await else { panic!() };
    assert_eq!(listed.checkpoints, [second.checkpoint]);
}

async fn a_list_has_pages(world: &impl World) {
    let id = world.sandbox("agent");
    world.writes(&id, "/workspace/file", "first").await;
    for name in ["a", "b", "c"] {
        let name = CheckpointName::parse(name).unwrap();
        let create = CheckpointCall::Create { description: CheckpointDescription::of(&name), name };
        calls(world, &id, ANY, &create).await.unwrap();
    }
    let Ok(CheckpointDone::Listed(whole)) = calls(world, &id, ANY, &LIST).await else { panic!() };
    let (mut read, mut after, mut sizes) = (Vec::new(), None, Vec::new());
    loop {
        let call = CheckpointCall::List { after, limit: 2 };
        let Ok(CheckpointDone::Listed(page)) = calls(world, &id, ANY, &call).await else { panic!() };
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
    world.writes(&id, "/workspace/file", "first").await;
    for call in [restore(), diff()] {
        assert_eq!(calls(world, &id, ANY, &call).await, Err(CheckpointRefusal::Unknown));
    }
}

async fn checkpoints_of_what_is_no_directory_are_refused(world: &impl World) {
    let id = world.sandbox("agent");
    world.writes(&id, "/workspace/file", "first").await;
    for (dir, place) in [("/workspace/missing", Place::Missing), ("/workspace/file", Place::NotDirectory)] {
        let dir = Directory::parse(dir).unwrap();
        let answer = world.sandboxes().checkpoint(&id, &dir, ANY, &create()).await.unwrap();
        assert_eq!(answer, Err(CheckpointRefusal::NoDirectory(place)));
    }
}

async fn nothing_is_done_in_a_container_that_is_too_young(world: &impl World) {
    let id = world.sandbox("agent");
    let age = probe(world, &id, "/workspace").await.age_millis;
    let an_hour = age + 3_600_000;
    let is_its_age = |refusal: &CheckpointRefusal| matches!(refusal, CheckpointRefusal::Young { age_millis } if (age..an_hour).contains(age_millis));
    refused(world, &id, Meant::Aged(an_hour), is_its_age).await;
    calls(world, &id, Meant::Aged(age), &create()).await.unwrap();
}

async fn nothing_is_done_in_a_container_that_took_the_place_of_another(world: &impl World) {
    let id = world.sandbox("agent");
    world.sandboxes().note_took_place(&id, true).await.unwrap();
    refused(world, &id, ANY, |refusal| *refusal == CheckpointRefusal::TookPlace).await;
}

async fn nothing_is_done_in_a_container_that_was_not_handed_out(world: &impl World) {
    let id = world.sandbox("agent");
    let is_not_handed_out = |refusal: &CheckpointRefusal| *refusal == CheckpointRefusal::NotHandedOut;
    refused(world, &id, Meant::HandedOut, is_not_handed_out).await;
    let [filling, ready] = [Stamp::Filling("a".into()), Stamp::Ready("a".into())];
    assert!(puts(world, &id, None, &filling).await);
    refused(world, &id, Meant::HandedOut, is_not_handed_out).await;
    assert!(puts(world, &id, Some(&filling), &ready).await);
    calls(world, &id, Meant::HandedOut, &create()).await.unwrap();
}
