//! Forks a workspace: creates other workspaces, all of them from one snapshot: of its present files, its newest one, or
//! a given one.

use std::slice;

use futures_util::{StreamExt, stream};
use sha2::{Digest, Sha256};

use super::NamedWorkspace;
use crate::model::named::answer::{Fork, ForkedWorkspaces};
use crate::model::named::messages::{Condition, ForkSource, NewestSnapshot, SnapshotKey};
use crate::model::named::record::{ForkCall, KeyedCall};
use crate::model::named::{Address, ImageChoice, NamedRecord, Settings, State, WorkspaceName};
use crate::model::request::{CapturePurpose, CreateRequest, ForkFrom, ForkRequest, SettingsUpdate, Source};
use crate::model::{
    Error, Result, SandboxId, SecretsMode, ShortId, SnapshotCause, SnapshotId, SnapshotRequest, TakenSnapshot,
};
use crate::ports::{NamedWorkspaceClient, Ports, SandboxLedgerClient};
use crate::service::{CancellationToken, draw_random};

/// The number of forks that are created at the same time.
const MAX_CONCURRENT: usize = 4;

/// How long a repeated call gets the same snapshot, in milliseconds: two days.
const FORK_RETENTION_MILLIS: i64 = 48 * 3600 * 1000;

/// The number of fork calls that the record keeps.
const MAX_STORED_FORK_CALLS: usize = 16;

/// What the files of forks are.
#[derive(Clone, Copy, Default)]
struct ForkedFiles<'a> {
    /// The snapshot that has them; `None` for the present files.
    from: Option<&'a ForkFrom>,
    /// What happens to files with secrets among the present files.
    secrets: Option<SecretsMode>,
}

impl<P: Ports> NamedWorkspace<P> {
    /// Creates other workspaces that start with the files of this one. The failure of one fork does not affect the
    /// others.
    pub async fn fork(&self, request: ForkRequest, abort: CancellationToken) -> Result<ForkedWorkspaces> {
        let permit = self.acquire_fork_permit()?;
        let operation = |this: Self, abort| async move { this.run_fork(request, &abort).await };
        self.run_to_completion(permit, abort, operation).await
    }

    async fn run_fork(&self, request: ForkRequest, abort: &CancellationToken) -> Result<ForkedWorkspaces> {
        let names = self.fork_names(&request)?;
        if names.as_slice() == slice::from_ref(&self.address.name) {
            return Err(Error::fork_is_own_source(&self.address.name));
        }
        let call = request.idempotency_key.clone().map(|key| {
            let new_name = request.new_name.as_ref().map_or("", WorkspaceName::as_str);
            let runtime = request.runtime.map(|runtime| format!(" {runtime}")).unwrap_or_default();
            let from = request.from.as_ref().map(|from| format!(" {from}")).unwrap_or_default();
            let secrets = request.secrets.map(|mode| format!(" {mode:?}")).unwrap_or_default();
            let payload_hash = format!("{} {} {new_name}{runtime}{from}{secrets}", request.count, request.copy_env);
            KeyedCall { key, payload_hash }
        });
        let record = self.existing()?;
        self.check_image(&record.sandbox_id, record.settings.image, request.runtime).await?;
        let files = ForkedFiles { from: request.from.as_ref(), secrets: request.secrets };
        let given = if request.new_name.is_some() { names.as_slice() } else { &[] };
        let (ForkSource { key, may_have_lost, secrets }, settings) =
            self.idempotent_source(call, files, given, request.copy_env, abort).await?;
        let SnapshotKey { origin_id, snapshot_id } = key;
        let make = async |name: WorkspaceName| {
            let create = self.child_request(&name, (&origin_id, &snapshot_id), &settings, &request);
            let created = async { self.ports.named_workspaces()?.create_fork(&create, may_have_lost).await };
            let (value, error) = match created.await {
                Ok(value) => (Some(value), None),
                Err(error) => (None, Some(self.problem(&error))),
            };
            Fork { name, value, error }
        };
        let forks = stream::iter(names).map(make).buffered(MAX_CONCURRENT).collect().await;
        Ok(ForkedWorkspaces { snapshot_id, origin_id, may_have_lost, secrets, forks })
    }

