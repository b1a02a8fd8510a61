//! The marker of a container, and the restores that it guards.

use std::collections::BTreeMap;

use futures_util::future::join_all;
use sandbox_snapshotter::model::named::ContainerMarker;
use sandbox_snapshotter::model::{Arrival, Directory, DirectoryContent, MarkerOutcome, SandboxId, Status};
use sandbox_snapshotter::ports::{SandboxSession, Sandboxes};

use super::Case;
use super::container::CONTENT_SHA256;
use super::sandboxes::{probe, status_of};
use super::world::{World, backup_options, work_dir};

pub fn cases<W: World>() -> Vec<Case<W>> {
    vec![
        case!(async marker_is_updated_only_if_the_current_marker_matches),
        case!(async marker_starts_the_container_and_ends_with_it),
        case!(async marker_is_returned_unchanged),
        case!(async concurrent_marker_updates_succeed_once),
        case!(async marker_for_an_older_container_is_not_written_to_a_younger_one),
        case!(async begin_restore_marks_the_container_and_returns_its_files),
        case!(async begin_restore_with_a_token_requires_a_disk_with_the_token),
        case!(async complete_restore_updates_the_marker_once_the_files_arrived),
        case!(async restore_fails_in_another_container_than_the_expected_one),
    ]
}

async fn marker_is_updated_only_if_the_current_marker_matches(world: &impl World) {
    let id = world.sandbox("agent");
    let [restoring, restored, ready, another] = [
        ContainerMarker::Restoring("a".into()),
        ContainerMarker::Restored("a".into()),
        ContainerMarker::Ready("a".into()),
        ContainerMarker::Ready("b".into()),
    ];
    for (from, to, is_put, after) in [
        (Some(&restoring), &restored, false, None),
        (None, &restoring, true, Some(&restoring)),
        (None, &restoring, false, Some(&restoring)),
        (None, &another, false, Some(&restoring)),
        (Some(&restored), &another, false, Some(&restoring)),
        (Some(&restoring), &restored, true, Some(&restored)),
        (Some(&restoring), &restored, false, Some(&restored)),
        (Some(&restored), &ready, true, Some(&ready)),
        (Some(&another), &restoring, false, Some(&ready)),
        (Some(&ready), &ready, true, Some(&ready)),
    ] {
        assert_eq!(put_marker(world, &id, from, to).await, is_put, "{from:?} to {to:?}");
        assert_eq!(probe(world, &id, "/workspace").await.marker.as_ref(), after, "{from:?} to {to:?}");
    }
}

async fn marker_starts_the_container_and_ends_with_it(world: &impl World) {
    let id = world.sandbox("agent");
    let ready = put_first_marker(world, &id).await;
    assert_eq!(status_of(world, &id).await.status, Status::Healthy);
    let first = probe(world, &id, "/workspace").await;
    assert_eq!(
        (first.marker, first.directory_content),
        (Some(ready.clone()), DirectoryContent::Empty),
        "the marker is outside of the directory"
    );
    world.sandboxes().destroy(&id).await.unwrap();
    assert_eq!(probe(world, &id, "/workspace").await.marker, None);
    assert!(!put_marker(world, &id, Some(&ready), &ready).await);
}

async fn marker_is_returned_unchanged(world: &impl World) {
    let id = world.sandbox("agent");
    let mut last = None;
    for nonce in ["k3f9x2ab", "it's \"quoted\" $(here) \\ %s", "-n", "文件 🗂"] {
        let next = ContainerMarker::Ready(nonce.into());
        assert!(put_marker(world, &id, last.as_ref(), &next).await);
        let probed = probe(world, &id, "/workspace").await;
        assert_eq!((probed.marker.as_ref(), probed.is_replacement), (Some(&next), false));
        last = Some(next);
    }
    world.sandboxes().set_replaced_note(&id, true).await.unwrap();
    let probed = probe(world, &id, "/workspace").await;
    assert_eq!((probed.marker, probed.is_replacement), (last, true));
}

async fn concurrent_marker_updates_succeed_once(world: &impl World) {
    let id = world.sandbox("agent");
    world.write_file(&id, "/workspace/file", "content").await;
    let nonces: Vec<String> = (0..10).map(|number| number.to_string()).collect();
    let put = |nonce: &String| {
        let marker = ContainerMarker::Restoring(nonce.clone());
        let id = &id;
        async move { put_marker(world, id, None, &marker).await }
    };
    let is_put = join_all(nonces.iter().map(put)).await;
    let written: Vec<_> = nonces.iter().zip(is_put).filter(|(_, is_put)| *is_put).map(|(nonce, _)| nonce).collect();
    assert_eq!(written.len(), 1, "{written:?}");
    assert_eq!(probe(world, &id, "/workspace").await.marker, Some(ContainerMarker::Restoring(written[0].clone())));
}

async fn marker_for_an_older_container_is_not_written_to_a_younger_one(world: &impl World) {
    let id = world.sandbox("agent");
    let ready = ContainerMarker::Ready("a".into());
    let outcome =
        async |millis| world.sandboxes().update_marker(&id, None, &ready, Some(millis)).await.unwrap().outcome;
    assert_eq!(outcome(3_600_000).await, MarkerOutcome::TooYoung);
    assert_eq!(probe(world, &id, "/workspace").await.marker, None);
    world.sandboxes().set_replaced_note(&id, true).await.unwrap();
    assert_eq!(outcome(0).await, MarkerOutcome::TooYoung, "the container is a replacement");
    world.sandboxes().set_replaced_note(&id, false).await.unwrap();
    assert_eq!(outcome(0).await, MarkerOutcome::Updated);
}

