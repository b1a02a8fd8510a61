//! What is left to be done for a workspace: sandboxes that are not its own any more.

use std::collections::BTreeMap;

use super::NamedWorkspace;
use crate::model::Result;
use crate::model::named::record::Chore;
use crate::model::named::standing::{HaltRequest, Retired};
use crate::ports::{Home, Ports, Workspaces};
use crate::service::planted::{Bug, planted};

/// Does what is left to be done. What fails is tried again by the alarm.
pub(super) async fn work_off<P: Ports>(this: &NamedWorkspace<P>) -> Result<()> {
    work_off_all(this).await.map(drop)
}

/// As [`work_off`], and says what became of snapshots.
pub(super) async fn work_off_all<P: Ports>(this: &NamedWorkspace<P>) -> Result<Retired> {
    let mut all = Retired::default();
    let Some(record) = this.ports.home()?.named()? else { return Ok(all) };
    for chore in record.chores {
        let workspaces = this.ports.workspaces()?;
        let done = match &chore {
            Chore::Retire(id) => workspaces.retire(id, &this.address).await.map(|retired| {
                all.removed += retired.removed;
                all.kept.extend(retired.kept);
                None
            }),
            Chore::Quiet(id) => {
                let request = HaltRequest {
                    address: (*this.address).clone(),
                    snapshot: true,
                    hooks: Vec::new(),
                    env: BTreeMap::new(),
                };
                workspaces.halt(id, &request).await.map(|halted| halted.snapshot)
            }
        };
        let done = if planted(Bug::ChoreForgotten) { Ok(done.ok().flatten()) } else { done };
        if let Ok(snapshot) = done {
            this.change(|record| {
                record.chores.retain(|other| *other != chore);
                if let Some(snapshot) = snapshot.filter(|snapshot| snapshot.origin_id == record.sandbox_id) {
                    record.last_snapshot = Some(snapshot);
                }
            })?;
        }
    }
    Ok(all)
}
