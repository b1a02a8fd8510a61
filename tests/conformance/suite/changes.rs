//! The detection of changes in containers.

use sandbox_snapshotter::model::change_cursor::SAVED_AT_START;
use sandbox_snapshotter::model::named::ContainerMarker;
use sandbox_snapshotter::model::{ChangeCursor, Directory, SandboxId, ShortId};
use sandbox_snapshotter::ports::{SandboxSession, Sandboxes};

use super::Case;
use super::markers::{put_first_marker, put_marker};
use super::sandboxes::probe;
use super::world::{World, backup_options, create_backup, work_dir};

pub fn cases<W: World>() -> Vec<Case<W>> {
    vec![
        case!(async changes_count_from_the_start_of_the_watch),
        case!(async change_is_reported_once),
        case!(async marker_update_restarts_the_watch),
        case!(async change_immediately_after_a_check_is_reported),
        case!(async restore_counts_as_a_change),
        case!(async new_container_counts_as_changed),
        case!(async cursors_do_not_hide_changes_from_each_other),
        case!(async late_call_of_an_earlier_stop_hides_no_change),
        case!(async watch_and_first_command_of_a_restore_tell_the_same_provenance),
        case!(async files_at_the_start_count_as_saved),
        case!(async change_is_reported_until_a_later_state_is_saved),
        case!(async unknown_state_counts_as_a_change),
        case!(async container_without_a_ready_marker_is_not_checked_for_a_save),
    ]
}

async fn changes_count_from_the_start_of_the_watch(world: &impl World) {
    let id = world.sandbox("agent");
    world.write_file(&id, "/workspace/file", "before").await;
    world.sandboxes().watch_changes(&id, &ChangeCursor::Idle, None).await.unwrap();
    assert!(!changed_since_watch(world, &id).await);
    world.write_file(&id, "/workspace/file", "after").await;
    assert!(changed_since_watch(world, &id).await);
}

async fn change_is_reported_once(world: &impl World) {
    let id = world.sandbox("agent");
    put_first_marker(world, &id).await;
    assert!(!changed_since_watch(world, &id).await);
    for (path, content) in [("/workspace/file", "first"), ("/workspace/file", "second"), ("/workspace/it's", "")] {
        world.write_file(&id, path, content).await;
        assert!(changed_since_watch(world, &id).await, "{path}");
        assert!(!changed_since_watch(world, &id).await, "{path}");
    }
    world.write_file(&id, "/home/file", "outside").await;
    assert!(!changed_since_watch(world, &id).await);
    assert_eq!(
        world
            .sandboxes()
            .changed_since_watch(&id, &Directory::parse("/workspace/none").unwrap(), &ChangeCursor::Idle, None)
            .await,
        Ok(false)
    );
}

async fn marker_update_restarts_the_watch(world: &impl World) {
    let id = world.sandbox("agent");
    for _ in 0..10 {
        world.write_file(&id, "/workspace/file", "before").await;
        let marker = probe(world, &id, "/workspace").await.marker;
        let next = ContainerMarker::Ready("k3f9x2ab".into());
        assert!(put_marker(world, &id, marker.as_ref(), &next).await);
        assert!(!changed_since_watch(world, &id).await);
    }
    world.write_file(&id, "/workspace/file", "after").await;
    assert!(!put_marker(world, &id, None, &ContainerMarker::Ready("other".into())).await);
    assert!(changed_since_watch(world, &id).await, "a refused update does not restart the watch");
}

async fn change_immediately_after_a_check_is_reported(world: &impl World) {
    let id = world.sandbox("agent");
    put_first_marker(world, &id).await;
    for number in 0..20 {
        world.write_file(&id, "/workspace/file", "content").await;
        assert!(changed_since_watch(world, &id).await, "change {number}");
    }
}

async fn restore_counts_as_a_change(world: &impl World) {
    let copy = world.sandbox("copy");
    let handle = create_backup(world, "agent", "content").await;
    put_first_marker(world, &copy).await;
    world.sandboxes().open_session(&copy).restore_backup(&handle, 0, None).await.unwrap();
    assert!(changed_since_watch(world, &copy).await);
    world.sandboxes().open_session(&copy).create_backup(&backup_options("copy"), None).await.unwrap();
    assert!(!changed_since_watch(world, &copy).await, "a backup is not a change");
}

async fn new_container_counts_as_changed(world: &impl World) {
    let id = world.sandbox("agent");
    assert!(changed_since_watch(world, &id).await);
    assert!(!changed_since_watch(world, &id).await);
    world.sandboxes().destroy(&id).await.unwrap();
    probe(world, &id, "/workspace").await;
    assert!(changed_since_watch(world, &id).await);
    assert!(!changed_since_watch(world, &id).await);
}

