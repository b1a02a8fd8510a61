//! The bucket that backups are in.

use std::collections::BTreeMap;

use sandbox_snapshotter::model::{BackupId, BackupObject, BackupObjectKind, Timestamp};
use sandbox_snapshotter::ports::{BackupStore, Clock};

use super::Case;
use super::world::{World, create_backup};

/// Far more than anything here takes, in milliseconds.
const RECENT_MILLIS: i64 = 120_000;

pub fn cases<W: World>() -> Vec<Case<W>> {
    vec![
        case!(async what_was_never_stored_is_definitely_not_there),
        case!(async a_backup_has_metadata_that_agree_with_its_archive),
        case!(async an_archive_keeps_its_size_and_its_checksum),
        case!(async the_head_of_an_archive_is_as_long_as_asked_or_as_there_is),
        case!(async the_two_objects_of_a_backup_are_told_apart),
        case!(async a_listing_has_each_backup_once),
        case!(async each_object_of_a_backup_is_listed_while_it_is_there),
        case!(async a_deleted_backup_is_gone_and_others_stay),
        case!(async deleting_again_is_fine),
        case!(async half_a_backup_is_deleted_too),
    ]
}

async fn what_was_never_stored_is_definitely_not_there(world: &impl World) {
    let backups = world.backups();
    let id = BackupId::parse("6b1f0c1e-ffff-4fff-8fff-ffffffffffff").unwrap();
    assert_eq!(backups.get_metadata(&id).await, Ok(None));
    assert_eq!(backups.head_archive(&id).await, Ok(None));
    assert_eq!(backups.read_archive_prefix(&id, 4).await, Ok(None));
    assert_eq!(backups.delete(&id).await, Ok(()));
}

async fn a_backup_has_metadata_that_agree_with_its_archive(world: &impl World) {
    let handle = create_backup(world, "agent", "content").await;
    let backups = world.backups();
    let metadata = backups.get_metadata(handle.id()).await.unwrap().unwrap();
    assert_eq!(metadata.id, *handle.id());
    assert_eq!(metadata.dir, "/workspace");
    assert_eq!(metadata.name.as_deref(), Some("agent"));
    assert_eq!(metadata.usable_until().millis_since(metadata.created_at), 3540 * 1000);
    assert_recent(world, metadata.created_at);
    let archive = backups.head_archive(handle.id()).await.unwrap().unwrap();
    assert_eq!(metadata.size_bytes, archive.size_bytes);
    assert!(archive.size_bytes > 0);
}

