//! Updates a workspace: changes its settings, or the snapshot from which it continues.
//!
//! A change of the snapshot modifies no existing files: the name gets a new sandbox that is made from the snapshot, and
//! the old sandbox is stopped.

use super::NamedWorkspace;
use super::create::{reserve, set_policy};
use super::tasks::run_tasks;
use crate::model::named::answer::WorkspaceDescription;
use crate::model::named::binding::WorkspaceBinding;
use crate::model::named::messages::{Condition, EnsureRunningRequest};
use crate::model::named::record::{SnapshotKey, Task};
use crate::model::named::{NamedRecord, Settings, State};
use crate::model::request::UpdateRequest;
use crate::model::{Code, DerivationKind, Error, Result, SandboxId, Selection, ShortId, SnapshotId, mint_sandbox_id};
use crate::ports::{Ports, SandboxLedgerClient};
use crate::service::planted::{Bug, planted};
use crate::service::{CancellationToken, draw_random};

/// The number of random ids that are tried before the update fails because all of them are taken.
const MAX_ID_ATTEMPTS: u32 = 4;

/// Acquires the operation lock and updates the workspace.
pub(super) async fn update<P: Ports>(
    this: &NamedWorkspace<P>,
    request: UpdateRequest,
    abort: &CancellationToken,
) -> Result<WorkspaceDescription> {
    this.existing()?;
    let _lock = this.lock_operation(abort).await?;
    this.in_process.next_sequence();
    let record = this.existing()?;
    let changed = request.settings.clone().apply(record.settings.clone());
    let is_running = record.state == State::Active
        && match this.ports.sandbox_ledgers()?.probe_condition(&record.sandbox_id).await {
            Ok(condition) => condition == Condition::Running,
            // This allows a caller to leave a sandbox that does not answer. It is stopped, with a snapshot, as soon as
            // it answers.
            Err(error) if error.code() == Code::SandboxTimeout && request.current_snapshot_id.is_some() => false,
            Err(error) => return Err(error),
        };
    let start_request = EnsureRunningRequest {
        address: (*this.address).clone(),
        settings: changed.clone(),
        start: request.start.clone(),
        version: record.version,
    };
    let start_request = Some(start_request).filter(|_| is_running);
    let Some(snapshot_id) = &request.current_snapshot_id else {
        propagate_retention(this, &record, &changed).await?;
        if let Some(start_request) = &start_request {
            // Applies the idle timeout, the dependencies of snapshots, and the environment.
            this.ports.sandbox_ledgers()?.ensure_running(&record.sandbox_id, start_request).await?;
        }
        return save_settings(this, changed).map(|record| WorkspaceDescription::from(&record));
    };
    let source = find_snapshot(this, &record, snapshot_id).await?;
    let id = claim_id_for_snapshot(this, &record, &source).await?;
    // Until the name points to the new sandbox, a task decommissions it, even if this call is interrupted.
    let prepared = match prepare_sandbox(this, &id, &changed, start_request.as_ref()).await {
        Ok(root_id) => propagate_retention(this, &record, &changed).await.map(|()| root_id),
        Err(error) => Err(error),
    };
    let root_id = match prepared {
        Ok(root_id) => root_id,
        Err(error) => {
            run_tasks(this).await?;
            return Err(error);
        }
    };
    save_settings(this, changed)?;
    switch_sandbox(this, id, root_id, snapshot_id, is_running)?;
    // Stops the old sandbox. The alarm retries a failure.
    run_tasks(this).await?;
    Ok(WorkspaceDescription::from(&this.existing()?))
}

/// Sets the retention policy of all claimed sandboxes of the workspace, if it changed.
async fn propagate_retention<P: Ports>(
    this: &NamedWorkspace<P>,
    record: &NamedRecord,
    changed: &Settings,
) -> Result<()> {
    if changed.retention != record.settings.retention {
        let claimed = record.sandboxes().filter(|id| record.claimed || **id != record.sandbox_id);
        for id in claimed {
            this.ports.sandbox_ledgers()?.set_policy(id, &changed.retention).await?;
        }
    }
    Ok(())
}

fn save_settings<P: Ports>(this: &NamedWorkspace<P>, settings: Settings) -> Result<NamedRecord> {
    let now = this.now();
    this.update_record(|record| {
        if record.settings.env != settings.env {
            // A repeated fork call would copy environment variables that this update may have removed.
            record.fork_calls.retain(|fork_call| fork_call.settings.env.is_empty());
        }
        record.settings = settings;
        record.active_at = now;
    })
}

