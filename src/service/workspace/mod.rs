//! The operations on one named workspace. They run in an object of its own, and call the ledgers of the sandboxes that
//! the workspace has or had.
//!
//! - [`create`], [`start`], [`stop`], [`fork`], [`update`], [`promote`], [`migrate`], [`delete`]: the operations that
//!   callers use
//! - [`resume`]: returns the sandbox for a command, and starts the workspace if necessary
//! - [`switch`]: continues the workspace in another sandbox, from a snapshot that [`lineage`] finds
//! - [`labels`]: finds the snapshot with a label in all sandboxes of the workspace
//! - [`provision`]: claims the sandboxes of the workspace
//! - [`relocate`]: moves the workspace from a sandbox that does not answer to another one
//! - [`autosave`]: saves the files of the running workspace; [`save_schedule`]: when that is due
//! - [`alarm`]: stops the workspace when a time limit has passed, and runs its tasks
//! - [`transition`]: moves the record from one state to another, and sets its alarm
//! - [`tasks`]: runs the durable tasks
//! - [`directory`]: the list of the named workspaces
//!
//! Their other half runs in the object of the sandbox:
//! - [`sandbox`]: creates and ends a sandbox that belongs to a named workspace, and restores its files
//!
//! One operation at a time runs on a workspace. Later calls wait in a queue, and share the outcome of an earlier call
//! where that is sufficient. If the queue is full, the call is refused. An operation that began continues when its
//! caller disconnects.

mod alarm;
mod autosave;
mod create;
mod delete;
pub mod directory;
mod fork;
mod labels;
mod lineage;
mod migrate;
mod promote;
mod provision;
mod relocate;
mod resume;
mod sandbox;
mod save_schedule;
mod start;
mod stop;
mod switch;
mod tasks;
mod transition;
mod update;

use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use futures_util::future::{Either, join, select};
use futures_util::lock::{Mutex, MutexGuard};

use super::calls::completion::run_to_completion;
use super::calls::queue::{Permit, Queue};
use super::{CancellationToken, Config};
use crate::model::named::answer::{StartedWorkspace, WorkspaceDescription};
use crate::model::named::{Address, NamedRecord, State};
use crate::model::request::{CreateRequest, GetOrCreateRequest, LineageScope, StartRequest, StopRequest};
use crate::model::{Code, Error, Result, Selection, Selector, Timestamp};
use crate::ports::{Clock, Ports, SandboxLedgerClient, WorkspaceStore};

/// How long the description of a workspace waits for the status of its sandbox.
const MAX_STATUS_WAIT: Duration = Duration::from_secs(5);

/// One named workspace. Only one instance may exist at a time; its clones share its in-process state.
pub struct NamedWorkspace<P: Ports> {
    address: Rc<Address>,
    ports: Rc<P>,
    store: Rc<P::WorkspaceStore>,
    config: Rc<Config>,
    in_process: Rc<WorkspaceInProcessState>,
}

impl<P: Ports> Clone for NamedWorkspace<P> {
    fn clone(&self) -> Self {
        Self {
            address: Rc::clone(&self.address),
            ports: Rc::clone(&self.ports),
            store: Rc::clone(&self.store),
            config: Rc::clone(&self.config),
            in_process: Rc::clone(&self.in_process),
        }
    }
}

/// The state that exists as long as the object is in memory.
#[derive(Default)]
struct WorkspaceInProcessState {
    /// The calls that run an operation on the workspace, or wait to run one.
    queue: Queue<CoalesceKey>,
    /// The calls that fork the workspace. They continue after the operation on the workspace itself is complete, so
    /// they have their own queue.
    fork_queue: Queue<CoalesceKey>,
    /// Locked while an operation runs on the workspace.
    operation_lock: Mutex<()>,
    /// Locked while a call creates the workspace, or waits to create it: the source is resolved once.
    source_lock: Mutex<()>,
    /// The number of operations so far. A start counts twice: when it begins, and when it is complete.
    sequence: Cell<u64>,
    /// The last start that is complete.
    last_start: RefCell<Option<LastStart>>,
    /// When the last check for changes of an automatic save began.
    checked_at: Cell<Option<Timestamp>>,
}

