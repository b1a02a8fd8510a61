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
mod desk;
mod home;
mod ledger;
mod names;
mod objects;
mod sandboxes;
mod sdk;
mod workspaces;

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Arguments;
use std::future::{Future, pending};
use std::rc::Rc;

use futures_channel::oneshot;
use sandbox_snapshotter::model::named::{Address, Tenant};
use sandbox_snapshotter::model::{BackupId, Failure, SandboxId, SnapshotId};

use crate::book::Book;
use crate::chance::{Chance, Weather};
use crate::executor::{Executor, Sleep};
use crate::index::MemoryIndex;

pub use bucket::{Backup, Truth};
pub use desk::Desk;
pub use home::WatchedHome;
pub use ledger::Watched;
pub use objects::{Lost, Named, Snapshotter};
pub use sandboxes::{Container, Files, OF_IMAGE, Own, Sandbox, Source};

/// How long the slowest step of a call takes, in milliseconds.
const SLOWEST: u32 = 3000;

/// How late a call comes at most that is not answered, in milliseconds; and those that stand behind it in line come after it.
/// The SDK gives up a transfer after 30 minutes.
pub const LATEST: u32 = 45 * 60 * 1000;

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
pub const SERVICES: usize = 4;

/// The world of one schedule.
pub struct World {
    /// What runs.
    pub executor: Executor,
    /// What the seed decides.
    pub chance: Chance,
    /// How rough it is.
    pub weather: Weather,
    /// The sandboxes.
    pub sandboxes: RefCell<BTreeMap<SandboxId, Sandbox>>,
    /// The backups in R2.
    pub bucket: RefCell<BTreeMap<BackupId, Backup>>,
    /// What every backup ever was made of.
    pub truths: RefCell<BTreeMap<BackupId, Truth>>,
    /// The ledgers.
    pub ledgers: RefCell<BTreeMap<SandboxId, Rc<Watched>>>,
    /// What is kept of named workspaces.
    pub homes: RefCell<BTreeMap<Address, Rc<WatchedHome>>>,
    /// What callers know.
    pub book: RefCell<Book>,
    /// What was violated.
    pub violations: RefCell<Vec<String>>,
    /// How often what happened.
    pub counts: RefCell<BTreeMap<&'static str, u64>>,
    objects: RefCell<BTreeMap<objects::Place, objects::Object>>,
    directories: RefCell<BTreeMap<Tenant, MemoryIndex>>,
    busy: RefCell<BTreeMap<SandboxId, BTreeSet<(i64, u64)>>>,
    image: Cell<u64>,
    serial: Cell<u64>,
    groups: Cell<u32>,
    calm: Cell<bool>,
    /// What would answer calls that are never answered.
    withheld: RefCell<Vec<Box<dyn Any>>>,
    down: [Cell<i64>; SERVICES],
    traced: bool,
}

impl World {
    /// A world in which nothing exists.
    pub fn new(seed: u64, (operations, of_names): (usize, usize), traced: bool) -> Rc<Self> {
        let chance = Chance::new(seed);
        let weather = Weather::draw(&chance, operations, of_names);
        Rc::new(Self {
            executor: Executor::default(),
            weather,
            chance,
            sandboxes: RefCell::default(),
            bucket: RefCell::default(),
            truths: RefCell::default(),
            ledgers: RefCell::default(),
            homes: RefCell::default(),
            book: RefCell::default(),
            violations: RefCell::default(),
            counts: RefCell::default(),
            objects: RefCell::default(),
            directories: RefCell::default(),
            busy: RefCell::default(),
            image: Cell::new(1),
            serial: Cell::default(),
            groups: Cell::default(),
            calm: Cell::new(false),
            withheld: RefCell::default(),
            down: Default::default(),
            traced,
        })
    }

    /// Milliseconds since 1970.
    pub fn now(&self) -> i64 {
        self.executor.now()
    }

    /// A number that is larger than all before.
    pub fn serial(&self) -> u64 {
        self.serial.set(self.serial.get() + 1);
        self.serial.get()
    }

    /// What the image of sandboxes is, and whether it brings a file.
    pub fn image(&self) -> (u64, bool) {
        (self.image.get(), self.weather.image_has_files)
    }

    /// Another image is deployed.
    pub fn deploys(&self) {
        self.image.set(self.image.get() + 1);
    }

    /// From now on nothing fails any more.
    pub fn calm_down(&self) {
        self.calm.set(true);
    }

    /// Whether a fault happens that happens so often in 10 000 times.
    pub fn strikes(&self, in_10_000: u32) -> bool {
        !self.calm.get() && self.chance.happens(in_10_000)
    }

