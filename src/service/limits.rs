//! How long each call to a sandbox may take.
//!
//! [`TimeLimited`] stands between the service and the sandboxes. A call that is not answered within its time limit fails with
//! [`Failure::timed_out`]. That ends the wait and nothing else: the call is not taken back, the sandbox may carry it out later,
//! and the SDK does one backup or restore of a sandbox after the other. So nothing may be concluded from a timeout but that the
//! outcome is not known, and no such call is repeated at once (`retry`).

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use futures_util::future::{Either, select};

use super::CloudflareSandboxSnapshotter;
use crate::model::checkpoint_call::{CheckpointCall, CheckpointDone, CheckpointRefusal, Meant};
use crate::model::named::Stamp;
use crate::model::named::answer::HookRun;
use crate::model::named::settings::Hook;
use crate::model::named::standing::{Begun, Survey};
use crate::model::{
    Arrival, BackupHandle, BackupOptions, Directory, Failure, Probe, SandboxId, SandboxState, Stamping,
};
use crate::ports::{Clock, Ledger, Ports, Sandboxes, Visit};

const MIB: u64 = 1024 * 1024;

/// How large an archive is taken to be of which nothing is known, in bytes.
const UNKNOWN_BYTES: u64 = 1024 * MIB;

/// How many of the newest snapshots tell how large the next one may be.
const FEW: u32 = 20;

/// The kinds of calls to a sandbox, each with its time limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallKind {
    /// The state of the container.
    Status,
    /// The sandbox's name, and how long it stays awake.
    Configure,
    /// A short command in the container, which may have to be started: the SDK waits 120 seconds for that.
    Command,
    /// A command that looks at every file.
    Walk,
    /// A command of a checkpoint.
    Checkpoint,
    /// A hook with so many seconds.
    Hook(u32),
    /// The end of the container.
    Destroy,
    /// A backup of so many bytes, as far as that can be told before.
    Backup(Option<u64>),
    /// A restore of so many bytes.
    Restore(u64),
}

impl CallKind {
    /// The longest that a backup or a restore may take, whatever its size is.
    pub const LONGEST: Duration = Duration::from_hours(1);

    /// How long such a call may take.
    pub const fn limit(self) -> Duration {
        let seconds = match self {
            Self::Status | Self::Configure => 30,
            Self::Destroy => 60,
            Self::Command => 180,
            Self::Walk => 240,
            Self::Checkpoint => 300,
            Self::Hook(seconds) => 180 + seconds as u64,
            Self::Backup(Some(bytes)) => with_bytes(600, bytes),
            Self::Backup(None) => with_bytes(600, UNKNOWN_BYTES),
            Self::Restore(bytes) => with_bytes(300, bytes),
        };
        Duration::from_secs(seconds)
    }

    const fn what(self) -> &'static str {
        match self {
            Self::Status => "the question for its state",
            Self::Configure => "its configuration",
            Self::Command => "a short command in it",
            Self::Walk => "a command that looks at every file",
            Self::Checkpoint => "a command of a checkpoint",
            Self::Hook(_) => "a hook",
            Self::Destroy => "the end of its container",
            Self::Backup(_) => "the backup",
            Self::Restore(_) => "the restore",
        }
    }
}

/// A second for each MiB beside those that it takes at least.
const fn with_bytes(seconds: u64, bytes: u64) -> u64 {
    let all = seconds + bytes / MIB;
    let longest = CallKind::LONGEST.as_secs();
    if all < longest { all } else { longest }
}

/// How large the archive of the next capture may be, by the newest ones of the workspace.
pub(super) fn expected_bytes<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Option<u64> {
    let newest = this.ports.ledger().and_then(|ledger| ledger.page(None, None, FEW)).ok()?;
    newest.iter().filter_map(|snapshot| snapshot.stored()).map(|stored| stored.size_bytes).max()
}

/// Sandboxes whose calls have time limits, by a clock.
pub struct TimeLimited<S, C> {
    sandboxes: Rc<S>,
    clock: Rc<C>,
}

impl<S, C: Clock> TimeLimited<S, C> {
    /// Gives the calls to `sandboxes` time limits.
    pub fn new(sandboxes: Rc<S>, clock: Rc<C>) -> Self {
        Self { sandboxes, clock }
    }
}

/// Waits for an answer, as long as such a call may take.
async fn within<T>(
    clock: &impl Clock,
    kind: CallKind,
    call: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let limit = kind.limit();
    match select(pin!(call), pin!(clock.deadline(limit))).await {
        Either::Left((answer, _)) => answer,
        Either::Right(((), _)) => Err(Failure::timed_out(kind.what(), limit)),
    }
}

/// A visit whose calls have time limits.
pub struct TimeLimitedVisit<'a, V, C> {
    visit: V,
    clock: &'a C,
}

impl<V: Visit, C: Clock> Visit for TimeLimitedVisit<'_, V, C> {
    async fn name(&self) -> Result<(), Failure> {
        within(self.clock, CallKind::Configure, self.visit.name()).await
    }

    async fn probe(&self, dir: &Directory) -> Result<Probe, Failure> {
        within(self.clock, CallKind::Command, self.visit.probe(dir)).await
    }

    async fn make_directory(&self, dir: &Directory) -> Result<(), Failure> {
        within(self.clock, CallKind::Command, self.visit.make_directory(dir)).await
    }

    async fn stamp(&self, from: Option<&Stamp>, to: &Stamp) -> Result<Stamping, Failure> {
        within(self.clock, CallKind::Command, self.visit.stamp(from, to)).await
    }

    async fn arrive(
        &self,
        backup: &BackupHandle,
        from: &Stamp,
        to: &Stamp,
        may_be_empty: bool,
    ) -> Result<Arrival, Failure> {
        within(self.clock, CallKind::Command, self.visit.arrive(backup, from, to, may_be_empty)).await
    }

    async fn create_backup(&self, options: &BackupOptions, bytes: Option<u64>) -> Result<BackupHandle, Failure> {
        within(self.clock, CallKind::Backup(bytes), self.visit.create_backup(options, bytes)).await
    }

    async fn restore_backup(&self, backup: &BackupHandle, bytes: u64) -> Result<(), Failure> {
        within(self.clock, CallKind::Restore(bytes), self.visit.restore_backup(backup, bytes)).await
    }
}

