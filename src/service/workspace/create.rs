//! Creates a workspace: first its name, then its sandbox.
//!
//! The record contains the sandbox id before any other object receives it, so an interrupted creation leaves no unknown
//! sandbox. If the creation fails, the name becomes free again.

use base64ct::{Base64UrlUnpadded, Encoding};
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::delete::clear_record;
use super::{CoalesceKey, NamedWorkspace};
use crate::model::named::Task;
use crate::model::named::answer::StartedWorkspace;
use crate::model::named::messages::{ForkSource, FoundSnapshot, SnapshotKey};
use crate::model::named::record::{KeyedCall, RestoreReport};
use crate::model::named::settings::StartSettings;
use crate::model::named::{Address, ImageChoice, NamedRecord, Settings, State, Transition};
use crate::model::request::{CreateRequest, GetOrCreateRequest, SnapshotText, Source, StartRequest};
use crate::model::{Directory, Error, Result, Runtime, SandboxId, Selection, json};
use crate::ports::{NamedWorkspaceClient, Ports, SandboxLedgerClient, WorkspaceStore};
use crate::service::CancellationToken;

/// The snapshot that a workspace is created from.
struct CreationSource {
    found: FoundSnapshot,
    /// Whether files of the other workspace may be lost that were newer.
    may_have_lost: bool,
}

impl<P: Ports> NamedWorkspace<P> {
    /// Creates the workspace, with its first sandbox. Starts it if this call already created it: the answer does not count as a
    /// further report of a restore, because a call is repeated if its answer was lost. Nor does a fork pass the answer on before
    /// all other forks are created.
    pub async fn create(&self, request: CreateRequest, abort: CancellationToken) -> Result<StartedWorkspace> {
        self.create_with(request, false, abort).await
    }

    /// Creates the workspace as a fork. `may_have_lost` says whether files of the other workspace may be lost that were newer than
    /// the snapshot.
    pub async fn create_fork(&self, request: CreateRequest, may_have_lost: bool) -> Result<StartedWorkspace> {
        self.create_with(request, may_have_lost, CancellationToken::never()).await
    }

    async fn create_with(
        &self,
        request: CreateRequest,
        may_have_lost: bool,
        abort: CancellationToken,
    ) -> Result<StartedWorkspace> {
        let permit = self.acquire_permit(Some(CoalesceKey::Create(request.clone())))?;
        let operation = |this: Self, abort| async move { this.run_create(request, may_have_lost, &abort).await };
        self.run_to_completion(permit, abort, operation).await
    }

    /// Starts the workspace, or creates it if it does not exist.
    pub async fn get_or_create(
        &self,
        request: GetOrCreateRequest,
        abort: CancellationToken,
    ) -> Result<StartedWorkspace> {
        let permit = self.acquire_permit(Some(CoalesceKey::GetOrCreate(request.clone())))?;
        let operation = |this: Self, abort| async move { this.run_get_or_create(request, &abort).await };
        self.report(self.run_to_completion(permit, abort, operation).await?)
    }

    async fn run_create(
        &self,
        request: CreateRequest,
        may_have_lost: bool,
        abort: &CancellationToken,
    ) -> Result<StartedWorkspace> {
        let creation = creation(&request)?;
        let _source_lock = self.in_process.source_lock.lock().await;
        loop {
            // The source is resolved without the operation lock: the other workspace may be waiting for this one.
            let origin = match self.find_record()? {
                None => Some(self.resolve_source(&request).await?),
                Some(known) => self.ensure_same_creation(&known, creation.as_ref()).map(|()| None)?,
            };
            let _lock = self.lock_operation(abort).await?;
            match (self.find_record()?, origin) {
                (Some(known), _) => return self.repeat_create(&known, creation.as_ref()).await,
                (None, Some(mut origin)) => {
                    if let Some(origin) = &mut origin {
                        origin.may_have_lost |= may_have_lost;
                    }
                    return self.create_workspace(request, origin, creation, &StartSettings::default()).await;
                }
                // The workspace was deleted in the meantime.
                (None, None) => {}
            }
        }
    }

