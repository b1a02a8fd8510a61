//! Refuses captures that would leave out more than the caller requested.

use crate::model::exclude::ignored_paths_error;
use crate::model::{BackupOptions, Result, SandboxId};
use crate::ports::{Ports, Sandboxes};
use crate::service::CloudflareSandboxSnapshotter;
use crate::service::calls::failures::{During, from_sandbox};

/// Checks the paths that git ignores in the directory, if the capture excludes them.
///
/// # Errors
/// [`Code::ExcludeUnsupported`](crate::model::Code::ExcludeUnsupported) if an ignored path contains a slash.
pub(in crate::service) async fn check_ignored<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    id: &SandboxId,
    options: &BackupOptions,
) -> Result<()> {
    if options.gitignore != Some(true) {
        return Ok(());
    }
    let ignored = this.ports.sandboxes()?.ignored_paths(id, &options.dir).await;
    let ignored = ignored.map_err(|failure| from_sandbox(failure, id, During::Probe))?;
    ignored_paths_error(options.dir.as_str(), &ignored).map_or(Ok(()), Err)
}
