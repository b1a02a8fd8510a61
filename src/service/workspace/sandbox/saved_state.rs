//! Which state of the files a snapshot is known to have. While the files are in that state, no other snapshot is needed.
//!
//! The container keeps a file for each state of the directory that a capture may have. The ledger names the state of the
//! last such capture that is complete, so a capture that fails leaves the changes to the next one. Automatic saves have a
//! state, and captures of a sandbox that the workspace leaves: before it continues in another one, and at the stop, which is
//! repeated until the container ends.

use crate::model::named::answer::LastSnapshot;
use crate::model::named::messages::StopSandboxRequest;
use crate::model::record::{SnapshotRecord, StartState};
use crate::model::request::CapturePurpose;
use crate::model::{ContainerIdentity, Directory, Error, Result, SnapshotCause};
use crate::ports::{Ports, Sandboxes};
use crate::service::CloudflareSandboxSnapshotter;
use crate::service::calls::failures::During;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Returns whether the files have changed since the state `known`. If so, the container records their present state as
    /// `next`. Returns `None` in a container that is not the workspace's.
    pub(super) async fn changed_since_state(
        &self,
        dir: &Directory,
        known: Option<&str>,
        next: &str,
        expected: Option<ContainerIdentity>,
    ) -> Result<Option<bool>> {
        match self.sandboxes()?.changed_since_save(&self.id, dir, known, next, expected).await {
            Err(failure) if failure.is_unmounted() => Err(Error::unmounted_directory(dir)),
            check => check.map_err(self.failed(During::Probe)),
        }
    }

    /// Returns the name of the state that a capture with this purpose will have, which begins next; `None` if it needs none,
    /// or if the check fails: then the next capture is not omitted.
    pub(in crate::service) async fn name_saved_state(
        &self,
        purpose: &CapturePurpose,
        expected: Option<ContainerIdentity>,
    ) -> Result<Option<String>> {
        match purpose {
            CapturePurpose::Save { state } => return Ok(Some(state.clone())),
            CapturePurpose::Workspace(cause) | CapturePurpose::Stop(cause) if is_before_switch(*cause) => {}
            _ => return Ok(None),
        }
        let dir = self.start_state()?.dir;
        let state = self.random_short_id()?.as_str().to_owned();
        let check = self.changed_since_state(&dir, None, &state, expected).await;
        Ok(matches!(self.note_late_call(check), Ok(Some(true))).then_some(state))
    }

    /// Returns the snapshot that was taken before the workspace continued in another sandbox, if this one still has the same
    /// files: its stop then takes no second snapshot of them.
    pub(super) async fn snapshot_before_switch(&self, request: &StopSandboxRequest) -> Result<Option<LastSnapshot>> {
        let StartState { dir, saved_state: known, .. } = self.start_state()?;
        let has_state = |row: &SnapshotRecord| {
            row.cause == request.cause && row.cause.is_some_and(is_before_switch) && row.saved_state == known
        };
        let newest = self.newest_restorable(&dir)?.filter(|row| request.superseded && has_state(row));
        let (Some(found), Some(known)) = (newest.and_then(|row| self.to_last_snapshot(&row)), &known) else {
            return Ok(None);
        };
        let next = self.random_short_id()?;
        let check = self.changed_since_state(&dir, Some(known), next.as_str(), None).await;
        let is_unchanged = matches!(self.note_late_call(check), Ok(Some(false)));
        Ok(is_unchanged.then_some(found))
    }
}

/// Returns whether the snapshot has the files of a sandbox that a workspace leaves.
const fn is_before_switch(cause: SnapshotCause) -> bool {
    matches!(cause, SnapshotCause::BeforePromotion | SnapshotCause::BeforeStart | SnapshotCause::BeforeRollback)
}
