//! Verifies that a backup has arrived in the container that it was applied to.
//!
//! The container carries a marker from before the restore on, so that another container is never mistaken for it. The
//! cost of the check does not depend on the number of files, because in an overlay, listing a directory reads
//! everything below it.

use crate::model::named::ContainerMarker;
use crate::model::record::StoredBackup;
use crate::model::{Arrival, DirectoryContent, Error, Result, SandboxId};
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
        let delta = stored.backup.delta();
        let base = delta.map_or(stored, |delta| &*delta.base);
        let mut session = Some(session);
        let mut complete = async |may_be_empty| {
            self.retry(async || {
                let backup = &*base.backup;
                let arrival = match session.take() {
                    Some(session) => session.complete_restore(backup, from, to, may_be_empty).await,
                    None => self.sandboxes_of(id)?.complete_restore(id, backup, from, to, may_be_empty).await,
                };
                arrival.map_err(|failure| from_sandbox(failure, id, During::Restore))
            })
            .await
        };
        let mut arrival = complete(false).await?;
        if arrival == Arrival::FilesMissing(DirectoryContent::Empty)
            // The files of a delta are verified.
            && (delta.is_some() || self.is_empty_archive(&stored.backup).await?)
        {
            arrival = complete(true).await?;
        }
        match arrival {
            Arrival::Complete => Ok(()),
            Arrival::OtherContainer => Err(Error::another_container(id)),
            Arrival::FilesMissing(_) => Err(Error::restored_files_missing(id)),
            Arrival::ProcessBelowMount(process) => Err(Error::process_below_mount(id, &process, stored.backup.dir())),
        }
    }
}
