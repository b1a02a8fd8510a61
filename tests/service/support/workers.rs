//! The Workspace objects that are alive, and how they reach each other.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};

use sandbox_snapshotter::model::answer::Description;
use sandbox_snapshotter::model::record::Parent;
use sandbox_snapshotter::model::{BackupId, Code, Error, Failure, Result, SandboxId, SnapshotId};
use sandbox_snapshotter::ports::{Ports, Workspaces};
use sandbox_snapshotter::service::{CloudflareSandboxSnapshotter, Config};

use super::{MemoryLedger, Method, World};

/// The snapshotter of one sandbox.
pub type Snapshots = CloudflareSandboxSnapshotter<Workspace>;

/// The snapshotters that are in memory: one for each sandbox, made when it is first needed.
pub struct Workers {
    world: Rc<World>,
    config: Rc<Config>,
    alive: RefCell<BTreeMap<SandboxId, Snapshots>>,
}

impl Workers {
    pub fn new(world: Rc<World>, config: Config) -> Rc<Self> {
        Rc::new(Self { world, config: Rc::new(config), alive: RefCell::default() })
    }

    /// The snapshotter of a sandbox.
    pub fn of(self: &Rc<Self>, id: &SandboxId) -> Snapshots {
        let make = || {
            let ports = Workspace { ledger: Some(self.world.ledger(id)), ..self.entrypoint() };
            Snapshots::new(id.clone(), Rc::new(ports), Rc::clone(&self.config))
        };
        self.alive.borrow_mut().entry(id.clone()).or_insert_with(make).clone()
    }

    /// What the entrypoint sees of the world: every port but a ledger.
    pub fn entrypoint(self: &Rc<Self>) -> Workspace {
        Workspace { world: Rc::clone(&self.world), ledger: None, workers: Rc::downgrade(self) }
    }

    /// Forgets all of them, as when the Worker dies.
    pub fn forget(&self) {
        self.alive.borrow_mut().clear();
    }
}

/// The world as one sandbox's Workspace object sees it.
pub struct Workspace {
    world: Rc<World>,
    ledger: Option<Rc<MemoryLedger>>,
    workers: Weak<Workers>,
}

impl Workspace {
    fn other(&self, id: &SandboxId) -> Snapshots {
        self.workers.upgrade().expect("the stage is there as long as somebody plays").of(id)
    }

    fn unless_lacking<T>(&self, code: Code, port: T) -> Result<T> {
        let error = || Error::new(code, "It is not there.", "Bind it.");
        if self.world.lacking().contains(&code) { Err(error()) } else { Ok(port) }
    }
}

impl Ports for Workspace {
    type Sandboxes = World;
    type Backups = World;
    type Ledger = MemoryLedger;
    type Workspaces = Self;
    type Clock = World;
    type Entropy = World;
    type Background = World;

    fn sandboxes(&self) -> Result<&World> {
        self.unless_lacking(Code::SandboxBindingMissing, &*self.world)
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

impl Workspaces for Workspace {
    async fn claim(&self, id: &SandboxId, root_id: &SandboxId, parent: &Parent) -> Result<bool, Failure> {
        let claim = || told(self.other(id).claim(root_id, parent));
        self.world.call(Method::Claim, id.as_str(), claim).await
    }

    async fn release(&self, id: &SandboxId, snapshot_id: &SnapshotId, holder: &SandboxId) -> Result<(), Failure> {
        let release = || told(self.other(id).release(snapshot_id, holder));
        self.world.call(Method::Release, id.as_str(), release).await
    }

    async fn root(&self, id: &SandboxId) -> Result<SandboxId, Failure> {
        self.world.call(Method::Root, id.as_str(), || told(self.other(id).root())).await
    }

    async fn describe(&self, id: &SandboxId) -> Result<Description, Failure> {
        self.world.call(Method::Describe, id.as_str(), || told(self.other(id).describe())).await
    }

    async fn sweep(&self, id: &SandboxId, backups: &[(BackupId, SnapshotId)], dry_run: bool) -> Result<usize, Failure> {
        let other = self.other(id);
        let sweep = async { told(other.sweep(backups, dry_run).await) };
        self.world.reach(Method::Sweep, id.as_str(), sweep).await
    }
}

/// An error of another object, as it arrives.
fn told<T>(outcome: Result<T>) -> Result<T, Failure> {
    outcome.map_err(|error| Failure::new(error.code().as_str(), error.message()))
}