    async fn run_get_or_create(
        &self,
        request: GetOrCreateRequest,
        abort: &CancellationToken,
    ) -> Result<StartedWorkspace> {
        let arrived_seq = self.in_process.sequence.get();
        let _source_lock = self.in_process.source_lock.lock().await;
        loop {
            let origin = match self.find_record()? {
                None => Some(self.resolve_source(&creation_request(&request)?).await?),
                Some(_) => None,
            };
            let _lock = self.lock_operation(abort).await?;
            match (self.find_record()?, origin) {
                (Some(record), _) => {
                    self.ensure_runtime(&record, request.create.runtime)?;
                    self.ensure_directory(&record, request.create.dir.as_ref())?;
                    // If the call created the workspace, it began with the snapshot.
                    let is_repeated = is_repeated_creation(&request, record.creation.as_ref())?;
                    let fingerprint = request.create.settings.depends_on.and_then(|depends_on| depends_on.fingerprint);
                    let start = StartRequest {
                        fingerprint,
                        from: request.from.filter(|_| !is_repeated),
                        idempotency_key: request.create.idempotency_key,
                        start: request.start,
                        ..StartRequest::of((*self.address).clone())
                    };
                    return self.start_now(start, arrived_seq).await;
                }
                (None, Some(origin)) => {
                    let create = creation_request(&request)?;
                    let creation = creation(&create)?;
                    return self.create_workspace(create, origin, creation, &request.start).await;
                }
                // The workspace was deleted in the meantime.
                (None, None) => {}
            }
        }
    }

    /// Verifies that the caller does not request another runtime than that of the workspace.
    fn ensure_runtime(&self, record: &NamedRecord, requested: Option<Runtime>) -> Result<()> {
        match requested {
            Some(requested) if record.runtime != Some(requested) => {
                Err(Error::runtime_mismatch(&self.display_name(), record.runtime, requested))
            }
            _ => Ok(()),
        }
    }

    /// Verifies that the caller does not request another directory than that of the workspace, where its files would be missing.
    fn ensure_directory(&self, record: &NamedRecord, requested: Option<&Directory>) -> Result<()> {
        match requested {
            Some(requested) if !requested.is_same(&record.settings.dir) => {
                Err(Error::workspace_of_other_directory(&self.address.name, &record.settings.dir, requested))
            }
            _ => Ok(()),
        }
    }

    fn find_record(&self) -> Result<Option<NamedRecord>> {
        Ok(self.record()?.filter(NamedRecord::exists))
    }

    /// Starts the existing workspace if this call created it. Otherwise returns an error.
    async fn repeat_create(&self, known: &NamedRecord, creation: Option<&KeyedCall>) -> Result<StartedWorkspace> {
        self.ensure_same_creation(known, creation)?;
        let start = StartRequest::of((*self.address).clone());
        self.start_now(start, self.in_process.sequence.get()).await
    }

    /// Verifies that the call `creation` created the workspace `known`.
    ///
    /// # Errors
    /// [`Code::IdempotencyConflict`] if the key was used with other arguments; otherwise [`Code::NameTaken`].
    fn ensure_same_creation(&self, known: &NamedRecord, creation: Option<&KeyedCall>) -> Result<()> {
        match (creation, &known.creation) {
            (Some(call), Some(known)) if call == known => Ok(()),
            (Some(call), Some(known)) if call.key == known.key => Err(Error::idempotency_conflict(&call.key)),
            _ => Err(Error::name_taken(&self.address, known.state)),
        }
    }

