//! The world outside the service: its state, its clock and its call log.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use futures_util::future::LocalBoxFuture;
use sandbox_snapshotter::model::checkpoint_call::CheckpointRefusal;
use sandbox_snapshotter::model::named::{Address, ContainerMarker, Tenant};
use sandbox_snapshotter::model::{BackupOptions, Code, Error, Result, SandboxId, Timestamp};
use sandbox_snapshotter::ports::{Background, Clock, Entropy};
use serde_json::Value;

use super::bucket::Backup;
use super::commands::{Commands, HookCall};
use super::containers::{Image, Sandbox};
use super::deadlines::Deadlines;
use super::faults::FaultPlan;
use super::{MemoryDirectoryStore, MemoryLedger, MemoryWorkspaceStore, Method, PendingOperation};

/// 2026-11-20T05:00:00Z
const START_MILLIS: i64 = 1_795_150_800_000;

/// The world in memory. Calls take effect immediately, unless the fault plan changes that.
pub struct World {
    pub(super) faults: FaultPlan,
    pub(super) sandboxes: RefCell<BTreeMap<String, Sandbox>>,
    pub(super) bucket: RefCell<BTreeMap<String, Backup>>,
    pub(super) backup_requests: RefCell<Vec<BackupOptions>>,
    pub(super) restore_requests: RefCell<Vec<Value>>,
    pub(super) handle_fields: RefCell<Value>,
    pub(super) image: RefCell<Image>,
    pub(super) commands: RefCell<Commands>,
    pub(super) hook_calls: RefCell<Vec<HookCall>>,
    pub(super) marker_calls: RefCell<Vec<(Option<ContainerMarker>, ContainerMarker)>>,
    pub(super) checkpoint_refusal: RefCell<Option<CheckpointRefusal>>,
    pub(super) list_page_size: Cell<usize>,
    ledgers: RefCell<BTreeMap<SandboxId, Rc<MemoryLedger>>>,
    workspace_stores: RefCell<BTreeMap<Address, Rc<MemoryWorkspaceStore>>>,
    directories: RefCell<BTreeMap<Tenant, Rc<MemoryDirectoryStore>>>,
    calls: RefCell<Vec<(Method, String)>>,
    now: Cell<i64>,
    pub(super) deadlines: Deadlines,
    sleeps: RefCell<Vec<u64>>,
    seed: Cell<u64>,
    queued_random: RefCell<VecDeque<Option<[u8; 32]>>>,
    queued_background: RefCell<Vec<LocalBoxFuture<'static, ()>>>,
    running_background: RefCell<Vec<PendingOperation<()>>>,
    ended_background: Cell<usize>,
    missing_ports: RefCell<Vec<Code>>,
}

impl Default for World {
    fn default() -> Self {
        Self {
            faults: FaultPlan::default(),
            sandboxes: RefCell::default(),
            bucket: RefCell::default(),
            backup_requests: RefCell::default(),
            restore_requests: RefCell::default(),
            handle_fields: RefCell::default(),
            image: RefCell::default(),
            commands: RefCell::default(),
            hook_calls: RefCell::default(),
            marker_calls: RefCell::default(),
            checkpoint_refusal: RefCell::default(),
            list_page_size: Cell::new(1000),
            ledgers: RefCell::default(),
            workspace_stores: RefCell::default(),
            directories: RefCell::default(),
            calls: RefCell::default(),
            now: Cell::new(START_MILLIS),
            deadlines: Deadlines::default(),
            sleeps: RefCell::default(),
            seed: Cell::new(1),
            queued_random: RefCell::default(),
            queued_background: RefCell::default(),
            running_background: RefCell::default(),
            ended_background: Cell::new(0),
            missing_ports: RefCell::default(),
        }
    }
}

impl World {
    /// Makes ports unavailable. Each port is given by its error code.
    pub fn remove_ports(&self, ports: &[Code]) {
        ports.clone_into(&mut self.missing_ports.borrow_mut());
    }

    pub(super) fn missing_ports(&self) -> Vec<Code> {
        self.missing_ports.borrow().clone()
    }

    /// Returns the ledger of a sandbox's workspace, which survives Worker crashes.
    pub(super) fn ledger(&self, id: &SandboxId) -> Rc<MemoryLedger> {
        Rc::clone(self.ledgers.borrow_mut().entry(id.clone()).or_default())
    }

    /// Returns the store of a named workspace, which survives Worker crashes.
    pub(super) fn workspace_store(&self, address: &Address) -> Rc<MemoryWorkspaceStore> {
        Rc::clone(self.workspace_stores.borrow_mut().entry(address.clone()).or_default())
    }

    /// Returns the Directory store of a tenant, which survives Worker crashes.
    pub(super) fn directory(&self, tenant: &Tenant) -> Rc<MemoryDirectoryStore> {
        Rc::clone(self.directories.borrow_mut().entry(tenant.clone()).or_default())
    }

    /// Returns the addresses of the named workspaces that have a store.
    pub fn workspace_addresses(&self) -> Vec<Address> {
        self.workspace_stores.borrow().keys().cloned().collect()
    }

