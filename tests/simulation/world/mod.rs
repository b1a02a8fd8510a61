//! Everything outside of the service, in memory.
//!
//! - `sandboxes`, `sdk`: Durable Objects and their containers, with the SDK's habits
//! - `bucket`: R2
//! - `ledger`: the ledgers, with an eye on what must never be written
//! - `objects`: the objects in memory that run the service, and die
//! - `workspaces`: those of sandboxes, as others see them
//! - `names`: those of named workspaces, and the Directories
//! - `home`: what is kept of named workspaces, with an eye on what must never be written
//! - `desk`: all that as the service's ports

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

use crate::executor::{Executor, Sleep};
use crate::history::CallHistory;
use crate::index::MemoryDirectoryStore;
use crate::random::{FaultProfile, SeededRng};

pub use bucket::{Backup, GroundTruth};
pub use ledger::CheckedLedger;
pub use objects::{AnswerLost, NamedService, SandboxService};
pub use ports::SimulatedPorts;
pub use sandboxes::{Container, Files, IMAGE_FILE, OwnContainer, Sandbox, SourceSnapshot};
pub use workspace_store::CheckedWorkspaceStore;

/// How long the slowest step of a call takes, in milliseconds.
const MAX_STEP_MILLIS: u32 = 3000;

/// How late a call comes at most that is not answered, in milliseconds; and those that stand behind it in line come after it.
/// The SDK gives up a transfer after 30 minutes.
pub const MAX_LATE_MILLIS: u32 = 45 * 60 * 1000;

/// The services that can be down for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// The sandboxes.
    Sandboxes = 0,
    /// R2.
    Bucket = 1,
    /// The other workspaces.
    Workspaces = 2,
    /// The Directories.
    Directory = 3,
}

/// How many services there are.
pub const SERVICE_COUNT: usize = 4;

/// The world of one schedule.
pub struct World {
    /// What runs.
    pub executor: Executor,
    /// What the seed decides.
    pub rng: SeededRng,
    /// How rough it is.
    pub profile: FaultProfile,
    /// The sandboxes.
    pub sandboxes: RefCell<BTreeMap<SandboxId, Sandbox>>,
    /// The backups in R2.
    pub bucket: RefCell<BTreeMap<BackupId, Backup>>,
    /// What every backup ever was made of.
    pub ground_truths: RefCell<BTreeMap<BackupId, GroundTruth>>,
    /// The ledgers.
    pub ledgers: RefCell<BTreeMap<SandboxId, Rc<CheckedLedger>>>,
    /// What is kept of named workspaces.
    pub workspace_stores: RefCell<BTreeMap<Address, Rc<CheckedWorkspaceStore>>>,
    /// What callers know.
    pub history: RefCell<CallHistory>,
    /// What was violated.
    pub violations: RefCell<Vec<String>>,
    /// How often what happened.
    pub counts: RefCell<BTreeMap<&'static str, u64>>,
    live_objects: RefCell<BTreeMap<objects::ObjectKey, objects::Object>>,
    directories: RefCell<BTreeMap<Tenant, MemoryDirectoryStore>>,
    calls_in_flight: RefCell<BTreeMap<SandboxId, BTreeSet<(i64, u64)>>>,
    image_version: Cell<u64>,
    last_serial: Cell<u64>,
    last_group: Cell<u32>,
    faults_stopped: Cell<bool>,
    /// What would answer calls that are never answered.
    unanswered_senders: RefCell<Vec<Box<dyn Any>>>,
    down_until: [Cell<i64>; SERVICE_COUNT],
    traced: bool,
}

