//! Which snapshot is meant.

use super::planted::{Bug, planted};
use super::{CloudflareSandboxSnapshotter, session};
use crate::model::record::{SnapshotRecord, Stage, Stored, WorkspaceRecord};
use crate::model::{Code, Error, Result, Selection, Selector, SnapshotRef};
use crate::ports::{Ledger, Ports};

/// A snapshot, and the workspace that it belongs to.
pub(super) struct Selected {
    /// The workspace.
    pub workspace: WorkspaceRecord,
    /// The snapshot; one that is gone among them, as long as that is known.
    pub snapshot: SnapshotRecord,
}

/// Finds the snapshot that is meant, for a caller who may mean it.
///
/// # Errors
/// [`Code::CrossSession`], [`Code::RefMismatch`] for a ref that was not signed here, [`Code::SnapshotNotFound`].
pub(super) async fn select<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    selection: &Selection,
) -> Result<Selected> {
    let workspace = this.workspace()?;
    session::check(this, &selection.session, &workspace.root_id).await?;
    if let Selector::Ref { r#ref } = &selection.selector {
        check_signature(r#ref, &workspace)?;
    }
    let ledger = this.ports.ledger()?;
    let found = match &selection.selector {
        Selector::Ref { r#ref } => ledger.snapshot(r#ref.snapshot_id())?,
        Selector::Id { snapshot_id, .. } => ledger.snapshot(snapshot_id)?,
        Selector::Label { label, .. } => ledger.labelled(label)?,
    };
    let snapshot = found.ok_or_else(|| unknown(&selection.selector))?;
    if let Selector::Ref { r#ref } = &selection.selector {
        check_row(r#ref, &snapshot)?;
    }
    Ok(Selected { workspace, snapshot })
}

/// What is in R2 of a snapshot that is there to be used.
///
/// # Errors
/// [`Code::SnapshotBusy`] while it is being made, [`Code::SnapshotNotFound`] with the reason when it is gone.
pub(super) fn ready(snapshot: &SnapshotRecord) -> Result<&Stored> {
    match &snapshot.stage {
        Stage::Ready { stored } => Ok(stored),
        Stage::Making(_) => Err(Error::new(
            Code::SnapshotBusy,
            format!("The snapshot {} is still being made.", snapshot.snapshot_id),
            "Try again when it is done.",
        )),
        Stage::Deleting { end, .. } | Stage::Deleted { end, .. } => Err(Error::new(
            Code::SnapshotNotFound,
            format!("The snapshot {} was let go at {}: {}.", snapshot.snapshot_id, end.at, end.reason),
            "Use another snapshot: list() shows those that are there.",
        )),
    }
}

/// A ref is worth nothing without the signature of this workspace.
fn check_signature(r#ref: &SnapshotRef, workspace: &WorkspaceRecord) -> Result<()> {
    if r#ref.is_signed_by(&workspace.keys) || planted(Bug::SignatureNotChecked) {
        return Ok(());
    }
    Err(Error::new(
        Code::RefMismatch,
        format!(
            "The snapshot ref of {} is not signed by the workspace of {:?}: it was forged or altered, or its key was rotated \
             out.",
            r#ref.snapshot_id(),
            r#ref.origin_id().as_str()
        ),
        "Pass the ref on exactly as snapshot() answered it. After rotations, get() answers one that is signed anew.",
    ))
}

/// A ref that is signed, and says something else than the ledger, is of another ledger's time.
fn check_row(r#ref: &SnapshotRef, snapshot: &SnapshotRecord) -> Result<()> {
    let agrees = |stored: &Stored| stored.backup == *r#ref.backup() && stored.created_at == r#ref.created_at();
    if snapshot.stored().is_some_and(agrees) {
        return Ok(());
    }
    Err(Error::new(
        Code::RefMismatch,
        format!("The snapshot ref of {} does not agree with the ledger.", r#ref.snapshot_id()),
        "Take the ref that get() answers.",
    ))
}

fn unknown(selector: &Selector) -> Error {
    let origin = selector.origin_id().as_str();
    let what = match selector {
        Selector::Ref { r#ref } => format!("snapshot {} of {origin:?}", r#ref.snapshot_id()),
        Selector::Id { snapshot_id, .. } => format!("snapshot {snapshot_id} of {origin:?}"),
        Selector::Label { label, .. } => format!("snapshot of {origin:?} with the label {:?}", label.as_str()),
    };
    Error::new(
        Code::SnapshotNotFound,
        format!("The ledger has no {what} (any more)."),
        "Use another snapshot: list() shows those that are there.",
    )
}