    /// Returns the snapshot from which another workspace starts with the present files of this one.
    pub async fn source(&self, key: Option<String>) -> Result<ForkSource> {
        let permit = self.acquire_fork_permit()?;
        let call = key.map(|key| KeyedCall { key: format!("source/{key}"), payload_hash: String::new() });
        let operation = |this: Self, abort| async move {
            this.idempotent_source(call, ForkedFiles::default(), &[], false, &abort).await.map(|(origin, _)| origin)
        };
        self.run_to_completion(permit, CancellationToken::never(), operation).await
    }

    /// Returns the snapshot from which forks start, and the settings of the workspace. A repeated call returns what the
    /// first call returned. `names` are the names that the caller gave to the forks.
    async fn idempotent_source(
        &self,
        call: Option<KeyedCall>,
        files: ForkedFiles<'_>,
        names: &[WorkspaceName],
        copy_env: bool,
        abort: &CancellationToken,
    ) -> Result<(ForkSource, Settings)> {
        self.existing()?;
        let _lock = self.lock_operation(abort).await?;
        // An earlier operation in the queue may have deleted the workspace.
        self.existing()?;
        let retained_since = self.now().plus_millis(-FORK_RETENTION_MILLIS);
        let record =
            self.update_record(|record| record.fork_calls.retain(|fork_call| fork_call.at > retained_since))?;
        let known = call.as_ref().and_then(|call| record.fork_calls.iter().find(|known| known.call.key == call.key));
        if let Some(known) = known {
            if call.as_ref() != Some(&known.call) {
                return Err(Error::idempotency_conflict(&known.call.key));
            }
            return Ok((known.snapshot.clone(), known.settings.clone()));
        }
        self.check_names(names).await?;
        let origin = match files.from {
            None => self.current_snapshot(&record, files.secrets).await?,
            Some(ForkFrom::Latest) => {
                let newest = self.newest_snapshot(&record).await?;
                let newest = newest.ok_or_else(|| Error::no_snapshot_to_fork(&self.address.name))?;
                // The newer files of a running workspace are not lost: they stay there.
                let may_have_lost = newest.may_have_lost && !self.is_running(&record).await.unwrap_or(false);
                ForkSource { may_have_lost, ..newest }
            }
            Some(ForkFrom::Snapshot(snapshot)) => {
                ForkSource::known(self.find_selected(&record, snapshot).await?, false)
            }
        };
        let at = self.now();
        let mut settings = record.settings;
        settings.env.retain(|_, _| copy_env);
        self.update_record(|record| {
            let Some(call) = call else { return };
            let fork_call = ForkCall { call, snapshot: origin.clone(), settings: settings.clone(), at };
            record.fork_calls.insert(0, fork_call);
            record.fork_calls.truncate(MAX_STORED_FORK_CALLS);
        })?;
        Ok((origin, settings))
    }

    /// Verifies that one of the names is free, if there are any: otherwise nothing can be created, and nothing is captured.
    async fn check_names(&self, names: &[WorkspaceName]) -> Result<()> {
        let mut taken = None;
        for name in names {
            let address = Address { name: name.clone(), tenant: self.address.tenant.clone() };
            // The creation of the fork reports another failure.
            if self.ports.named_workspaces()?.sandbox_ids(&address).await.is_err() {
                return Ok(());
            }
            taken.get_or_insert(address);
        }
        taken.map_or(Ok(()), |address| Err(Error::fork_name_taken(&address)))
    }

