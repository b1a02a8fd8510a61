//! Labels: what people call a snapshot. No two snapshots of a workspace have the same.

use super::memory::Work;
use super::planted::{Bug, planted};
use super::select::{Selected, ready, select};
use super::{CloudflareSandboxSnapshotter, list};
use crate::model::answer::Summary;
use crate::model::record::{SnapshotRecord, SnapshotState};
use crate::model::request::LabelRequest;
use crate::model::{Code, Error, Label, Result, SandboxId, Timestamp};
use crate::ports::{Ledger, Ports};

/// Gives a snapshot another label.
pub(super) async fn label<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, request: &LabelRequest) -> Result<Summary> {
    let Selected { workspace, mut snapshot } = select(this, &request.selection).await?;
    ready(&snapshot)?;
    if snapshot.label != request.new_label {
        if !request.replace {
            free(this, &request.new_label)?;
        }
        take(this, &mut snapshot, request.new_label.clone())?;
    }
    list::summary(this, &workspace, &snapshot)
}

/// The label for a snapshot that is begun, and the one that it takes from another when it is ready.
///
/// # Errors
/// [`Code::LabelTaken`].
pub(super) fn choose<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    wanted: Option<&Label>,
    replace: bool,
    now: Timestamp,
) -> Result<(Label, Option<Label>)> {
    match wanted {
        None => Ok((of_time(this, now)?, None)),
        Some(label) if replace && this.ports.ledger()?.labelled(label)?.is_some() => {
            Ok((of_time(this, now)?, Some(label.clone())))
        }
        Some(label) => {
            free(this, label)?;
            Ok((label.clone(), None))
        }
    }
}

/// Gives a label to a snapshot, which is kept with it. Another one that has it gets one by its time.
pub(super) fn take<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    snapshot: &mut SnapshotRecord,
    label: Label,
) -> Result<()> {
    let ledger = this.ports.ledger()?;
    if let Some(mut other) = ledger.labelled(&label)?
        && other.snapshot_id != snapshot.snapshot_id
        && !planted(Bug::LabelTwice)
    {
        other.label = of_time(this, other.created_at())?;
        ledger.put_snapshot(&other)?;
    }
    snapshot.label = label;
    ledger.put_snapshot(snapshot)
}

/// Notes the label that a snapshot has by now: another one may have taken it while this one was made.
pub(super) fn note<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, snapshot: &mut SnapshotRecord) -> Result<()> {
    if let Some(known) = this.ports.ledger()?.snapshot(&snapshot.snapshot_id)?
        && !planted(Bug::LabelOutdated)
    {
        snapshot.label = known.label;
    }
    Ok(())
}

/// A label by the time that nobody has.
fn of_time<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, time: Timestamp) -> Result<Label> {
    let ledger = this.ports.ledger()?;
    let mut number = 1;
    loop {
        let label = Label::of_time(time, number);
        if ledger.labelled(&label)?.is_none() {
            return Ok(label);
        }
        number += 1;
    }
}

/// Makes sure that a label is free. A capture that nobody works on, or waits for, gives it back: whoever asks for it again must
/// get it.
fn free<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, label: &Label) -> Result<()> {
    let ledger = this.ports.ledger()?;
    let Some(mut other) = ledger.labelled(label)? else { return Ok(()) };
    let is_left = other.state() == SnapshotState::Making
        && (other.is_unwanted() || !this.memory.is_taken(&Work::Snapshot(other.snapshot_id.clone())));
    if !is_left {
        return Err(taken(label, &other, &this.id));
    }
    other.label = of_time(this, other.began_at)?;
    ledger.put_snapshot(&other)
}

fn taken(label: &Label, other: &SnapshotRecord, id: &SandboxId) -> Error {
    Error::new(
        Code::LabelTaken,
        format!("The snapshot {} of {:?} has the label {:?} already.", other.snapshot_id, id.as_str(), label.as_str()),
        "Give another label, or pass `replace: true` to take it from that snapshot.",
    )
}
