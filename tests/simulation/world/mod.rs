//! Everything outside of the service, simulated in memory.
//!
//! - `sandboxes`, `sdk`: Durable Objects and their containers, with the behavior of the SDK
//! - `bucket`: R2
//! - `ledger`: the ledgers; checks every write
//! - `objects`: the objects in memory that run the service, and that crash
//! - `sandbox_ledgers`: the clients by which objects call the ledgers of sandboxes
//! - `named_workspaces`: the clients by which objects call named workspaces and Directories
//! - `workspace_store`: the records of named workspaces; checks every write
//! - `ports`: all of these as the ports of the service

mod bucket;
mod ledger;
mod named_workspaces;
mod objects;
mod ports;
mod sandbox_ledgers;
mod sandboxes;
mod sdk;
mod workspace_store;

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Arguments;
use std::future::{Future, pending};
use std::rc::Rc;

use futures_channel::oneshot;
use sandbox_snapshotter::model::named::{Address, Tenant};
use sandbox_snapshotter::model::{BackupId, Failure, SandboxId, SnapshotId};

use crate::directory_store::MemoryDirectoryStore;
use crate::executor::{Executor, Sleep};
use crate::history::CallHistory;
use crate::random::{FaultProfile, SeededRng};

pub use bucket::{Backup, GroundTruth};
pub use ledger::CheckedLedger;
pub use objects::{AnswerLost, NamedService, SandboxService};
pub use ports::SimulatedPorts;
pub use sandboxes::{Container, Files, IMAGE_FILE, OwnContainer, Sandbox, SourceSnapshot};
pub use workspace_store::CheckedWorkspaceStore;

/// The duration of the slowest step of a call, in milliseconds.
const MAX_STEP_MILLIS: u32 = 3000;

/// The longest delay of a call that is not answered in time, in milliseconds. The calls behind it in the queue run after it.
/// The SDK cancels a transfer after 30 minutes.
pub const MAX_LATE_MILLIS: u32 = 45 * 60 * 1000;

/// The services that can be down for a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// The sandboxes.
    Sandboxes = 0,
    /// R2.
    Bucket = 1,
    /// The objects of sandboxes and named workspaces.
    Workspaces = 2,
    /// The Directories.
    Directory = 3,
}

/// The number of services.
pub const SERVICE_COUNT: usize = 4;

/// The world of one schedule.
pub struct World {
    /// The tasks and the clock.
    pub executor: Executor,
    /// The random numbers of the seed.
    pub rng: SeededRng,
    /// The faults and the load.
    pub profile: FaultProfile,
    /// The sandboxes.
    pub sandboxes: RefCell<BTreeMap<SandboxId, Sandbox>>,
    /// The backups in R2.
    pub bucket: RefCell<BTreeMap<BackupId, Backup>>,
    /// The source of every backup, including deleted ones.
    pub ground_truths: RefCell<BTreeMap<BackupId, GroundTruth>>,
    /// The ledgers.
    pub ledgers: RefCell<BTreeMap<SandboxId, Rc<CheckedLedger>>>,
    /// The records of named workspaces.
    pub workspace_stores: RefCell<BTreeMap<Address, Rc<CheckedWorkspaceStore>>>,
    /// The requests and answers of the callers.
    pub history: RefCell<CallHistory>,
    /// The violated rules.
    pub violations: RefCell<Vec<String>>,
    /// The number of times that each kind of event happened.
    pub counts: RefCell<BTreeMap<&'static str, u64>>,
    live_objects: RefCell<BTreeMap<objects::ObjectKey, objects::Object>>,
    directories: RefCell<BTreeMap<Tenant, MemoryDirectoryStore>>,
    calls_in_flight: RefCell<BTreeMap<SandboxId, BTreeSet<(i64, u64)>>>,
    image_version: Cell<u64>,
    last_serial: Cell<u64>,
    last_group: Cell<u32>,
    faults_stopped: Cell<bool>,
    /// The answer channels of calls that are never answered, kept open so that the calls hang.
    unanswered_senders: RefCell<Vec<Box<dyn Any>>>,
    down_until: [Cell<i64>; SERVICE_COUNT],
    traced: bool,
}