async fn watch_and_first_command_of_a_restore_tell_the_same_provenance(world: &impl World) {
    let id = world.sandbox("agent");
    let marker = ContainerMarker::Restoring("a".into());
    let update = world.sandboxes().open_session(&id).update_marker(None, &marker).await.unwrap();
    let watched = world.sandboxes().watch_changes(&id, &capture(1), None).await.unwrap();
    assert!(watched.as_ref().is_some_and(|known| known.packages.is_some()), "{watched:?}");
    assert_eq!(watched, update.provenance);
}

async fn cursors_do_not_hide_changes_from_each_other(world: &impl World) {
    let id = world.sandbox("agent");
    put_first_marker(world, &id).await;
    for cursor in [stop(1), capture(1)] {
        world.sandboxes().watch_changes(&id, &cursor, None).await.unwrap();
    }
    world.write_file(&id, "/workspace/file", "content").await;
    for cursor in [ChangeCursor::Idle, stop(1), capture(1)] {
        for expected in [true, false] {
            let changed = world.sandboxes().changed_since_watch(&id, &work_dir(), &cursor, None).await;
            assert_eq!(changed, Ok(expected), "{cursor:?}");
        }
    }
}

async fn late_call_of_an_earlier_stop_hides_no_change(world: &impl World) {
    let id = world.sandbox("agent");
    for cursor in [stop, capture] {
        let is_changed = async |number: u8| {
            world.sandboxes().changed_since_watch(&id, &work_dir(), &cursor(number), None).await.unwrap()
        };
        for number in [1, 2] {
            world.sandboxes().watch_changes(&id, &cursor(number), None).await.unwrap();
        }
        assert!(!is_changed(2).await);
        world.write_file(&id, "/workspace/file", "content").await;
        assert!(is_changed(1).await);
        assert!(is_changed(2).await);
        world.write_file(&id, "/workspace/file", "content").await;
        world.sandboxes().watch_changes(&id, &cursor(1), None).await.unwrap();
        assert!(is_changed(2).await);
        assert!(!is_changed(2).await, "the check renews the watch");
    }
}

fn stop(number: u8) -> ChangeCursor {
    ChangeCursor::Stop(short_id(number))
}

fn capture(number: u8) -> ChangeCursor {
    ChangeCursor::Capture(short_id(number))
}

fn short_id(number: u8) -> ShortId {
    ShortId::from_random(&[number; 32]).unwrap()
}

async fn files_at_the_start_count_as_saved(world: &impl World) {
    let id = world.sandbox("agent");
    world.write_file(&id, "/workspace/file", "restored").await;
    put_first_marker(world, &id).await;
    for _ in 0..2 {
        assert_eq!(changed_since_save(world, &id, Some(SAVED_AT_START), "s1").await, Some(false));
    }
    world.write_file(&id, "/workspace/file", "changed").await;
    assert_eq!(changed_since_save(world, &id, Some(SAVED_AT_START), "s2").await, Some(true));
}

async fn change_is_reported_until_a_later_state_is_saved(world: &impl World) {
    let id = world.sandbox("agent");
    put_first_marker(world, &id).await;
    world.write_file(&id, "/workspace/file", "first").await;
    assert_eq!(changed_since_save(world, &id, Some(SAVED_AT_START), "s1").await, Some(true));
    assert!(changed_since_watch(world, &id).await, "the check hides no change");
    assert_eq!(changed_since_save(world, &id, Some(SAVED_AT_START), "s2").await, Some(true), "s1 was not saved");
    assert_eq!(changed_since_save(world, &id, Some("s2"), "s3").await, Some(false));
    world.write_file(&id, "/workspace/file", "second").await;
    assert_eq!(changed_since_save(world, &id, Some("s2"), "s4").await, Some(true));
    world.write_file(&id, "/workspace/it's", "third").await;
    assert_eq!(changed_since_save(world, &id, Some("s4"), "s5").await, Some(true));
    assert_eq!(changed_since_save(world, &id, Some("s5"), "s6").await, Some(false));
}

async fn unknown_state_counts_as_a_change(world: &impl World) {
    let id = world.sandbox("agent");
    put_first_marker(world, &id).await;
    assert_eq!(changed_since_save(world, &id, None, "s1").await, Some(true));
    assert_eq!(changed_since_save(world, &id, Some("of another container"), "s2").await, Some(true));
}

async fn container_without_a_ready_marker_is_not_checked_for_a_save(world: &impl World) {
    let id = world.sandbox("agent");
    world.write_file(&id, "/workspace/file", "content").await;
    assert_eq!(changed_since_save(world, &id, None, "s1").await, None);
    assert!(put_marker(world, &id, None, &ContainerMarker::Restoring("k3f9x2ab".into())).await);
    assert_eq!(changed_since_save(world, &id, None, "s1").await, None);
}

async fn changed_since_save(world: &impl World, id: &SandboxId, saved: Option<&str>, next: &str) -> Option<bool> {
    world.sandboxes().changed_since_save(id, &work_dir(), saved, next, None).await.unwrap()
}

async fn changed_since_watch(world: &impl World, id: &SandboxId) -> bool {
    world.sandboxes().changed_since_watch(id, &work_dir(), &ChangeCursor::Idle, None).await.unwrap()
}