    /// Returns a snapshot of the present files. Takes a new one if the sandbox runs; otherwise returns the newest.
    async fn current_snapshot(&self, record: &NamedRecord, secrets: Option<SecretsMode>) -> Result<ForkSource> {
        let ledgers = self.ports.sandbox_ledgers()?;
        let id = &record.sandbox_id;
        let condition =
            if record.state == State::Active { ledgers.probe_condition(id).await? } else { Condition::Ended };
        if condition == Condition::Diverged {
            return Err(Error::fork_diverged(&self.address.name));
        }
        if condition.is_running() {
            let now = self.now();
            self.update_record(|record| record.active_at = now)?;
            let dir = Some(record.settings.dir.clone());
            let purpose = CapturePurpose::Workspace(SnapshotCause::Fork);
            let request = SnapshotRequest { dir, fresh: true, secrets, purpose, ..SnapshotRequest::of(id.clone()) };
            let TakenSnapshot { snapshot: taken, capture, .. } = ledgers.take_snapshot(&request).await?;
            let (origin_id, snapshot_id) = (taken.origin_id().clone(), taken.snapshot_id().clone());
            let secrets = capture.secrets;
            // Without all files, the workspace is not saved.
            if secrets.as_ref().is_none_or(|report| report.excluded == 0) {
                self.update_record(|record| record.note_saved(taken.created_at(), Some(capture.size_bytes)))?;
            }
            return Ok(ForkSource { key: SnapshotKey { origin_id, snapshot_id }, may_have_lost: false, secrets });
        }
        if secrets.is_some() {
            return Err(Error::fork_not_searchable(&self.address));
        }
        self.newest_snapshot(record).await?.ok_or_else(|| Error::nothing_to_fork(&self.address))
    }

    /// Returns the newest snapshot. Takes none, and probes no sandbox.
    async fn newest_snapshot(&self, record: &NamedRecord) -> Result<Option<ForkSource>> {
        self.ensure_in_archive(record).await?;
        let newest = self.ports.sandbox_ledgers()?.newest_snapshot(&record.sandbox_id).await?;
        Ok(newest.map(|NewestSnapshot { snapshot, may_have_lost }| {
            let key = SnapshotKey { origin_id: snapshot.origin_id, snapshot_id: snapshot.id };
            ForkSource::known(key, may_have_lost || record.may_have_lost_elsewhere())
        }))
    }

    /// Returns the names of the forks.
    fn fork_names(&self, request: &ForkRequest) -> Result<Vec<WorkspaceName>> {
        let name = |number| match (&request.new_name, &request.idempotency_key) {
            (Some(name), _) => name.fork_name(number, request.count),
            // A repeated call gets the same names.
            (None, Some(key)) => {
                let hash = Sha256::digest(format!("{number} {key}"));
                self.address.name.default_fork_name(ShortId::from_random(&hash).ok_or_else(Error::internal)?.as_str())
            }
            (None, None) => {
                self.address.name.default_fork_name(draw_random(&*self.ports, ShortId::from_random)?.as_str())
            }
        };
        (1..=request.count).map(name).collect()
    }

    /// Returns the request that creates a fork. It has all settings of this workspace; the environment variables, which
    /// may contain secrets, only if `copy_env` is set.
    fn child_request(
        &self,
        name: &WorkspaceName,
        (origin_id, snapshot_id): (&SandboxId, &SnapshotId),
        settings: &Settings,
        request: &ForkRequest,
    ) -> CreateRequest {
        let settings = settings.clone();
        CreateRequest {
            address: Address { name: name.clone(), tenant: self.address.tenant.clone() },
            dir: None,
            runtime: request.runtime,
            settings: SettingsUpdate {
                persistent: Some(settings.persistent),
                storage: Some(settings.storage),
                durable: Some(settings.durable),
                incremental: settings.incremental,
                image: settings.image.map(|image| ImageChoice(Some(image))),
                retention: Some(settings.retention),
                hooks: Some(settings.hooks),
                expiry: Some(settings.expiry),
                autosave: Some(settings.autosave).filter(|autosave| !autosave.is_default()),
                depends_on: Some(settings.depends_on),
                env: Some(settings.env).filter(|_| request.copy_env),
            },
            source: Some(Source::Snapshot(serde_json::json!({ "sandboxId": origin_id, "snapshotId": snapshot_id }))),
            idempotency_key: request.idempotency_key.clone(),
        }
    }
}
