//! Refreshes a platform snapshot that is the only copy of the workspace's files, before the platform deletes it.
//!
//! A restore begins its lifetime again. If the sandbox has ended, the Worker starts a container from the snapshot, verifies
//! it, and destroys it. If the sandbox runs, the Worker takes another platform snapshot, or an archive if the next container
//! has another image. A snapshot whose files are also in an archive is not refreshed.

use super::SandboxCondition;
use crate::model::named::PlatformSnapshot;
use crate::model::named::platform_snapshot::RefreshFailure;
use crate::model::record::SandboxRecord;
use crate::model::{Code, Error, Result, SnapshotCause, Timestamp};
use crate::ports::Ports;
use crate::service::CloudflareSandboxSnapshotter;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Refreshes the platform snapshot if that is due. Records a failure; the next attempt is a day later.
    pub(in crate::service) async fn refresh_platform_snapshot(&self) -> Result<()> {
        // An operation that is under way starts or ends the sandbox. The alarm tries again.
        let Some(_lock) = self.in_process.lifecycle_lock.try_lock() else { return Ok(()) };
        let (sandbox, now) = (self.sandbox_record()?, self.now());
        if Self::refresh_due(&sandbox).is_none_or(|due_at| due_at > now) {
            return Ok(());
        }
        let Some(snapshot) = sandbox.binding.and_then(|binding| binding.platform_snapshot) else { return Ok(()) };
        if snapshot.has_expired(now) {
            return self.mark_unusable(&snapshot.id, &format!("it expired at {}", snapshot.expires_at()));
        }
        let refreshed = self.note_late_call(self.refresh(&snapshot).await);
        if let Err(error) = &refreshed
            && error.code() == Code::BackupNotFound
        {
            self.mark_unusable(&snapshot.id, error.message())?;
        }
        let failure = refreshed.err().map(|error| RefreshFailure { at: now, reason: error.message().to_owned() });
        self.update_binding(|binding| {
            if let Some(own) = &mut binding.platform_snapshot {
                own.refresh_failure = failure;
            }
        })?;
        self.schedule_refresh()
    }

    /// Returns when the platform snapshot is to be refreshed, if the workspace still needs it.
    pub(in crate::service) fn refresh_due(sandbox: &SandboxRecord) -> Option<Timestamp> {
        let binding = sandbox.binding.as_ref().filter(|binding| !binding.superseded)?;
        binding.platform_snapshot.as_ref()?.refresh_due().filter(|_| sandbox.decommissioned_at.is_none())
    }

    /// Schedules the alarm for the refresh of the platform snapshot.
    pub(super) fn schedule_refresh(&self) -> Result<()> {
        Self::refresh_due(&self.sandbox_record()?).map_or(Ok(()), |due_at| self.schedule_alarm(due_at))
    }

    async fn refresh(&self, snapshot: &PlatformSnapshot) -> Result<()> {
        match self.probe_condition().await? {
            SandboxCondition::Running { marker, .. } => {
                if self.image_will_change(self.start_state()?.chosen_image.as_ref()).await? {
                    self.capture_archive(None, SnapshotCause::BeforeImage, false).await?;
                    return self.update_binding(|binding| binding.platform_snapshot = None);
                }
                self.take_platform_snapshot(&marker, false).await
            }
            SandboxCondition::Ended => {
                if let Some(reason) = snapshot.obstacle(self.platform_image().await?.as_deref(), self.now()) {
                    return Err(Error::platform_snapshot_not_refreshed(&self.id, &reason));
                }
                let saved = self.saved_snapshot().await?;
                self.schedule_reconcile()?;
                let restored = self.restore_once(snapshot).await;
                self.destroy(&self.id).await?;
                if let Some(saved) = saved {
                    // No caller got the container.
                    self.record_saved(saved).await?;
                }
                self.allow_sleep().await?;
                restored?;
                self.update_start(|start| start.reconcile_task = None)
            }
            _ => {
                Err(Error::platform_snapshot_not_refreshed(&self.id, "the sandbox runs without the workspace's files"))
            }
        }
    }

    /// Starts a container from the snapshot, and verifies its disk.
    async fn restore_once(&self, snapshot: &PlatformSnapshot) -> Result<()> {
        let (nonce, _) = self.start_disk(snapshot, &self.start_state()?.dir, &[]).await?;
        let now = self.now();
        self.update_binding(|binding| {
            binding.start.restore_nonce = Some(nonce);
            if let Some(own) = &mut binding.platform_snapshot {
                own.last_restored_at = Some(now);
            }
        })
    }
}