impl World {
    /// Returns an empty world.
    pub fn new(seed: u64, (operations, of_workspaces): (usize, usize), traced: bool) -> Rc<Self> {
        let rng = SeededRng::new(seed);
        let profile = FaultProfile::draw(&rng, operations, of_workspaces);
        Rc::new(Self {
            executor: Executor::default(),
            profile,
            rng,
            sandboxes: RefCell::default(),
            bucket: RefCell::default(),
            ground_truths: RefCell::default(),
            ledgers: RefCell::default(),
            workspace_stores: RefCell::default(),
            history: RefCell::default(),
            violations: RefCell::default(),
            counts: RefCell::default(),
            live_objects: RefCell::default(),
            directories: RefCell::default(),
            calls_in_flight: RefCell::default(),
            image_version: Cell::new(1),
            last_serial: Cell::default(),
            last_group: Cell::default(),
            faults_stopped: Cell::new(false),
            unanswered_senders: RefCell::default(),
            down_until: Default::default(),
            traced,
        })
    }

    /// Returns the current time, in milliseconds since 1970.
    pub fn now(&self) -> i64 {
        self.executor.now()
    }

    /// Returns a number larger than all previous ones.
    pub fn next_serial(&self) -> u64 {
        self.last_serial.set(self.last_serial.get() + 1);
        self.last_serial.get()
    }

    /// Returns the version of the image of the sandboxes, and whether it contains a file.
    pub fn image(&self) -> (u64, bool) {
        (self.image_version.get(), self.profile.image_has_files)
    }

    /// Deploys another image.
    pub fn deploy_image(&self) {
        self.image_version.set(self.image_version.get() + 1);
    }

    /// Stops all faults.
    pub fn stop_faults(&self) {
        self.faults_stopped.set(true);
    }

    /// Decides whether a fault with a rate of `in_10_000` per 10 000 happens now.
    pub fn inject_fault(&self, in_10_000: u32) -> bool {
        !self.faults_stopped.get() && self.rng.with_probability(in_10_000)
    }

    /// Records that a rule was violated.
    pub fn report_violation(&self, rule: &str, what: &Arguments<'_>) {
        let violation = format!("{rule}: {what}");
        self.trace(&format_args!("VIOLATION {violation}"));
        self.violations.borrow_mut().push(violation);
    }

    /// Prints an event, if the schedule is traced.
    pub fn trace(&self, event: &Arguments<'_>) {
        if self.traced {
            println!("{:>12} {event}", self.now() - 1_795_150_800_000);
        }
    }

    /// Counts an event.
    pub fn count(&self, what: &'static str) {
        *self.counts.borrow_mut().entry(what).or_default() += 1;
    }

    /// Polls one task, or crashes its object. Without a ready task, advances the clock, up to `until`. Returns whether it did
    /// any of these.
    pub fn step_task(&self, until: i64) -> bool {
        match self.executor.pick_ready(&self.rng) {
            Some((_, group)) if group > 0 && self.inject_fault(self.profile.crash_rate) => self.crash(group),
            Some((task, _)) => self.executor.poll(task),
            None => return self.executor.advance_to_timer(until),
        }
        true
    }

    /// Runs all tasks and timers for a time.
    pub fn run_for(&self, millis: i64) {
        let until = self.now() + millis;
        while self.step_task(until) {}
        self.executor.advance_to(until);
    }

    /// Drops everything. Objects that crashed may be part of reference cycles with themselves and with the world.
    pub fn tear_down(&self) {
        self.executor.clear();
        self.live_objects.take();
        self.ledgers.take().values().for_each(|ledger| ledger.clear());
        self.workspace_stores.take().values().for_each(|store| store.clear());
        self.directories.take();
        self.calls_in_flight.take();
        self.sandboxes.take();
        self.bucket.take();
        self.ground_truths.take();
        self.unanswered_senders.take();
        self.history.take();
    }

    /// Takes a service down for a time.
    pub fn take_down_service(&self, service: usize, millis: i64) {
        self.down_until[service].set(self.now() + millis);
    }

