//! The keys that sign a workspace's refs.

use super::CloudflareSandboxSnapshotter;
use crate::model::answer::KeyRotation;
use crate::model::{Result, SigningKey};
use crate::ports::{Entropy, Ledger, Ports};

/// How many keys are accepted: the one that signs, and the one before.
const ACCEPTED: usize = 2;

/// Signs with a new key from now on.
pub(super) fn rotate<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<KeyRotation> {
    let mut workspace = this.workspace()?;
    let previous = workspace.keys.first().map(SigningKey::number);
    let key = SigningKey::new(previous.unwrap_or(0) + 1, this.ports.entropy().bytes()?);
    workspace.keys.insert(0, key);
    workspace.keys.truncate(ACCEPTED);
    this.ports.ledger()?.put_workspace(&workspace)?;
    Ok(KeyRotation { key: previous.unwrap_or(0) + 1, previous })
}