impl<S: Sandboxes, C: Clock> Sandboxes for TimeLimited<S, C> {
    type Visit<'a>
        = TimeLimitedVisit<'a, S::Visit<'a>, C>
    where
        Self: 'a;

    fn visit<'a>(&'a self, id: &'a SandboxId) -> Self::Visit<'a> {
        TimeLimitedVisit { visit: self.sandboxes.visit(id), clock: &*self.clock }
    }

    async fn state(&self, id: &SandboxId) -> Result<SandboxState, Failure> {
        within(&*self.clock, CallKind::Status, self.sandboxes.state(id)).await
    }

    async fn configure(&self, id: &SandboxId, idle_seconds: Option<u64>) -> Result<(), Failure> {
        within(&*self.clock, CallKind::Configure, self.sandboxes.configure(id, idle_seconds)).await
    }

    async fn probe(&self, id: &SandboxId, dir: &Directory) -> Result<Probe, Failure> {
        within(&*self.clock, CallKind::Command, self.sandboxes.probe(id, dir)).await
    }

    async fn note_took_place(&self, id: &SandboxId, note: bool) -> Result<(), Failure> {
        within(&*self.clock, CallKind::Command, self.sandboxes.note_took_place(id, note)).await
    }

    async fn destroy(&self, id: &SandboxId) -> Result<(), Failure> {
        within(&*self.clock, CallKind::Destroy, self.sandboxes.destroy(id)).await
    }

    async fn keep_awake(&self, id: &SandboxId, seconds: Option<u64>) -> Result<(), Failure> {
        within(&*self.clock, CallKind::Configure, self.sandboxes.keep_awake(id, seconds)).await
    }

    async fn set_env(&self, id: &SandboxId, env: &BTreeMap<String, Option<String>>) -> Result<(), Failure> {
        within(&*self.clock, CallKind::Command, self.sandboxes.set_env(id, env)).await
    }

    async fn stamp(
        &self,
        id: &SandboxId,
        from: Option<&Stamp>,
        to: &Stamp,
        older_than_millis: Option<i64>,
    ) -> Result<Stamping, Failure> {
        within(&*self.clock, CallKind::Command, self.sandboxes.stamp(id, from, to, older_than_millis)).await
    }

    async fn begin(
        &self,
        id: &SandboxId,
        from: Option<&Stamp>,
        to: &Stamp,
        dir: &Directory,
        files: &[String],
    ) -> Result<Option<Begun>, Failure> {
        within(&*self.clock, CallKind::Walk, self.sandboxes.begin(id, from, to, dir, files)).await
    }

    async fn arrive(
        &self,
        id: &SandboxId,
        backup: &BackupHandle,
        from: &Stamp,
        to: &Stamp,
        may_be_empty: bool,
    ) -> Result<Arrival, Failure> {
        within(&*self.clock, CallKind::Command, self.sandboxes.arrive(id, backup, from, to, may_be_empty)).await
    }

    async fn survey(&self, id: &SandboxId, dir: &Directory) -> Result<Survey, Failure> {
        within(&*self.clock, CallKind::Walk, self.sandboxes.survey(id, dir)).await
    }

    async fn hashes(
        &self,
        id: &SandboxId,
        dir: &Directory,
        files: &[String],
    ) -> Result<BTreeMap<String, String>, Failure> {
        within(&*self.clock, CallKind::Walk, self.sandboxes.hashes(id, dir, files)).await
    }

    async fn watch(&self, id: &SandboxId) -> Result<(), Failure> {
        within(&*self.clock, CallKind::Command, self.sandboxes.watch(id)).await
    }

    async fn ignored_below(&self, id: &SandboxId, dir: &Directory) -> Result<Vec<String>, Failure> {
        within(&*self.clock, CallKind::Walk, self.sandboxes.ignored_below(id, dir)).await
    }

    async fn stirred(&self, id: &SandboxId, dir: &Directory) -> Result<bool, Failure> {
        within(&*self.clock, CallKind::Walk, self.sandboxes.stirred(id, dir)).await
    }

    async fn run_hook(
        &self,
        id: &SandboxId,
        stamp: &Stamp,
        dir: &Directory,
        name: &str,
        hook: &Hook,
        env: &BTreeMap<String, String>,
    ) -> Result<Option<HookRun>, Failure> {
        let kind = CallKind::Hook(hook.timeout_seconds);
        within(&*self.clock, kind, self.sandboxes.run_hook(id, stamp, dir, name, hook, env)).await
    }

    async fn checkpoint(
        &self,
        id: &SandboxId,
        dir: &Directory,
        meant: Meant,
        call: &CheckpointCall,
    ) -> Result<Result<CheckpointDone, CheckpointRefusal>, Failure> {
        within(&*self.clock, CallKind::Checkpoint, self.sandboxes.checkpoint(id, dir, meant, call)).await
    }
}
