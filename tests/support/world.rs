//! Everything outside of the service: its state, its clock and its randomness.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::Deref;
use std::rc::{Rc, Weak};
use std::time::Duration;

use sandbox_snapshotter::model::checkpoint_call::CheckpointRefusal;
use sandbox_snapshotter::model::named::{Address, Tenant};
use sandbox_snapshotter::model::{BackupId, Failure, Result, Runtime, SandboxBindings, SandboxId, Status, Timestamp};
use sandbox_snapshotter::ports::{Clock, Entropy};
use sandbox_snapshotter::service::Config;
use serde_json::{Map, Value};

use super::commands::{CommandResult, Commands, HookCall};
use super::containers::{Container, Files, Sandbox};
use super::{
    Backup, Disk, Event, Group, MemoryDirectoryStore, MemoryLedger, MemoryWorkspaceStore, Object, ObjectKey, Scheduler,
    Work,
};

/// Everything outside of the service, in memory. It dereferences to what the test decides.
pub struct World<S: Scheduler> {
    scheduler: S,
    this: Weak<Self>,
    /// The configuration of the deployment.
    pub config: Rc<Config>,
    /// The runtime of the sandboxes.
    pub runtime: Cell<Runtime>,
    /// The bindings of the sandboxes. A change applies to objects that begin after it.
    pub sandbox_bindings: RefCell<Rc<SandboxBindings>>,
    /// The sandboxes.
    pub sandboxes: RefCell<BTreeMap<SandboxId, Sandbox<S>>>,
    /// The backups in R2.
    pub bucket: RefCell<BTreeMap<BackupId, Backup<S>>>,
    /// The platform snapshots.
    pub disks: RefCell<BTreeMap<String, Disk<S>>>,
    /// The ledgers of sandboxes, which survive crashes.
    pub ledgers: RefCell<BTreeMap<SandboxId, Rc<MemoryLedger>>>,
    /// The stores of named workspaces, which survive crashes.
    pub workspace_stores: RefCell<BTreeMap<Address, Rc<MemoryWorkspaceStore>>>,
    /// The Directories, which survive crashes.
    pub directories: RefCell<BTreeMap<Tenant, Rc<MemoryDirectoryStore>>>,
    /// The Durable Objects that run the service, which a crash removes.
    pub objects: RefCell<BTreeMap<ObjectKey, Object<S>>>,
    /// Fields that `createBackup` adds to its handles.
    pub handle_fields: RefCell<Map<String, Value>>,
    pub(super) checkpoint_refusal: RefCell<Option<CheckpointRefusal>>,
    pub(super) commands: RefCell<Commands<S>>,
    pub(super) backup_count: Cell<usize>,
    pub(super) disk_count: Cell<u64>,
    container_count: Cell<u64>,
    pub(super) last_group: Cell<Group>,
}

impl<S: Scheduler> Deref for World<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.scheduler
    }
}

impl<S: Scheduler> World<S> {
    /// Returns an empty world.
    pub fn new(scheduler: S, config: Config) -> Rc<Self> {
        Rc::new_cyclic(|this| Self {
            scheduler,
            this: this.clone(),
            config: Rc::new(config),
            runtime: Cell::new(Runtime::Sdk012),
            sandbox_bindings: RefCell::new(Rc::new(SandboxBindings::parse(None, None).unwrap())),
            sandboxes: RefCell::default(),
            bucket: RefCell::default(),
            disks: RefCell::default(),
            ledgers: RefCell::default(),
            workspace_stores: RefCell::default(),
            directories: RefCell::default(),
            objects: RefCell::default(),
            handle_fields: RefCell::default(),
            checkpoint_refusal: RefCell::default(),
            commands: RefCell::default(),
            backup_count: Cell::default(),
            disk_count: Cell::default(),
            container_count: Cell::default(),
            last_group: Cell::default(),
        })
    }

    pub(super) fn this(&self) -> Rc<Self> {
        self.this.upgrade().expect("a world is in use")
    }

    /// Returns the current time.
    pub fn current_time(&self) -> Timestamp {
        Timestamp::from_millis(Scheduler::now(&self.scheduler))
    }

