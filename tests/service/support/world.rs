//! Everything outside of the service, and what a test reads of it.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use futures_util::future::LocalBoxFuture;
use sandbox_snapshotter::model::checkpoint_call::CheckpointRefusal;
use sandbox_snapshotter::model::named::{Address, Stamp, Tenant};
use sandbox_snapshotter::model::{BackupOptions, Code, Error, Result, SandboxId, Timestamp};
use sandbox_snapshotter::ports::{Background, Clock, Entropy};
use serde_json::Value;

use super::bucket::Backup;
use super::commands::{Commands, HookCall};
use super::containers::{Image, Sandbox};
use super::deadlines::Deadlines;
use super::script::Script;
use super::{MemoryHome, MemoryIndex, MemoryLedger, Method, Running};

/// 2026-11-20T05:00:00Z
const START: i64 = 1_795_150_800_000;

/// The world in memory. It does at once what it is asked for, unless the script says otherwise.
pub struct World {
    pub(super) script: Script,
    pub(super) sandboxes: RefCell<BTreeMap<String, Sandbox>>,
    pub(super) bucket: RefCell<BTreeMap<String, Backup>>,
    pub(super) asked: RefCell<Vec<BackupOptions>>,
    pub(super) given: RefCell<Vec<Value>>,
    pub(super) handle_fields: RefCell<Value>,
    pub(super) shipped: RefCell<Image>,
    pub(super) commands: RefCell<Commands>,
    pub(super) hooks: RefCell<Vec<HookCall>>,
    pub(super) stamps: RefCell<Vec<(Option<Stamp>, Stamp)>>,
    pub(super) refusal: RefCell<Option<CheckpointRefusal>>,
    pub(super) listed_at_once: Cell<usize>,
    ledgers: RefCell<BTreeMap<SandboxId, Rc<MemoryLedger>>>,
    homes: RefCell<BTreeMap<Address, Rc<MemoryHome>>>,
    directories: RefCell<BTreeMap<Tenant, Rc<MemoryIndex>>>,
    calls: RefCell<Vec<(Method, String)>>,
    now: Cell<i64>,
    pub(super) deadlines: Deadlines,
    waits: RefCell<Vec<u64>>,
    seed: Cell<u64>,
    random: RefCell<VecDeque<Option<[u8; 32]>>>,
    background: RefCell<Vec<LocalBoxFuture<'static, ()>>>,
    begun: RefCell<Vec<Running<()>>>,
    ended: Cell<usize>,
    lacking: RefCell<Vec<Code>>,
}

impl Default for World {
    fn default() -> Self {
        Self {
            script: Script::default(),
            sandboxes: RefCell::default(),
            bucket: RefCell::default(),
            asked: RefCell::default(),
            given: RefCell::default(),
            handle_fields: RefCell::default(),
            shipped: RefCell::default(),
            commands: RefCell::default(),
            hooks: RefCell::default(),
            stamps: RefCell::default(),
            refusal: RefCell::default(),
            listed_at_once: Cell::new(1000),
            ledgers: RefCell::default(),
            homes: RefCell::default(),
            directories: RefCell::default(),
            calls: RefCell::default(),
            now: Cell::new(START),
            deadlines: Deadlines::default(),
            waits: RefCell::default(),
            seed: Cell::new(1),
            random: RefCell::default(),
            background: RefCell::default(),
            begun: RefCell::default(),
            ended: Cell::new(0),
            lacking: RefCell::default(),
        }
    }
}

impl World {
    /// From now on these ports are not there, by the codes that say so.
    pub fn lacks(&self, ports: &[Code]) {
        ports.clone_into(&mut self.lacking.borrow_mut());
    }

    pub(super) fn lacking(&self) -> Vec<Code> {
        self.lacking.borrow().clone()
    }

    /// The ledger of a sandbox's workspace, which outlives every Worker.
    pub(super) fn ledger(&self, id: &SandboxId) -> Rc<MemoryLedger> {
        Rc::clone(self.ledgers.borrow_mut().entry(id.clone()).or_default())
    }

    /// What is kept of a named workspace, which outlives every Worker.
    pub(super) fn home(&self, address: &Address) -> Rc<MemoryHome> {
        Rc::clone(self.homes.borrow_mut().entry(address.clone()).or_default())
    }

    /// The Directory of a tenant, which outlives every Worker.
    pub(super) fn directory(&self, tenant: &Tenant) -> Rc<MemoryIndex> {
        Rc::clone(self.directories.borrow_mut().entry(tenant.clone()).or_default())
    }

