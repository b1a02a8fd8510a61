//! The storage of backups in R2.

use std::collections::BTreeMap;

use sandbox_snapshotter::model::archive::{Answer, ArchiveLocation, MissingArchive, Outcome, Request};
use sandbox_snapshotter::model::{BackupId, BackupLocation, BackupObject, BackupObjectKind, Timestamp};
use sandbox_snapshotter::ports::{BackupStore, Clock};

use super::Case;
use super::world::{World, create_backup};

/// The maximum age of an object that a case has just stored, in milliseconds. Far more than any case takes.
const RECENT_MILLIS: i64 = 120_000;

pub fn cases<W: World>() -> Vec<Case<W>> {
    vec![
        case!(async missing_backup_is_not_found),
        case!(async metadata_match_the_archive),
        case!(async archive_has_a_stable_size_and_checksum),
        case!(async archive_prefix_has_the_requested_length_or_that_of_the_archive),
        case!(async content_of_an_archive_is_read_by_path),
        case!(async archive_and_metadata_are_independent_objects),
        case!(async listing_contains_each_backup_once),
        case!(async each_object_of_a_backup_is_listed_while_it_exists),
        case!(async delete_removes_only_its_backup),
        case!(async delete_is_idempotent),
        case!(async delete_removes_an_incomplete_backup),
    ]
}

async fn missing_backup_is_not_found(world: &impl World) {
    let backups = world.backups();
    let id = BackupId::parse("6b1f0c1e-ffff-4fff-8fff-ffffffffffff").unwrap();
    assert_eq!(backups.get_metadata(&id).await, Ok(None));
    assert_eq!(backups.head_archive(&pair(&id)).await, Ok(None));
    assert_eq!(backups.read_archive_prefix(&pair(&id), 4).await, Ok(None));
    assert_eq!(backups.hash_archive(&pair(&id)).await, Ok(None));
    let request = Request::Stat { path: "/".into() };
    assert_eq!(backups.read_archive(&full(&id), &request).await, Ok(Err(MissingArchive(id.clone()))));
    let stored = create_backup(world, "agent", "content").await;
    let delta = ArchiveLocation::Delta { base: pair(stored.id()), carrier: pair(&id), head: String::new() };
    assert_eq!(backups.read_archive(&delta, &request).await, Ok(Err(MissingArchive(id.clone()))));
    assert_eq!(backups.delete(&pair(&id)).await, Ok(()));
}

async fn metadata_match_the_archive(world: &impl World) {
    let handle = create_backup(world, "agent", "content").await;
    let backups = world.backups();
    let metadata = backups.get_metadata(handle.id()).await.unwrap().unwrap();
    assert_eq!(metadata.id, *handle.id());
    assert_eq!(metadata.dir, "/workspace");
    assert_eq!(metadata.name.as_deref(), Some("agent"));
    assert_eq!(metadata.usable_until().millis_since(metadata.created_at), 3540 * 1000);
    assert_recent(world, metadata.created_at);
    let archive = backups.head_archive(&pair(handle.id())).await.unwrap().unwrap();
    assert_eq!(metadata.size_bytes, archive.size_bytes);
    assert!(archive.size_bytes > 0);
}

