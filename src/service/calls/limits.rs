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
use crate::model::checkpoint_call::{CheckpointCall, CheckpointOutcome, CheckpointRefusal};
use crate::model::exclude::IgnoredNames;
use crate::model::exec_call::ContainerCommand;
use crate::model::file_call::{FileCall, FileOutcome, FileRefusal};
use crate::model::file_part::{FileParts, PartOutcome, PartsRefusal};
use crate::model::freeze::{Freeze, FreezeReport};
use crate::model::freeze_call::FreezeFailed;
use crate::model::named::ContainerMarker;
use crate::model::named::answer::HookRun;
use crate::model::named::binding::{DirectoryListing, RestoreBegun};
use crate::model::named::platform_snapshot::StoredDisk;
use crate::model::named::settings::Hook;
use crate::model::request::ExecRequest;
use crate::model::required_container::{Refusal, RequiredContainer};
use crate::model::secret_search::{FoundSecrets, SecretSearch};
use crate::model::{
    Arrival, BackupHandle, ChangeCursor, ContainerIdentity, Directory, Failure, MarkerUpdate, Probe, Provenance,
    SandboxId, SandboxStatus, SnapshotId,
};
use crate::ports::{CallerCommands, Clock, Ledger, Ports, Sandboxes};
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
    /// Estimates the archive size of the next capture, in bytes: the largest of the newest snapshots of the sandbox.
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

/// Implements methods with a time limit of a kind for each.
macro_rules! limit {
    ($($name:ident($($argument:ident: $type:ty),* $(,)?) -> $answer:ty, $kind:expr;)*) => {
        $(async fn $name(&self, id: &SandboxId, $($argument: $type),*) -> Result<$answer, Failure> {
            with_timeout(&*self.clock, $kind, self.sandboxes.$name(id, $($argument),*)).await
        })*
    };
}

impl<S: Sandboxes, C: Clock> Sandboxes for TimeLimited<S, C> {
    type SandboxSession<'a>
        = TimeLimitedSession<'a, S::SandboxSession<'a>, C>
    where
        Self: 'a;

    fn open_session<'a>(&'a self, id: &'a SandboxId) -> Self::SandboxSession<'a> {
        TimeLimitedSession { session: self.sandboxes.open_session(id), clock: &*self.clock }
    }

    limit! {
        status() -> SandboxStatus, CallKind::Status;
        configure(idle_seconds: Option<u64>, image: Option<&str>) -> (), CallKind::Configure;
        probe(dir: &Directory) -> Probe, CallKind::Command;
        set_replaced_note(note: bool) -> (), CallKind::Command;
        destroy() -> (), CallKind::Destroy;
        set_idle_timeout(seconds: Option<u64>) -> (), CallKind::Configure;
        set_env(env: &BTreeMap<String, Option<String>>) -> (), CallKind::Command;
        update_marker(
            from: Option<&ContainerMarker>,
            to: &ContainerMarker,
            older_than_millis: Option<i64>,
        ) -> MarkerUpdate, CallKind::Command;
        begin_restore(
            from: Option<&ContainerMarker>,
            to: &ContainerMarker,
            token: Option<&str>,
            dir: &Directory,
            files: &[String],
        ) -> Option<RestoreBegun>, CallKind::Walk;
        complete_restore(
            backup: &BackupHandle,
            from: &ContainerMarker,
            to: &ContainerMarker,
            may_be_empty: bool,
        ) -> Arrival, CallKind::Command;
        list_directory(dir: &Directory) -> DirectoryListing, CallKind::Walk;
        hash_files(dir: &Directory, files: &[String]) -> BTreeMap<String, String>, CallKind::Walk;
        watch_changes(cursor: &ChangeCursor, expected: Option<ContainerIdentity>) -> Option<Provenance>, CallKind::Command;
        ignored_names(dir: &Directory) -> IgnoredNames, CallKind::Walk;
        find_secrets(search: &SecretSearch, expected: Option<ContainerIdentity>) -> FoundSecrets, CallKind::Walk;
        changed_since_watch(
            dir: &Directory,
            cursor: &ChangeCursor,
            expected: Option<ContainerIdentity>,
        ) -> bool, CallKind::Walk;
        changed_since_save(
            dir: &Directory,
            saved: Option<&str>,
            next: &str,
            expected: Option<ContainerIdentity>,
        ) -> Option<bool>, CallKind::Walk;
        run_hook(
            marker: &ContainerMarker,
            dir: &Directory,
            name: &str,
            hook: &Hook,
            env: &BTreeMap<String, String>,
        ) -> Option<HookRun>, CallKind::Hook(hook.timeout_seconds);
        freeze(
            dir: &Directory,
            snapshot_id: &SnapshotId,
            freeze: &Freeze,
            expected: Option<ContainerIdentity>,
        ) -> Result<(), FreezeFailed>, CallKind::Hook(freeze.timeout_seconds);
        thaw(
            snapshot_id: &SnapshotId,
            expected: Option<ContainerIdentity>,
        ) -> FreezeReport, CallKind::Hook(Freeze::THAW_SECONDS);
        image_names() -> Option<Vec<String>>, CallKind::Status;
        platform_image() -> Option<String>, CallKind::Status;
        take_platform_snapshot(
            marker: &ContainerMarker,
            token: &str,
        ) -> Option<StoredDisk>, CallKind::PlatformSnapshot;
        start_from_platform_snapshot(snapshot_id: &str) -> (), CallKind::PlatformSnapshot;
    }
}

impl<S: Sandboxes, C: Clock> CallerCommands for TimeLimited<S, C> {
    type RunningCommand = S::RunningCommand;
    type Input = S::Input;

    limit! {
        write_file_parts(
            dir: &Directory,
            required: &RequiredContainer,
            parts: &FileParts,
        ) -> Result<Vec<PartOutcome>, Refusal<PartsRefusal>>, CallKind::Command;
        run_command(required: &RequiredContainer, command: &ContainerCommand) -> S::RunningCommand, CallKind::Command;
        write_input(path: &str, input: S::Input) -> (), CallKind::Exec(ExecRequest::MAX_TIMEOUT);
        kill_command(command_id: &str, expected: Option<ContainerIdentity>) -> (), CallKind::Command;
        call_background(
            required: &RequiredContainer,
            call: &BackgroundCall,
        ) -> Result<BackgroundOutcome, Refusal<BackgroundRefusal>>, CallKind::Exec(call.wait_seconds());
        call_files(required: &RequiredContainer, call: &FileCall) -> Result<FileOutcome, Refusal<FileRefusal>>, CallKind::Walk;
        run_checkpoint(
            dir: &Directory,
            required: &RequiredContainer,
            call: &CheckpointCall,
        ) -> Result<CheckpointOutcome, Refusal<CheckpointRefusal>>, CallKind::Checkpoint;
    }
}
