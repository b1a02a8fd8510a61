//! The runtime of the sandbox: which of the deployment's namespaces its calls go to.
//!
//! The ledger has the runtime from the first use of the sandbox on, and only a migration changes it. Until then, it is
//! the one that the caller requests, or the default of the deployment.

use super::CloudflareSandboxSnapshotter;
use crate::model::record::{SandboxRecord, StoredBackup};
use crate::model::{ArchiveFormat, Error, Result, Runtime, SandboxId};
use crate::ports::{Ledger, Ports};

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Returns the snapshotter for a call that requests a runtime. From then on, the ledger may not name another one.
    ///
    /// # Errors
    /// [`Code::RuntimeMismatch`](crate::model::Code::RuntimeMismatch) if the ledger names another one,
    /// [`Code::InvalidArgument`](crate::model::Code::InvalidArgument) if the deployment has no such sandboxes.
    pub(super) fn in_runtime(&self, requested: Option<Runtime>) -> Result<Self> {
        let this = Self { requested_runtime: requested, ..self.clone() };
        this.ports.sandbox_bindings().for_new(requested)?;
        this.sandbox_record()?;
        Ok(this)
    }

    /// Returns the runtime of the sandbox; `None` if the deployment does not name it.
    pub(super) fn runtime(&self) -> Result<Option<Runtime>> {
        match self.ledger.sandbox()? {
            Some(row) => Ok(self.ports.sandbox_bindings().of_row(row.runtime)),
            None => self.ports.sandbox_bindings().for_new(self.requested_runtime),
        }
    }

    /// Returns the runtime of a sandbox that is made from a snapshot of this one: the requested one, or that of this
    /// sandbox.
    ///
    /// # Errors
    /// [`Code::InvalidArgument`](crate::model::Code::InvalidArgument) if the deployment has no sandboxes of the requested
    /// one, [`Code::SandboxBindingMissing`](crate::model::Code::SandboxBindingMissing) if it has none of the sandbox's own.
    pub(super) fn derived_runtime(&self, requested: Option<Runtime>) -> Result<Option<Runtime>> {
        let runtime = match requested {
            Some(_) => self.ports.sandbox_bindings().for_new(requested)?,
            None => self.runtime()?,
        };
        self.ports.sandboxes(runtime)?;
        Ok(runtime)
    }

    /// Verifies that the row does not name another runtime than the caller.
    pub(super) fn ensure_requested_runtime(&self, row: &SandboxRecord) -> Result<()> {
        let has = self.ports.sandbox_bindings().of_row(row.runtime);
        match self.requested_runtime {
            Some(requested) if has != Some(requested) => {
                Err(Error::runtime_mismatch(&format_args!("the sandbox {:?}", self.id.as_str()), has, requested))
            }
            _ => Ok(()),
        }
    }

    /// Returns the sandboxes of the sandbox's own runtime.
    pub(super) fn sandboxes(&self) -> Result<&P::Sandboxes> {
        self.ports.sandboxes(self.runtime()?)
    }

    /// As [`sandboxes`](Self::sandboxes), for this sandbox or one that a restore made of its snapshots.
    pub(super) fn sandboxes_of(&self, id: &SandboxId) -> Result<&P::Sandboxes> {
        if *id == *self.id {
            return self.sandboxes();
        }
        let runtime = self.ledger.derived_sandbox(id)?.and_then(|derivation| derivation.runtime);
        self.ports.sandboxes(self.ports.sandbox_bindings().of_row(runtime))
    }
}

/// Verifies that a runtime can restore a backup whose archive has a format, and its base.
///
/// # Errors
/// [`Code::Unsupported`](crate::model::Code::Unsupported) for a tar in the runtime of the SDK 0.12, which mounts or
/// unpacks only squashfs.
pub(super) fn ensure_restorable_in(
    runtime: Option<Runtime>,
    format: ArchiveFormat,
    stored: &StoredBackup,
) -> Result<()> {
    if let Some(delta) = stored.backup.delta() {
        ensure_format_restorable_in(runtime, delta.base.format.unwrap_or_default())?;
    }
    ensure_format_restorable_in(runtime, format)
}

fn ensure_format_restorable_in(runtime: Option<Runtime>, format: ArchiveFormat) -> Result<()> {
    match (runtime, format) {
        (
            Some(runtime @ Runtime::Sdk012),
            ArchiveFormat::Tar | ArchiveFormat::TarGzip | ArchiveFormat::TarZstd | ArchiveFormat::DirectoryBackup,
        ) => Err(Error::archive_not_restorable(format.as_str(), runtime)),
        _ => Ok(()),
    }
}
