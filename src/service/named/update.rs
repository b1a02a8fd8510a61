//! A workspace is changed: how it is kept, or which snapshot it goes on from.
//!
//! Going back changes nothing that is there: the name gets a new sandbox, made from the snapshot, and the old one is stopped.

use super::NamedWorkspace;
use super::chores::work_off;
use super::create::{reserve, set_policy};
use crate::model::named::answer::Described;
use crate::model::named::messages::{Condition, ResumeRequest};
use crate::model::named::record::{Chore, Origin};
use crate::model::named::standing::Standing;
use crate::model::named::{NamedRecord, Settings, State};
use crate::model::request::UpdateRequest;
use crate::model::{Code, Error, Lineage, Result, SandboxId, Selection, ShortId, SnapshotId, mint};
use crate::ports::{Ports, Workspaces};
use crate::service::planted::{Bug, planted};
use crate::service::{Abort, draw};

/// How often an id is drawn that turns out to be somebody's.
const DRAWS: u32 = 4;

/// Changes the workspace, when it is this call's turn.
pub(super) async fn update<P: Ports>(
    this: &NamedWorkspace<P>,
    request: UpdateRequest,
    abort: &Abort,
) -> Result<Described> {
    this.existing()?;
    let _turn = this.turn(abort).await?;
    this.memory.next();
    let record = this.existing()?;
    let changed = request.changes.clone().apply(record.settings.clone());
    let is_up = record.state == State::Active
        && match this.ports.workspaces()?.look(&record.sandbox_id).await {
            Ok(condition) => condition == Condition::Alive,
            // The way out of a sandbox that does not answer: it is stopped, with what is in it, as soon as it does.
            Err(error) if error.code() == Code::SandboxTimeout && request.current_snapshot_id.is_some() => false,
            Err(error) => return Err(error),
        };
    let resume = ResumeRequest {
        address: (*this.address).clone(),
        settings: changed.clone(),
        start: request.start.clone(),
        version: record.version,
    };
    let resume = Some(resume).filter(|_| is_up);
    let Some(snapshot_id) = &request.current_snapshot_id else {
        tell_sandboxes(this, &record, &changed).await?;
        if let Some(resume) = &resume {
            // How long it may be idle, what its snapshots depend on, its environment.
            this.ports.workspaces()?.resume(&record.sandbox_id, resume).await?;
        }
        return keep(this, changed).map(|record| Described::from(&record));
    };
    let source = find(this, &record, snapshot_id).await?;
    let id = claim(this, &record, &source).await?;
    // Until the name points to it, it is to be ended whatever happens.
    let made = match make(this, &id, &changed, resume.as_ref()).await {
        Ok(root_id) => tell_sandboxes(this, &record, &changed).await.map(|()| root_id),
        Err(error) => Err(error),
    };
    let root_id = match made {
        Ok(root_id) => root_id,
        Err(error) => {
            work_off(this).await?;
            return Err(error);
        }
    };
    keep(this, changed)?;
    switch(this, id, root_id, snapshot_id, is_up)?;
    // The old sandbox is stopped, now or later.
    work_off(this).await?;
    Ok(Described::from(&this.existing()?))
}

/// Tells the sandboxes that there are how long their snapshots are kept, if that is another now.
async fn tell_sandboxes<P: Ports>(this: &NamedWorkspace<P>, record: &NamedRecord, changed: &Settings) -> Result<()> {
    if changed.retention != record.settings.retention {
        let claimed = record.sandboxes().filter(|id| record.claimed || **id != record.sandbox_id);
        for id in claimed {
            this.ports.workspaces()?.set_policy(id, &changed.retention).await?;
        }
    }
    Ok(())
}

fn keep<P: Ports>(this: &NamedWorkspace<P>, settings: Settings) -> Result<NamedRecord> {
    let now = this.now();
    this.change(|record| {
        if record.settings.env != settings.env {
            // Who repeats the call would copy what may have been taken away.
            record.forks.retain(|forking| forking.settings.env.is_empty());
        }
        record.settings = settings;
        record.active_at = now;
    })
}

