//! The Workspace objects that are alive.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};

use sandbox_snapshotter::model::named::Address;
use sandbox_snapshotter::model::{Code, Error, Result, SandboxId};
use sandbox_snapshotter::ports::Ports;
use sandbox_snapshotter::service::limits::TimeLimited;
use sandbox_snapshotter::service::named::NamedWorkspace;
use sandbox_snapshotter::service::{CloudflareSandboxSnapshotter, Config};

use super::{MemoryHome, MemoryLedger, World};

/// The snapshotter of one sandbox.
pub type Snapshots = CloudflareSandboxSnapshotter<Workspace>;

/// A named workspace.
pub type Named = NamedWorkspace<Workspace>;

/// The objects that are in memory: one for each sandbox and one for each name, made when it is first needed.
pub struct Workers {
    world: Rc<World>,
    config: Rc<Config>,
    alive: RefCell<BTreeMap<SandboxId, Snapshots>>,
    named: RefCell<BTreeMap<Address, Named>>,
}

impl Workers {
    pub fn new(world: Rc<World>, config: Config) -> Rc<Self> {
        Rc::new(Self { world, config: Rc::new(config), alive: RefCell::default(), named: RefCell::default() })
    }

    /// The snapshotter of a sandbox.
    pub fn of(self: &Rc<Self>, id: &SandboxId) -> Snapshots {
        let make = || {
            let ports = Workspace { ledger: Some(self.world.ledger(id)), ..self.entrypoint() };
            Snapshots::new(id.clone(), Rc::new(ports), Rc::clone(&self.config))
        };
        self.alive.borrow_mut().entry(id.clone()).or_insert_with(make).clone()
    }

    /// The workspace of a name.
    pub fn named(self: &Rc<Self>, address: &Address) -> Named {
        let make = || {
            let ports = Workspace { home: Some(self.world.home(address)), ..self.entrypoint() };
            Named::new(address.clone(), Rc::new(ports), Rc::clone(&self.config))
        };
        self.named.borrow_mut().entry(address.clone()).or_insert_with(make).clone()
    }

    /// What the entrypoint sees of the world: every port but a ledger and a home.
    pub fn entrypoint(self: &Rc<Self>) -> Workspace {
        let world = Rc::clone(&self.world);
        let sandboxes = TimeLimited::new(Rc::clone(&world), Rc::clone(&world));
        Workspace { world, sandboxes, ledger: None, home: None, workers: Rc::downgrade(self) }
    }

    /// Forgets all of them, as when the Worker dies.
    pub fn forget(&self) {
        self.alive.borrow_mut().clear();
        self.named.borrow_mut().clear();
    }
}

/// The world as one object of the Worker sees it.
pub struct Workspace {
    pub(super) world: Rc<World>,
    sandboxes: TimeLimited<World, World>,
    ledger: Option<Rc<MemoryLedger>>,
    home: Option<Rc<MemoryHome>>,
    workers: Weak<Workers>,
}

impl Workspace {
    /// The snapshotter of another sandbox.
    pub(super) fn other(&self, id: &SandboxId) -> Snapshots {
        self.workers().of(id)
    }

    /// The workspace of another name.
    pub(super) fn other_named(&self, address: &Address) -> Named {
        self.workers().named(address)
    }

    fn workers(&self) -> Rc<Workers> {
        self.workers.upgrade().expect("the stage is there as long as somebody plays")
    }

    fn unless_lacking<T>(&self, code: Code, port: T) -> Result<T> {
        let error = || Error::new(code, "It is not there.", "Bind it.");
        if self.world.lacking().contains(&code) { Err(error()) } else { Ok(port) }
    }
}

impl Ports for Workspace {
    type Sandboxes = TimeLimited<World, World>;
    type Backups = World;
    type Ledger = MemoryLedger;
    type Workspaces = Self;
    type Home = MemoryHome;
    type Names = Self;
    type Clock = World;
    type Entropy = World;
    type Background = World;

    fn sandboxes(&self) -> Result<&Self::Sandboxes> {
        self.unless_lacking(Code::SandboxBindingMissing, &self.sandboxes)
    }

    fn backups(&self) -> Result<&World> {
        self.unless_lacking(Code::R2BindingMissing, &*self.world)
    }

    fn ledger(&self) -> Result<&MemoryLedger> {
        let ledger = self.ledger.as_deref().ok_or_else(Error::defect)?;
        self.unless_lacking(Code::LedgerTooNew, ledger)
    }

    fn workspaces(&self) -> Result<&Self> {
        self.unless_lacking(Code::WorkspaceBindingMissing, self)
    }

    fn home(&self) -> Result<&MemoryHome> {
        let home = self.home.as_deref().ok_or_else(Error::defect)?;
        self.unless_lacking(Code::LedgerTooNew, home)
    }

    fn names(&self) -> Result<&Self> {
        self.unless_lacking(Code::WorkspaceBindingMissing, self)
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