    /// Returns the snapshot from which the workspace starts, if the request names a source.
    async fn resolve_source(&self, request: &CreateRequest) -> Result<Option<CreationSource>> {
        let (selection, may_have_lost) = match &request.source {
            None => return Ok(None),
            Some(Source::Workspace(name)) if *name == self.address.name => {
                return Err(Error::workspace_is_own_source());
            }
            Some(Source::Workspace(name)) => {
                let address = Address { name: name.clone(), tenant: self.address.tenant.clone() };
                if let Some(ImageChoice(image @ Some(_))) = request.settings.image.clone()
                    && let Ok(active) = self.ports.named_workspaces()?.active_sandbox(&address).await
                {
                    // The other workspace is captured only for a workspace that can be created.
                    self.check_image(&active, image, request.runtime).await?;
                }
                let key = request.idempotency_key.as_deref().map(|key| format!("{}/{key}", self.address.name));
                let ForkSource { key: SnapshotKey { origin_id, snapshot_id }, may_have_lost, .. } =
                    self.ports.named_workspaces()?.fork_source(&address, key.as_deref()).await?;
                (Selection::by_id(origin_id, snapshot_id), may_have_lost)
            }
            Some(Source::Snapshot(selection)) => (Selection::decode(selection)?, false),
        };
        let found = self.ports.sandbox_ledgers()?.find_snapshot(&selection, &self.address.tenant).await?;
        Ok(Some(CreationSource { found, may_have_lost }))
    }

    async fn create_workspace(
        &self,
        request: CreateRequest,
        origin: Option<CreationSource>,
        creation: Option<KeyedCall>,
        start: &StartSettings,
    ) -> Result<StartedWorkspace> {
        let found = origin.as_ref().map(|origin| &origin.found);
        let dir = self.choose_dir(request.dir, found.map(|found| &found.snapshot.dir))?;
        dir.check_restorable()?;
        let runtime = self.choose_runtime(request.runtime, found)?;
        let settings = request.settings.apply(Settings::new(dir));
        let may_have_lost = origin.as_ref().is_some_and(|origin| origin.may_have_lost);
        let source = origin.map(|CreationSource { found, .. }| SnapshotKey {
            origin_id: found.snapshot.origin_id,
            snapshot_id: found.snapshot.id,
        });
        self.write_initial_record(settings, source, runtime, may_have_lost, creation)?;
        let outcome = match self.provision().await {
            Ok(()) => self.bring_up(start, "it was created").await,
            Err(error) => Err(error),
        };
        let error = match outcome {
            Ok(started) => return Ok(started),
            Err(error) => error,
        };
        let cause = format!("it could not be created: {}", error.code());
        self.transition(State::Deleted, &cause, |record| {
            let own: Vec<SandboxId> = record.sandboxes().cloned().collect();
            for id in own {
                record.add_task(Task::Decommission(id));
            }
            clear_record(record);
        })?;
        self.run_tasks().await?;
        Err(error)
    }

    /// Returns the runtime of the new workspace: the requested one, that of the source, or the default.
    fn choose_runtime(&self, requested: Option<Runtime>, origin: Option<&FoundSnapshot>) -> Result<Option<Runtime>> {
        let bindings = self.ports.sandbox_bindings();
        let runtime = match (requested, origin) {
            (None, Some(origin)) => bindings.of_row(origin.runtime),
            (requested, _) => bindings.for_new(requested)?,
        };
        self.ports.sandboxes(runtime).map(|_| runtime)
    }

    fn choose_dir(&self, requested: Option<Directory>, origin: Option<&Directory>) -> Result<Directory> {
        match (requested, origin) {
            (Some(requested), Some(source)) if requested != *source => {
                Err(Error::directory_differs_from_source(&requested, source))
            }
            (Some(dir), _) => Ok(dir),
            (None, Some(dir)) => Ok(dir.clone()),
            (None, None) => Ok(self.config.default_dir.clone()),
        }
    }

