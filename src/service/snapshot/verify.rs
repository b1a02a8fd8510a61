//! `verify`: checks in R2 whether a snapshot can be restored. Starts no container.

use super::select::Selected;
use super::stored_backup::{BackupHead, is_answer_of_storage};
use crate::model::answer::{Check, Verification};
use crate::model::record::{SnapshotRecord, Stage, StoredBackup};
use crate::model::{ArchiveFormat, Result, Selection, SnapshotId};
use crate::ports::{Ledger, Ports};
use crate::service::CloudflareSandboxSnapshotter;

/// The number of bytes from the begin of an archive that identify its format: the header of a squashfs (version 4.0) has
/// 96 bytes, and the first header of a tar 512.
const HEADER_BYTES: u32 = 512;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Checks the objects of a snapshot, their sizes, the archive's header and its checksum; for a `DirectoryBackup`, also
    /// its SHA-256, for which it reads the whole archive. Returns the result of each check, and records damage in the
    /// ledger.
    ///
    /// # Errors
    /// Only when R2 does not answer: damage is part of the result.
    pub async fn verify(&self, selection: Selection) -> Result<Verification> {
        self.prepare_call().await?;
        let Selected { snapshot, .. } = self.select(&selection).await?;
        let stored = self.require_ready(&snapshot)?;
        let found = self.inspect_backup(stored, &snapshot.backup_owner(&self.id)).await;
        let mut checks = Vec::new();
        match &found {
            Err(error) if !is_answer_of_storage(error) => return Err(error.clone()),
            Err(error) => checks.push(failed("objects", error.message())),
            Ok(found) => {
                let directory_backup = stored.backup.directory_backup();
                let objects = if directory_backup.is_some() { "archive" } else { "archive and metadata" };
                checks.push(passed("objects", format!("{objects}, {} bytes", found.archive.size_bytes)));
                let head = self.read_archive_prefix(stored.backup.location(), HEADER_BYTES).await?;
                checks.push(check_header_bytes(found.metadata.format, &head, stored.size_bytes));
                checks.push(check_checksum(stored, found));
                if let Some(directory_backup) = directory_backup {
                    checks.push(match self.check_sha256(&stored.backup, directory_backup).await? {
                        Ok(()) => passed("sha256", directory_backup.sha256.clone()),
                        Err(damage) => failed("sha256", &format!("The archive is damaged: {damage}.")),
                    });
                }
                if let Some(delta) = stored.backup.delta() {
                    let detail = format!("the archive of {}, {} bytes", delta.base_id, delta.base.size_bytes);
                    let format = delta.base.format.unwrap_or_default();
                    let head = self.read_archive_prefix(delta.base.backup.location(), HEADER_BYTES).await?;
                    let header = check_header_bytes(format, &head, delta.base.size_bytes);
                    checks.push(match header.ok {
                        Some(false) => failed("base", &header.detail),
                        _ => passed("base", detail),
                    });
                }
            }
        }
        let ok = checks.iter().all(|check| check.ok != Some(false));
        let damage = checks.iter().find(|check| check.ok == Some(false)).map(|check| check.detail.clone());
        self.update_stored(&snapshot.snapshot_id, |stored| match &found {
            Ok(_) => (stored.damage, stored.archive_damage) = (None, damage),
            Err(_) => stored.damage = damage,
        })?;
        Ok(Verification { snapshot_id: snapshot.snapshot_id, ok, checks, verified_at: self.now() })
    }

    /// Records the result of a check in R2, if it is definite and differs from what the ledger has.
    pub(in crate::service) fn record_check(&self, id: &SnapshotId, inspected: &Result<BackupHead>) -> Result<()> {
        match inspected {
            Ok(_) => self.record_change(id, None),
            Err(error) if is_answer_of_storage(error) => self.record_change(id, Some(error.message().to_owned())),
            Err(_) => Ok(()),
        }
    }

    fn record_change(&self, id: &SnapshotId, damage: Option<String>) -> Result<()> {
        let Some(mut known) = self.ledger.snapshot(id)? else { return Ok(()) };
        match stored_mut(&mut known) {
            Some(stored) if stored.damage.is_some() != damage.is_some() => {
                self.update_stored(id, |stored| stored.damage = damage)
            }
            _ => Ok(()),
        }
    }

    fn update_stored(&self, id: &SnapshotId, update: impl FnOnce(&mut StoredBackup)) -> Result<()> {
        if let Some(mut snapshot) = self.ledger.snapshot(id)?
            && let Some(stored) = stored_mut(&mut snapshot)
        {
            stored.checked_at = self.now();
            update(stored);
            self.ledger.put_snapshot(&snapshot)?;
        }
        Ok(())
    }
}

/// Returns the backup of a snapshot that can be restored, or of a deleted base that deltas need.
fn stored_mut(snapshot: &mut SnapshotRecord) -> Option<&mut StoredBackup> {
    match &mut snapshot.stage {
        Stage::Ready { stored } => Some(stored),
        Stage::Deleted { stored, .. } if !stored.backup.deltas().is_empty() => Some(stored),
        _ => None,
    }
}

/// Checks the first bytes of an archive of `size_bytes` bytes: its magic number, and the length that a squashfs records.
pub(crate) fn check_header_bytes(format: ArchiveFormat, head: &[u8], size_bytes: u64) -> Check {
    let name = format.as_str();
    let Some((offset, magic)) = format.magic() else {
        let detail = "The archive has a format that this version can't check.".to_owned();
        return Check { name: "header".into(), ok: None, detail };
    };
    if !head.get(offset..).is_some_and(|bytes| bytes.starts_with(magic)) {
        return failed("header", &format!("The archive does not begin with the magic number of {name}."));
    }
    if format != ArchiveFormat::Squashfs {
        return passed("header", name.to_owned());
    }
    match head.get(40..48).and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes) {
        Some(length) if length <= size_bytes => passed("header", format!("squashfs, {length} bytes used")),
        _ => failed("header", "The archive is shorter than its header records."),
    }
}

fn check_checksum(stored: &StoredBackup, found: &BackupHead) -> Check {
    match (&stored.checksum, &found.archive.checksum) {
        (Some(known), Some(now)) if known == now => passed("checksum", known.clone()),
        (Some(known), Some(now)) => failed("checksum", &format!("The checksum was {known} and is now {now}.")),
        _ => Check { name: "checksum".into(), ok: None, detail: "R2 has no checksum of this archive.".to_owned() },
    }
}

fn passed(name: &'static str, detail: String) -> Check {
    Check { name: name.into(), ok: Some(true), detail }
}

fn failed(name: &'static str, detail: &str) -> Check {
    Check { name: name.into(), ok: Some(false), detail: detail.to_owned() }
}