    /// Notes that a rule was violated.
    pub fn violated(&self, rule: &str, what: &Arguments<'_>) {
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
    pub fn step(&self, until: i64) -> bool {
        match self.executor.pick(&self.chance) {
            Some((_, group)) if group > 0 && self.strikes(self.weather.crash) => self.crash(group),
            Some((task, _)) => self.executor.poll(task),
            None => return self.executor.pass(until),
        }
        true
    }

    /// Lets time pass, and everything happen in it.
    pub fn run_for(&self, millis: i64) {
        let until = self.now() + millis;
        while self.step(until) {}
        self.executor.set(until);
    }

    /// Takes the world down. The objects that died may have referred to themselves, and to the world, in circles.
    pub fn end(&self) {
        self.executor.clear();
        self.objects.take();
        self.ledgers.take().values().for_each(|ledger| ledger.clear());
        self.homes.take().values().for_each(|home| home.clear());
        self.directories.take();
        self.busy.take();
        self.sandboxes.take();
        self.bucket.take();
        self.truths.take();
        self.withheld.take();
        self.book.take();
    }

    /// A service is down for a while.
    pub fn is_down_for(&self, service: usize, millis: i64) {
        self.down[service].set(self.now() + millis);
    }

    fn sleep(&self, millis: i64) -> Sleep<'_> {
        self.executor.sleep(millis)
    }

    /// A step of a call, on its way or at work.
    pub async fn moment(&self) {
        let millis = match self.chance.below(10) {
            _ if self.strikes(self.weather.slow) => self.chance.millis(SLOWEST),
            0..6 => 0,
            6..9 => self.chance.millis(20),
            _ => self.chance.millis(300),
        };
        self.sleep(millis).await;
    }

    /// The way to a service, which may not be there.
    async fn reach(&self, service: Service) -> Result<(), Failure> {
        self.moment().await;
        let is_down = !self.calm.get() && self.now() < self.down[service as usize].get();
        if is_down || self.strikes(self.weather.fails) {
            self.count("failures");
            return Err(passing(service));
        }
        Ok(())
    }

    /// Something that only looks.
    async fn look<T>(&self, service: Service, look: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
        self.reach(service).await?;
        if self.hangs(service) {
            return pending().await;
        }
        let seen = look();
        self.moment().await;
        if self.strikes(self.weather.lost) {
            self.count("lost answers");
            return Err(passing(service));
        }
        seen
    }

    /// Whether a call is not answered within its time limit.
    fn hangs(&self, service: Service) -> bool {
        let hangs = service == Service::Sandboxes && self.strikes(self.weather.hangs);
        if hangs {
            self.count("calls without an answer");
        }
        hangs
    }

    /// Something that changes the world. Once begun, it goes on whether or not anybody waits for it.
    async fn change<T: 'static, F: Future<Output = Result<T, Failure>> + 'static>(
        self: &Rc<Self>,
        service: Service,
        begin: impl FnOnce(Rc<Self>) -> F,
    ) -> Result<T, Failure> {
        let hangs = self.hangs(service);
        self.change_or_hang(service, hangs, begin).await
    }

    /// As [`change`](Self::change), for what is always answered within its time limit, unless the answer is lost.
    async fn change_in_time<T: 'static, F: Future<Output = Result<T, Failure>> + 'static>(
        self: &Rc<Self>,
        service: Service,
        begin: impl FnOnce(Rc<Self>) -> F,
    ) -> Result<T, Failure> {
        self.change_or_hang(service, false, begin).await
    }

    async fn change_or_hang<T: 'static, F: Future<Output = Result<T, Failure>> + 'static>(
        self: &Rc<Self>,
        service: Service,
        hangs: bool,
        begin: impl FnOnce(Rc<Self>) -> F,
    ) -> Result<T, Failure> {
        self.reach(service).await?;
        let change = begin(Rc::clone(self));
        let (sender, answer) = oneshot::channel();
        let world = Rc::clone(self);
        let is_lost = self.strikes(self.weather.lost);
        self.executor.spawn(0, async move {
            if hangs && world.chance.one_in(2) {
                // Whatever stands behind it in line waits as well.
                world.sleep(world.chance.millis(LATEST)).await;
            }
            let answer = change.await;
            world.moment().await;
            if hangs {
                world.withheld.borrow_mut().push(Box::new(sender));
            } else if !is_lost {
                sender.send(answer).ok();
            }
        });
        if self.strikes(self.weather.lost / 2) {
            self.count("lost answers");
            self.moment().await;
            return Err(passing(service));
        }
        answer.await.unwrap_or_else(|_| {
            self.count("lost answers");
            Err(passing(service))
        })
    }

    /// The backups in R2 that carry the mark of a snapshot.
    pub fn marked(&self, snapshot_id: &SnapshotId) -> Vec<BackupId> {
        let bucket = self.bucket.borrow();
        let marked = bucket.iter().filter(|(_, backup)| {
            backup.mark().is_some_and(|mark| mark.snapshot_id == *snapshot_id) && backup.archive.is_some()
        });
        marked.map(|(id, _)| id.clone()).collect()
    }
}

/// A failure that passes, as the platform or R2 words it.
fn passing(service: Service) -> Failure {
    match service {
        Service::Bucket => Failure::new("R2Error", "We encountered an internal error. Please try again."),
        Service::Sandboxes | Service::Workspaces | Service::Directory => {
            Failure::new("Error", "Network connection lost.")
        }
    }
}
