//! The workspace's own row, and its alarm.

use super::CloudflareSandboxSnapshotter;
use super::planted::{Bug, planted};
use crate::model::named::standing::Standing;
use crate::model::record::{Parent, SnapshotRecord, WorkspaceRecord};
use crate::model::{Policy, Result, SandboxId, SigningKey, Timestamp, root_of};
use crate::ports::{Clock, Entropy, Ledger, Ports};

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// The workspace, as it is kept, or as it would be begun.
    pub(super) fn workspace(&self) -> Result<WorkspaceRecord> {
        let kept = self.ports.ledger()?.workspace()?;
        Ok(kept.unwrap_or_else(|| WorkspaceRecord {
            sandbox_id: (*self.id).clone(),
            root_id: root_of(&self.id),
            parent: None,
            policy: Policy::default(),
            keys: Vec::new(),
            seal: None,
            doubt: None,
            marker: None,
            marked_at: None,
            spared: None,
            standing: None,
            retired_at: None,
        }))
    }

    /// The workspace, which is kept from now on and has its keys; and its seal.
    pub(super) fn founded(&self) -> Result<(WorkspaceRecord, SigningKey)> {
        let mut workspace = self.workspace()?;
        let is_new = workspace.keys.is_empty() || workspace.seal.is_none();
        if workspace.keys.is_empty() {
            workspace.keys.push(SigningKey::new(1, self.ports.entropy().bytes()?));
        }
        let seal = match workspace.seal.take() {
            Some(seal) => seal,
            None => SigningKey::new(0, self.ports.entropy().bytes()?),
        };
        workspace.seal = Some(seal.clone());
        if is_new {
            self.ports.ledger()?.put_workspace(&workspace)?;
        }
        Ok((workspace, seal))
    }

    /// Makes sure that the alarm comes at that time, or earlier. One that is overdue may never have come: it is set anew.
    pub(super) fn wake_by(&self, at: Timestamp) -> Result<()> {
        let ledger = self.ports.ledger()?;
        match ledger.alarm()? {
            Some(set) if set <= at && set > self.ports.clock().now() => Ok(()),
            Some(set) => ledger.set_alarm(Some(set.min(at))),
            None => ledger.set_alarm(Some(at)),
        }
    }

    /// Works out when a snapshot expires, keeps it, and sees to it that somebody looks then.
    pub(super) fn keep(&self, workspace: &WorkspaceRecord, mut snapshot: SnapshotRecord) -> Result<SnapshotRecord> {
        let ledger = self.ports.ledger()?;
        let candidate = workspace.candidate(&snapshot, self.holders(&snapshot.snapshot_id)?, self.ports.clock().now());
        let stays = candidate.pinned || !candidate.holders.is_empty() || candidate.spared_until.is_some();
        snapshot.expires_at = workspace.policy.expires_at(&candidate).filter(|_| !stays);
        ledger.put_snapshot(&snapshot)?;
        if let Some(expires_at) = snapshot.expires_at {
            self.wake_by(expires_at)?;
        }
        Ok(snapshot)
    }
}

/// Notes where a minted sandbox comes from, and what it stands for, unless anything else is known of that id.
pub(super) fn claim<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    root_id: &SandboxId,
    parent: Option<&Parent>,
    standing: Option<&Standing>,
    marker: Option<&str>,
) -> Result<bool> {
    let ledger = this.ports.ledger()?;
    if let Some(known) = ledger.workspace()? {
        // Whoever has the name is asking again.
        let is_theirs = known.retired_at.is_none()
            && known.standing.is_some_and(|known| Some(&known.address) == standing.map(|own| &own.address));
        if planted(Bug::ClaimedFromOthers) {
            return Ok(true);
        }
        return Ok(is_theirs && known.parent.as_ref() == parent);
    }
    let workspace = WorkspaceRecord {
        root_id: root_id.clone(),
        parent: parent.cloned(),
        standing: standing.cloned(),
        marker: marker.map(str::to_owned),
        marked_at: None,
        ..this.workspace()?
    };
    ledger.put_workspace(&workspace)?;
    Ok(true)
}
