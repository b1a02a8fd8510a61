//! Labels: the names that users give to snapshots. A label is unique among the snapshots of one sandbox. A snapshot of a named
//! workspace gets no label of a snapshot of its other sandboxes either, except with `replace`.

use super::select::Selected;
use crate::model::answer::{SnapshotState, Summary};
use crate::model::record::SnapshotRecord;
use crate::model::request::LabelRequest;
use crate::model::{Error, Label, Result, Timestamp};
use crate::ports::{Ledger, Ports};
use crate::service::CloudflareSandboxSnapshotter;
use crate::service::in_process::WorkKey;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Changes the label of a snapshot.
    pub async fn label(&self, request: LabelRequest) -> Result<Summary> {
        self.prepare_call().await?;
        // The rows are read afterwards, because they may change while the other sandboxes answer.
        let elsewhere = if request.replace { None } else { self.find_in_workspace(&request.new_label).await? };
        let Selected { sandbox, mut snapshot } = self.select(&request.selection).await?;
        self.require_ready(&snapshot)?;
        if snapshot.label != request.new_label {
            if !request.replace {
                self.ensure_label_free(&request.new_label)?;
            }
            if let Some((sandbox_id, snapshot_id)) = elsewhere {
                return Err(Error::label_taken(&request.new_label, &snapshot_id, &sandbox_id));
            }
            self.assign_label(&mut snapshot, request.new_label.clone())?;
        }
        self.summary(&sandbox, &snapshot)
    }

    /// Verifies that a new snapshot can get a label.
    ///
    /// # Errors
    /// [`Code::LabelTaken`] if another snapshot has the label and `replace` is false: one of this sandbox, or of
    /// another sandbox of its workspace.
    pub(in crate::service) async fn check_label(&self, label: &Label, replace: bool) -> Result<()> {
        if replace {
            return Ok(());
        }
        self.ensure_label_free(label)?;
        match self.find_in_workspace(label).await? {
            Some((sandbox_id, snapshot_id)) => Err(Error::label_taken(label, &snapshot_id, &sandbox_id)),
            None => Ok(()),
        }
    }

    /// Returns the label for a new snapshot, and the label that it takes from another snapshot when it is ready.
    ///
    /// # Errors
    /// [`Code::LabelTaken`] if another snapshot has the label and `replace` is false.
    pub(in crate::service) fn choose_label(
        &self,
        requested: Option<&Label>,
        replace: bool,
        now: Timestamp,
    ) -> Result<(Label, Option<Label>)> {
        match requested {
            None => Ok((self.label_from_time(now)?, None)),
            Some(label) if replace && self.ledger.snapshot_by_label(label)?.is_some() => {
                Ok((self.label_from_time(now)?, Some(label.clone())))
            }
            Some(label) => {
                self.ensure_label_free(label)?;
                Ok((label.clone(), None))
            }
        }
    }

    /// Gives a label to a snapshot, and stores the snapshot. If another snapshot has the label, that one gets a label
    /// made from its time.
    pub(super) fn assign_label(&self, snapshot: &mut SnapshotRecord, label: Label) -> Result<()> {
        if let Some(mut other) = self.ledger.snapshot_by_label(&label)?
            && other.snapshot_id != snapshot.snapshot_id
        {
            other.label = self.label_from_time(other.created_at())?;
            self.ledger.put_snapshot(&other)?;
        }
        snapshot.label = label;
        self.ledger.put_snapshot(snapshot)
    }

    /// Updates the label of `snapshot` from the ledger: another snapshot may have taken it while this one was in
    /// progress.
    pub(in crate::service) fn refresh_label(&self, snapshot: &mut SnapshotRecord) -> Result<()> {
        if let Some(known) = self.ledger.snapshot(&snapshot.snapshot_id)? {
            snapshot.label = known.label;
        }
        Ok(())
    }

    /// Returns a label made from the time that no snapshot has.
    pub(super) fn label_from_time(&self, time: Timestamp) -> Result<Label> {
        let mut number = 1;
        loop {
            let label = Label::default_at(time, number);
            if self.ledger.snapshot_by_label(&label)?.is_none() {
                return Ok(label);
            }
            number += 1;
        }
    }

    /// Verifies that a label is free. A capture that was discarded or whose Worker ended loses the label, because a
    /// caller that repeats its request must get it.
    fn ensure_label_free(&self, label: &Label) -> Result<()> {
        let Some(mut other) = self.ledger.snapshot_by_label(label)? else { return Ok(()) };
        let is_abandoned = other.state() == SnapshotState::Creating
            && (other.is_discarded() || !self.in_process.is_leased(&WorkKey::Snapshot(other.snapshot_id.clone())));
        if !is_abandoned {
            return Err(Error::label_taken(label, &other.snapshot_id, &self.id));
        }
        other.label = self.label_from_time(other.began_at)?;
        self.ledger.put_snapshot(&other)
    }
}
