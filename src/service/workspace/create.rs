//! Creates a workspace: first its name, then its sandbox.
//!
//! The record contains the sandbox id before any other object receives it, so an interrupted creation leaves no unknown
//! sandbox. If the creation fails, the name becomes free again.

use base64ct::{Base64UrlUnpadded, Encoding};
use sha2::{Digest, Sha256};

use super::NamedWorkspace;
use super::delete::clear_record;
use super::start::{self, bring_up};
use super::tasks::run_tasks;
use crate::model::named::answer::StartedWorkspace;
use crate::model::named::binding::WorkspaceBinding;
use crate::model::named::messages::{LastSnapshot, ReserveRequest, StartSettings};
use crate::model::named::record::{KeyedCall, SnapshotKey, Task, Transition};
use crate::model::named::{Address, NamedRecord, Settings, State};
use crate::model::request::{CreateRequest, GetOrCreateRequest, Source, StartRequest};
use crate::model::{
    Code, DerivationKind, Directory, Error, Policy, Result, SandboxId, Selection, ShortId, mint_sandbox_id,
};
use crate::ports::{NamedWorkspaceClient, Ports, SandboxLedgerClient, WorkspaceStore};
use crate::service::calls::failures::from_workspace;
use crate::service::calls::idempotency::conflict;
use crate::service::{CancellationToken, draw_random};

/// The number of random ids that are tried before the creation fails because all of them are taken.
const MAX_ID_ATTEMPTS: u32 = 4;

/// Creates the workspace. Starts it if this call already created it.
pub(super) async fn create<P: Ports>(
    this: &NamedWorkspace<P>,
    request: CreateRequest,
    abort: &CancellationToken,
) -> Result<StartedWorkspace> {
    let creation = creation(&request)?;
    let _source_lock = this.in_process.source_lock.lock().await;
    loop {
        // The source is resolved without the operation lock: the other workspace may be waiting for this one.
        let origin = match find_record(this)? {
            None => Some(resolve_source(this, &request).await?),
            Some(known) => ensure_same_creation(this, &known, creation.as_ref()).map(|()| None)?,
        };
        let _lock = this.lock_operation(abort).await?;
        match (find_record(this)?, origin) {
            (Some(known), _) => return repeat_create(this, &known, creation.as_ref()).await,
            (None, Some(origin)) => {
                return create_workspace(this, request, origin, creation, &StartSettings::default()).await;
            }
            // The workspace was deleted in the meantime.
            (None, None) => {}
        }
    }
}

/// Creates the workspace, or starts it if it exists.
pub(super) async fn get_or_create<P: Ports>(
    this: &NamedWorkspace<P>,
    request: GetOrCreateRequest,
    abort: &CancellationToken,
) -> Result<StartedWorkspace> {
    let arrived_seq = this.in_process.sequence.get();
    let _source_lock = this.in_process.source_lock.lock().await;
    loop {
        let origin = match find_record(this)? {
            None => Some(resolve_source(this, &request.create).await?),
            Some(_) => None,
        };
        let _lock = this.lock_operation(abort).await?;
        match (find_record(this)?, origin) {
            (Some(_), _) => {
                let fingerprint = request.create.settings.depends_on.and_then(|depends_on| depends_on.fingerprint);
                let start = StartRequest { address: (*this.address).clone(), fingerprint, start: request.start };
                return start::start_now(this, start, arrived_seq).await;
            }
            (None, Some(origin)) => {
                let creation = creation(&request.create)?;
                return create_workspace(this, request.create, origin, creation, &request.start).await;
            }
            // The workspace was deleted in the meantime.
            (None, None) => {}
        }
    }
}

fn find_record<P: Ports>(this: &NamedWorkspace<P>) -> Result<Option<NamedRecord>> {
    Ok(this.ports.workspace_store()?.record()?.filter(NamedRecord::exists))
}

/// Starts the existing workspace if this call created it. Otherwise returns an error.
async fn repeat_create<P: Ports>(
    this: &NamedWorkspace<P>,
    known: &NamedRecord,
    creation: Option<&KeyedCall>,
) -> Result<StartedWorkspace> {
    ensure_same_creation(this, known, creation)?;
    let start = StartRequest { address: (*this.address).clone(), fingerprint: None, start: StartSettings::default() };
    start::start_now(this, start, this.in_process.sequence.get()).await
}

