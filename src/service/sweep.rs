//! Sweeps the bucket for backups that carry the product's mark and that no ledger owns.
//!
//! Recovery removes what a dead worker left; this finds the rest, whatever it came from. What does not carry the mark is
//! the application's own and is never touched, nor is what another deployment made, nor anything younger than the grace
//! period. An archive without metadata carries no mark: it is counted and listed, and never touched either.

use futures_util::{StreamExt, stream};

use super::failures::from_storage;
use super::planted::{Bug, planted};
use super::retry::retry;
use super::stored::mark_of;
use super::undo::delete_marked;
use super::{Abort, CloudflareSandboxSnapshotter};
use crate::model::answer::{MAX_UNOWNED, Sweep, UnownedObject};
use crate::model::request::SweepRequest;
use crate::model::{BackupId, Listed, Mark, Part, Result, SandboxId, SnapshotId, Timestamp};
use crate::ports::{BackupStore, Clock, Ledger, Ports, Workspaces};

/// How many backups are looked at at the same time: a Worker has six connections.
const AT_ONCE: usize = 6;

/// Sweeps the whole bucket. Each marked backup is shown to the workspace that it names, which decides.
///
/// # Errors
/// When the bucket can't be listed. What fails for one backup or workspace is counted.
pub async fn sweep<P: Ports>(ports: &P, request: SweepRequest) -> Result<Sweep> {
    let backups = ports.backups()?;
    ports.workspaces()?;
    let grace = i64::try_from(request.grace_seconds.saturating_mul(1000)).unwrap_or(i64::MAX);
    let now = ports.clock().now();
    let young_from = now.plus_millis(grace.saturating_neg());
    let mut count = Sweep { dry_run: request.dry_run, ..Sweep::default() };
    let mut archive: Option<Listed> = None;
    let mut cursor: Option<String> = None;
    loop {
        let listing = retry(ports, &Abort::never(), async || {
            backups.list(cursor.as_deref()).await.map_err(|failure| from_storage(failure, "listing the bucket"))
        })
        .await?;
        cursor = listing.cursor;
        let (described, mut bare) = paired(&mut archive, listing.objects);
        if cursor.is_none() {
            bare.extend(archive.take());
        }
        for archive in bare.into_iter().filter(|archive| archive.uploaded_at <= young_from) {
            add_unowned(&mut count, backups.objects(&archive.id), &archive, now);
        }
        count.seen += described.len();
        let (young, old): (Vec<_>, Vec<_>) = described.into_iter().partition(|listed| listed.uploaded_at > young_from);
        count.young += young.len();
        sweep_marked(ports, old, &mut count).await?;
        if cursor.is_none() {
            return Ok(count);
        }
    }
}

/// Tells backups that have metadata from archives that have none. The last archive of a page is kept in `archive`, since its
/// metadata may be the first object of the next one.
fn paired(archive: &mut Option<Listed>, objects: Vec<Listed>) -> (Vec<Listed>, Vec<Listed>) {
    let (mut described, mut bare) = (Vec::new(), Vec::new());
    for object in objects {
        match object.part {
            Part::Archive => bare.extend(archive.replace(object)),
            Part::Metadata => {
                bare.extend(archive.take().filter(|archive| archive.id != object.id));
                described.push(object);
            }
        }
    }
    (described, bare)
}

/// Counts an archive without metadata, and lists it while there is room.
fn add_unowned(count: &mut Sweep, keys: Vec<String>, archive: &Listed, now: Timestamp) {
    count.unowned += 1;
    if let (Some(key), true) = (keys.into_iter().next(), count.unowned_objects.len() < MAX_UNOWNED) {
        let age_seconds = u64::try_from(now.millis_since(archive.uploaded_at) / 1000).unwrap_or_default();
        count.unowned_objects.push(UnownedObject { key, size_bytes: archive.size_bytes, age_seconds });
    }
}

/// Shows those backups that carry a mark to the workspaces that the marks name.
async fn sweep_marked<P: Ports>(ports: &P, backups: Vec<Listed>, count: &mut Sweep) -> Result<()> {
    let mut marked: Vec<(SandboxId, Vec<(BackupId, SnapshotId)>)> = Vec::new();
    let looks = backups.into_iter().map(async |listed| (mark_of(ports, &listed.id).await, listed.id));
    let looked: Vec<_> = stream::iter(looks).buffered(AT_ONCE).collect().await;
    for (mark, id) in looked {
        match mark {
            Ok(Some(mark)) => {
                let backup = (id, mark.snapshot_id);
                match marked.iter_mut().find(|(origin_id, _)| *origin_id == mark.origin_id) {
                    Some((_, backups)) => backups.push(backup),
                    None => marked.push((mark.origin_id, vec![backup])),
                }
            }
            Ok(None) => count.unmarked += 1,
            Err(_) => count.failed += 1,
        }
    }
    for (origin_id, backups) in marked {
        match ports.workspaces()?.sweep(&origin_id, &backups, count.dry_run).await {
            Ok(swept) => {
                count.swept += swept;
                count.owned += backups.len().saturating_sub(swept);
            }
            Err(_) => count.failed += backups.len(),
        }
    }
    Ok(())
}

/// Deletes those backups with this workspace's mark that it does not own.
pub(super) async fn sweep_own<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    backups: &[(BackupId, SnapshotId)],
    dry_run: bool,
) -> Result<usize> {
    let ledger = this.ports.ledger()?;
    // Another deployment may keep backups of a sandbox with the same id in this bucket.
    let Some(seal) = this.workspace()?.seal else { return Ok(0) };
    let mut swept = 0;
    for (backup, snapshot_id) in backups.iter().filter(|(_, id)| id.is_minted_with(&seal)) {
        let is_owned = ledger.snapshot(snapshot_id)?.is_some_and(|snapshot| snapshot.may_own(backup));
        if is_owned && !planted(Bug::OwnerIgnored) {
            continue;
        }
        let mark = Mark { snapshot_id: snapshot_id.clone(), origin_id: (*this.id).clone() };
        swept += usize::from(dry_run || delete_marked(this, backup, &mark).await?);
    }
    Ok(swept)
}
