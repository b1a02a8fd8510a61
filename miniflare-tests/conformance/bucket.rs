//! R2 alone, where the bucket can contain any object.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use sandbox_snapshotter::model::{ArchiveInfo, BackupId, ShortId};
use sandbox_snapshotter::ports::{BackupStore, Entropy};

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
    ]
}

async fn head_archive_returns_the_checksum_of_the_archive(real: &Real) {
    let id = mint_backup_id(real);
    real.put_object(&format!("backups/{id}/data.sqsh"), b"abc").await;
    let archive = ArchiveInfo { size_bytes: 3, checksum: Some("md5:900150983cd24fb0d6963f7d28e17f72".into()) };
    assert_eq!(real.backups().head_archive(&id).await, Ok(Some(archive)));
    assert_eq!(real.backups().read_archive_prefix(&id, 2).await, Ok(Some(b"ab".to_vec())));
}

async fn head_archive_finds_an_empty_archive(real: &Real) {
    let id = mint_backup_id(real);
    real.put_object(&format!("backups/{id}/data.sqsh"), b"").await;
    assert_eq!(real.backups().head_archive(&id).await.unwrap().unwrap().size_bytes, 0);
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

/// Lists all backups, including duplicates.
async fn list_all(real: &Real) -> Vec<BackupId> {
    let mut listed = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let page = real.backups().list(cursor.as_deref()).await.unwrap();
        listed.extend(page.objects.into_iter().map(|object| object.id));
        cursor = page.cursor;
        if cursor.is_none() {
            return listed;
        }
    }
}

fn mint_backup_id(real: &Real) -> BackupId {
    let random = ShortId::from_random(&real.entropy().random_bytes().unwrap()).unwrap();
    BackupId::parse(&format!("stored-{}", random.as_str())).unwrap()
}
