//! The condition of a sandbox: whether it runs, and whether the workspace's files are in place.

use crate::model::named::ContainerMarker;
use crate::model::named::messages::Condition;
use crate::model::{DirectoryContent, Result, Status};
use crate::ports::{Ports, Sandboxes};
use crate::service::CloudflareSandboxSnapshotter;
use crate::service::calls::failures::{During, from_sandbox};

/// The result of a probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SandboxCondition {
    /// The sandbox has no running container.
    Ended,
    /// The container runs, and the workspace's files were put into it.
    Running {
        /// The marker that the container carries.
        marker: ContainerMarker,
        /// Whether there is no directory at the path of the workspace's directory: it was deleted or moved.
        is_missing: bool,
    },
    /// A start began to populate the container, and did not finish.
    Unfinished,
    /// The container started by itself, without the workspace's files.
    ColdStarted,
    /// The container started by itself, without the workspace's files, and other files were written since; or the restored
    /// files are not mounted any more.
    Diverged {
        /// The marker that the container carries: of a start that adopts these files, of an abandoned start whose call
        /// arrived late, or of the start whose files are not mounted any more.
        marker: Option<ContainerMarker>,
    },
}

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Returns the condition of a sandbox that belongs to a named workspace. Starts nothing, unless its container has
    /// ended unnoticed.
    pub async fn condition(&self) -> Result<Condition> {
        self.prepare_call().await?;
        Ok(match self.note_late_call(self.probe_condition().await)? {
            SandboxCondition::Running { is_missing: false, .. } => Condition::Running,
            SandboxCondition::Running { is_missing: true, .. } => Condition::DirectoryMissing,
            SandboxCondition::Ended => Condition::Ended,
            SandboxCondition::Unfinished | SandboxCondition::ColdStarted => Condition::ColdStarted,
            SandboxCondition::Diverged { .. } => Condition::Diverged,
        })
    }

    /// Returns whether the container of the sandbox has ended, as its status says. Reads only the status, which starts nothing.
    pub async fn has_ended(&self) -> Result<bool> {
        Ok(self.sandbox_status().await?.status == Status::Down)
    }

    /// Returns whether a container runs that has the files of the sandbox in their directory.
    pub(in crate::service) async fn has_files_in_place(&self) -> Result<bool> {
        let condition = self.note_late_call(self.probe_condition().await)?;
        Ok(matches!(condition, SandboxCondition::Running { is_missing: false, .. }))
    }

    /// Returns whether the container with the marker has the files of the sandbox. Only the starts of a named workspace
    /// write ready markers. Any other sandbox has one in its ledger, which captures and restores write.
    pub(super) fn is_own_marker(&self, marker: &ContainerMarker) -> Result<bool> {
        let sandbox = self.sandbox_record()?;
        Ok(match (&sandbox.binding, &sandbox.marker) {
            (Some(_), _) => marker.is_ready(),
            (None, Some(own)) => marker.is_ready_for(own),
            (None, None) => false,
        })
    }

    /// Returns the condition of the sandbox. Reads the status first, which starts nothing, and probes the container
    /// only if it runs.
    pub(super) async fn probe_condition(&self) -> Result<SandboxCondition> {
        let failed = |failure| from_sandbox(failure, &self.id, During::Probe);
        let start = self.start_state()?;
        self.retry(async || {
            let sandboxes = self.sandboxes()?;
            if sandboxes.status(&self.id).await.map_err(failed)?.status == Status::Down {
                return Ok(SandboxCondition::Ended);
            }
            let probe = sandboxes.probe(&self.id, &start.dir).await.map_err(failed)?;
            Ok(match probe.marker {
                Some(marker)
                    if self.is_own_marker(&marker)? && probe.directory_content == DirectoryContent::Unmounted =>
                {
                    SandboxCondition::Diverged { marker: Some(marker) }
                }
                Some(marker) if self.is_own_marker(&marker)? => {
                    let now = self.now();
                    self.update_start(|start| {
                        start.first_started_at = start.first_started_at.or(Some(now));
                    })?;
                    let is_missing = probe.directory_content == DirectoryContent::Missing;
                    SandboxCondition::Running { marker, is_missing }
                }
                Some(ContainerMarker::Restoring(nonce)) if start.restore_nonce.as_ref() == Some(&nonce) => {
                    SandboxCondition::Unfinished
                }
                marker @ (None
                | Some(
                    ContainerMarker::Adopted(_) | ContainerMarker::Restoring(_) | ContainerMarker::Ready(_),
                )) => {
                    let is_empty =
                        matches!(probe.directory_content, DirectoryContent::Empty | DirectoryContent::Missing);
                    // The image itself, or the platform snapshot of an unfinished start, may have files in the directory.
                    let is_cold_started = is_empty || {
                        let listing = sandboxes.list_directory(&self.id, &start.dir).await.map_err(failed)?;
                        let platform = start.platform_content.as_ref();
                        listing.matches(start.baseline.as_ref()) || (platform.is_some() && listing.matches(platform))
                    };
                    if is_cold_started { SandboxCondition::ColdStarted } else { SandboxCondition::Diverged { marker } }
                }
                Some(ContainerMarker::Restored(_)) => SandboxCondition::Unfinished,
            })
        })
        .await
    }

    /// As [`probe_condition`](Self::probe_condition), for a sandbox whose start did not finish. If the container
    /// diverged and carries no marker, marks it as adopted and probes it again: no late call of that start can restore
    /// over the files that were written since.
    pub(super) async fn probe_and_protect(&self) -> Result<SandboxCondition> {
        let condition = self.probe_condition().await?;
        if condition != (SandboxCondition::Diverged { marker: None }) {
            return Ok(condition);
        }
        self.protect_unmarked().await?;
        self.probe_condition().await
    }

    /// As [`probe_condition`](Self::probe_condition), or as [`probe_and_protect`](Self::probe_and_protect) if
    /// `protect_files`, for an operation that starts or ends the sandbox. Clears the reconcile task if the workspace's
    /// files are in place.
    pub(super) async fn probe_and_clear_task(&self, protect_files: bool) -> Result<SandboxCondition> {
        let condition = if protect_files { self.probe_and_protect().await? } else { self.probe_condition().await? };
        if matches!(condition, SandboxCondition::Running { .. }) {
            self.update_start(|start| start.reconcile_task = None)?;
        }
        Ok(condition)
    }
}
