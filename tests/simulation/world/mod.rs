//! The world of a schedule: the ports in memory, with faults that the seed decides.
//!
//! - here: the state of a schedule, its violations and its events
//! - `scheduler`: the scheduler of the ports: virtual time, and faults of calls
//! - `observer`: passes the events of the ports to the rules
//! - `objects`: calls to objects, which crash, and their alarms
//! - `sandboxes`: what applications and the platform do with sandboxes

mod objects;
mod observer;
mod sandboxes;
mod scheduler;

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Arguments;
use std::rc::Rc;

use sandbox_snapshotter::model::named::answer::WorkspaceEntry;
use sandbox_snapshotter::model::named::{Address, PlatformSnapshot};
use sandbox_snapshotter::model::{BackupId, Directory, SandboxBindings, SandboxId, SnapshotId};
use sandbox_snapshotter::ports::DirectoryStore;
use sandbox_snapshotter::service::Config;
use serde_json::json;

use crate::executor::{Executor, START_MILLIS};
use crate::history::CallHistory;
use crate::memory::{self, SeededRng, Service};
use crate::planted::{Bug, Planted};
use crate::profile::FaultProfile;

pub use objects::AnswerLost;
pub use sandboxes::{
    ContainerNotes, DIR, EndedContainer, Files, IMAGE_FILE, IMAGE_NAMES, OwnContainer, SourceSnapshot,
};

/// The longest delay of a call that is not answered in time, in milliseconds. The calls behind it in the queue run after it.
/// The SDK cancels a transfer after 30 minutes.
pub const MAX_LATE_MILLIS: u32 = 45 * 60 * 1000;

/// The world of one schedule.
pub type World = memory::World<Simulation>;

/// The service of one sandbox.
pub type SandboxService = memory::SandboxService<Simulation>;

/// The service of one named workspace.
pub type NamedService = memory::NamedService<Simulation>;

/// A container.
pub type Container = memory::Container<Simulation>;

/// The captured state of a container.
pub type Capture = memory::Capture<ContainerNotes>;

/// The state of one schedule, besides the state of the ports.
pub struct Simulation {
    /// The tasks and the clock.
    pub executor: Executor,
    /// The random numbers of the seed.
    pub rng: SeededRng,
    /// The faults and the load.
    pub profile: FaultProfile,
    /// The source of every backup, including deleted ones.
    pub ground_truths: RefCell<BTreeMap<BackupId, Capture>>,
    /// The files in the directory of every platform snapshot, including deleted ones, by id.
    pub disk_files: RefCell<BTreeMap<String, Files>>,
    /// Every platform snapshot that a ledger had.
    pub platform_rows: RefCell<BTreeMap<String, PlatformSnapshot>>,
    /// The requests and answers of the callers.
    pub history: RefCell<CallHistory>,
    /// The violated rules.
    pub violations: RefCell<Vec<String>>,
    /// The number of times that each kind of event happened.
    pub counts: RefCell<BTreeMap<&'static str, u64>>,
    /// The time of the last crash of the object of each sandbox.
    pub crashed_at: RefCell<BTreeMap<SandboxId, i64>>,
    /// The planted bug.
    pub planted: Planted,
    calls_in_flight: RefCell<BTreeMap<SandboxId, BTreeSet<(i64, u64)>>>,
    image_version: Cell<u64>,
    /// When it was deployed.
    pub image_deployed_at: Cell<i64>,
    last_serial: Cell<u64>,
    faults_stopped: Cell<bool>,
    /// The answer channels of calls that are never answered, kept open so that the calls hang.
    unanswered_senders: RefCell<Vec<Box<dyn Any>>>,
    down_until: [Cell<i64>; Service::COUNT],
    traced: bool,
}

impl Simulation {
    /// Returns the empty world of a seed.
    pub fn new_world(
        seed: u64,
        (operations, of_workspaces): (usize, usize),
        planted: Option<Bug>,
        traced: bool,
    ) -> Rc<World> {
        let rng = SeededRng::new(seed);
        let profile = FaultProfile::draw(&rng, operations, of_workspaces);
        let config = Config {
            default_dir: Directory::parse(DIR).unwrap(),
            local_bucket: false,
            incremental: profile.incremental,
            min_base_bytes: 0,
        };
        let simulation = Self {
            executor: Executor::default(),
            profile,
            rng,
            ground_truths: RefCell::default(),
            disk_files: RefCell::default(),
            platform_rows: RefCell::default(),
            history: RefCell::default(),
            violations: RefCell::default(),
            counts: RefCell::default(),
            crashed_at: RefCell::default(),
            planted: Planted::new(planted),
            calls_in_flight: RefCell::default(),
            image_version: Cell::new(1),
            image_deployed_at: Cell::new(0),
            last_serial: Cell::default(),
            faults_stopped: Cell::new(false),
            unanswered_senders: RefCell::default(),
            down_until: Default::default(),
            traced,
        };
        let world = World::new(simulation, config);
        world.runtime.set(world.profile.runtime);
        if world.profile.names_runtime {
            let sandboxes = json!([{ "binding": "Sandbox", "runtime": world.profile.runtime }]);
            world.sandbox_bindings.replace(Rc::new(SandboxBindings::parse(Some(&sandboxes), None).unwrap()));
        }
        sandboxes::plan_hooks(&world);
        world
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

    /// Deploys another image.
    pub fn deploy_image(&self) {
        self.image_version.set(self.image_version.get() + 1);
        self.image_deployed_at.set(self.now());
        self.trace(&format_args!("the image {} is deployed", self.image_version.get()));
    }

    /// Stops all faults.
    pub fn stop_faults(&self) {
        self.faults_stopped.set(true);
    }

    /// Decides whether a fault with a rate of `in_10_000` per 10 000 happens now.
    pub fn inject_fault(&self, in_10_000: u32) -> bool {
        !self.faults_stopped.get() && self.rng.with_probability(in_10_000)
    }

    /// Takes a service down for a time.
    pub fn take_down_service(&self, service: usize, millis: i64) {
        self.down_until[service].set(self.now() + millis);
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
            println!("{:>12} {event}", self.now() - START_MILLIS);
        }
    }

    /// Counts an event.
    pub fn count(&self, what: &'static str) {
        *self.counts.borrow_mut().entry(what).or_default() += 1;
    }
}

impl World {
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
        self.objects.take();
        self.ledgers.take().values().for_each(|ledger| ledger.clear());
        self.workspace_stores.take().values().for_each(|store| store.clear());
        self.directories.take();
        self.calls_in_flight.take();
        self.sandboxes.take();
        self.bucket.take();
        self.disks.take();
        self.ground_truths.take();
        self.unanswered_senders.take();
        self.history.take();
    }

    /// Returns the entry of a workspace in the Directory of its tenant.
    pub fn directory_entry(&self, address: &Address) -> Option<WorkspaceEntry> {
        self.directory(&address.tenant).entry(&address.name).unwrap()
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
