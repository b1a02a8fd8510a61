//! R2 alone, where the bucket can contain any object.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use sandbox_snapshotter::model::{BackupId, BackupLocation, BackupObject, BackupObjectKind, LocatedBackup, ShortId};
use sandbox_snapshotter::ports::{BackupStore, Entropy};
use serde_json::json;

use crate::real::Real;
use crate::suite::Case;
use crate::suite::world::World;

pub fn cases() -> Vec<Case<Real>> {
    vec![
        case!(async head_archive_returns_the_checksum_of_the_archive),
        case!(async head_archive_finds_an_empty_archive),
        case!(async get_metadata_fails_for_malformed_metadata),
        case!(async list_omits_objects_with_other_keys),
        case!(async list_returns_each_backup_once_over_many_pages),
        case!(async directory_backup_is_one_object_with_its_mark),
        case!(async list_finds_directory_backups_directly_below_the_prefix),
        case!(async delete_removes_only_the_object_of_a_directory_backup),
    ]
}

async fn head_archive_returns_the_checksum_of_the_archive(real: &Real) {
    let id = mint_backup_id(real);
    real.put_object(&format!("backups/{id}/data.sqsh"), b"abc").await;
    let archive = real.backups().head_archive(&pair(&id)).await.unwrap().unwrap();
    assert_eq!((archive.size_bytes, archive.mark), (3, None));
    assert_eq!(archive.checksum.as_deref(), Some("md5:900150983cd24fb0d6963f7d28e17f72"));
    let hash = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(real.backups().hash_archive(&pair(&id)).await.unwrap().as_deref(), Some(hash));
    assert_eq!(real.backups().read_archive_prefix(&pair(&id), 2).await, Ok(Some(b"ab".to_vec())));
}

async fn head_archive_finds_an_empty_archive(real: &Real) {
    let id = mint_backup_id(real);
    real.put_object(&format!("backups/{id}/data.sqsh"), b"").await;
    assert_eq!(real.backups().head_archive(&pair(&id)).await.unwrap().unwrap().size_bytes, 0);
}

async fn get_metadata_fails_for_malformed_metadata(real: &Real) {
    let large = [b"{\"name\": \"", [b'a'; 20_000].as_slice(), b"\"}"].concat();
    for content in [b"".as_slice(), b"null", b"{}", b"{\"id\": ", b"\xff", &large] {
        let id = mint_backup_id(real);
        real.put_object(&format!("backups/{id}/meta.json"), content).await;
        let failure = real.backups().get_metadata(&id).await.unwrap_err();
        assert!(failure.is_protocol(), "{failure:?}");
        assert!(list_all(real).await.contains(&id), "list includes malformed metadata");
    }
}

async fn list_omits_objects_with_other_keys(real: &Real) {
    let id = mint_backup_id(real);
    let key_of_metadata = format!("backups/{id}/meta.json");
    let before = list_all(real).await;
    for key in [
        &format!("x{key_of_metadata}"),
        &format!("{key_of_metadata}.bak"),
        &format!("backups/{id}/x/meta.json"),
        "backups/meta.json",
    ] {
        real.put_object(key, b"{}").await;
    }
    for key in [format!("backups/{id} {id}/meta.json"), format!("backups/{id}/data.sqsh.bak"), id.to_string()] {
        real.put_object(&key, b"{}").await;
    }
    assert_eq!(list_all(real).await, before);
}

async fn list_returns_each_backup_once_over_many_pages(real: &Real) {
    let ids: BTreeSet<BackupId> = (0..1010).map(|_| mint_backup_id(real)).collect();
    for chunk in ids.iter().collect::<Vec<_>>().chunks(100) {
        let puts = chunk.iter().map(async |id| real.put_object(&format!("backups/{id}/meta.json"), b"{}").await);
        join_all(puts).await;
    }
    let mut found = list_all(real).await;
    found.retain(|id| ids.contains(id));
    assert_eq!(found.len(), ids.len());
    assert_eq!(BTreeSet::from_iter(found), ids);
}