/// Makes the sandbox that is claimed; answers the first sandbox of its lineage, where it is known already.
async fn make<P: Ports>(
    this: &NamedWorkspace<P>,
    id: &SandboxId,
    settings: &Settings,
    resume: Option<&ResumeRequest>,
) -> Result<Option<SandboxId>> {
    set_policy(this, id, &settings.retention).await?;
    match resume {
        Some(resume) if !planted(Bug::PointedTooEarly) => {
            this.ports.workspaces()?.resume(id, resume).await.map(|resumed| resumed.root_id)
        }
        _ => Ok(None),
    }
}

/// The ledger that a snapshot of this workspace is in.
async fn find<P: Ports>(this: &NamedWorkspace<P>, record: &NamedRecord, snapshot_id: &SnapshotId) -> Result<Origin> {
    let source = record.source.as_ref().filter(|source| source.snapshot_id == *snapshot_id);
    let own = record.sandboxes().chain(source.map(|source| &source.origin_id));
    for origin_id in own {
        let selection = Selection::by_id(origin_id.clone(), snapshot_id.clone());
        match this.ports.workspaces()?.find(&selection, &this.address.tenant).await {
            Ok(found) if found.dir != record.settings.dir => {
                return Err(Error::new(
                    Code::InvalidArgument,
                    format!("The snapshot {snapshot_id} is not one of {:?}.", record.settings.dir.as_str()),
                    "Go back to a snapshot of the workspace's directory.",
                ));
            }
            Ok(found) => return Ok(Origin { origin_id: found.origin_id, snapshot_id: found.id }),
            Err(error) if error.code() == Code::SnapshotNotFound => {}
            Err(error) => return Err(error),
        }
    }
    Err(Error::new(
        Code::SnapshotNotFound,
        format!("The workspace {:?} has no snapshot {snapshot_id} (any more).", this.address.name.as_str()),
        "list() shows those that are there, for the workspace's `sandboxId` and its `formerSandboxIds`.",
    ))
}

/// Claims an id for a sandbox that is going to be made from a snapshot. Until the name points to it, it is to be retired.
pub(super) async fn claim<P: Ports>(
    this: &NamedWorkspace<P>,
    record: &NamedRecord,
    source: &Origin,
) -> Result<SandboxId> {
    for _ in 0..DRAWS {
        let id = mint(&source.origin_id, Lineage::Restored, &draw(&*this.ports, ShortId::draw)?)?;
        if record.sandboxes().any(|own| *own == id) {
            continue;
        }
        this.change(|record| record.add_chore(Chore::Retire(id.clone())))?;
        let standing = Standing::of((*this.address).clone(), record.settings.dir.clone());
        match reserve(this, &id, source, Lineage::Restored, standing).await {
            Ok(true) => return Ok(id),
            Ok(false) => drop(this.change(|record| record.chores.retain(|chore| *chore.sandbox_id() != id))?),
            Err(error) => {
                work_off(this).await?;
                return Err(error);
            }
        }
    }
    Err(Error::new(Code::Internal, "All ids that were drawn are somebody's already.", "Try again."))
}

/// The name points to the new sandbox from now on.
fn switch<P: Ports>(
    this: &NamedWorkspace<P>,
    id: SandboxId,
    root_id: Option<SandboxId>,
    snapshot_id: &SnapshotId,
    is_up: bool,
) -> Result<()> {
    let now = this.now();
    let cause = format!("it went back to the snapshot {snapshot_id}");
    let point = |record: &mut NamedRecord| {
        let old = std::mem::replace(&mut record.sandbox_id, id.clone());
        let retire = Chore::Retire(id);
        record.chores.retain(|chore| *chore != retire);
        if !planted(Bug::FormerNotQuieted) {
            record.add_chore(Chore::Quiet(old.clone()));
        }
        record.former.insert(0, old);
        record.root_id = root_id;
        record.claimed = true;
        record.last_snapshot = None;
        record.problem = None;
        record.started_at.get_or_insert(now);
        record.active_at = now;
    };
    let record = this.existing()?;
    match (record.state, is_up) {
        (State::Active, true) => {
            this.step(State::Restoring, &cause, |_| ())?;
            this.step(State::Active, &cause, |record| {
                point(record);
                record.started_at = Some(now);
            })?;
        }
        _ => {
            this.step(State::Stopped, &cause, point)?;
        }
    }
    Ok(())
}
