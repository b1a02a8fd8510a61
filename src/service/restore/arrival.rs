//! Verifies that a backup has arrived in the container that it was applied to.
//!
//! The container carries a marker from before the restore on, so that another container is never mistaken for it. The
//! cost of the check does not depend on the number of files, because in an overlay, listing a directory reads
//! everything below it.

use crate::model::named::ContainerMarker;
use crate::model::record::StoredBackup;
use crate::model::{Arrival, Code, DirectoryContent, Error, Result, SandboxId};
use crate::ports::{Ports, SandboxSession, SandboxSessionOf, Sandboxes};
use crate::service::CloudflareSandboxSnapshotter;
use crate::service::calls::failures::{During, from_sandbox};

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Verifies that the files are in place and that every process works in them; then replaces the marker `from` by
    /// `to`. The first attempt uses `session`.
    ///
    /// # Errors
    /// [`Code::OperationInterrupted`] if another container runs, or if a process still works below the mounted files;
    /// [`Code::RestoreFailed`] if the files are missing. The caller must then end the container.
    pub(in crate::service) async fn verify_arrival(
        &self,
        session: &SandboxSessionOf<'_, P>,
        id: &SandboxId,
        stored: &StoredBackup,
        from: &ContainerMarker,
        to: &ContainerMarker,
    ) -> Result<()> {
        let mut session = Some(session);
        let mut complete = async |may_be_empty| {
            self.retry(async || {
                let backup = &stored.backup;
                let arrival = match session.take() {
                    Some(session) => session.complete_restore(backup, from, to, may_be_empty).await,
                    None => self.sandboxes()?.complete_restore(id, backup, from, to, may_be_empty).await,
                };
                arrival.map_err(|failure| from_sandbox(failure, id, During::Restore))
            })
            .await
        };
        let mut arrival = complete(false).await?;
        if arrival == Arrival::FilesMissing(DirectoryContent::Empty)
            && self.is_empty_archive(stored.backup.id()).await?
        {
            arrival = complete(true).await?;
        }
        match arrival {
            Arrival::Complete => Ok(()),
            Arrival::OtherContainer => Err(another_container(id)),
            Arrival::FilesMissing(_) => Err(Error::new(
                Code::RestoreFailed,
                format!(
                    "The sandbox {:?} reported that the restore succeeded, but the files are missing.",
                    id.as_str()
                ),
                "Try again. If the error persists, check the logs of the sandbox's Worker.",
            )),
            Arrival::ProcessBelowMount(process) => Err(Error::new(
                Code::OperationInterrupted,
                format!(
                    "In the sandbox {:?}, the process {process} still works in {:?} below the mounted files: its \
                     writes would be lost.",
                    id.as_str(),
                    stored.backup.dir().as_str()
                ),
                "Try again. If the image starts this process, start it in another directory.",
            )),
        }
    }
}

/// Returns the error of a step that found another container than the one that the restore began in.
pub(in crate::service) fn another_container(id: &SandboxId) -> Error {
    Error::new(
        Code::OperationInterrupted,
        format!("The container of the sandbox {:?} ended, and another container is running.", id.as_str()),
        "Try again.",
    )
}