/// Prepares the claimed sandbox: sets its retention policy, and starts it if there is a request to. Returns the first
/// sandbox of its lineage, if it is known.
async fn prepare_sandbox<P: Ports>(
    this: &NamedWorkspace<P>,
    id: &SandboxId,
    settings: &Settings,
    start_request: Option<&EnsureRunningRequest>,
) -> Result<Option<SandboxId>> {
    set_policy(this, id, &settings.retention).await?;
    match start_request {
        Some(start_request) if !planted(Bug::BoundTooEarly) => {
            this.ports.sandbox_ledgers()?.ensure_running(id, start_request).await.map(|ensured| ensured.root_id)
        }
        _ => Ok(None),
    }
}

/// Returns the key of a snapshot of this workspace: the id of the snapshot, and the sandbox whose ledger contains it.
async fn find_snapshot<P: Ports>(
    this: &NamedWorkspace<P>,
    record: &NamedRecord,
    snapshot_id: &SnapshotId,
) -> Result<SnapshotKey> {
    let source = record.source.as_ref().filter(|source| source.snapshot_id == *snapshot_id);
    let own = record.sandboxes().chain(source.map(|source| &source.origin_id));
    for origin_id in own {
        let selection = Selection::by_id(origin_id.clone(), snapshot_id.clone());
        match this.ports.sandbox_ledgers()?.find_snapshot(&selection, &this.address.tenant).await {
            Ok(found) if found.dir != record.settings.dir => {
                return Err(Error::new(
                    Code::InvalidArgument,
                    format!("The snapshot {snapshot_id} is not of the directory {:?}.", record.settings.dir.as_str()),
                    "Use a snapshot of the workspace's directory.",
                ));
            }
            Ok(found) => return Ok(SnapshotKey { origin_id: found.origin_id, snapshot_id: found.id }),
            Err(error) if error.code() == Code::SnapshotNotFound => {}
            Err(error) => return Err(error),
        }
    }
    Err(Error::new(
        Code::SnapshotNotFound,
        format!("The workspace {:?} has no snapshot {snapshot_id}.", this.address.name.as_str()),
        "Call list() for the workspace's `sandboxId` and its `formerSandboxIds` to see the existing snapshots.",
    ))
}

/// Claims an id for a sandbox that will be made from a snapshot. Until the name points to the sandbox, a task
/// decommissions it.
pub(super) async fn claim_id_for_snapshot<P: Ports>(
    this: &NamedWorkspace<P>,
    record: &NamedRecord,
    source: &SnapshotKey,
) -> Result<SandboxId> {
    for _ in 0..MAX_ID_ATTEMPTS {
        let id = mint_sandbox_id(
            &source.origin_id,
            DerivationKind::Restored,
            &draw_random(&*this.ports, ShortId::from_random)?,
        )?;
        if record.sandboxes().any(|own| *own == id) {
            continue;
        }
        this.update_record(|record| record.add_task(Task::Decommission(id.clone())))?;
        let binding = WorkspaceBinding::new((*this.address).clone(), record.settings.dir.clone());
        match reserve(this, &id, source, DerivationKind::Restored, binding).await {
            Ok(true) => return Ok(id),
            Ok(false) => drop(this.update_record(|record| record.tasks.retain(|task| *task.sandbox_id() != id))?),
            Err(error) => {
                run_tasks(this).await?;
                return Err(error);
            }
        }
    }
    Err(Error::new(
        Code::Internal,
        format!("All {MAX_ID_ATTEMPTS} random sandbox ids for {:?} are already taken.", this.address.name.as_str()),
        "Try again. If the error persists, report it.",
    ))
}

/// Points the name to the new sandbox.
fn switch_sandbox<P: Ports>(
    this: &NamedWorkspace<P>,
    id: SandboxId,
    root_id: Option<SandboxId>,
    snapshot_id: &SnapshotId,
    is_running: bool,
) -> Result<()> {
    let now = this.now();
    let cause = format!("it was reverted to the snapshot {snapshot_id}");
    let point_to_new = |record: &mut NamedRecord| {
        let former = std::mem::replace(&mut record.sandbox_id, id.clone());
        let decommission = Task::Decommission(id);
        record.tasks.retain(|task| *task != decommission);
        if !planted(Bug::FormerSandboxNotEnded) {
            record.add_task(Task::StopUnused(former.clone()));
        }
        record.former_sandbox_ids.insert(0, former);
        record.root_id = root_id;
        record.claimed = true;
        record.last_snapshot = None;
        record.problem = None;
        record.started_at.get_or_insert(now);
        record.active_at = now;
    };
    let record = this.existing()?;
    match (record.state, is_running) {
        (State::Active, true) => {
            this.transition(State::Restoring, &cause, |_| ())?;
            this.transition(State::Active, &cause, |record| {
                point_to_new(record);
                record.started_at = Some(now);
            })?;
        }
        _ => {
            this.transition(State::Stopped, &cause, point_to_new)?;
        }
    }
    Ok(())
}
