//! The scheduler of the service tests: calls take effect immediately, unless the fault plan of the test changes that.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use sandbox_snapshotter::model::named::{Address, ContainerMarker};
use sandbox_snapshotter::model::{BackupId, BackupOptions, Code, Error, Failure, Result, SandboxId, Timestamp};
use serde_json::Value;

use super::deadlines::Deadlines;
use super::faults::FaultPlan;
use super::memory::{
    Event, Group, HookCall, Image, MemoryLedger, MemoryWorkspaceStore, ObjectKey, ObjectPorts, ObjectService,
    RowChange, Sandbox, Scheduler, SeededRng, StoreChange, Work, class_image,
};
use super::{Method, PendingOperation, World, backup_id};

/// 2026-11-20T05:00:00Z
const START_MILLIS: i64 = 1_795_150_800_000;

/// The duration of a restore, in milliseconds, from the start of the container.
const RESTORE_MILLIS: i64 = 2000;

/// What a test plans, and what it observes. The clock advances only with calls and by hand. Containers end only by hand.
pub struct Planned {
    pub(super) faults: FaultPlan,
    pub(super) deadlines: Deadlines,
    pub(super) image: RefCell<Image>,
    /// Whether the class of the sandboxes has platform snapshots.
    pub(super) image_names: RefCell<Option<Vec<String>>>,
    pub(super) has_platform: Cell<bool>,
    /// Whether a start from a platform snapshot that does not exist starts an empty container.
    pub(super) starts_empty: Cell<bool>,
    pub(super) backup_requests: RefCell<Vec<BackupOptions>>,
    pub(super) restore_requests: RefCell<Vec<Value>>,
    pub(super) hook_calls: RefCell<Vec<HookCall>>,
    pub(super) marker_calls: RefCell<Vec<(Option<ContainerMarker>, ContainerMarker)>>,
    list_page_size: Cell<usize>,
    calls: RefCell<Vec<(Method, String)>>,
    rows_written: Cell<usize>,
    now: Cell<i64>,
    sleeps: RefCell<Vec<u64>>,
    rng: SeededRng,
    queued_random: RefCell<VecDeque<Option<[u8; 32]>>>,
    queued_background: RefCell<Vec<LocalBoxFuture<'static, ()>>>,
    running_background: RefCell<Vec<PendingOperation<()>>>,
    ended_background: Cell<usize>,
    missing_ports: RefCell<Vec<Code>>,
}

impl Default for Planned {
    fn default() -> Self {
        let image = Image { version: "0.12.10 0123456789abcdef".into(), ..Image::default() };
        Self {
            faults: FaultPlan::default(),
            deadlines: Deadlines::default(),
            image: RefCell::new(image),
            image_names: RefCell::default(),
            has_platform: Cell::new(false),
            starts_empty: Cell::new(false),
            backup_requests: RefCell::default(),
            restore_requests: RefCell::default(),
            hook_calls: RefCell::default(),
            marker_calls: RefCell::default(),
            list_page_size: Cell::new(1000),
            calls: RefCell::default(),
            rows_written: Cell::default(),
            now: Cell::new(START_MILLIS),
            sleeps: RefCell::default(),
            rng: SeededRng::new(1),
            queued_random: RefCell::default(),
            queued_background: RefCell::default(),
            running_background: RefCell::default(),
            ended_background: Cell::new(0),
            missing_ports: RefCell::default(),
        }
    }
}

impl Scheduler for Planned {
    type SandboxNotes = ();
    type ContainerNotes = ();
    type Ports = ObjectPorts<Self>;

    fn sandbox_ports(
        ports: ObjectPorts<Self>,
        _: &SandboxId,
        ledger: Rc<MemoryLedger>,
    ) -> (Rc<ObjectPorts<Self>>, Rc<MemoryLedger>) {
        (Rc::new(ports), ledger)
    }

    fn workspace_ports(
        ports: ObjectPorts<Self>,
        store: Rc<MemoryWorkspaceStore>,
    ) -> (Rc<ObjectPorts<Self>>, Rc<MemoryWorkspaceStore>) {
        (Rc::new(ports), store)
    }

    fn now(&self) -> i64 {
        self.now.get()
    }

    async fn sleep(world: &World, millis: i64) {
        world.sleeps.borrow_mut().push(millis.unsigned_abs());
        world.advance_clock(millis);
        // A clock never fails, so planned failures are ignored.
        world.call(Method::Sleep, "", async { Ok(()) }).await.ok();
    }

    async fn deadline(world: &World, millis: i64) {
        world.deadline_after(millis).await;
    }

    fn spawn(&self, _: Group, work: LocalBoxFuture<'static, ()>) {
        self.queued_background.borrow_mut().push(work);
    }

    async fn call<T: 'static, F: Future<Output = Result<T, Failure>> + 'static>(
        world: &Rc<World>,
        method: Method,
        target: &str,
        effect: impl FnOnce(Rc<World>) -> F + 'static,
    ) -> Result<T, Failure> {
        let own = Rc::clone(world);
        world.call(method, target, async move { effect(own).await }.boxed_local()).await
    }

