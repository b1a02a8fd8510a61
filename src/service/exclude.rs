//! Refuses captures that would leave out more than the caller asked for.

use super::CloudflareSandboxSnapshotter;
use super::failures::{During, from_sandbox};
use crate::model::exclude::refuse_ignored;
use crate::model::{BackupOptions, Result, SandboxId};
use crate::ports::{Ports, Sandboxes};

/// Checks what git ignores in the directory, where the capture is to leave that out.
///
/// # Errors
/// [`Code::ExcludeUnsupported`](crate::model::Code::ExcludeUnsupported) where an ignored path contains a slash.
pub(super) async fn check_ignored<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    id: &SandboxId,
    options: &BackupOptions,
) -> Result<()> {
    if options.gitignore != Some(true) {
        return Ok(());
    }
    let ignored = this.ports.sandboxes()?.ignored_below(id, &options.dir).await;
    let ignored = ignored.map_err(|failure| from_sandbox(failure, id, During::Look))?;
    refuse_ignored(options.dir.as_str(), &ignored).map_or(Ok(()), Err)
}
