//! A workspace goes on in another sandbox, because its own does not answer any more.
//!
//! Nothing is lost by that: it happens when its files are in snapshots, at the end of a stop or while a new container gets them.
//! Those stay where they are, the new sandbox is made from the newest of them, and the former one is ended as soon as it answers,
//! with a snapshot of what is in it by then.

use super::NamedWorkspace;
use super::create::{draw_id, set_policy};
use super::update::claim;
use crate::model::named::record::{Chore, Origin};
use crate::model::named::standing::Standing;
use crate::model::named::{NamedRecord, State};
use crate::model::{Code, Error, Result, SandboxId};
use crate::ports::{Ports, Workspaces};
use crate::service::failures::from_workspace;

/// How often an id is drawn that turns out to be taken.
const DRAWS: u32 = 4;

/// Gives the name another sandbox, which gets its files at the next start.
pub(super) async fn relocate<P: Ports>(this: &NamedWorkspace<P>, error: Option<&Error>) -> Result<NamedRecord> {
    let record = this.existing()?;
    let id = match this.ports.workspaces()?.newest(&record.sandbox_id).await? {
        Some(newest) => {
            let origin = Origin { origin_id: newest.origin_id, snapshot_id: newest.id };
            let is_own = origin.origin_id == record.sandbox_id;
            match claim(this, &record, &origin).await {
                // It has no snapshot of its own, and the one that it was made from was deleted by force.
                Err(error) if error.code() == Code::SnapshotNotFound && !is_own => {
                    claim_without_files(this, &record).await?
                }
                claimed => claimed?,
            }
        }
        None => claim_without_files(this, &record).await?,
    };
    set_policy(this, &id, &record.settings.retention).await?;
    let cause = format!("its sandbox {:?} does not answer, and it goes on in another one", record.sandbox_id.as_str());
    let problem = error.map(|error| this.problem(error));
    let now = this.now();
    this.step(State::Stopped, &cause, |record| {
        let former = std::mem::replace(&mut record.sandbox_id, id.clone());
        let retire = Chore::Retire(id);
        record.chores.retain(|chore| *chore != retire);
        record.add_chore(Chore::Quiet(former.clone()));
        record.former.insert(0, former);
        record.root_id = None;
        record.claimed = true;
        record.started_at.get_or_insert(now);
        record.problem = problem;
    })
}

/// Claims an id for a workspace of which there is no snapshot. Where it was started before, it never begins anew unasked.
async fn claim_without_files<P: Ports>(this: &NamedWorkspace<P>, record: &NamedRecord) -> Result<SandboxId> {
    for _ in 0..DRAWS {
        let id = draw_id(this, None)?;
        this.change(|record| record.add_chore(Chore::Retire(id.clone())))?;
        let standing = Standing {
            opened_at: record.started_at,
            ..Standing::of((*this.address).clone(), record.settings.dir.clone())
        };
        let claimed = this.ports.workspaces()?.claim(&id, &id, None, Some(&standing), None).await;
        if claimed.map_err(|failure| from_workspace(failure, &id))? {
            return Ok(id);
        }
        this.change(|record| record.chores.retain(|chore| *chore.sandbox_id() != id))?;
    }
    Err(Error::new(Code::Internal, "All ids that were drawn are taken already.", "Try again."))
}
