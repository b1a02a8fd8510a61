//! `revive`: restores the files of a sandbox that belongs to no named workspace, under its own id.
//!
//! The sandbox has lost its files: its container ended, or cold-started without them. The steps are those of the start of a named
//! workspace. Two things differ: the Worker does not know the directory before it has found the snapshot, so it finds the
//! snapshot before it touches the container; and the container is recognized by the marker in the ledger, which captures and
//! restores write, too.

use futures_util::FutureExt;
use futures_util::future::Shared;

use super::ensure_running::ensured_running;
use crate::model::named::Settings;
use crate::model::named::answer::{StartOutcome, WorkspaceProblem};
use crate::model::named::messages::{EnsureRunningRequest, EnsuredRunning};
use crate::model::named::settings::{OnDiverged, StartSettings};
use crate::model::record::{SandboxRecord, StartState};
use crate::model::request::ReviveRequest;
use crate::model::revive::RevivedSandbox;
use crate::model::{Directory, DirectoryContent, Error, Result, Status, WorkspaceRef};
use crate::ports::{Ledger, Ports, Sandboxes};
use crate::service::calls::failures::During;
use crate::service::in_process::{Revival, RevivalChoices};
use crate::service::{CancellationToken, CloudflareSandboxSnapshotter};

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Restores the newest snapshot of the sandbox, or the one that it was made from, unless its files are in place.
    ///
    /// # Errors
    /// [`Code::WorkspaceDiverged`] if other files were written since, unless the request says what to do with them;
    /// [`Code::NothingRestorable`] without a snapshot; [`Code::InvalidArgument`] for the sandbox of a named workspace.
    pub async fn revive(&self, request: ReviveRequest, abort: CancellationToken) -> Result<RevivedSandbox> {
        self.prepare_call().await?;
        if request.lineage_scope.sandbox_id.is_some() {
            self.check_lineage_scope(&request.lineage_scope).await?;
        }
        let (this, token) = (self.clone(), abort.clone());
        let work = async move {
            let key = request.idempotency_key.as_deref();
            let without_key = ReviveRequest { idempotency_key: None, ..request.clone() };
            this.run_once(
                key,
                "revive",
                &without_key,
                &token,
                this.share_revival((request.on_diverged, request.on_image_change)),
            )
            .await
        };
        abort.run_until_cancelled(work, self.ports.background()).await
    }

    /// Revives the sandbox, or shares the outcome of a revival that runs, once the container is known to run after this call
    /// arrived: that revival may have found or started a container that ended before.
    async fn share_revival(&self, choices: RevivalChoices) -> Result<RevivedSandbox> {
        let shared = match self.running_revival(choices) {
            Some(running) => Some(running.await?),
            None => None,
        };
        // A revival that runs now began after this call arrived.
        let revival = self.running_revival(choices).unwrap_or_else(|| self.begin_revival(choices));
        let revived = revival.await?;
        Ok(shared.filter(|_| revived.how == StartOutcome::Running).unwrap_or(revived))
    }

    fn running_revival(&self, choices: RevivalChoices) -> Option<Shared<Revival>> {
        let revivals = self.in_process.revivals.borrow();
        revivals.iter().find(|(running, _)| *running == choices).and_then(|(_, revival)| revival.upgrade())
    }

    fn begin_revival(&self, choices: RevivalChoices) -> Shared<Revival> {
        let this = self.clone();
        let revive = async move {
            let outcome = this.revive_sandbox(choices).await;
            this.in_process.revivals.borrow_mut().retain(|(running, _)| *running != choices);
            outcome
        };
        let this = self.clone();
        let revival = async move { this.run_to_completion(revive).await }.boxed_local().shared();
        let mut revivals = self.in_process.revivals.borrow_mut();
        revivals.retain(|(running, _)| *running != choices);
        revivals.extend(revival.downgrade().map(|weak| (choices, weak)));
        revival
    }

    async fn revive_sandbox(&self, (on_diverged, on_image_change): RevivalChoices) -> Result<RevivedSandbox> {
        let _lock = self.in_process.lifecycle_lock.lock().await;
        let Some(sandbox) = self.ledger.sandbox()? else { return Err(self.unknown_error().await) };
        if let Some(binding) = &sandbox.binding {
            return Err(Error::revive_of_workspace(&self.id, &binding.address));
        }
        if !sandbox.is_restoring()
            && let Some(running) = self.find_own_container().await?
        {
            let dir = self.own_dir(&sandbox)?;
            let problem = running.is_missing.then(|| Error::revived_without_directory(&dir));
            let problem = problem.map(|error| WorkspaceProblem::from_error(&error, self.now()));
            return Ok(RevivedSandbox { problem, ..self.revived(&sandbox, running) });
        }
        let known_dir = sandbox.start.as_ref().map_or(&self.config.default_dir, |start| &start.dir);
        let dir = match self.find_start_source(known_dir, false).await {
            Ok(source) => source.dir().unwrap_or(known_dir).clone(),
            // The present files need no snapshot.
            Err(_) if on_diverged == OnDiverged::Adopt => known_dir.clone(),
            Err(error) => return Err(error),
        };
        self.set_start_dir(&dir)?;
        self.ensure_responsive()?;
        let was_restoring = self.start_state()?.restore_unconfirmed;
        let mut settings = Settings::new(dir);
        settings.depends_on.on_image_change = on_image_change;
        let request = EnsureRunningRequest {
            address: None,
            settings,
            start: StartSettings { on_diverged, ..StartSettings::default() },
            version: 0,
            may_have_lost: false,
            lost_since: None,
            never_persistent: false,
        };
        let outcome = self.ensure_files(&request).await;
        let ensured = self.classify_outcome(outcome, was_restoring).map_err(Error::of_revival)?;
        Ok(self.revived(&sandbox, ensured))
    }

    /// As [`find_own_container`](Self::find_own_container), after the captures that run: one of them may make the container
    /// the sandbox's own. No other capture begins, because the start is scheduled as a task.
    pub(super) async fn find_captured_container(&self) -> Result<Option<EnsuredRunning>> {
        self.in_process.coalescer.wait_until_idle().await;
        drop(self.in_process.completion_lock.lock().await);
        self.find_own_container().await
    }

    /// Returns the outcome for the sandbox if the container that runs has its files; `None` if it has not, and where no
    /// container can be recognized.
    async fn find_own_container(&self) -> Result<Option<EnsuredRunning>> {
        let status = self.sandbox_status().await?;
        // A capture may have completed during the call.
        let sandbox = self.sandbox_record()?;
        let is_identified = status.identity().is_some() && status.identity() == sandbox.container;
        // Without a marker, the probe could start a container that later counts as the sandbox's own.
        if !is_identified && (status.status == Status::Down || sandbox.marker.is_none()) {
            return Ok(None);
        }
        let dir = self.own_dir(&sandbox)?;
        let probe = async || {
            let probe = self.sandboxes()?.probe(&self.id, &dir).await;
            probe.map_err(self.failed(During::Probe))
        };
        let probe = self.retry(probe).await?;
        let is_missing = probe.directory_content == DirectoryContent::Missing;
        let running = EnsuredRunning { is_missing, ..ensured_running(StartOutcome::Running) };
        if is_identified {
            // The probe may have been answered by a container that replaced the identified one.
            let is_still_own = self.sandbox_status().await?.identity() == sandbox.container;
            return Ok(is_still_own.then_some(running));
        }
        let Some(marker) = probe.marker else { return Ok(None) };
        if !self.is_own_marker(&marker)? || probe.directory_content == DirectoryContent::Unmounted {
            return Ok(None);
        }
        let restore = if sandbox.start.is_some() { self.restore_into(&marker)? } else { None };
        Ok(Some(EnsuredRunning { restore, ..running }))
    }

    /// Returns the directory with the files of the sandbox: that of its newest snapshot.
    fn own_dir(&self, sandbox: &SandboxRecord) -> Result<Directory> {
        let newest = self.newest_own()?.map(|newest| newest.dir);
        let dir = newest.or_else(|| sandbox.start.as_ref().map(|start| start.dir.clone()));
        Ok(dir.unwrap_or_else(|| self.config.default_dir.clone()))
    }

    /// Records the directory that the files are restored to.
    fn set_start_dir(&self, dir: &Directory) -> Result<()> {
        let mut sandbox = self.sandbox_record()?;
        match &mut sandbox.start {
            Some(start) if start.dir == *dir => return Ok(()),
            Some(start) => (start.dir, start.baseline) = (dir.clone(), None),
            start => *start = Some(StartState::new(dir.clone())),
        }
        self.ledger.put_sandbox(&sandbox)
    }

    /// Returns the error for a sandbox of which there is no record.
    async fn unknown_error(&self) -> Error {
        match self.sandbox_status().await {
            Ok(status) if status.status == Status::Down => Error::revive_of_unknown(&self.id),
            Ok(_) => Error::nothing_to_revive(&self.id),
            Err(error) => error,
        }
    }

    fn revived(&self, sandbox: &SandboxRecord, ensured: EnsuredRunning) -> RevivedSandbox {
        RevivedSandbox {
            sandbox_id: (*self.id).clone(),
            workspace: WorkspaceRef::new((*self.id).clone(), sandbox.root_id.clone()),
            how: ensured.how,
            restored_from: ensured.restore.as_ref().map(Into::into),
            may_have_lost: ensured.restore.as_ref().map(|restore| restore.may_have_lost),
            rescue_snapshot_id: ensured.rescue_snapshot_id,
            stale: ensured.stale,
            problem: None,
        }
    }
}