    /// Returns the ledger of a sandbox.
    pub fn ledger(&self, id: &SandboxId) -> Rc<MemoryLedger> {
        let new = || {
            let (ledger, world, id) = (MemoryLedger::default(), Weak::clone(&self.this), id.clone());
            ledger.observe(move |change| {
                if let Some(world) = world.upgrade() {
                    S::observe(&world, Event::Row(&id, change));
                }
            });
            Rc::new(ledger)
        };
        Rc::clone(self.ledgers.borrow_mut().entry(id.clone()).or_insert_with(new))
    }

    /// Returns the store of a named workspace.
    pub fn workspace_store(&self, address: &Address) -> Rc<MemoryWorkspaceStore> {
        let new = || {
            let (store, world, address) = (MemoryWorkspaceStore::default(), Weak::clone(&self.this), address.clone());
            store.observe(move |change| {
                if let Some(world) = world.upgrade() {
                    S::observe(&world, Event::Store(&address, change));
                }
            });
            Rc::new(store)
        };
        Rc::clone(self.workspace_stores.borrow_mut().entry(address.clone()).or_insert_with(new))
    }

    /// Returns the Directory of a tenant.
    pub fn directory(&self, tenant: &Tenant) -> Rc<MemoryDirectoryStore> {
        Rc::clone(self.directories.borrow_mut().entry(tenant.clone()).or_default())
    }

    /// Plans the effect of a command that a hook runs. Other commands succeed, except `exit <code>`.
    pub fn plan_command(&self, command: &str, effect: impl Fn(&Self, &HookCall) -> CommandResult + 'static) {
        self.commands.borrow_mut().insert(command.into(), Rc::new(effect));
    }

    /// Returns the files in the container; `None` without a container.
    pub fn container_files(&self, id: &SandboxId) -> Option<Files> {
        self.with_sandbox(id, |sandbox, _| sandbox.container.as_ref().map(|container| container.files.clone()))
    }

    /// Runs `act` on a sandbox, with the current time in milliseconds.
    pub fn with_sandbox<T>(&self, id: &SandboxId, act: impl FnOnce(&mut Sandbox<S>, i64) -> T) -> T {
        let mut sandboxes = self.sandboxes.borrow_mut();
        let sandbox = sandboxes.entry(id.clone()).or_default();
        self.before_access(id, sandbox);
        act(sandbox, Scheduler::now(&self.scheduler))
    }

    /// As [`with_sandbox`](Self::with_sandbox), on the container. Starts a container if there is none.
    pub fn with_container<T>(&self, id: &SandboxId, act: impl FnOnce(&mut Container<S>, i64) -> T) -> T {
        let number = self.container_count.get() + 1;
        self.container_count.set(number);
        self.with_sandbox(id, |sandbox, now| {
            let image = self.image(sandbox);
            if self.owns_containers() && sandbox.status == Some(Status::Starting) {
                // The object runs the first command.
                sandbox.status = Some(Status::Healthy);
            }
            act(sandbox.use_container(number, image, now), now)
        })
    }

    /// Starts the container for the service if none runs, and returns its number.
    pub(super) async fn enter_container(self: &Rc<Self>, id: &SandboxId) -> Result<u64, Failure> {
        S::work(self, Work::Start(id)).await?;
        if self.owns_containers() {
            self.start_owned(id).await?;
        }
        let number = self.with_container(id, |container, _| container.number);
        S::work(self, Work::Command).await?;
        self.check_same_container(id, number)?;
        Ok(number)
    }

    /// Fails if the container is no longer the one with `number`.
    pub(super) fn check_same_container(&self, id: &SandboxId, number: u64) -> Result<(), Failure> {
        let is_same =
            self.with_sandbox(id, |sandbox, _| sandbox.container.as_ref().is_some_and(|own| own.number == number));
        let interrupted = Failure::new("OperationInterruptedError", "The container ended");
        if is_same { Ok(()) } else { Err(interrupted.with_code("OPERATION_INTERRUPTED")) }
    }
}

impl<S: Scheduler> Clock for World<S> {
    fn now(&self) -> Timestamp {
        self.current_time()
    }

    async fn sleep(&self, duration: Duration) {
        S::sleep(self, i64::try_from(duration.as_millis()).unwrap()).await;
    }

    async fn deadline(&self, limit: Duration) {
        S::deadline(self, i64::try_from(limit.as_millis()).unwrap()).await;
    }
}

impl<S: Scheduler> Entropy for World<S> {
    fn random_bytes(&self) -> Result<[u8; 32]> {
        Scheduler::random_bytes(&self.scheduler)
    }
}
