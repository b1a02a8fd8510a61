//! The keys that sign a workspace's refs.

use crate::model::answer::KeyRotation;
use crate::model::request::SandboxRequest;
use crate::model::{Result, SigningKey};
use crate::ports::{Entropy, Ledger, Ports};
use crate::service::CloudflareSandboxSnapshotter;

/// The number of accepted keys: the one that signs, and the previous one.
const ACCEPTED_KEYS: usize = 2;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Signs refs with a new key from now on. Refs that the previous key signed stay valid.
    pub async fn rotate_key(&self, request: SandboxRequest) -> Result<KeyRotation> {
        self.prepare_call().await?;
        self.check_lineage_scope(&request.lineage_scope).await?;
        let mut workspace = self.workspace()?;
        let previous = workspace.keys.first().map(SigningKey::number);
        let key = SigningKey::new(previous.unwrap_or(0) + 1, self.ports.entropy().random_bytes()?);
        workspace.keys.insert(0, key);
        workspace.keys.truncate(ACCEPTED_KEYS);
        self.ledger.put_workspace(&workspace)?;
        Ok(KeyRotation { key: previous.unwrap_or(0) + 1, previous })
    }
}