    fn sleep(&self, millis: i64) -> Sleep<'_> {
        self.executor.sleep(millis)
    }

    /// Passes one step of a call, on its way or during its work.
    pub async fn pass_step(&self) {
        let millis = match self.rng.below(10) {
            _ if self.inject_fault(self.profile.slow_call_rate) => self.rng.millis(MAX_STEP_MILLIS),
            0..6 => 0,
            6..9 => self.rng.millis(20),
            _ => self.rng.millis(300),
        };
        self.sleep(millis).await;
    }

    /// Passes the way to a service. Fails if the service is down or the call fails before it has any effect.
    async fn reach_service(&self, service: Service) -> Result<(), Failure> {
        self.pass_step().await;
        let is_down = !self.faults_stopped.get() && self.now() < self.down_until[service as usize].get();
        if is_down || self.inject_fault(self.profile.failure_rate) {
            self.count("failures");
            return Err(transient_failure(service));
        }
        Ok(())
    }

    /// Makes a call without effects.
    async fn read<T>(&self, service: Service, read: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
        self.reach_service(service).await?;
        if self.inject_hang(service) {
            return pending().await;
        }
        let answer = read();
        self.pass_step().await;
        if self.inject_fault(self.profile.lost_answer_rate) {
            self.count("lost answers");
            return Err(transient_failure(service));
        }
        answer
    }

    /// Decides whether a call hangs: it is not answered within its time limit.
    fn inject_hang(&self, service: Service) -> bool {
        let hangs = service == Service::Sandboxes && self.inject_fault(self.profile.hang_rate);
        if hangs {
            self.count("calls without an answer");
        }
        hangs
    }

    /// Makes a call with effects. Once begun, it continues even if its caller no longer waits for it.
    async fn write<T: 'static, F: Future<Output = Result<T, Failure>> + 'static>(
        self: &Rc<Self>,
        service: Service,
        begin: impl FnOnce(Rc<Self>) -> F,
    ) -> Result<T, Failure> {
        let hangs = self.inject_hang(service);
        self.write_or_hang(service, hangs, begin).await
    }

    /// As [`write`](Self::write), but never hangs.
    async fn write_in_time<T: 'static, F: Future<Output = Result<T, Failure>> + 'static>(
        self: &Rc<Self>,
        service: Service,
        begin: impl FnOnce(Rc<Self>) -> F,
    ) -> Result<T, Failure> {
        self.write_or_hang(service, false, begin).await
    }

    async fn write_or_hang<T: 'static, F: Future<Output = Result<T, Failure>> + 'static>(
        self: &Rc<Self>,
        service: Service,
        hangs: bool,
        begin: impl FnOnce(Rc<Self>) -> F,
    ) -> Result<T, Failure> {
        self.reach_service(service).await?;
        let change = begin(Rc::clone(self));
        let (sender, answer) = oneshot::channel();
        let world = Rc::clone(self);
        let is_answer_lost = self.inject_fault(self.profile.lost_answer_rate);
        self.executor.spawn(0, async move {
            if hangs && world.rng.one_in(2) {
                // The calls behind it in the queue wait as well.
                world.sleep(world.rng.millis(MAX_LATE_MILLIS)).await;
            }
            let answer = change.await;
            world.pass_step().await;
            if hangs {
                world.unanswered_senders.borrow_mut().push(Box::new(sender));
            } else if !is_answer_lost {
                sender.send(answer).ok();
            }
        });
        if self.inject_fault(self.profile.lost_answer_rate / 2) {
            self.count("lost answers");
            self.pass_step().await;
            return Err(transient_failure(service));
        }
        answer.await.unwrap_or_else(|_| {
            self.count("lost answers");
            Err(transient_failure(service))
        })
    }

    /// Returns the complete backups in R2 whose owner is a snapshot.
    pub fn backup_ids_of(&self, snapshot_id: &SnapshotId) -> Vec<BackupId> {
        let bucket = self.bucket.borrow();
        let owned = bucket.iter().filter(|(_, backup)| {
            backup.owner().is_some_and(|owner| owner.snapshot_id == *snapshot_id) && backup.archive.is_some()
        });
        owned.map(|(id, _)| id.clone()).collect()
    }
}

/// Returns a transient failure, with the message of the platform or of R2.
fn transient_failure(service: Service) -> Failure {
    match service {
        Service::Bucket => Failure::new("R2Error", "We encountered an internal error. Please try again."),
        Service::Sandboxes | Service::Workspaces | Service::Directory => {
            Failure::new("Error", "Network connection lost.")
        }
    }
}
