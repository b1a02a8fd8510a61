//! The time limit of each call to a sandbox.
//!
//! The service calls sandboxes through [`TimeLimited`]. A call that is not answered within its time limit fails with
//! [`Failure::timed_out`]. The timeout ends only the wait: the call is not cancelled, the sandbox may carry it out
//! later, and the SDK runs the backups and restores of a sandbox one after the other. So a timeout means only that the
//! outcome is not known, and such a call is not retried at once (`retry`).

mod session;

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use futures_util::future::{Either, select};

pub use self::session::TimeLimitedSession;
use crate::model::background_call::{BackgroundCall, BackgroundOutcome, BackgroundRefusal};
use crate::model::checkpoint_call::{CheckpointCall, CheckpointOutcome, CheckpointRefusal, RequiredContainer};
use crate::model::exec_call::{ContainerCommand, ExecContainer};
use crate::model::file_call::{FileCall, FileOutcome, FileRefusal};
use crate::model::file_part::{FilePart, PartOutcome, PartRefusal};
use crate::model::freeze::{Freeze, FreezeReport};
use crate::model::freeze_call::FreezeFailed;
use crate::model::named::ContainerMarker;
use crate::model::named::answer::HookRun;
use crate::model::named::binding::{DirectoryListing, RestoreBegun};
use crate::model::named::platform_snapshot::StoredDisk;
use crate::model::named::settings::Hook;
use crate::model::request::ExecRequest;
use crate::model::{
    Arrival, BackupHandle, ChangeCursor, ContainerIdentity, Directory, Failure, MarkerUpdate, Probe, Provenance,
    SandboxId, SandboxStatus, SnapshotId,
};
use crate::ports::{Clock, Ledger, Ports, Sandboxes};
use crate::service::CloudflareSandboxSnapshotter;

const MIB: u64 = 1024 * 1024;

/// The assumed size of an archive about which nothing is known, in bytes.
const ASSUMED_ARCHIVE_BYTES: u64 = 1024 * MIB;

/// The number of newest snapshots from which the size of the next one is estimated.
const SAMPLED_SNAPSHOTS: u32 = 20;

/// The kinds of calls with a time limit. All of them are to a sandbox, except the read of an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallKind {
    /// A read of the status of the container.
    Status,
    /// The configuration of the sandbox: its name and its idle timeout.
    Configure,
    /// A short command in the container. The container may have to be started, for which the SDK waits 120 seconds.
    Command,
    /// A command that reads or lists every file.
    Walk,
    /// A command of a checkpoint operation.
    Checkpoint,
    /// A hook with its timeout in seconds.
    Hook(u32),
    /// A command of a caller with its timeout in seconds.
    Exec(u32),
    /// The end of the container.
    Destroy,
    /// A backup with its expected size in bytes, if that is known.
    Backup(Option<u64>),
    /// A restore with the size of its archive in bytes.
    Restore(u64),
    /// A platform snapshot, or a start from one.
    PlatformSnapshot,
    /// A read of a whole archive in R2 with its size in bytes.
    HashArchive(u64),
}

impl CallKind {
    /// The maximum time limit of a backup or a restore, whatever its size.
    pub const MAX_LIMIT: Duration = Duration::from_hours(1);

    /// Returns the time limit of such a call.
    pub const fn limit(self) -> Duration {
        let seconds = match self {
            Self::Status | Self::Configure => 30,
            Self::Destroy => 60,
            Self::Command => 180,
            Self::Walk => 240,
            Self::Checkpoint => 300,
            Self::Hook(seconds) | Self::Exec(seconds) => 180 + seconds as u64,
            Self::PlatformSnapshot => 600,
            Self::Backup(Some(bytes)) => add_transfer_time(600, bytes),
            Self::Backup(None) => add_transfer_time(600, ASSUMED_ARCHIVE_BYTES),
            Self::Restore(bytes) | Self::HashArchive(bytes) => add_transfer_time(300, bytes),
        };
        Duration::from_secs(seconds)
    }