/// A start that is complete.
#[derive(Clone)]
struct LastStart {
    /// The sequence number of its beginning.
    began_seq: u64,
    /// The sequence number of its end.
    done_seq: u64,
    request: StartRequest,
    outcome: Result<StartedWorkspace>,
}

impl WorkspaceInProcessState {
    /// Increments the sequence number, and returns it.
    fn next_sequence(&self) -> u64 {
        self.sequence.set(self.sequence.get() + 1);
        self.sequence.get()
    }
}

/// The calls that may share an outcome: consecutive calls in the queue with equal keys share a permit.
#[derive(PartialEq)]
enum CoalesceKey {
    Create(CreateRequest),
    GetOrCreate(GetOrCreateRequest),
    Start(StartRequest),
    Stop(StopRequest),
    Delete,
}

impl<P: Ports> NamedWorkspace<P> {
    /// Returns the workspace with this address, whose record is in `store`.
    pub fn new(address: Address, ports: Rc<P>, store: Rc<P::WorkspaceStore>, config: Rc<Config>) -> Self {
        Self { address: Rc::new(address), ports, store, config, in_process: Rc::default() }
    }

    /// Returns the description of the workspace. Starts nothing, and probes no sandbox.
    pub async fn describe(&self) -> Result<WorkspaceDescription> {
        self.ensure_configured()?;
        let record = self.existing()?;
        let mut description = WorkspaceDescription::from(&record);
        if record.settings.storage.has_platform() || record.platform_snapshot.is_some() {
            // It may have been refreshed since. Without an answer, the description contains the last known one.
            if let Ok(present) = self.ports.sandbox_ledgers()?.platform_snapshot(&record.sandbox_id).await {
                description.platform_snapshot = present.as_ref().map(Into::into);
            }
        }
        // A caller may have taken a snapshot of the sandbox since. Without an answer, the last known one counts.
        if record.started_at.is_some() {
            let saved_at = self.ports.sandbox_ledgers()?.last_saved_at(&record.sandbox_id);
            let (saved_at, ended) = join(saved_at, self.has_container_ended(&record)).await;
            if let Ok(saved_at) = saved_at {
                self.add_newest_save(&mut description, saved_at).await?;
            }
            // A stop or a rollback in the meantime ends the container, too.
            if ended? && self.existing()?.version == record.version {
                description.container_ended = true;
                description.may_have_lost = Some(true);
            }
        }
        Ok(description)
    }

    /// Replaces what the record knows of the newest snapshot by what exists, where snapshots of the sandbox were taken or deleted
    /// since. `newest` is when the newest one of its ledger was taken.
    async fn add_newest_save(&self, description: &mut WorkspaceDescription, newest: Option<Timestamp>) -> Result<()> {
        if let Some(last) = description.last_snapshot.take_if(|last| newest != Some(last.created_at)) {
            let selector = Selector::Id { sandbox_id: last.origin_id.clone(), snapshot_id: last.id.clone() };
            let selection = Selection { selector, lineage_scope: LineageScope::UNRESTRICTED };
            match self.ports.sandbox_ledgers()?.locate_snapshot(&selection).await {
                Err(error) if error.code() == Code::SnapshotNotFound => {}
                _ => description.last_snapshot = Some(last),
            }
        }
        if let Some(known) = description.last_saved_at.take_if(|known| newest < Some(*known)) {
            let platform = description.platform_snapshot.as_ref().map(|platform| platform.created_at);
            let last = description.last_snapshot.as_ref().map(|last| last.created_at);
            let is_stored = platform.max(last) >= Some(known);
            // The files of a sandbox without a snapshot of its own are those of the snapshot that it was made from.
            let ledgers = self.ports.sandbox_ledgers()?;
            let has_source =
                newest.is_none() && !matches!(ledgers.newest_snapshot(&description.sandbox_id).await, Ok(None));
            description.last_saved_at = (is_stored || has_source).then_some(known);
        }
        description.last_saved_at = description.last_saved_at.max(newest);
        Ok(())
    }

