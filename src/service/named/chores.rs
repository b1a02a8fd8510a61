//! What is left to be done for a workspace: sandboxes that are not its own any more.

use super::NamedWorkspace;
use crate::model::named::NamedRecord;
use crate::model::named::messages::{HaltRequest, Retired};
use crate::model::named::record::Chore;
use crate::model::{Code, Error, Result};
use crate::ports::{Home, Ports, Workspaces};
use crate::service::planted::{Bug, planted};

/// Does what is left to be done. What fails is tried again by the alarm.
pub(super) async fn work_off<P: Ports>(this: &NamedWorkspace<P>) -> Result<()> {
    work_off_all(this).await.map(drop)
}

/// As [`work_off`], and says what became of snapshots.
pub(super) async fn work_off_all<P: Ports>(this: &NamedWorkspace<P>) -> Result<Retired> {
    let Some(record) = this.ports.home()?.named()? else { return Ok(Retired::default()) };
    work_off_these(this, record.chores).await
}

/// Does what is left to be done about the sandbox that the workspace has, or may get.
pub(super) async fn work_off_present<P: Ports>(this: &NamedWorkspace<P>) -> Result<()> {
    let Some(record) = this.ports.home()?.named()? else { return Ok(()) };
    let (_, present) = of_former(&record);
    work_off_these(this, present).await.map(drop)
}

/// Does what is left to be done about sandboxes that the workspace had before, which may not answer. Calls for the workspace
/// need not wait for that.
pub(super) async fn work_off_former<P: Ports>(this: &NamedWorkspace<P>) -> Result<()> {
    let Some(record) = this.ports.home()?.named()? else { return Ok(()) };
    let (former, _) = of_former(&record);
    work_off_these(this, former).await.map(drop)
}

/// What is about former sandboxes, and the rest.
fn of_former(record: &NamedRecord) -> (Vec<Chore>, Vec<Chore>) {
    record.chores.iter().cloned().partition(|chore| record.former.contains(chore.sandbox_id()))
}

async fn work_off_these<P: Ports>(this: &NamedWorkspace<P>, chores: Vec<Chore>) -> Result<Retired> {
    let mut all = Retired::default();
    for chore in chores {
        let workspaces = this.ports.workspaces()?;
        let done = match &chore {
            Chore::Retire(id) => workspaces.retire(id, &this.address).await.map(|retired| {
                all.removed += retired.removed;
                all.kept.extend(retired.kept);
                None
            }),
            Chore::Quiet(id) => {
                let record = this.ports.home()?.named()?.ok_or_else(Error::defect)?;
                let request = HaltRequest {
                    version: record.version,
                    former: record.former.contains(id),
                    ..HaltRequest::capturing((*this.address).clone())
                };
                match workspaces.halt(id, &request).await {
                    Ok(halted) if halted.end_unanswered => Err(Error::new(
                        Code::SandboxTimeout,
                        format!("The end of the container of {:?} was not answered in time.", id.as_str()),
                        "It is asked for again.",
                    )),
                    halted => halted.map(|halted| halted.snapshot),
                }
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
