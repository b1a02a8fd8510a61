//! Detects a sandbox that does not answer since a destroy of its container or a restore of its files timed out.
//!
//! A call that timed out may still take effect. A late destroy could end the next container while an application uses
//! it. A late restore blocks the next restore, because the SDK runs one at a time. The Worker therefore hands out no
//! more containers of such a sandbox. The workspace moves to another sandbox (`workspace::relocate`), so a late call
//! affects only a sandbox that no longer belongs to a named workspace. A sandbox without a named workspace is not revived
//! before its last check (`reconcile`), when no call can be late any more.

use crate::model::named::messages::EnsuredRunning;
use crate::model::{Code, Error, Result};
use crate::ports::Ports;
use crate::service::CloudflareSandboxSnapshotter;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Verifies that every destroy of a container of this sandbox was answered.
    ///
    /// # Errors
    /// [`Code::SandboxUnresponsive`].
    pub(super) fn ensure_responsive(&self) -> Result<()> {
        if self.start_state()?.destroy_unconfirmed {
            Err(self.unresponsive_error("A destroy of its container was not answered."))
        } else {
            Ok(())
        }
    }

    /// Returns the outcome of a start, or [`Code::SandboxUnresponsive`] if the workspace must move to another sandbox:
    /// if [`ensure_responsive`](Self::ensure_responsive) fails, or if a call timed out and `was_restoring` is set.
    /// `was_restoring` means that an earlier call began a restore whose end was not confirmed.
    pub(super) fn classify_outcome(
        &self,
        outcome: Result<EnsuredRunning>,
        was_restoring: bool,
    ) -> Result<EnsuredRunning> {
        self.ensure_responsive()?;
        outcome.map_err(|error| match error.code() {
            Code::SandboxTimeout if was_restoring => self.unresponsive_error(error.message()),
            _ => error,
        })
    }

    fn unresponsive_error(&self, why: &str) -> Error {
        let is_named = self.sandbox_record().is_ok_and(|sandbox| sandbox.binding.is_some());
        let error = if is_named { Error::sandbox_unresponsive } else { Error::revive_unresponsive };
        error(&self.id, why)
    }
}