    async fn send<T: 'static, F: Future<Output = Result<T>> + 'static>(
        world: &Rc<World>,
        method: Method,
        key: &ObjectKey,
        act: impl Fn(ObjectService<Self>) -> F + Clone + 'static,
    ) -> Result<Result<T>, Failure> {
        let (_, object) = world.object(key);
        world.call(method, &key.to_string(), async move { Ok(act(object).await) }.boxed_local()).await
    }

    async fn work(world: &Rc<World>, work: Work<'_>) -> Result<(), Failure> {
        match work {
            Work::Unpack => world.advance_clock(RESTORE_MILLIS),
            Work::Hook(millis) => world.advance_clock(millis),
            Work::Start(_) | Work::Expected(_) | Work::ObjectStep | Work::Command | Work::Archive | Work::Download => {}
        }
        Ok(())
    }

    fn random_bytes(&self) -> Result<[u8; 32]> {
        if let Some(planned) = self.queued_random.borrow_mut().pop_front() {
            return planned.ok_or_else(|| Error::no_random_bytes("none are planned"));
        }
        Ok(self.rng.bytes())
    }

    fn backup_id(&self, number: usize) -> BackupId {
        BackupId::parse(&backup_id(number)).unwrap()
    }

    fn list_page_size(&self) -> usize {
        self.list_page_size.get()
    }

    fn image(&self, sandbox: &Sandbox<Self>) -> Image {
        let mut image = self.image.borrow().clone();
        if let Some([default, ..]) = self.image_names.borrow().as_deref() {
            let name = sandbox.image.as_ref().unwrap_or(default);
            image.version = format!("{} 0.1.0 {name}", image.version);
        }
        image
    }

    fn image_names(&self) -> Option<Vec<String>> {
        self.image_names.borrow().clone()
    }

    fn platform_image(&self, sandbox: &Sandbox<Self>) -> Option<String> {
        self.has_platform.get().then(|| class_image(&self.image(sandbox).version))
    }

    fn starts_empty(&self) -> bool {
        self.starts_empty.get()
    }

    fn is_missing(&self, port: Code) -> bool {
        self.missing_ports.borrow().contains(&port)
    }

    fn observe(world: &Rc<World>, event: Event<'_, Self>) {
        match event {
            Event::MarkerRequested(from, to) => world.marker_calls.borrow_mut().push((from.cloned(), to.clone())),
            Event::Capture(_, options) => world.backup_requests.borrow_mut().push(options.clone()),
            Event::RestoreRequested(handle) => {
                world.restore_requests.borrow_mut().push(serde_json::to_value(handle).unwrap());
            }
            Event::Hook(call) | Event::Command(call) => world.hook_calls.borrow_mut().push(call.clone()),
            Event::Row(_, RowChange::Alarm(_)) | Event::Store(_, StoreChange::Alarm(_)) => {}
            Event::Row(..) | Event::Store(..) => world.rows_written.set(world.rows_written.get() + 1),
            _ => {}
        }
    }
}

impl World {
    /// Makes ports unavailable. Each port is given by its error code.
    pub fn remove_ports(&self, ports: &[Code]) {
        ports.clone_into(&mut self.missing_ports.borrow_mut());
    }

    /// Returns the addresses of the named workspaces that have a store.
    pub fn workspace_addresses(&self) -> Vec<Address> {
        self.workspace_stores.borrow().keys().cloned().collect()
    }

    /// Returns the ids of the sandboxes that have a ledger.
    pub fn sandbox_ids(&self) -> Vec<String> {
        self.ledgers.borrow().keys().map(SandboxId::to_string).collect()
    }

    /// Sets the number of objects on each page of a listing.
    pub fn set_list_page_size(&self, count: usize) {
        self.list_page_size.set(count);
    }

    /// Advances the clock, and wakes expired deadlines.
    pub fn advance_clock(&self, millis: i64) {
        self.now.set(self.now.get() + millis);
        self.deadlines.wake_expired(self.now.get());
    }

    /// Advances the clock to a time, if it is not past.
    pub fn advance_clock_to(&self, at: Timestamp) {
        self.advance_clock(at.millis_since(self.current_time()).max(0));
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

    /// Returns the number of rows that were written since the call log was cleared.
    pub fn rows_written(&self) -> usize {
        self.rows_written.get()
    }

    /// Clears the call log, and restarts the numbering of calls.
    pub fn reset_calls(&self) {
        self.rows_written.set(0);
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

    /// Drops the objects in memory and their background work, as a Worker crash does.
    pub fn crash(&self) {
        self.objects.take();
        drop((self.queued_background.take(), self.running_background.take()));
    }

    /// Records a call. Returns its number among the calls of its method, and among all calls.
    pub(super) fn record_call(&self, method: Method, target: &str) -> (u32, u32) {
        self.calls.borrow_mut().push((method, target.to_owned()));
        let all = self.calls.borrow().len();
        (self.call_count(method).try_into().unwrap(), all.try_into().unwrap())
    }
}