    const fn describe(self) -> &'static str {
        match self {
            Self::Status => "the status call",
            Self::Configure => "the configuration call",
            Self::Command => "a short command in the sandbox",
            Self::Walk => "a command that visits every file",
            Self::Checkpoint => "a checkpoint command",
            Self::Hook(_) => "a hook",
            Self::Exec(_) => "a command",
            Self::Destroy => "the destroy of the container",
            Self::Backup(_) => "the backup",
            Self::Restore(_) => "the restore",
            Self::PlatformSnapshot => "the platform snapshot",
            Self::HashArchive(_) => "the read of the archive",
        }
    }
}

/// Adds one second for each MiB to a base time in seconds, up to [`CallKind::MAX_LIMIT`].
const fn add_transfer_time(seconds: u64, bytes: u64) -> u64 {
    let total = seconds + bytes / MIB;
    let max = CallKind::MAX_LIMIT.as_secs();
    if total < max { total } else { max }
}

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Estimates the archive size of the next capture, in bytes: the largest of the newest snapshots of the workspace.
    pub(in crate::service) fn expected_bytes(&self) -> Option<u64> {
        let newest = self.ledger.snapshot_page(None, None, SAMPLED_SNAPSHOTS).ok()?;
        newest.iter().filter_map(|snapshot| snapshot.stored()).map(|stored| stored.size_bytes).max()
    }
}

/// Sandboxes whose calls have time limits, measured by a clock.
pub struct TimeLimited<S, C> {
    sandboxes: Rc<S>,
    clock: Rc<C>,
}

impl<S, C: Clock> TimeLimited<S, C> {
    /// Returns `sandboxes` with time limits.
    pub fn new(sandboxes: Rc<S>, clock: Rc<C>) -> Self {
        Self { sandboxes, clock }
    }
}

/// Waits for the answer of a call, up to the time limit of its kind.
pub(in crate::service) async fn with_timeout<T>(
    clock: &impl Clock,
    kind: CallKind,
    call: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let limit = kind.limit();
    match select(pin!(call), pin!(clock.deadline(limit))).await {
        Either::Left((answer, _)) => answer,
        Either::Right(((), _)) => Err(Failure::timed_out(kind.describe(), limit)),
    }
}

impl<S: Sandboxes, C: Clock> Sandboxes for TimeLimited<S, C> {
    type SandboxSession<'a>
        = TimeLimitedSession<'a, S::SandboxSession<'a>, C>
    where
        Self: 'a;
    type RunningCommand = S::RunningCommand;
    type Input = S::Input;

    fn open_session<'a>(&'a self, id: &'a SandboxId) -> Self::SandboxSession<'a> {
        TimeLimitedSession { session: self.sandboxes.open_session(id), clock: &*self.clock }
    }

    async fn status(&self, id: &SandboxId) -> Result<SandboxStatus, Failure> {
        with_timeout(&*self.clock, CallKind::Status, self.sandboxes.status(id)).await
    }

    async fn configure(&self, id: &SandboxId, idle_seconds: Option<u64>, image: Option<&str>) -> Result<(), Failure> {
        with_timeout(&*self.clock, CallKind::Configure, self.sandboxes.configure(id, idle_seconds, image)).await
    }

    async fn probe(&self, id: &SandboxId, dir: &Directory) -> Result<Probe, Failure> {
        with_timeout(&*self.clock, CallKind::Command, self.sandboxes.probe(id, dir)).await
    }

    async fn set_replaced_note(&self, id: &SandboxId, note: bool) -> Result<(), Failure> {
        with_timeout(&*self.clock, CallKind::Command, self.sandboxes.set_replaced_note(id, note)).await
    }

    async fn destroy(&self, id: &SandboxId) -> Result<(), Failure> {
        with_timeout(&*self.clock, CallKind::Destroy, self.sandboxes.destroy(id)).await
    }

    async fn set_idle_timeout(&self, id: &SandboxId, seconds: Option<u64>) -> Result<(), Failure> {
        with_timeout(&*self.clock, CallKind::Configure, self.sandboxes.set_idle_timeout(id, seconds)).await
    }