/// Verifies that the call `creation` created the workspace `known`.
///
/// # Errors
/// [`Code::IdempotencyConflict`] if the key was used with other arguments; otherwise [`Code::NameTaken`].
fn ensure_same_creation<P: Ports>(
    this: &NamedWorkspace<P>,
    known: &NamedRecord,
    creation: Option<&KeyedCall>,
) -> Result<()> {
    match (creation, &known.creation) {
        (Some(call), Some(known)) if call == known => Ok(()),
        (Some(call), Some(known)) if call.key == known.key => Err(conflict(&call.key)),
        _ => Err(Error::new(
            Code::NameTaken,
            format!(
                "The tenant {:?} already has a workspace {:?}, which is {}.",
                this.address.tenant.as_str(),
                this.address.name.as_str(),
                known.state
            ),
            "Use another name, call getOrCreate(), or delete() the existing workspace.",
        )),
    }
}

fn creation(request: &CreateRequest) -> Result<Option<KeyedCall>> {
    let Some(key) = request.idempotency_key.clone() else { return Ok(None) };
    let arguments = request.to_arguments().map_err(|_| Error::internal())?.to_string();
    Ok(Some(KeyedCall { key, payload_hash: Base64UrlUnpadded::encode_string(&Sha256::digest(arguments)) }))
}

/// Returns the snapshot from which the workspace starts, if the request names a source.
async fn resolve_source<P: Ports>(this: &NamedWorkspace<P>, request: &CreateRequest) -> Result<Option<LastSnapshot>> {
    let selection = match &request.source {
        None => return Ok(None),
        Some(Source::Workspace(name)) if *name == this.address.name => {
            return Err(Error::new(
                Code::InvalidArgument,
                "A workspace can't be created from itself.",
                "Pass another workspace as `sourceWorkspace`.",
            ));
        }
        Some(Source::Workspace(name)) => {
            let address = Address { name: name.clone(), tenant: this.address.tenant.clone() };
            let key = request.idempotency_key.as_deref().map(|key| format!("{}/{key}", this.address.name));
            let SnapshotKey { origin_id, snapshot_id } =
                this.ports.named_workspaces()?.fork_source(&address, key.as_deref()).await?;
            Selection::by_id(origin_id, snapshot_id)
        }
        Some(Source::Snapshot(selection)) => Selection::decode(selection)?,
    };
    this.ports.sandbox_ledgers()?.find_snapshot(&selection, &this.address.tenant).await.map(Some)
}

async fn create_workspace<P: Ports>(
    this: &NamedWorkspace<P>,
    request: CreateRequest,
    origin: Option<LastSnapshot>,
    creation: Option<KeyedCall>,
    start: &StartSettings,
) -> Result<StartedWorkspace> {
    let dir = choose_dir(this, request.dir, origin.as_ref())?;
    dir.check_restorable()?;
    let settings = request.settings.apply(Settings::new(dir));
    let source = origin.map(|snapshot| SnapshotKey { origin_id: snapshot.origin_id, snapshot_id: snapshot.id });
    write_initial_record(this, settings, source, creation)?;
    let outcome = match provision(this).await {
        Ok(()) => bring_up(this, start, "it was created").await,
        Err(error) => Err(error),
    };
    let error = match outcome {
        Ok(started) => return Ok(started),
        Err(error) => error,
    };
    let cause = format!("it could not be created: {}", error.code());
    this.transition(State::Deleted, &cause, |record| {
        let own: Vec<SandboxId> = record.sandboxes().cloned().collect();
        for id in own {
            record.add_task(Task::Decommission(id));
        }
        clear_record(record);
    })?;
    run_tasks(this).await?;
    Err(error)
}

fn choose_dir<P: Ports>(
    this: &NamedWorkspace<P>,
    requested: Option<Directory>,
    origin: Option<&LastSnapshot>,
) -> Result<Directory> {
    match (requested, origin.map(|origin| &origin.dir)) {
        (Some(requested), Some(source)) if requested != *source => Err(Error::new(
            Code::InvalidArgument,
            format!("`dir` is {:?}, but the directory of the source is {:?}.", requested.as_str(), source.as_str()),
            "Omit `dir`: a workspace has the same directory as its source.",
        )),
        (Some(dir), _) => Ok(dir),
        (None, Some(dir)) => Ok(dir.clone()),
        (None, None) => Ok(this.config.default_dir.clone()),
    }
}

