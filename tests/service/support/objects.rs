//! The running Workspace objects.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};

use sandbox_snapshotter::model::named::Address;
use sandbox_snapshotter::model::{Code, Error, Result, SandboxId};
use sandbox_snapshotter::ports::Ports;
use sandbox_snapshotter::service::calls::limits::TimeLimited;
use sandbox_snapshotter::service::workspace::NamedWorkspace;
use sandbox_snapshotter::service::{CloudflareSandboxSnapshotter, Config};

use super::{MemoryLedger, MemoryWorkspaceStore, World};

/// The service of one sandbox.
pub type SandboxService = CloudflareSandboxSnapshotter<ObjectPorts>;

/// A named workspace.
pub type NamedService = NamedWorkspace<ObjectPorts>;

/// The objects in memory: one for each sandbox and one for each named workspace, created on first use.
pub struct LiveObjects {
    world: Rc<World>,
    config: Rc<Config>,
    sandboxes: RefCell<BTreeMap<SandboxId, SandboxService>>,
    named: RefCell<BTreeMap<Address, NamedService>>,
}

impl LiveObjects {
    pub fn new(world: Rc<World>, config: Config) -> Rc<Self> {
        Rc::new(Self { world, config: Rc::new(config), sandboxes: RefCell::default(), named: RefCell::default() })
    }

    /// Returns the service of a sandbox.
    pub fn sandbox(self: &Rc<Self>, id: &SandboxId) -> SandboxService {
        let create = || {
            let ports = ObjectPorts { ledger: Some(self.world.ledger(id)), ..self.entrypoint() };
            SandboxService::new(id.clone(), Rc::new(ports), Rc::clone(&self.config))
        };
        self.sandboxes.borrow_mut().entry(id.clone()).or_insert_with(create).clone()
    }

    /// Returns the service of a named workspace.
    pub fn named(self: &Rc<Self>, address: &Address) -> NamedService {
        let create = || {
            let ports = ObjectPorts { workspace_store: Some(self.world.workspace_store(address)), ..self.entrypoint() };
            NamedService::new(address.clone(), Rc::new(ports), Rc::clone(&self.config))
        };
        self.named.borrow_mut().entry(address.clone()).or_insert_with(create).clone()
    }

    /// Returns the ports of the entrypoint: all except a ledger and a workspace store.
    pub fn entrypoint(self: &Rc<Self>) -> ObjectPorts {
        let world = Rc::clone(&self.world);
        let sandboxes = TimeLimited::new(Rc::clone(&world), Rc::clone(&world));
        ObjectPorts { world, sandboxes, ledger: None, workspace_store: None, objects: Rc::downgrade(self) }
    }

    /// Drops all objects, as a Worker crash does.
    pub fn clear(&self) {
        self.sandboxes.borrow_mut().clear();
        self.named.borrow_mut().clear();
    }
}

/// The ports of one object of the Worker.
pub struct ObjectPorts {
    pub(super) world: Rc<World>,
    sandboxes: TimeLimited<World, World>,
    ledger: Option<Rc<MemoryLedger>>,
    workspace_store: Option<Rc<MemoryWorkspaceStore>>,
    objects: Weak<LiveObjects>,
}

impl ObjectPorts {
    /// Returns the service of another sandbox.
    pub(super) fn sandbox_service(&self, id: &SandboxId) -> SandboxService {
        self.objects().sandbox(id)
    }

    /// Returns the service of another named workspace.
    pub(super) fn named_service(&self, address: &Address) -> NamedService {
        self.objects().named(address)
    }

    fn objects(&self) -> Rc<LiveObjects> {
        self.objects.upgrade().expect("the fixture outlives its operations")
    }

    fn unless_missing<T>(&self, code: Code, port: T) -> Result<T> {
        let error = || Error::new(code, "It is not there.", "Bind it.");
        if self.world.missing_ports().contains(&code) { Err(error()) } else { Ok(port) }
    }
}

impl Ports for ObjectPorts {
    type Sandboxes = TimeLimited<World, World>;
    type Backups = World;
    type Ledger = MemoryLedger;
    type SandboxLedgerClient = Self;
    type WorkspaceStore = MemoryWorkspaceStore;
    type NamedWorkspaceClient = Self;
    type Clock = World;
    type Entropy = World;
    type Background = World;

    fn sandboxes(&self) -> Result<&Self::Sandboxes> {
        self.unless_missing(Code::SandboxBindingMissing, &self.sandboxes)
    }

    fn backups(&self) -> Result<&World> {
        self.unless_missing(Code::R2BindingMissing, &*self.world)
    }

    fn ledger(&self) -> Result<&MemoryLedger> {
        let ledger = self.ledger.as_deref().ok_or_else(Error::internal)?;
        self.unless_missing(Code::LedgerTooNew, ledger)
    }

    fn sandbox_ledgers(&self) -> Result<&Self> {
        self.unless_missing(Code::WorkspaceBindingMissing, self)
    }

    fn workspace_store(&self) -> Result<&MemoryWorkspaceStore> {
        let store = self.workspace_store.as_deref().ok_or_else(Error::internal)?;
        self.unless_missing(Code::LedgerTooNew, store)
    }

    fn named_workspaces(&self) -> Result<&Self> {
        self.unless_missing(Code::WorkspaceBindingMissing, self)
    }

    fn clock(&self) -> &World {
        &self.world
    }

    fn entropy(&self) -> &World {
        &self.world
    }

    fn background(&self) -> &World {
        &self.world
    }
}
