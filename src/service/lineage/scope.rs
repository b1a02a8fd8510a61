//! Lineage scopes: a caller that names the sandbox that it works in may only use objects of the lineage of that
//! sandbox.

use crate::model::request::LineageScope;
use crate::model::{Error, Result, SandboxId, root_of};
use crate::ports::{Ports, SandboxLedgerClient};
use crate::service::CloudflareSandboxSnapshotter;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Verifies that the lineage scope permits objects of the lineage of `root_id`.
    ///
    /// # Errors
    /// [`Code::CrossLineage`] if the scope belongs to another lineage, and does not allow others.
    pub(in crate::service) async fn check_lineage(&self, scope: &LineageScope, root_id: &SandboxId) -> Result<()> {
        let Some(id) = scope.sandbox_id.as_ref().filter(|_| !scope.allow_cross_lineage) else { return Ok(()) };
        if *id == *self.id || *id == *root_id {
            return Ok(());
        }
        // The form of an id shows its root, unless the id was shortened. Then its `Workspace` object returns the root.
        let root_by_form = root_of(id);
        let root = if root_by_form == *root_id {
            root_by_form
        } else {
            self.sandbox_ledgers()?.root_id(id).await.map_err(|failure| Error::other_ledger_failed(id, failure))?
        };
        if root == *root_id {
            return Ok(());
        }
        Err(Error::other_lineage(id, &root, root_id))
    }

    /// Verifies that the lineage scope permits this sandbox.
    pub(in crate::service) async fn check_lineage_scope(&self, scope: &LineageScope) -> Result<()> {
        self.check_lineage(scope, &self.sandbox_record()?.root_id).await
    }
}
