//! The keys that sign a workspace's refs.

use crate::model::answer::KeyRotation;
use crate::model::{Result, SigningKey};
use crate::ports::{Entropy, Ledger, Ports};
use crate::service::CloudflareSandboxSnapshotter;

/// The number of accepted keys: the one that signs, and the previous one.
const ACCEPTED_KEYS: usize = 2;

/// Adds a new key, which signs from now on, and drops the keys before the previous one.
pub(in crate::service) fn rotate<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<KeyRotation> {
    let mut workspace = this.workspace()?;
    let previous = workspace.keys.first().map(SigningKey::number);
    let key = SigningKey::new(previous.unwrap_or(0) + 1, this.ports.entropy().random_bytes()?);
    workspace.keys.insert(0, key);
    workspace.keys.truncate(ACCEPTED_KEYS);
    this.ports.ledger()?.put_workspace(&workspace)?;
    Ok(KeyRotation { key: previous.unwrap_or(0) + 1, previous })
}