async fn an_archive_keeps_its_size_and_its_checksum(world: &impl World) {
    let (handle, other) =
        (create_backup(world, "agent", "content").await, create_backup(world, "other", "other content").await);
    let backups = world.backups();
    let archive = backups.head_archive(handle.id()).await.unwrap().unwrap();
    assert_eq!(backups.head_archive(handle.id()).await.unwrap().as_ref(), Some(&archive));
    let other = backups.head_archive(other.id()).await.unwrap().unwrap();
    let Some(checksum) = archive.checksum else { return };
    let digits = checksum.strip_prefix("md5:").expect("it says how it was made");
    assert!(digits.len() == 32 && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')), "{checksum}");
    assert_ne!(Some(checksum), other.checksum, "what differs has another checksum");
}

async fn the_head_of_an_archive_is_as_long_as_asked_or_as_there_is(world: &impl World) {
    let handle = create_backup(world, "agent", "content").await;
    let backups = world.backups();
    let head = async |length| backups.read_archive_prefix(handle.id(), length).await.unwrap().unwrap();
    let whole = head(u32::MAX).await;
    assert_eq!(whole.len() as u64, backups.head_archive(handle.id()).await.unwrap().unwrap().size_bytes);
    for length in [1, 4, 96] {
        assert_eq!(head(length).await, whole[..length as usize]);
    }
}

async fn the_two_objects_of_a_backup_are_told_apart(world: &impl World) {
    let (first, second) = (create_backup(world, "agent", "1").await, create_backup(world, "agent", "2").await);
    let backups = world.backups();
    world.delete_object(&archive_key(world, first.id())).await;
    assert_eq!(backups.head_archive(first.id()).await, Ok(None));
    assert_eq!(backups.read_archive_prefix(first.id(), 4).await, Ok(None));
    assert!(backups.get_metadata(first.id()).await.unwrap().is_some());
    world.delete_object(&metadata_key(world, second.id())).await;
    assert_eq!(backups.get_metadata(second.id()).await, Ok(None));
    assert!(backups.head_archive(second.id()).await.unwrap().is_some());
}

async fn a_listing_has_each_backup_once(world: &impl World) {
    let handles = [
        create_backup(world, "agent", "1").await,
        create_backup(world, "agent", "2").await,
        create_backup(world, "b", "3").await,
    ];
    let listed = listed_uploads(world).await;
    for handle in handles {
        let uploads = listed.get(handle.id()).map(Vec::as_slice);
        let Some([uploaded_at]) = uploads else { panic!("{handle:?} is listed as {uploads:?}") };
        assert_recent(world, *uploaded_at);
    }
}

async fn each_object_of_a_backup_is_listed_while_it_is_there(world: &impl World) {
    let (bare, whole) = (create_backup(world, "agent", "1").await, create_backup(world, "agent", "2").await);
    assert_eq!(
        listed_parts(world, whole.id()).await,
        [BackupObjectKind::Archive, BackupObjectKind::Metadata],
        "in this order"
    );
    world.delete_object(&metadata_key(world, bare.id())).await;
    assert_eq!(listed_parts(world, bare.id()).await, [BackupObjectKind::Archive]);
    world.delete_object(&archive_key(world, whole.id())).await;
    assert_eq!(listed_parts(world, whole.id()).await, [BackupObjectKind::Metadata]);
}

async fn a_deleted_backup_is_gone_and_others_stay(world: &impl World) {
    let (gone, other) = (create_backup(world, "agent", "1").await, create_backup(world, "agent", "2").await);
    let backups = world.backups();
    backups.delete(gone.id()).await.unwrap();
    assert_eq!(backups.get_metadata(gone.id()).await, Ok(None));
    assert_eq!(backups.head_archive(gone.id()).await, Ok(None));
    assert!(!listed_uploads(world).await.contains_key(gone.id()));
    assert!(backups.get_metadata(other.id()).await.unwrap().is_some());
    assert!(backups.head_archive(other.id()).await.unwrap().is_some());
}

async fn deleting_again_is_fine(world: &impl World) {
    let handle = create_backup(world, "agent", "content").await;
    let backups = world.backups();
    assert_eq!(backups.delete(handle.id()).await, Ok(()));
    assert_eq!(backups.delete(handle.id()).await, Ok(()));
}

async fn half_a_backup_is_deleted_too(world: &impl World) {
    let (first, second) = (create_backup(world, "agent", "1").await, create_backup(world, "agent", "2").await);
    let backups = world.backups();
    world.delete_object(&metadata_key(world, first.id())).await;
    world.delete_object(&archive_key(world, second.id())).await;
    for handle in [first, second] {
        backups.delete(handle.id()).await.unwrap();
        assert_eq!(backups.head_archive(handle.id()).await, Ok(None));
        assert_eq!(backups.get_metadata(handle.id()).await, Ok(None));
    }
}

/// The objects of a backup that are listed, in that order. The size of its archive is what R2 says of it.
async fn listed_parts(world: &impl World, id: &BackupId) -> Vec<BackupObjectKind> {
    let objects: Vec<BackupObject> = list_all(world).await.into_iter().filter(|object| object.id == *id).collect();
    for object in objects.iter().filter(|object| object.kind == BackupObjectKind::Archive) {
        let archive = world.backups().head_archive(id).await.unwrap().unwrap();
        assert_eq!(object.size_bytes, archive.size_bytes);
    }
    objects.iter().map(|object| object.kind).collect()
}

/// When the metadata of each backup that is listed was uploaded, as often as it is listed.
async fn listed_uploads(world: &impl World) -> BTreeMap<BackupId, Vec<Timestamp>> {
    let mut listed: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for object in list_all(world).await.into_iter().filter(|object| object.kind == BackupObjectKind::Metadata) {
        listed.entry(object.id).or_default().push(object.uploaded_at);
    }
    listed
}

/// Everything that is listed.
async fn list_all(world: &impl World) -> Vec<BackupObject> {
    let backups = world.backups();
    let mut listed = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let page = backups.list(cursor.as_deref()).await.unwrap();
        listed.extend(page.objects);
        cursor = page.cursor;
        if cursor.is_none() {
            return listed;
        }
    }
}

fn archive_key(world: &impl World, id: &BackupId) -> String {
    find_key(world, id, |key| !key.ends_with("/meta.json"))
}

fn metadata_key(world: &impl World, id: &BackupId) -> String {
    find_key(world, id, |key| key.ends_with("/meta.json"))
}

fn find_key(world: &impl World, id: &BackupId, wanted: impl Fn(&str) -> bool) -> String {
    let keys = world.backups().object_keys(id);
    assert_eq!(keys.len(), 2, "{keys:?}");
    keys.into_iter().find(|key| wanted(key)).unwrap()
}

fn assert_recent(world: &impl World, time: Timestamp) {
    let age = world.clock().now().millis_since(time);
    assert!((0..RECENT_MILLIS).contains(&age), "{age} ms ago");
}