async fn archive_has_a_stable_size_and_checksum(world: &impl World) {
    let (handle, other) =
        (create_backup(world, "agent", "content").await, create_backup(world, "other", "other content").await);
    let backups = world.backups();
    let archive = backups.head_archive(&pair(handle.id())).await.unwrap().unwrap();
    assert_eq!(backups.head_archive(&pair(handle.id())).await.unwrap().as_ref(), Some(&archive));
    let other = backups.head_archive(&pair(other.id())).await.unwrap().unwrap();
    let Some(checksum) = archive.checksum else { return };
    let digits = checksum.strip_prefix("md5:").expect("the algorithm as a prefix");
    assert!(digits.len() == 32 && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')), "{checksum}");
    assert_ne!(Some(checksum), other.checksum, "different archives have different checksums");
}

async fn archive_prefix_has_the_requested_length_or_that_of_the_archive(world: &impl World) {
    let handle = create_backup(world, "agent", "content").await;
    let backups = world.backups();
    let prefix = async |length| backups.read_archive_prefix(&pair(handle.id()), length).await.unwrap().unwrap();
    let whole = prefix(u32::MAX).await;
    assert_eq!(whole.len() as u64, backups.head_archive(&pair(handle.id())).await.unwrap().unwrap().size_bytes);
    for length in [1, 4, 96] {
        assert_eq!(prefix(length).await, whole[..length as usize]);
    }
}

async fn content_of_an_archive_is_read_by_path(world: &impl World) {
    let handle = create_backup(world, "agent", "content").await;
    let read =
        async |request: Request| world.backups().read_archive(&full(handle.id()), &request).await.unwrap().unwrap();
    let (outcome, _) = read(Request::List { path: "/".into(), after: None, limit: 10 }).await;
    let Outcome::Answer(Answer::Page { entries, next: None }) = outcome else { panic!("{outcome:?}") };
    let names: Vec<_> = entries.iter().map(|entry| entry.name.as_bytes()).collect();
    assert_eq!(names, [b"file"]);
    let (outcome, bytes) = read(Request::Read { path: "file".into(), offset: 3, length: 100 }).await;
    let Outcome::Answer(Answer::Entry(attributes)) = outcome else { panic!("{outcome:?}") };
    assert_eq!((attributes.size, &bytes[..]), (7, b"tent".as_slice()));
    let (outcome, _) = read(Request::Stat { path: "missing".into() }).await;
    assert_eq!(outcome, Outcome::NotFound);
}

async fn archive_and_metadata_are_independent_objects(world: &impl World) {
    let (first, second) = (create_backup(world, "agent", "1").await, create_backup(world, "agent", "2").await);
    let backups = world.backups();
    world.delete_object(&archive_key(world, first.id())).await;
    assert_eq!(backups.head_archive(&pair(first.id())).await, Ok(None));
    assert_eq!(backups.read_archive_prefix(&pair(first.id()), 4).await, Ok(None));
    assert!(backups.get_metadata(first.id()).await.unwrap().is_some());
    world.delete_object(&metadata_key(world, second.id())).await;
    assert_eq!(backups.get_metadata(second.id()).await, Ok(None));
    assert!(backups.head_archive(&pair(second.id())).await.unwrap().is_some());
}

async fn listing_contains_each_backup_once(world: &impl World) {
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

async fn each_object_of_a_backup_is_listed_while_it_exists(world: &impl World) {
    let (bare, whole) = (create_backup(world, "agent", "1").await, create_backup(world, "agent", "2").await);
    assert_eq!(
        listed_kinds(world, whole.id()).await,
        [BackupObjectKind::Archive, BackupObjectKind::Metadata],
        "the archive is listed first"
    );
    world.delete_object(&metadata_key(world, bare.id())).await;
    assert_eq!(listed_kinds(world, bare.id()).await, [BackupObjectKind::Archive]);
    world.delete_object(&archive_key(world, whole.id())).await;
    assert_eq!(listed_kinds(world, whole.id()).await, [BackupObjectKind::Metadata]);
}

async fn delete_removes_only_its_backup(world: &impl World) {
    let (gone, other) = (create_backup(world, "agent", "1").await, create_backup(world, "agent", "2").await);
    let backups = world.backups();
    backups.delete(&pair(gone.id())).await.unwrap();
    assert_eq!(backups.get_metadata(gone.id()).await, Ok(None));
    assert_eq!(backups.head_archive(&pair(gone.id())).await, Ok(None));
    assert!(!listed_uploads(world).await.contains_key(gone.id()));
    assert!(backups.get_metadata(other.id()).await.unwrap().is_some());
    assert!(backups.head_archive(&pair(other.id())).await.unwrap().is_some());
}

async fn delete_is_idempotent(world: &impl World) {
    let handle = create_backup(world, "agent", "content").await;
    let backups = world.backups();
    assert_eq!(backups.delete(&pair(handle.id())).await, Ok(()));
    assert_eq!(backups.delete(&pair(handle.id())).await, Ok(()));
}

async fn delete_removes_an_incomplete_backup(world: &impl World) {
    let (first, second) = (create_backup(world, "agent", "1").await, create_backup(world, "agent", "2").await);
    let backups = world.backups();
    world.delete_object(&metadata_key(world, first.id())).await;
    world.delete_object(&archive_key(world, second.id())).await;
    for handle in [first, second] {
        backups.delete(&pair(handle.id())).await.unwrap();
        assert_eq!(backups.head_archive(&pair(handle.id())).await, Ok(None));
        assert_eq!(backups.get_metadata(handle.id()).await, Ok(None));
    }
}

/// The kinds of a backup's listed objects, in the order of the listing. Checks the listed size of the archive.
async fn listed_kinds(world: &impl World, id: &BackupId) -> Vec<BackupObjectKind> {
    let objects: Vec<BackupObject> =
        list_all(world).await.into_iter().filter(|object| object.location == pair(id)).collect();
    for object in objects.iter().filter(|object| object.kind == BackupObjectKind::Archive) {
        let archive = world.backups().head_archive(&pair(id)).await.unwrap().unwrap();
        assert_eq!(object.size_bytes, archive.size_bytes);
    }
    objects.iter().map(|object| object.kind).collect()
}

/// The upload times of each backup's metadata, one for each time that the backup is listed.
async fn listed_uploads(world: &impl World) -> BTreeMap<BackupId, Vec<Timestamp>> {
    let mut listed: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for object in list_all(world).await.into_iter().filter(|object| object.kind == BackupObjectKind::Metadata) {
        listed.entry(object.location.id().clone()).or_default().push(object.uploaded_at);
    }
    listed
}

/// All listed objects, over all pages.
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

/// The location of a backup with metadata beside its archive.
fn pair(id: &BackupId) -> BackupLocation {
    BackupLocation::Pair(id.clone())
}

/// The archive of a full snapshot, with metadata beside it.
fn full(id: &BackupId) -> ArchiveLocation {
    ArchiveLocation::Full(pair(id))
}

fn archive_key(world: &impl World, id: &BackupId) -> String {
    find_key(world, id, |key| !key.ends_with("/meta.json"))
}

fn metadata_key(world: &impl World, id: &BackupId) -> String {
    find_key(world, id, |key| key.ends_with("/meta.json"))
}

fn find_key(world: &impl World, id: &BackupId, matches: impl Fn(&str) -> bool) -> String {
    let keys = world.backups().object_keys(&pair(id));
    assert_eq!(keys.len(), 2, "{keys:?}");
    keys.into_iter().find(|key| matches(key)).unwrap()
}

fn assert_recent(world: &impl World, time: Timestamp) {
    let age = world.clock().now().millis_since(time);
    assert!((0..RECENT_MILLIS).contains(&age), "{age} ms ago");
}
