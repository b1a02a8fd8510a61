//! `sweep`: deletes backups in the bucket that carry the product's owner mark and that no ledger owns.
//!
//! Recovery deletes what an interrupted operation left; the sweep finds any other leftovers. It never touches a backup
//! without the mark, which is the application's own, a backup of another deployment, or a backup younger than the grace
//! period. An archive of a pair without its metadata carries no mark: the sweep counts and lists it, and does not touch it.

use futures_util::{StreamExt, stream};

use crate::model::answer::{MAX_UNOWNED, Sweep, UnownedObject};
use crate::model::request::SweepRequest;
use crate::model::{
    BackupLocation, BackupObject, BackupObjectKind, BackupOwner, Result, SandboxId, SnapshotId, Timestamp,
    is_minted_with,
};
use crate::ports::{BackupStore, Clock, Ledger, Ports, SandboxLedgerClient};
use crate::service::calls::failures::from_storage;
use crate::service::calls::retry::retry;
use crate::service::snapshot::owner_mark::{FoundMark, read_mark};
use crate::service::{CancellationToken, CloudflareSandboxSnapshotter};

/// How many backups are read at the same time: a Worker may have six open connections.
const CONCURRENCY: usize = 6;

/// Sweeps the whole bucket. The ledger of the sandbox that an owner mark names decides about each marked backup.
///
/// # Errors
/// When R2 cannot list the bucket. Failures for single backups or sandboxes are counted in the result.
pub async fn sweep<P: Ports>(ports: &P, request: SweepRequest) -> Result<Sweep> {
    let backups = ports.backups()?;
    ports.sandbox_ledgers()?;
    let grace = i64::try_from(request.grace_seconds.saturating_mul(1000)).unwrap_or(i64::MAX);
    let now = ports.clock().now();
    let recent_after = now.plus_millis(grace.saturating_neg());
    let mut totals = Sweep { dry_run: request.dry_run, ..Sweep::default() };
    let mut archive: Option<BackupObject> = None;
    let mut cursor: Option<String> = None;
    loop {
        let listing = retry(ports, &CancellationToken::never(), async || {
            backups.list(cursor.as_deref()).await.map_err(|failure| from_storage(failure, "listing the bucket"))
        })
        .await?;
        cursor = listing.cursor;
        let (with_metadata, mut without_metadata) = pair_objects(&mut archive, listing.objects);
        if cursor.is_none() {
            without_metadata.extend(archive.take());
        }
        for archive in without_metadata.into_iter().filter(|archive| archive.uploaded_at <= recent_after) {
            add_unowned(&mut totals, backups.object_keys(&archive.location), &archive, now);
        }
        totals.scanned += with_metadata.len();
        let (too_recent, old): (Vec<_>, Vec<_>) =
            with_metadata.into_iter().partition(|object| object.uploaded_at > recent_after);
        totals.too_recent += too_recent.len();
        sweep_marked(ports, old, &mut totals).await?;
        if cursor.is_none() {
            return Ok(totals);
        }
    }
}

/// Separates backups with their own metadata from archives without. Keeps the last archive of a page in `archive`, because its
/// metadata may be the first object of the next page.
fn pair_objects(
    archive: &mut Option<BackupObject>,
    objects: Vec<BackupObject>,
) -> (Vec<BackupObject>, Vec<BackupObject>) {
    let (mut with_metadata, mut without_metadata) = (Vec::new(), Vec::new());
    for object in objects {
        match object.kind {
            BackupObjectKind::Archive => without_metadata.extend(archive.replace(object)),
            BackupObjectKind::Metadata => {
                without_metadata.extend(archive.take().filter(|archive| archive.location != object.location));
                with_metadata.push(object);
            }
            BackupObjectKind::DirectoryBackup => {
                without_metadata.extend(archive.take());
                with_metadata.push(object);
            }
        }
    }
    (with_metadata, without_metadata)
}

/// Counts an archive without metadata, and lists the first [`MAX_UNOWNED`] of them.
fn add_unowned(totals: &mut Sweep, keys: Vec<String>, archive: &BackupObject, now: Timestamp) {
    totals.unowned += 1;
    if let (Some(key), true) = (keys.into_iter().next(), totals.unowned_objects.len() < MAX_UNOWNED) {
        let age_seconds = u64::try_from(now.millis_since(archive.uploaded_at) / 1000).unwrap_or_default();
        totals.unowned_objects.push(UnownedObject { key, size_bytes: archive.size_bytes, age_seconds });
    }
}

/// Passes the backups that carry an owner mark to the ledgers of the sandboxes that the marks name.
async fn sweep_marked<P: Ports>(ports: &P, backups: Vec<BackupObject>, totals: &mut Sweep) -> Result<()> {
    let mut marked: Vec<(SandboxId, Vec<(BackupLocation, SnapshotId)>)> = Vec::new();
    let reads = backups.into_iter().map(async |object| (read_mark(ports, &object.location).await, object.location));
    let marks: Vec<_> = stream::iter(reads).buffered(CONCURRENCY).collect().await;
    for (mark, location) in marks {
        match mark {
            Ok(FoundMark::Of(mark)) => {
                let backup = (location, mark.snapshot_id);
                match marked.iter_mut().find(|(origin_id, _)| *origin_id == mark.origin_id) {
                    Some((_, backups)) => backups.push(backup),
                    None => marked.push((mark.origin_id, vec![backup])),
                }
            }
            Ok(FoundMark::NoObject | FoundMark::Unmarked) => totals.unmarked += 1,
            Err(_) => totals.failed += 1,
        }
    }
    for (origin_id, backups) in marked {
        match ports.sandbox_ledgers()?.sweep(&origin_id, &backups, totals.dry_run).await {
            Ok(swept) => {
                totals.deleted += swept;
                totals.owned += backups.len().saturating_sub(swept);
            }
            Err(_) => totals.failed += backups.len(),
        }
    }
    Ok(())
}

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Deletes the backups that carry this sandbox's owner mark and that its ledger does not own. Returns their
    /// number; with `dry_run`, deletes nothing.
    pub async fn sweep(&self, backups: &[(BackupLocation, SnapshotId)], dry_run: bool) -> Result<usize> {
        // Another deployment may keep backups of a sandbox with the same id in this bucket.
        let Some(id_key) = self.sandbox_record()?.id_key else { return Ok(0) };
        let mut swept = 0;
        for (backup, snapshot_id) in backups.iter().filter(|(_, id)| is_minted_with(id, &id_key)) {
            let is_owned = self.ledger.snapshot(snapshot_id)?.is_some_and(|snapshot| snapshot.may_own(backup));
            if is_owned {
                continue;
            }
            let mark = BackupOwner { snapshot_id: snapshot_id.clone(), origin_id: (*self.id).clone() };
            swept += usize::from(dry_run || self.delete_marked(backup, &mark).await?);
        }
        Ok(swept)
    }
}
