//! Labels: the names that users give to snapshots. A label is unique within its workspace.

use super::list;
use super::select::{Selected, require_ready, select};
use crate::model::answer::Summary;
use crate::model::record::{SnapshotRecord, SnapshotState};
use crate::model::request::LabelRequest;
use crate::model::{Code, Error, Label, Result, SandboxId, Timestamp};
use crate::ports::{Ledger, Ports};
use crate::service::CloudflareSandboxSnapshotter;
use crate::service::in_process::WorkKey;
use crate::service::planted::{Bug, planted};

/// Changes the label of a snapshot.
pub(in crate::service) async fn label<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    request: &LabelRequest,
) -> Result<Summary> {
    let Selected { workspace, mut snapshot } = select(this, &request.selection).await?;
    require_ready(&snapshot)?;
    if snapshot.label != request.new_label {
        if !request.replace {
            ensure_free(this, &request.new_label)?;
        }
        assign(this, &mut snapshot, request.new_label.clone())?;
    }
    list::summary(this, &workspace, &snapshot)
}

/// Returns the label for a new snapshot, and the label that it takes from another snapshot when it is ready.
///
/// # Errors
/// [`Code::LabelTaken`] if another snapshot has the label and `replace` is false.
pub(in crate::service) fn choose<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    requested: Option<&Label>,
    replace: bool,
    now: Timestamp,
) -> Result<(Label, Option<Label>)> {
    match requested {
        None => Ok((label_from_time(this, now)?, None)),
        Some(label) if replace && this.ports.ledger()?.snapshot_by_label(label)?.is_some() => {
            Ok((label_from_time(this, now)?, Some(label.clone())))
        }
        Some(label) => {
            ensure_free(this, label)?;
            Ok((label.clone(), None))
        }
    }
}

/// Gives a label to a snapshot, and stores the snapshot. If another snapshot has the label, that one gets a label made
/// from its time.
pub(in crate::service) fn assign<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    snapshot: &mut SnapshotRecord,
    label: Label,
) -> Result<()> {
    let ledger = this.ports.ledger()?;
    if let Some(mut other) = ledger.snapshot_by_label(&label)?
        && other.snapshot_id != snapshot.snapshot_id
        && !planted(Bug::LabelNotUnique)
    {
        other.label = label_from_time(this, other.created_at())?;
        ledger.put_snapshot(&other)?;
    }
    snapshot.label = label;
    ledger.put_snapshot(snapshot)
}

/// Updates the label of `snapshot` from the ledger: another snapshot may have taken it while this one was in progress.
pub(in crate::service) fn refresh<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    snapshot: &mut SnapshotRecord,
) -> Result<()> {
    if let Some(known) = this.ports.ledger()?.snapshot(&snapshot.snapshot_id)?
        && !planted(Bug::LabelChangeOverwritten)
    {
        snapshot.label = known.label;
    }
    Ok(())
}

/// Returns a label made from the time that no snapshot has.
fn label_from_time<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, time: Timestamp) -> Result<Label> {
    let ledger = this.ports.ledger()?;
    let mut number = 1;
    loop {
        let label = Label::default_at(time, number);
        if ledger.snapshot_by_label(&label)?.is_none() {
            return Ok(label);
        }
        number += 1;
    }
}

/// Verifies that a label is free. A capture that was discarded or whose Worker ended loses the label, because a caller
/// that repeats its request must get it.
fn ensure_free<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, label: &Label) -> Result<()> {
    let ledger = this.ports.ledger()?;
    let Some(mut other) = ledger.snapshot_by_label(label)? else { return Ok(()) };
    let is_abandoned = other.state() == SnapshotState::Creating
        && (other.is_discarded() || !this.in_process.is_leased(&WorkKey::Snapshot(other.snapshot_id.clone())));
    if !is_abandoned {
        return Err(label_taken(label, &other, &this.id));
    }
    other.label = label_from_time(this, other.began_at)?;
    ledger.put_snapshot(&other)
}

fn label_taken(label: &Label, other: &SnapshotRecord, id: &SandboxId) -> Error {
    Error::new(
        Code::LabelTaken,
        format!("The snapshot {} of {:?} already has the label {:?}.", other.snapshot_id, id.as_str(), label.as_str()),
        "Use another label, or pass `replace: true` to take the label from that snapshot.",
    )
}