async fn begin_restore_marks_the_container_and_returns_its_files(world: &impl World) {
    let id = world.sandbox("agent");
    world.write_file(&id, "/home/file", "content").await;
    let dir = Directory::parse("/workspace").unwrap();
    let (restoring, files) = (ContainerMarker::Restoring("a".into()), ["/home/file".to_owned()]);
    let begun = world.sandboxes().begin_restore(&id, None, &restoring, None, &dir, &files).await.unwrap().unwrap();
    assert_eq!(
        (begun.listing.content_hash, begun.hashes),
        (None, BTreeMap::from([("/home/file".into(), CONTENT_SHA256.into())]))
    );
    assert_eq!(probe(world, &id, "/workspace").await.marker, Some(restoring.clone()));
    let again =
        world.sandboxes().begin_restore(&id, None, &ContainerMarker::Restoring("b".into()), None, &dir, &files).await;
    assert_eq!(again, Ok(None));
    assert_eq!(probe(world, &id, "/workspace").await.marker, Some(restoring));
}

async fn begin_restore_with_a_token_requires_a_disk_with_the_token(world: &impl World) {
    let id = world.sandbox("agent");
    let (dir, restoring) = (Directory::parse("/workspace").unwrap(), ContainerMarker::Restoring("a".into()));
    let begun = world.sandboxes().begin_restore(&id, None, &restoring, Some("token"), &dir, &[]).await;
    assert_eq!((begun, probe(world, &id, "/workspace").await.marker), (Ok(None), None));
}

async fn complete_restore_updates_the_marker_once_the_files_arrived(world: &impl World) {
    let (from, id) = (world.sandbox("from"), world.sandbox("agent"));
    world.write_file(&from, "/workspace/file", "content").await;
    let handle =
        world.sandboxes().open_session(&from).create_backup(&backup_options("/workspace"), None).await.unwrap();
    let [restoring, ready, other] = ["a", "b", "c"].map(|nonce| ContainerMarker::Ready(nonce.into()));
    let complete = async |from: &ContainerMarker, may_be_empty| {
        world.sandboxes().complete_restore(&id, &handle, from, &ready, may_be_empty).await.unwrap()
    };
    assert_eq!(complete(&restoring, false).await, Arrival::OtherContainer, "it has no marker");
    assert!(put_marker(world, &id, None, &restoring).await);
    assert_eq!(complete(&restoring, false).await, Arrival::FilesMissing(DirectoryContent::Empty));
    world.sandboxes().open_session(&id).restore_backup(&handle, 4096, None).await.unwrap();
    assert_eq!(complete(&other, false).await, Arrival::OtherContainer);
    assert_eq!(probe(world, &id, "/workspace").await.marker, Some(restoring.clone()));
    assert_eq!(complete(&restoring, false).await, Arrival::Complete);
    assert_eq!(complete(&restoring, false).await, Arrival::Complete, "the restore is complete already");
    assert_eq!(probe(world, &id, "/workspace").await.marker, Some(ready.clone()));
}

async fn restore_fails_in_another_container_than_the_expected_one(world: &impl World) {
    let (from, id) = (world.sandbox("from"), world.sandbox("agent"));
    world.write_file(&from, "/workspace/file", "content").await;
    let sandboxes = world.sandboxes();
    let handle = sandboxes.open_session(&from).create_backup(&backup_options("/workspace"), None).await.unwrap();
    let session = sandboxes.open_session(&id);
    let marker = ContainerMarker::Restoring("a".into());
    let Some(expected) = session.update_marker(None, &marker).await.unwrap().container_id else {
        return; // The class gives containers no id.
    };
    assert_eq!(session.update_marker(Some(&marker), &marker).await.unwrap().container_id.as_ref(), Some(&expected));
    session.restore_backup(&handle, 0, Some(&expected)).await.unwrap();
    assert_eq!(world.read_file(&id, "/workspace/file").await.as_deref(), Some("content"));

    sandboxes.destroy(&id).await.unwrap();
    let failure = sandboxes.open_session(&id).restore_backup(&handle, 0, Some(&expected)).await.unwrap_err();
    assert_eq!(failure.code.as_deref(), Some("CONTAINER_REPLACED"), "{failure:?}");
    assert_eq!(sandboxes.status(&id).await.unwrap().status, Status::Down, "no container was started");

    let begun = sandboxes.begin_restore(&id, None, &marker, None, &work_dir(), &[]).await.unwrap().unwrap();
    assert_ne!(begun.container_id.as_ref(), Some(&expected));
    let failure = sandboxes.open_session(&id).restore_backup(&handle, 0, Some(&expected)).await.unwrap_err();
    assert_eq!(failure.code.as_deref(), Some("CONTAINER_REPLACED"), "{failure:?}");
    assert_eq!(world.read_file(&id, "/workspace/file").await, None);
}

/// Updates the marker of a container, and returns whether its current marker matched `from`.
pub async fn put_marker(
    world: &impl World,
    id: &SandboxId,
    from: Option<&ContainerMarker>,
    to: &ContainerMarker,
) -> bool {
    let update = world.sandboxes().update_marker(id, from, to, None).await.unwrap();
    assert!(update.age_millis >= 0 && update.elapsed_millis >= 0, "{update:?}");
    match update.outcome {
        MarkerOutcome::Updated => true,
        MarkerOutcome::OtherMarker(marker) => {
            assert_ne!(marker.as_ref(), from);
            false
        }
        MarkerOutcome::TooYoung => panic!("the update has no minimum age"),
    }
}

/// Writes the first marker of a container.
pub async fn put_first_marker(world: &impl World, id: &SandboxId) -> ContainerMarker {
    let marker = ContainerMarker::Ready("k3f9x2ab".into());
    assert!(put_marker(world, id, None, &marker).await);
    marker
}
