//! `pin`: a pinned snapshot stays, whatever the retention policy says, until it is unpinned.

use super::select::Selected;
use crate::model::answer::Summary;
use crate::model::{Result, Selection};
use crate::ports::Ports;
use crate::service::CloudflareSandboxSnapshotter;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Pins or unpins a snapshot.
    pub async fn pin(&self, selection: Selection, pinned: bool) -> Result<Summary> {
        self.prepare_call().await?;
        let Selected { sandbox, mut snapshot } = self.select(&selection).await?;
        self.require_ready(&snapshot)?;
        if snapshot.pinned != pinned {
            snapshot.pinned = pinned;
            snapshot = self.save_snapshot(&sandbox, snapshot)?;
            if !pinned {
                self.schedule_retention(&sandbox)?;
            }
        }
        self.summary(&sandbox, &snapshot)
    }
}