    async fn set_env(&self, id: &SandboxId, env: &BTreeMap<String, Option<String>>) -> Result<(), Failure> {
        with_timeout(&*self.clock, CallKind::Command, self.sandboxes.set_env(id, env)).await
    }

    async fn update_marker(
        &self,
        id: &SandboxId,
        from: Option<&ContainerMarker>,
        to: &ContainerMarker,
        older_than_millis: Option<i64>,
    ) -> Result<MarkerUpdate, Failure> {
        with_timeout(&*self.clock, CallKind::Command, self.sandboxes.update_marker(id, from, to, older_than_millis))
            .await
    }

    async fn begin_restore(
        &self,
        id: &SandboxId,
        from: Option<&ContainerMarker>,
        to: &ContainerMarker,
        token: Option<&str>,
        dir: &Directory,
        files: &[String],
    ) -> Result<Option<RestoreBegun>, Failure> {
        with_timeout(&*self.clock, CallKind::Walk, self.sandboxes.begin_restore(id, from, to, token, dir, files)).await
    }

    async fn complete_restore(
        &self,
        id: &SandboxId,
        backup: &BackupHandle,
        from: &ContainerMarker,
        to: &ContainerMarker,
        may_be_empty: bool,
    ) -> Result<Arrival, Failure> {
        with_timeout(
            &*self.clock,
            CallKind::Command,
            self.sandboxes.complete_restore(id, backup, from, to, may_be_empty),
        )
        .await
    }

    async fn list_directory(&self, id: &SandboxId, dir: &Directory) -> Result<DirectoryListing, Failure> {
        with_timeout(&*self.clock, CallKind::Walk, self.sandboxes.list_directory(id, dir)).await
    }

    async fn hash_files(
        &self,
        id: &SandboxId,
        dir: &Directory,
        files: &[String],
    ) -> Result<BTreeMap<String, String>, Failure> {
        with_timeout(&*self.clock, CallKind::Walk, self.sandboxes.hash_files(id, dir, files)).await
    }

    async fn watch_changes(
        &self,
        id: &SandboxId,
        cursor: &ChangeCursor,
        expected: Option<ContainerIdentity>,
    ) -> Result<Option<Provenance>, Failure> {
        with_timeout(&*self.clock, CallKind::Command, self.sandboxes.watch_changes(id, cursor, expected)).await
    }

    async fn ignored_paths(&self, id: &SandboxId, dir: &Directory) -> Result<Vec<String>, Failure> {
        with_timeout(&*self.clock, CallKind::Walk, self.sandboxes.ignored_paths(id, dir)).await
    }

    async fn changed_since_watch(
        &self,
        id: &SandboxId,
        dir: &Directory,
        cursor: &ChangeCursor,
        expected: Option<ContainerIdentity>,
    ) -> Result<bool, Failure> {
        let check = self.sandboxes.changed_since_watch(id, dir, cursor, expected);
        with_timeout(&*self.clock, CallKind::Walk, check).await
    }

    async fn changed_since_save(
        &self,
        id: &SandboxId,
        dir: &Directory,
        saved: Option<&str>,
        next: &str,
        expected: Option<ContainerIdentity>,
    ) -> Result<Option<bool>, Failure> {
        let check = self.sandboxes.changed_since_save(id, dir, saved, next, expected);
        with_timeout(&*self.clock, CallKind::Walk, check).await
    }

    async fn run_hook(
        &self,
        id: &SandboxId,
        marker: &ContainerMarker,
        dir: &Directory,
        name: &str,
        hook: &Hook,
        env: &BTreeMap<String, String>,
    ) -> Result<Option<HookRun>, Failure> {
        let kind = CallKind::Hook(hook.timeout_seconds);
        with_timeout(&*self.clock, kind, self.sandboxes.run_hook(id, marker, dir, name, hook, env)).await
    }