    /// The names of which anything may be kept.
    pub fn names(&self) -> Vec<Address> {
        self.homes.borrow().keys().cloned().collect()
    }

    /// The sandboxes that have a workspace.
    pub fn workspaces(&self) -> Vec<String> {
        self.ledgers.borrow().keys().map(SandboxId::to_string).collect()
    }

    /// Now.
    pub fn moment(&self) -> Timestamp {
        Timestamp::from_millis(self.now.get())
    }

    /// Lets time pass.
    pub fn pass(&self, millis: i64) {
        self.now.set(self.now.get() + millis);
        self.deadlines.wake(self.now.get());
    }

    /// The next random bytes; `None` is a failure of the platform to give any.
    pub fn draws_next(&self, random: Option<[u8; 32]>) {
        self.random.borrow_mut().push_back(random);
    }

    /// Every call of sandboxes and bucket so far, in order, with the id that it was about.
    pub fn calls(&self) -> Vec<(Method, String)> {
        self.calls.borrow().clone()
    }

    /// The calls about one sandbox or backup.
    pub fn calls_about(&self, id: &str) -> Vec<Method> {
        self.calls.borrow().iter().filter(|(_, target)| target == id).map(|(method, _)| *method).collect()
    }

    /// How often a method was called.
    pub fn count(&self, method: Method) -> usize {
        self.calls.borrow().iter().filter(|(called, _)| *called == method).count()
    }

    /// Forgets the calls so far, and begins to number them again.
    pub fn forget_calls(&self) {
        self.calls.borrow_mut().clear();
        self.stamps.borrow_mut().clear();
    }

    /// The waits so far, in milliseconds.
    pub fn waits(&self) -> Vec<u64> {
        self.waits.borrow().clone()
    }

    /// Runs what was left to the background, and what comes of it, as far as it can. Says whether anything came of it.
    pub fn go_on_in_background(&self) -> bool {
        let mut is_news = false;
        loop {
            let before = self.progress();
            for work in self.background.take() {
                let begun = Running::start(work);
                self.begun.borrow_mut().push(begun);
                is_news = true;
            }
            let mut begun = self.begun.take();
            let open = begun.len();
            begun.retain_mut(|work| !work.is_done());
            self.ended.set(self.ended.get() + open - begun.len());
            self.begun.borrow_mut().extend(begun);
            if self.progress() == before && self.background.borrow().is_empty() {
                return is_news;
            }
            is_news |= self.progress() != before;
        }
    }

    /// What changes whenever anything in the background goes on.
    fn progress(&self) -> (usize, usize) {
        (self.ended.get(), self.calls.borrow().len())
    }

    /// Runs what was left to the background, and what comes of it, to its end. Time limits pass where it waits for nothing
    /// else.
    pub fn finish_background(&self) {
        self.go_on_in_background();
        while !self.begun.borrow().is_empty() && self.next_limit_passes() {
            self.go_on_in_background();
        }
        assert!(self.begun.borrow().is_empty(), "the background waits for something that does not come");
    }

    /// Forgets what was left to the background.
    pub fn forget_background(&self) {
        drop((self.background.take(), self.begun.take()));
    }

    /// Logs a call, and says the how manieth it is: of its method, and of all.
    pub(super) fn log(&self, method: Method, target: &str) -> (u32, u32) {
        self.calls.borrow_mut().push((method, target.to_owned()));
        let all = self.calls.borrow().len();
        (self.count(method).try_into().unwrap(), all.try_into().unwrap())
    }
}

impl Clock for World {
    fn now(&self) -> Timestamp {
        self.moment()
    }

    async fn sleep(&self, duration: Duration) {
        let millis = u64::try_from(duration.as_millis()).unwrap();
        self.waits.borrow_mut().push(millis);
        self.pass(i64::try_from(millis).unwrap());
        // A clock does not fail, whatever is planned for any call.
        self.call(Method::Sleep, "", || Ok(())).await.ok();
    }

    async fn deadline(&self, limit: Duration) {
        self.deadline_after(i64::try_from(limit.as_millis()).unwrap()).await;
    }
}

impl Entropy for World {
    fn bytes(&self) -> Result<[u8; 32]> {
        if let Some(planned) = self.random.borrow_mut().pop_front() {
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
    /// splitmix64
    fn next_random(&self) -> u64 {
        self.seed.set(self.seed.get().wrapping_add(0x9e37_79b9_7f4a_7c15));
        let mixed = (self.seed.get() ^ (self.seed.get() >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

impl Background for World {
    fn run(&self, work: LocalBoxFuture<'static, ()>) {
        self.background.borrow_mut().push(work);
    }
}
