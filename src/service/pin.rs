//! Pins: what is pinned stays until it is unpinned.

use super::select::{Selected, ready, select};
use super::{CloudflareSandboxSnapshotter, list};
use crate::model::answer::Summary;
use crate::model::{Result, Selection};
use crate::ports::Ports;

/// Pins a snapshot, or unpins it.
pub(super) async fn pin<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    selection: &Selection,
    pinned: bool,
) -> Result<Summary> {
    let Selected { workspace, mut snapshot } = select(this, selection).await?;
    ready(&snapshot)?;
    if snapshot.pinned != pinned {
        snapshot.pinned = pinned;
        snapshot = this.keep(&workspace, snapshot)?;
        if !pinned {
            this.wake_by_policy(&workspace)?;
        }
    }
    list::summary(this, &workspace, &snapshot)
}
