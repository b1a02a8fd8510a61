//! `pin`: a pinned snapshot stays, whatever the retention policy says, until it is unpinned.

use super::list;
use super::select::{Selected, require_ready, select};
use crate::model::answer::Summary;
use crate::model::{Result, Selection};
use crate::ports::Ports;
use crate::service::CloudflareSandboxSnapshotter;

/// Pins or unpins a snapshot.
pub(in crate::service) async fn pin<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    selection: &Selection,
    pinned: bool,
) -> Result<Summary> {
    let Selected { workspace, mut snapshot } = select(this, selection).await?;
    require_ready(&snapshot)?;
    if snapshot.pinned != pinned {
        snapshot.pinned = pinned;
        snapshot = this.save_snapshot(&workspace, snapshot)?;
        if !pinned {
            this.schedule_retention(&workspace)?;
        }
    }
    list::summary(this, &workspace, &snapshot)
}