impl World {
    /// A world in which nothing exists.
    pub fn new(seed: u64, (operations, of_names): (usize, usize), traced: bool) -> Rc<Self> {
        let chance = SeededRng::new(seed);
        let weather = FaultProfile::draw(&chance, operations, of_names);
        Rc::new(Self {
            executor: Executor::default(),
            profile: weather,
            rng: chance,
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

    /// Milliseconds since 1970.
    pub fn now(&self) -> i64 {
        self.executor.now()
    }

    /// A number that is larger than all before.
    pub fn next_serial(&self) -> u64 {
        self.last_serial.set(self.last_serial.get() + 1);
        self.last_serial.get()
    }

    /// What the image of sandboxes is, and whether it brings a file.
    pub fn image(&self) -> (u64, bool) {
        (self.image_version.get(), self.profile.image_has_files)
    }

    /// Another image is deployed.
    pub fn deploy_image(&self) {
        self.image_version.set(self.image_version.get() + 1);
    }

    /// From now on nothing fails any more.
    pub fn stop_faults(&self) {
        self.faults_stopped.set(true);
    }

    /// Whether a fault happens that happens so often in 10 000 times.
    pub fn inject_fault(&self, in_10_000: u32) -> bool {
        !self.faults_stopped.get() && self.rng.with_probability(in_10_000)
    }

    /// Notes that a rule was violated.
    pub fn report_violation(&self, rule: &str, what: &Arguments<'_>) {
        let violation = format!("{rule}: {what}");
        self.trace(&format_args!("VIOLATION {violation}"));
        self.violations.borrow_mut().push(violation);
    }

    /// Shows an event, where that is wanted.
    pub fn trace(&self, event: &Arguments<'_>) {
        if self.traced {
            println!("{:>12} {event}", self.now() - 1_795_150_800_000);
        }
    }

    /// Counts something.
    pub fn count(&self, what: &'static str) {
        *self.counts.borrow_mut().entry(what).or_default() += 1;
    }

    /// Lets one task go on, or the object die that it belongs to; says whether there was one, up to a point in time.
    pub fn step_task(&self, until: i64) -> bool {
        match self.executor.pick_ready(&self.rng) {
            Some((_, group)) if group > 0 && self.inject_fault(self.profile.crash_rate) => self.crash(group),
            Some((task, _)) => self.executor.poll(task),
            None => return self.executor.advance_to_timer(until),
        }
        true
    }

    /// Lets time pass, and everything happen in it.
    pub fn run_for(&self, millis: i64) {
        let until = self.now() + millis;
        while self.step_task(until) {}
        self.executor.advance_to(until);
    }

    /// Takes the world down. The objects that died may have referred to themselves, and to the world, in circles.
    pub fn tear_down(&self) {
        self.executor.clear();
        self.live_objects.take();
        self.ledgers.take().values().for_each(|ledger| ledger.clear());
        self.workspace_stores.take().values().for_each(|home| home.clear());
        self.directories.take();
        self.calls_in_flight.take();
        self.sandboxes.take();
        self.bucket.take();
        self.ground_truths.take();
        self.unanswered_senders.take();
        self.history.take();
    }

    /// A service is down for a while.
    pub fn take_down_service(&self, service: usize, millis: i64) {
        self.down_until[service].set(self.now() + millis);
    }

    fn sleep(&self, millis: i64) -> Sleep<'_> {
        self.executor.sleep(millis)
    }

    /// A step of a call, on its way or at work.
    pub async fn pass_step(&self) {
        let millis = match self.rng.below(10) {
            _ if self.inject_fault(self.profile.slow_call_rate) => self.rng.millis(MAX_STEP_MILLIS),
            0..6 => 0,
            6..9 => self.rng.millis(20),
            _ => self.rng.millis(300),
        };
        self.sleep(millis).await;
    }

    /// The way to a service, which may not be there.
    async fn reach_service(&self, service: Service) -> Result<(), Failure> {
        self.pass_step().await;
        let is_down = !self.faults_stopped.get() && self.now() < self.down_until[service as usize].get();
        if is_down || self.inject_fault(self.profile.failure_rate) {
            self.count("failures");
            return Err(transient_failure(service));
        }
        Ok(())
    }

    /// Something that only looks.
    async fn read<T>(&self, service: Service, look: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
        self.reach_service(service).await?;
        if self.inject_hang(service) {
            return pending().await;
        }
        let seen = look();
        self.pass_step().await;
        if self.inject_fault(self.profile.lost_answer_rate) {
            self.count("lost answers");
            return Err(transient_failure(service));
        }
        seen
    }

    /// Whether a call is not answered within its time limit.
    fn inject_hang(&self, service: Service) -> bool {
        let hangs = service == Service::Sandboxes && self.inject_fault(self.profile.hang_rate);
        if hangs {
            self.count("calls without an answer");
        }
        hangs
    }

    /// Something that changes the world. Once begun, it goes on whether or not anybody waits for it.
    async fn write<T: 'static, F: Future<Output = Result<T, Failure>> + 'static>(
        self: &Rc<Self>,
        service: Service,
        begin: impl FnOnce(Rc<Self>) -> F,
    ) -> Result<T, Failure> {
        let hangs = self.inject_hang(service);
        self.write_or_hang(service, hangs, begin).await
    }

    /// As [`change`](Self::change), for what is always answered within its time limit, unless the answer is lost.
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
                // Whatever stands behind it in line waits as well.
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

    /// The backups in R2 that carry the mark of a snapshot.
    pub fn backup_ids_of(&self, snapshot_id: &SnapshotId) -> Vec<BackupId> {
        let bucket = self.bucket.borrow();
        let marked = bucket.iter().filter(|(_, backup)| {
            backup.parse_mark().is_some_and(|mark| mark.snapshot_id == *snapshot_id) && backup.archive.is_some()
        });
        marked.map(|(id, _)| id.clone()).collect()
    }
}

/// A failure that passes, as the platform or R2 words it.
fn transient_failure(service: Service) -> Failure {
    match service {
        Service::Bucket => Failure::new("R2Error", "We encountered an internal error. Please try again."),
        Service::Sandboxes | Service::Workspaces | Service::Directory => {
            Failure::new("Error", "Network connection lost.")
        }
    }
}