async fn directory_backup_is_one_object_with_its_mark(real: &Real) {
    let (backup, mark) = (directory_backup(real), "snapshotter/1 snap-0123456789abcdef agent-42");
    let backups = real.backups();
    assert_eq!(backups.head_archive(backup.location()).await, Ok(None));
    assert_eq!(backups.hash_archive(backup.location()).await, Ok(None));
    let keys = backups.object_keys(backup.location());
    assert_eq!(keys, [format!("saved/{}.tar.zst", backup.id())]);
    for (name, found) in [(mark, Some(mark.to_owned())), ("the application's own", None)] {
        real.put_named_object(&keys[0], b"abc", name).await;
        let archive = backups.head_archive(backup.location()).await.unwrap().unwrap();
        assert_eq!((archive.size_bytes, archive.mark.map(|mark| mark.to_string())), (3, found));
    }
    assert_eq!(backups.read_archive_prefix(backup.location(), 2).await, Ok(Some(b"ab".to_vec())));
    let hash = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(backups.hash_archive(backup.location()).await.unwrap().as_deref(), Some(hash));
    assert_eq!(backups.get_metadata(backup.id()).await, Ok(None));
}

async fn list_finds_directory_backups_directly_below_the_prefix(real: &Real) {
    let (backup, other) = (directory_backup(real), directory_backup(real));
    let listed = async || {
        let objects = list_objects(real).await;
        objects
            .into_iter()
            .filter(|object| [backup.id(), other.id()].contains(&object.location.id()))
            .collect::<Vec<_>>()
    };
    let id = other.id();
    for key in [format!("{id}.tar.zst"), format!("saved/{id}.tar.gz"), format!("saved/folder/{id}.tar.zst")] {
        real.put_object(&key, b"abc").await;
    }
    real.put_object(&real.backups().object_keys(backup.location())[0], b"abcd").await;
    let [object] = &listed().await[..] else { panic!("one object is a backup") };
    assert_eq!((&object.location, object.kind), (backup.location(), BackupObjectKind::DirectoryBackup));
    assert_eq!(object.size_bytes, 4);
}

async fn delete_removes_only_the_object_of_a_directory_backup(real: &Real) {
    let (backup, other) = (directory_backup(real), directory_backup(real));
    let pair = format!("backups/{}/data.sqsh", backup.id());
    real.put_object(&pair, b"abc").await;
    for stored in [&backup, &other] {
        real.put_object(&real.backups().object_keys(stored.location())[0], b"abc").await;
    }
    for _ in 0..2 {
        assert_eq!(real.backups().delete(backup.location()).await, Ok(()));
    }
    assert_eq!(real.backups().head_archive(backup.location()).await, Ok(None));
    assert!(real.backups().head_archive(other.location()).await.unwrap().is_some());
    assert!(real.backups().head_archive(&BackupLocation::Pair(backup.id().clone())).await.unwrap().is_some());
}

/// Returns a record with a new id. Its object does not exist.
fn directory_backup(real: &Real) -> LocatedBackup {
    let record = json!({
        "id": mint_backup_id(real), "dir": "/workspace", "size": 3, "sha256": "a".repeat(64), "format": "tar+zstd/1",
    });
    real.backups().locate(serde_json::from_value(record).unwrap())
}

/// Lists the ids of all backups, including duplicates.
async fn list_all(real: &Real) -> Vec<BackupId> {
    list_objects(real).await.into_iter().map(|object| object.location.id().clone()).collect()
}

async fn list_objects(real: &Real) -> Vec<BackupObject> {
    let mut listed = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let page = real.backups().list(cursor.as_deref()).await.unwrap();
        listed.extend(page.objects);
        cursor = page.cursor;
        if cursor.is_none() {
            return listed;
        }
    }
}

fn pair(id: &BackupId) -> BackupLocation {
    BackupLocation::Pair(id.clone())
}

fn mint_backup_id(real: &Real) -> BackupId {
    let random = ShortId::from_random(&real.entropy().random_bytes().unwrap()).unwrap();
    BackupId::parse(&format!("stored-{}", random.as_str())).unwrap()
}
