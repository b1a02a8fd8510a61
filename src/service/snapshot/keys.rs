//! The keys that sign a sandbox's refs.

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
        let mut sandbox = self.sandbox_record()?;
        let previous = sandbox.keys.first().map(SigningKey::number);
        let key = SigningKey::new(previous.unwrap_or(0) + 1, self.ports.entropy().random_bytes()?);
        sandbox.keys.insert(0, key);
        sandbox.keys.truncate(ACCEPTED_KEYS);
        self.ledger.put_sandbox(&sandbox)?;
        Ok(KeyRotation { key: previous.unwrap_or(0) + 1, previous })
    }
}
