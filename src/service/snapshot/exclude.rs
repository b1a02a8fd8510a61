//! Refuses captures that would leave out more than the caller requested.

use crate::model::exclude::ignored_paths_error;
use crate::model::{BackupOptions, Result};
use crate::ports::{Ports, Sandboxes};
use crate::service::CloudflareSandboxSnapshotter;
use crate::service::calls::failures::During;
use crate::service::container::identity::ContainerExpectation;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Checks the paths that git ignores in the directory, if the capture excludes them.
    ///
    /// # Errors
    /// [`Code::ExcludeUnsupported`](crate::model::Code::ExcludeUnsupported) if an ignored path contains a slash.
    pub(super) async fn check_ignored_paths(
        &self,
        options: &BackupOptions,
        expectation: &ContainerExpectation,
    ) -> Result<()> {
        if options.gitignore != Some(true) {
            return Ok(());
        }
        if let ContainerExpectation::Identified(container) = expectation
            && self.sandbox_record()?.binding.is_none()
        {
            // The command may start another container.
            self.mark_unverified(Some(*container))?;
        }
        let ignored =
            self.sandboxes()?.ignored_paths(&self.id, &options.dir).await.map_err(self.failed(During::Probe))?;
        ignored_paths_error(options.dir.as_str(), &ignored).map_or(Ok(()), Err)
    }
}