    /// Returns whether the container of an active workspace has ended; `false` also if the sandbox does not answer within a few
    /// seconds.
    async fn has_container_ended(&self, record: &NamedRecord) -> Result<bool> {
        if record.state != State::Active {
            return Ok(false);
        }
        let ledgers = self.ports.sandbox_ledgers()?;
        Ok(
            match select(
                pin!(ledgers.has_ended(&record.sandbox_id)),
                pin!(self.ports.clock().deadline(MAX_STATUS_WAIT)),
            )
            .await
            {
                Either::Left((ended, _)) => ended.unwrap_or_default(),
                Either::Right(((), _)) => false,
            },
        )
    }

    /// Verifies that all bindings are configured. Every call begins with this check.
    fn ensure_configured(&self) -> Result<()> {
        self.ports.check_bindings(true)?;
        self.ports.sandbox_ledgers()?;
        self.ports.named_workspaces().map(drop)
    }

    /// Begins a call that changes the workspace. Calls with the same key may share one permit.
    fn acquire_permit(&self, key: Option<CoalesceKey>) -> Result<Permit<CoalesceKey>> {
        self.ensure_configured()?;
        self.in_process.queue.acquire(key, &format!("calls for {}", self.display_name()))
    }

    /// Begins a call that forks the workspace.
    fn acquire_fork_permit(&self) -> Result<Permit<CoalesceKey>> {
        self.ensure_configured()?;
        self.in_process.fork_queue.acquire(None, &format!("forks of {}", self.display_name()))
    }

    /// Returns the name of the workspace for messages.
    fn display_name(&self) -> String {
        format!("the workspace {:?}", self.address.name.as_str())
    }

    /// Acquires the operation lock. The previous operation is complete or was interrupted, so the record is recovered
    /// if necessary.
    async fn lock_operation(&self, abort: &CancellationToken) -> Result<MutexGuard<'_, ()>> {
        let lock = self.in_process.operation_lock.lock().await;
        abort.check()?;
        self.recover()?;
        Ok(lock)
    }

    /// Returns the record, which also exists for a while after the workspace was deleted, with the runtime that the
    /// deployment names for records of earlier releases.
    fn record(&self) -> Result<Option<NamedRecord>> {
        let named = |record: NamedRecord| NamedRecord {
            runtime: self.ports.sandbox_bindings().of_row(record.runtime),
            ..record
        };
        Ok(self.store.record()?.map(named))
    }

    /// Returns the ports.
    pub(in crate::service) fn ports(&self) -> &P {
        &self.ports
    }

    /// Returns the record of the workspace.
    ///
    /// # Errors
    /// [`Code::WorkspaceNotFound`] if the workspace does not exist.
    pub(in crate::service) fn existing(&self) -> Result<NamedRecord> {
        let not_found = || Error::workspace_not_found(&self.address);
        match self.record()?.ok_or_else(not_found)? {
            record if record.exists() => Ok(record),
            record => Err(match record.deletion() {
                Some(change) => not_found().with_note(&format!("It ended at {}: {}.", change.at, change.cause)),
                None => not_found(),
            }),
        }
    }

    /// Runs an operation to completion, even if the caller stops waiting for it. The permit is in use until then.
    async fn run_to_completion<T: 'static, F: Future<Output = Result<T>> + 'static>(
        &self,
        permit: Permit<CoalesceKey>,
        abort: CancellationToken,
        operation: impl FnOnce(Self, CancellationToken) -> F,
    ) -> Result<T> {
        abort.check()?;
        let operation = operation(self.clone(), abort.clone());
        let work = async move {
            let outcome = operation.await;
            drop(permit);
            outcome
        };
        let outcome = abort.unless_cancelled(run_to_completion(&*self.ports, work)).await;
        outcome.unwrap_or_else(|| Err(Error::wait_cancelled()))
    }
}