/// Writes the record of the new workspace, before its sandbox is claimed.
fn write_initial_record<P: Ports>(
    this: &NamedWorkspace<P>,
    settings: Settings,
    source: Option<SnapshotKey>,
    creation: Option<KeyedCall>,
) -> Result<()> {
    let store = this.ports.workspace_store()?;
    let now = this.now();
    let previous = store.record()?;
    let cause = match &source {
        Some(origin) => format!("created from the snapshot {} of {:?}", origin.snapshot_id, origin.origin_id.as_str()),
        None => "created by a caller".to_owned(),
    };
    let transition =
        Transition { from: previous.as_ref().map(|previous| previous.state), to: State::Provisioning, at: now, cause };
    let mut record = NamedRecord {
        address: (*this.address).clone(),
        version: previous.as_ref().map_or(0, |previous| previous.version),
        directory_version: previous.as_ref().map_or(0, |previous| previous.directory_version),
        state: State::Provisioning,
        history: Vec::new(),
        settings,
        created_at: now,
        sandbox_id: draw_id(this, source.as_ref())?,
        claimed: false,
        former_sandbox_ids: Vec::new(),
        root_id: None,
        source,
        started_at: None,
        active_at: now,
        last_snapshot: None,
        problem: None,
        creation,
        fork_calls: Vec::new(),
        tasks: previous.map(|previous| previous.tasks).unwrap_or_default(),
        next_check_at: None,
    };
    record.record_transition(transition.clone());
    store.put_record(&record)?;
    store.log_transition(&this.address, &transition);
    this.schedule_alarm(&record)?;
    this.notify_directory();
    Ok(())
}

/// Claims the sandbox id, so that no other workspace can use it, and binds the sandbox to this workspace and its source
/// snapshot.
pub(super) async fn provision<P: Ports>(this: &NamedWorkspace<P>) -> Result<()> {
    for _ in 0..MAX_ID_ATTEMPTS {
        let record = this.existing()?;
        if record.claimed || claim_id(this, &record).await? {
            this.update_record(|record| record.claimed = true)?;
            return set_policy(this, &record.sandbox_id, &record.settings.retention).await;
        }
        let id = draw_id(this, record.source.as_ref())?;
        this.update_record(|record| record.sandbox_id = id)?;
    }
    Err(Error::new(
        Code::Internal,
        format!("All {MAX_ID_ATTEMPTS} random sandbox ids for {:?} are already taken.", this.address.name.as_str()),
        "Try again. If the error persists, report it.",
    ))
}

async fn claim_id<P: Ports>(this: &NamedWorkspace<P>, record: &NamedRecord) -> Result<bool> {
    let binding = WorkspaceBinding::new((*this.address).clone(), record.settings.dir.clone());
    let id = &record.sandbox_id;
    if let Some(source) = &record.source {
        return reserve(this, id, source, DerivationKind::Branch, binding).await;
    }
    let claimed = this.ports.sandbox_ledgers()?.claim(id, id, None, Some(&binding), None).await;
    claimed.map_err(|failure| from_workspace(failure, id))
}

/// Claims the id of a sandbox that will be made from a snapshot. Returns `false` if the id is taken.
pub(super) async fn reserve<P: Ports>(
    this: &NamedWorkspace<P>,
    id: &SandboxId,
    source: &SnapshotKey,
    kind: DerivationKind,
    binding: WorkspaceBinding,
) -> Result<bool> {
    let snapshot_id = source.snapshot_id.clone();
    let request = ReserveRequest { sandbox_id: id.clone(), snapshot_id, kind, binding };
    this.ports.sandbox_ledgers()?.reserve(&source.origin_id, &request).await
}

/// Sets the retention policy for the snapshots of a sandbox, unless it is the default.
pub(super) async fn set_policy<P: Ports>(this: &NamedWorkspace<P>, id: &SandboxId, policy: &Policy) -> Result<()> {
    if *policy == Policy::default() {
        return Ok(());
    }
    this.ports.sandbox_ledgers()?.set_policy(id, policy).await
}

/// Returns a random id for a sandbox of this workspace.
pub(super) fn draw_id<P: Ports>(this: &NamedWorkspace<P>, source: Option<&SnapshotKey>) -> Result<SandboxId> {
    match source {
        None => draw_random(&*this.ports, |random| this.address.name.random_sandbox_id(random)),
        Some(origin) => mint_sandbox_id(
            &origin.origin_id,
            DerivationKind::Branch,
            &draw_random(&*this.ports, ShortId::from_random)?,
        ),
    }
}