    async fn freeze(
        &self,
        id: &SandboxId,
        dir: &Directory,
        snapshot_id: &SnapshotId,
        freeze: &Freeze,
        expected: Option<ContainerIdentity>,
    ) -> Result<Result<(), FreezeFailed>, Failure> {
        let kind = CallKind::Hook(freeze.timeout_seconds);
        with_timeout(&*self.clock, kind, self.sandboxes.freeze(id, dir, snapshot_id, freeze, expected)).await
    }

    async fn thaw(
        &self,
        id: &SandboxId,
        snapshot_id: &SnapshotId,
        expected: Option<ContainerIdentity>,
    ) -> Result<FreezeReport, Failure> {
        let kind = CallKind::Hook(Freeze::THAW_SECONDS);
        with_timeout(&*self.clock, kind, self.sandboxes.thaw(id, snapshot_id, expected)).await
    }

    async fn image_names(&self, id: &SandboxId) -> Result<Option<Vec<String>>, Failure> {
        with_timeout(&*self.clock, CallKind::Status, self.sandboxes.image_names(id)).await
    }

    async fn platform_image(&self, id: &SandboxId) -> Result<Option<String>, Failure> {
        with_timeout(&*self.clock, CallKind::Status, self.sandboxes.platform_image(id)).await
    }

    async fn take_platform_snapshot(
        &self,
        id: &SandboxId,
        marker: &ContainerMarker,
        token: &str,
    ) -> Result<Option<StoredDisk>, Failure> {
        let snapshot = self.sandboxes.take_platform_snapshot(id, marker, token);
        with_timeout(&*self.clock, CallKind::PlatformSnapshot, snapshot).await
    }

    async fn start_from_platform_snapshot(&self, id: &SandboxId, snapshot_id: &str) -> Result<(), Failure> {
        let started = self.sandboxes.start_from_platform_snapshot(id, snapshot_id);
        with_timeout(&*self.clock, CallKind::PlatformSnapshot, started).await
    }

    async fn write_file_part(
        &self,
        id: &SandboxId,
        dir: &Directory,
        required: RequiredContainer,
        part: &FilePart,
    ) -> Result<Result<PartOutcome, PartRefusal>, Failure> {
        with_timeout(&*self.clock, CallKind::Command, self.sandboxes.write_file_part(id, dir, required, part)).await
    }

    async fn run_command(
        &self,
        id: &SandboxId,
        container: &ExecContainer,
        command: &ContainerCommand,
    ) -> Result<S::RunningCommand, Failure> {
        with_timeout(&*self.clock, CallKind::Command, self.sandboxes.run_command(id, container, command)).await
    }

    async fn write_input(&self, id: &SandboxId, path: &str, input: S::Input) -> Result<(), Failure> {
        let kind = CallKind::Exec(ExecRequest::MAX_TIMEOUT);
        with_timeout(&*self.clock, kind, self.sandboxes.write_input(id, path, input)).await
    }

    async fn kill_command(&self, id: &SandboxId, command_id: &str) -> Result<(), Failure> {
        with_timeout(&*self.clock, CallKind::Command, self.sandboxes.kill_command(id, command_id)).await
    }

    async fn call_background(
        &self,
        id: &SandboxId,
        container: &ExecContainer,
        call: &BackgroundCall,
    ) -> Result<Result<BackgroundOutcome, BackgroundRefusal>, Failure> {
        let kind = CallKind::Exec(call.wait_seconds());
        with_timeout(&*self.clock, kind, self.sandboxes.call_background(id, container, call)).await
    }

    async fn call_files(
        &self,
        id: &SandboxId,
        container: &ExecContainer,
        call: &FileCall,
    ) -> Result<Result<FileOutcome, FileRefusal>, Failure> {
        with_timeout(&*self.clock, CallKind::Walk, self.sandboxes.call_files(id, container, call)).await
    }

    async fn run_checkpoint(
        &self,
        id: &SandboxId,
        dir: &Directory,
        required: RequiredContainer,
        call: &CheckpointCall,
    ) -> Result<Result<CheckpointOutcome, CheckpointRefusal>, Failure> {
        with_timeout(&*self.clock, CallKind::Checkpoint, self.sandboxes.run_checkpoint(id, dir, required, call)).await
    }
}
