//! Sweeps the bucket for backups that carry the product's mark and that no ledger owns.
//!
//! Recovery removes what a dead worker left; this finds the rest, whatever it came from. What does not carry the mark is
//! the application's own and is never touched, nor is what another deployment made, nor anything younger than the grace
//! period.

use futures_util::{StreamExt, stream};

use super::failures::from_storage;
use super::planted::{Bug, planted};
use super::retry::retry;
use super::stored::mark_of;
use super::undo::delete_marked;
use super::{Abort, CloudflareSandboxSnapshotter};
use crate::model::answer::Sweep;
use crate::model::request::SweepRequest;
use crate::model::{BackupId, Mark, Result, SandboxId, SnapshotId};
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
    let young_from = ports.clock().now().plus_millis(grace.saturating_neg());
    let mut count = Sweep { dry_run: request.dry_run, ..Sweep::default() };
    let mut cursor: Option<String> = None;
    loop {
        let listing = retry(ports, &Abort::never(), async || {
            backups.list(cursor.as_deref()).await.map_err(|failure| from_storage(failure, "listing the bucket"))
        })
        .await?;
        let mut marked: Vec<(SandboxId, Vec<(BackupId, SnapshotId)>)> = Vec::new();
        count.seen += listing.backups.len();
        let (young, old): (Vec<_>, Vec<_>) =
            listing.backups.into_iter().partition(|listed| listed.uploaded_at > young_from);
        count.young += young.len();
        let looks = old.into_iter().map(async |listed| (mark_of(ports, &listed.id).await, listed.id));
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
            match ports.workspaces()?.sweep(&origin_id, &backups, request.dry_run).await {
                Ok(swept) => {
                    count.swept += swept;
                    count.owned += backups.len().saturating_sub(swept);
                }
                Err(_) => count.failed += backups.len(),
            }
        }
        cursor = listing.cursor;
        if cursor.is_none() {
            return Ok(count);
        }
    }
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
