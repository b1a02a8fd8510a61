//! Whether a snapshot can be restored, found out in R2. No container is started.

use super::failures::from_storage;
use super::retry::retry;
use super::select::{Selected, ready, select};
use super::stored::{Found, inspect, is_definite};
use super::{Abort, CloudflareSandboxSnapshotter};
use crate::model::answer::{Check, Verification};
use crate::model::record::{Stage, Stored};
use crate::model::{Result, Selection, SnapshotId};
use crate::ports::{BackupStore, Clock, Ledger, Ports};

/// The length of the header of a squashfs archive (version 4.0), in bytes.
const HEADER: u32 = 96;

/// Checks the two objects of a snapshot, their sizes, the archive's header and its checksum.
///
/// # Errors
/// When R2 does not answer. What is wrong with the backup is in the answer, and kept in the ledger.
pub(super) async fn verify<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    selection: &Selection,
) -> Result<Verification> {
    let Selected { snapshot, .. } = select(this, selection).await?;
    let stored = ready(&snapshot)?;
    let found = inspect(this, stored, &snapshot.mark(&this.id)).await;
    let mut checks = Vec::new();
    match &found {
        Err(error) if !is_definite(error) => return Err(error.clone()),
        Err(error) => checks.push(wrong("objects", error.message())),
        Ok(found) => {
            checks.push(right("objects", format!("archive and metadata, {} bytes", found.archive.size_bytes)));
            checks.push(header(this, stored).await?);
            checks.push(checksum(stored, found));
        }
    }
    let ok = checks.iter().all(|check| check.ok != Some(false));
    let wrong = checks.iter().find(|check| check.ok == Some(false)).map(|check| check.detail.clone());
    keep(this, &snapshot.snapshot_id, |stored| match &found {
        Ok(_) => (stored.damage, stored.damage_within) = (None, wrong),
        Err(_) => stored.damage = wrong,
    })?;
    Ok(Verification { snapshot_id: snapshot.snapshot_id, ok, checks, verified_at: this.ports.clock().now() })
}

/// Keeps what a look into R2 has shown, where that was a definite answer and is news.
pub(super) fn note<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    id: &SnapshotId,
    looked: &Result<Found>,
) -> Result<()> {
    match looked {
        Ok(_) => keep_news(this, id, None),
        Err(error) if is_definite(error) => keep_news(this, id, Some(error.message().to_owned())),
        Err(_) => Ok(()),
    }
}

fn keep_news<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, id: &SnapshotId, damage: Option<String>) -> Result<()> {
    let known = this.ports.ledger()?.snapshot(id)?;
    match known.as_ref().map(|snapshot| &snapshot.stage) {
        Some(Stage::Ready { stored }) if stored.damage.is_some() != damage.is_some() => {
            keep(this, id, |stored| stored.damage = damage)
        }
        _ => Ok(()),
    }
}

fn keep<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    id: &SnapshotId,
    note: impl FnOnce(&mut Stored),
) -> Result<()> {
    let ledger = this.ports.ledger()?;
    if let Some(mut snapshot) = ledger.snapshot(id)?
        && let Stage::Ready { stored } = &mut snapshot.stage
    {
        stored.checked_at = this.ports.clock().now();
        note(stored);
        ledger.put_snapshot(&snapshot)?;
    }
    Ok(())
}

/// The header of a squashfs archive begins with its magic number, and says how long the archive is.
async fn header<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, stored: &Stored) -> Result<Check> {
    let id = stored.backup.id();
    let head = retry(&*this.ports, &Abort::never(), async || {
        let head = this.ports.backups()?.archive_head(id, HEADER).await;
        head.map_err(|failure| from_storage(failure, &format!("reading the archive of the backup {id}")))
    })
    .await?;
    Ok(header_of(&head.unwrap_or_default(), stored.size_bytes))
}

/// What the beginning of an archive of that size says of it.
pub(crate) fn header_of(head: &[u8], size_bytes: u64) -> Check {
    let length = head.get(40..48).and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes);
    match length {
        _ if !head.starts_with(b"hsqs") => wrong("header", "The archive does not begin as a squashfs archive does."),
        Some(length) if length <= size_bytes => right("header", format!("squashfs, {length} bytes used")),
        _ => wrong("header", "The archive is shorter than its header says."),
    }
}

fn checksum(stored: &Stored, found: &Found) -> Check {
    match (&stored.checksum, &found.archive.checksum) {
        (Some(known), Some(now)) if known == now => right("checksum", known.clone()),
        (Some(known), Some(now)) => wrong("checksum", &format!("The checksum was {known}, and is {now}.")),
        _ => Check { name: "checksum".into(), ok: None, detail: "R2 has none of this archive.".to_owned() },
    }
}

fn right(name: &'static str, detail: String) -> Check {
    Check { name: name.into(), ok: Some(true), detail }
}

fn wrong(name: &'static str, detail: &str) -> Check {
    Check { name: name.into(), ok: Some(false), detail: detail.to_owned() }
}
