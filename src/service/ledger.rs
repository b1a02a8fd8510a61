//! The row of the sandbox itself in its ledger, its snapshots, and its alarm.

use super::CloudflareSandboxSnapshotter;
use crate::model::named::messages::ClaimRequest;
use crate::model::record::{SandboxRecord, SnapshotRecord};
use crate::model::request::SnapshotCursor;
use crate::model::retention::expires_at;
use crate::model::usage::OperationCounts;
use crate::model::{Directory, Policy, Result, SigningKey, Timestamp, root_of};
use crate::ports::{Entropy, Ledger, Ports};

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Returns the directory of a call: the one that it names, or else that of the sandbox's named workspace, or else the
    /// default one of the deployment.
    pub(super) fn directory(&self, named: Option<Directory>) -> Result<Directory> {
        if let Some(dir) = named {
            return Ok(dir);
        }
        let binding = self.ledger.sandbox()?.and_then(|sandbox| sandbox.binding);
        Ok(binding.map_or_else(|| self.config.default_dir.clone(), |binding| binding.start.dir))
    }

    /// Returns the row of the sandbox itself; a new one with defaults, which is not stored yet, when there is none.
    ///
    /// # Errors
    /// [`Code::RuntimeMismatch`](crate::model::Code::RuntimeMismatch) if the caller requests another runtime.
    pub(super) fn sandbox_record(&self) -> Result<SandboxRecord> {
        if let Some(stored) = self.ledger.sandbox()? {
            return self.ensure_requested_runtime(&stored).map(|()| stored);
        }
        Ok(SandboxRecord {
            sandbox_id: (*self.id).clone(),
            root_id: root_of(&self.id),
            runtime: self.runtime()?,
            parent: None,
            policy: Policy::default(),
            keys: Vec::new(),
            id_key: None,
            unverified: None,
            marker: None,
            marked_at: None,
            container: None,
            traced_base: None,
            protected: None,
            binding: None,
            counts: OperationCounts::default(),
            start: None,
            decommissioned_at: None,
        })
    }

    /// Stores the row of the sandbox with its keys, unless it is there. Returns the row, and the key that mints
    /// snapshot ids.
    pub(super) fn ensure_initialized(&self) -> Result<(SandboxRecord, SigningKey)> {
        let mut sandbox = self.sandbox_record()?;
        let is_new = sandbox.keys.is_empty() || sandbox.id_key.is_none();
        if sandbox.keys.is_empty() {
            sandbox.keys.push(SigningKey::new(1, self.ports.entropy().random_bytes()?));
        }
        let id_key = match sandbox.id_key.take() {
            Some(id_key) => id_key,
            None => SigningKey::new(0, self.ports.entropy().random_bytes()?),
        };
        sandbox.id_key = Some(id_key.clone());
        if is_new {
            self.ledger.put_sandbox(&sandbox)?;
        }
        Ok((sandbox, id_key))
    }

    /// Schedules the alarm at `at`, unless an earlier one is set. Sets an overdue alarm again, because it may have been
    /// lost.
    pub(super) fn schedule_alarm(&self, at: Timestamp) -> Result<()> {
        match self.ledger.alarm()? {
            Some(scheduled) if scheduled <= at && scheduled > self.now() => Ok(()),
            Some(scheduled) => self.ledger.set_alarm(Some(scheduled.min(at))),
            None => self.ledger.set_alarm(Some(at)),
        }
    }

    /// Calculates when a snapshot expires, stores its row, and schedules the alarm for that time.
    pub(super) fn save_snapshot(
        &self,
        sandbox: &SandboxRecord,
        mut snapshot: SnapshotRecord,
    ) -> Result<SnapshotRecord> {
        let candidate = sandbox.candidate(&snapshot, self.dependents(&snapshot.snapshot_id)?, self.now());
        let stays = candidate.pinned || !candidate.dependents.is_empty() || candidate.protected_until.is_some();
        snapshot.expires_at = expires_at(&sandbox.policy, &candidate).filter(|_| !stays);
        self.ledger.put_snapshot(&snapshot)?;
        if let Some(expires_at) = snapshot.expires_at {
            self.schedule_alarm(expires_at)?;
        }
        Ok(snapshot)
    }

    /// Claims a minted sandbox id: records where the sandbox comes from, and which named workspace it belongs to.
    /// Returns `false` when the id has another owner already.
    pub fn claim(&self, claim: &ClaimRequest) -> Result<bool> {
        let ClaimRequest { root_id, parent, binding, marker, runtime } = claim;
        if let Some(known) = self.ledger.sandbox()? {
            // The same named workspace may repeat its claim.
            let is_same_owner = known.decommissioned_at.is_none()
                && known
                    .binding
                    .is_some_and(|known| Some(&known.address) == binding.as_ref().map(|claimed| &claimed.address));
            return Ok(is_same_owner && known.parent == *parent);
        }
        let sandbox = SandboxRecord {
            root_id: root_id.clone(),
            parent: parent.clone(),
            binding: binding.clone(),
            marker: marker.clone(),
            marked_at: None,
            // A claim of an earlier release is for the binding that it uses.
            runtime: self.ports.sandbox_bindings().of_row(*runtime),
            ..self.sandbox_record()?
        };
        self.ledger.put_sandbox(&sandbox)?;
        Ok(true)
    }

    /// Returns the newest snapshot that matches. Reads the ledger in pages of `page_rows`.
    pub(super) fn newest_where(
        &self,
        page_rows: u32,
        matches: impl Fn(&SnapshotRecord) -> bool,
    ) -> Result<Option<SnapshotRecord>> {
        let mut cursor = None;
        loop {
            let page = self.ledger.snapshot_page(cursor.as_ref(), None, page_rows)?;
            let is_last = page.len() < page_rows as usize;
            cursor = page.last().map(cursor_of);
            let found = page.into_iter().find(&matches);
            if found.is_some() || is_last {
                return Ok(found);
            }
        }
    }
}

/// Returns the cursor after which the next page begins.
pub(super) fn cursor_of(last: &SnapshotRecord) -> SnapshotCursor {
    SnapshotCursor { created_at: last.created_at(), snapshot_id: last.snapshot_id.clone() }
}
