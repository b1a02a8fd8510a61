//! What holds for a bucket in R2 alone, where there can be anything.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use sandbox_snapshotter::model::{ArchiveInfo, BackupId, ShortId};
use sandbox_snapshotter::ports::{BackupStore, Entropy};

use crate::real::Real;
use crate::suite::Case;
use crate::suite::world::World;

pub fn cases() -> Vec<Case<Real>> {
    vec![
        case!(async the_checksum_is_that_of_the_archive),
        case!(async an_empty_archive_is_there),
        case!(async metadata_that_cant_be_read_are_a_failure_and_no_absence),
        case!(async what_else_is_in_the_bucket_is_not_listed),
        case!(async a_listing_of_many_pages_has_each_backup_once),
    ]
}

async fn the_checksum_is_that_of_the_archive(real: &Real) {
    let id = new_id(real);
    real.stores(&format!("backups/{id}/data.sqsh"), b"abc").await;
    let archive = ArchiveInfo { size_bytes: 3, checksum: Some("md5:900150983cd24fb0d6963f7d28e17f72".into()) };
    assert_eq!(real.backups().head_archive(&id).await, Ok(Some(archive)));
    assert_eq!(real.backups().read_archive_prefix(&id, 2).await, Ok(Some(b"ab".to_vec())));
}

async fn an_empty_archive_is_there(real: &Real) {
    let id = new_id(real);
    real.stores(&format!("backups/{id}/data.sqsh"), b"").await;
    assert_eq!(real.backups().head_archive(&id).await.unwrap().unwrap().size_bytes, 0);
}

async fn metadata_that_cant_be_read_are_a_failure_and_no_absence(real: &Real) {
    let large = [b"{\"name\": \"", [b'a'; 20_000].as_slice(), b"\"}"].concat();
    for content in [b"".as_slice(), b"null", b"{}", b"{\"id\": ", b"\xff", &large] {
        let id = new_id(real);
        real.stores(&format!("backups/{id}/meta.json"), content).await;
        let failure = real.backups().get_metadata(&id).await.unwrap_err();
        assert!(failure.is_protocol(), "{failure:?}");
        assert!(listed(real).await.contains(&id), "it is listed all the same");
    }
}

async fn what_else_is_in_the_bucket_is_not_listed(real: &Real) {
    let id = new_id(real);
    let whole = format!("backups/{id}/meta.json");
    let before = listed(real).await;
    for key in
        [&format!("x{whole}"), &format!("{whole}.bak"), &format!("backups/{id}/x/meta.json"), "backups/meta.json"]
    {
        real.stores(key, b"{}").await;
    }
    for key in [format!("backups/{id} {id}/meta.json"), format!("backups/{id}/data.sqsh.bak"), id.to_string()] {
        real.stores(&key, b"{}").await;
    }
    assert_eq!(listed(real).await, before);
}

async fn a_listing_of_many_pages_has_each_backup_once(real: &Real) {
    let ids: BTreeSet<BackupId> = (0..1010).map(|_| new_id(real)).collect();
    for some in ids.iter().collect::<Vec<_>>().chunks(100) {
        let stored = some.iter().map(async |id| real.stores(&format!("backups/{id}/meta.json"), b"{}").await);
        join_all(stored).await;
    }
    let mut found = listed(real).await;
    found.retain(|id| ids.contains(id));
    assert_eq!(found.len(), ids.len());
    assert_eq!(BTreeSet::from_iter(found), ids);
}

/// Every backup that is listed, as often as it is.
async fn listed(real: &Real) -> Vec<BackupId> {
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

fn new_id(real: &Real) -> BackupId {
    let random = ShortId::from_random(&real.entropy().random_bytes().unwrap()).unwrap();
    BackupId::parse(&format!("stored-{}", random.as_str())).unwrap()
}