    /// Returns the ids of the sandboxes that have a ledger.
    pub fn sandbox_ids(&self) -> Vec<String> {
        self.ledgers.borrow().keys().map(SandboxId::to_string).collect()
    }

    /// Returns the current time.
    pub fn current_time(&self) -> Timestamp {
        Timestamp::from_millis(self.now.get())
    }

    /// Advances the clock, and wakes expired deadlines.
    pub fn advance_clock(&self, millis: i64) {
        self.now.set(self.now.get() + millis);
        self.deadlines.wake_expired(self.now.get());
    }

    /// Queues the next random bytes; `None` makes the platform fail to provide them.
    pub fn queue_random(&self, random: Option<[u8; 32]>) {
        self.queued_random.borrow_mut().push_back(random);
    }

    /// Returns all port calls with their targets, in order.
    pub fn calls(&self) -> Vec<(Method, String)> {
        self.calls.borrow().clone()
    }

    /// Returns the calls to one sandbox or backup.
    pub fn calls_about(&self, id: &str) -> Vec<Method> {
        self.calls.borrow().iter().filter(|(_, target)| target == id).map(|(method, _)| *method).collect()
    }

    /// Returns the number of calls of a method.
    pub fn call_count(&self, method: Method) -> usize {
        self.calls.borrow().iter().filter(|(called, _)| *called == method).count()
    }

    /// Clears the call log, and restarts the numbering of calls.
    pub fn reset_calls(&self) {
        self.calls.borrow_mut().clear();
        self.marker_calls.borrow_mut().clear();
    }

    /// Returns the durations of all sleeps, in milliseconds.
    pub fn sleeps(&self) -> Vec<u64> {
        self.sleeps.borrow().clone()
    }

    /// Runs the background work until it waits. Returns whether it made progress.
    pub fn run_background(&self) -> bool {
        let mut has_progress = false;
        loop {
            let before = self.progress();
            for work in self.queued_background.take() {
                let operation = PendingOperation::start(work);
                self.running_background.borrow_mut().push(operation);
                has_progress = true;
            }
            let mut running = self.running_background.take();
            let count = running.len();
            running.retain_mut(|operation| !operation.is_done());
            self.ended_background.set(self.ended_background.get() + count - running.len());
            self.running_background.borrow_mut().extend(running);
            if self.progress() == before && self.queued_background.borrow().is_empty() {
                return has_progress;
            }
            has_progress |= self.progress() != before;
        }
    }

    /// Returns a value that changes with every progress of the background work.
    fn progress(&self) -> (usize, usize) {
        (self.ended_background.get(), self.calls.borrow().len())
    }

    /// Runs the background work to its end. Advances the clock to the next deadline when the work waits for nothing
    /// else.
    pub fn finish_background(&self) {
        self.run_background();
        while !self.running_background.borrow().is_empty() && self.advance_to_deadline() {
            self.run_background();
        }
        assert!(
            self.running_background.borrow().is_empty(),
            "the background work waits for an event that does not occur"
        );
    }

    /// Drops the background work.
    pub fn drop_background(&self) {
        drop((self.queued_background.take(), self.running_background.take()));
    }

    /// Records a call. Returns its number among the calls of its method, and among all calls.
    pub(super) fn record_call(&self, method: Method, target: &str) -> (u32, u32) {
        self.calls.borrow_mut().push((method, target.to_owned()));
        let all = self.calls.borrow().len();
        (self.call_count(method).try_into().unwrap(), all.try_into().unwrap())
    }
}

impl Clock for World {
    fn now(&self) -> Timestamp {
        self.current_time()
    }

    async fn sleep(&self, duration: Duration) {
        let millis = u64::try_from(duration.as_millis()).unwrap();
        self.sleeps.borrow_mut().push(millis);
        self.advance_clock(i64::try_from(millis).unwrap());
        // A clock never fails, so planned failures are ignored.
        self.call(Method::Sleep, "", || Ok(())).await.ok();
    }

    async fn deadline(&self, limit: Duration) {
        self.deadline_after(i64::try_from(limit.as_millis()).unwrap()).await;
    }
}

impl Entropy for World {
    fn random_bytes(&self) -> Result<[u8; 32]> {
        if let Some(planned) = self.queued_random.borrow_mut().pop_front() {
            return planned.ok_or_else(|| Error::new(Code::Internal, "No randomness.", "Report it."));
        }
        let mut bytes = [0; 32];
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.next_random().to_le_bytes());
        }
        Ok(bytes)
    }
}

impl World {
    /// Returns the next number of the generator splitmix64.
    fn next_random(&self) -> u64 {
        self.seed.set(self.seed.get().wrapping_add(0x9e37_79b9_7f4a_7c15));
        let mixed = (self.seed.get() ^ (self.seed.get() >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

impl Background for World {
    fn run(&self, work: LocalBoxFuture<'static, ()>) {
        self.queued_background.borrow_mut().push(work);
    }
}