    /// Writes the record of the new workspace, before its sandbox is claimed.
    fn write_initial_record(
        &self,
        settings: Settings,
        source: Option<SnapshotKey>,
        runtime: Option<Runtime>,
        unreported_loss: bool,
        creation: Option<KeyedCall>,
    ) -> Result<()> {
        let now = self.now();
        let never_persistent = !settings.persistent;
        let previous = self.record()?;
        let cause = match &source {
            Some(origin) => {
                format!("created from the snapshot {} of {:?}", origin.snapshot_id, origin.origin_id.as_str())
            }
            None => "created by a caller".to_owned(),
        };
        let transition = Transition {
            from: previous.as_ref().map(|previous| previous.state),
            to: State::Provisioning,
            at: now,
            cause,
        };
        let mut record = NamedRecord {
            address: (*self.address).clone(),
            version: previous.as_ref().map_or(0, |previous| previous.version),
            directory_version: previous.as_ref().map_or(0, |previous| previous.directory_version),
            state: State::Provisioning,
            history: Vec::new(),
            settings,
            created_at: now,
            sandbox_id: self.draw_id(source.as_ref())?,
            runtime,
            claimed: false,
            former_sandbox_ids: Vec::new(),
            root_id: None,
            source,
            started_at: None,
            running_millis: 0,
            active_at: now,
            last_saved_at: None,
            turn_ended_at: None,
            unsaved_since: None,
            last_snapshot: None,
            saved_bytes: None,
            platform_snapshot: None,
            last_restore: None,
            restore_report: RestoreReport::First,
            restore_unconfirmed: false,
            container_ended: false,
            never_persistent,
            unreported_loss,
            unreported_since: None,
            problem: None,
            creation,
            fork_calls: Vec::new(),
            former_files: None,
            promotions: Vec::new(),
            tasks: previous.map(|previous| previous.tasks).unwrap_or_default(),
            next_check_at: None,
        };
        record.record_transition(transition.clone());
        self.store.put_record(&record)?;
        self.store.log_transition(&self.address, &transition);
        self.schedule_alarm(&record)?;
        self.notify_directory();
        Ok(())
    }
}

/// Returns the request that creates the workspace: with the files of the snapshot `from`, if there is one.
fn creation_request(request: &GetOrCreateRequest) -> Result<CreateRequest> {
    let source = match &request.from {
        None => return Ok(request.create.clone()),
        Some(SnapshotText::Id(_) | SnapshotText::Label(_)) => return Err(Error::snapshot_without_lineage()),
        Some(SnapshotText::Short(short)) => Source::Snapshot(serde_json::json!({ "ref": short })),
    };
    Ok(CreateRequest { source: Some(source), ..request.create.clone() })
}

/// Returns whether the request is the one that created the workspace, by the call `known`.
///
/// # Errors
/// [`Code::IdempotencyConflict`] if it has the key of that call, and other arguments.
fn is_repeated_creation(request: &GetOrCreateRequest, known: Option<&KeyedCall>) -> Result<bool> {
    let key = request.create.idempotency_key.as_ref();
    let Some(known) = known.filter(|known| Some(&known.key) == key) else { return Ok(false) };
    match creation_request(request).and_then(|request| creation(&request)) {
        Ok(Some(call)) if call == *known => Ok(true),
        _ => Err(Error::idempotency_conflict(&known.key)),
    }
}

fn creation(request: &CreateRequest) -> Result<Option<KeyedCall>> {
    keyed_call(request.idempotency_key.as_ref(), request)
}

/// Returns the call with the key and a hash of its arguments, if it has a key.
pub(super) fn keyed_call(key: Option<&String>, request: &impl Serialize) -> Result<Option<KeyedCall>> {
    let Some(key) = key.cloned() else { return Ok(None) };
    let arguments = json::to_string(request).map_err(|_| Error::internal())?;
    Ok(Some(KeyedCall { key, payload_hash: Base64UrlUnpadded::encode_string(&Sha256::digest(arguments)) }))
}
