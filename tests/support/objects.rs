//! The Durable Objects that run the service: one per sandbox and one per named workspace. A call creates its object; a
//! crash removes it.

use std::fmt;
use std::rc::Rc;

use futures_util::future::LocalBoxFuture;
use sandbox_snapshotter::model::named::Address;
use sandbox_snapshotter::model::{Code, Result, Runtime, SandboxBindings, SandboxId};
use sandbox_snapshotter::ports::{Background, Ports};
use sandbox_snapshotter::service::CloudflareSandboxSnapshotter;
use sandbox_snapshotter::service::calls::limits::TimeLimited;
use sandbox_snapshotter::service::workspace::NamedWorkspace;

use super::errors::error;
use super::{MemoryLedger, MemoryWorkspaceStore, Namespace, Scheduler, World};

/// The service of one sandbox.
pub type SandboxService<S> = CloudflareSandboxSnapshotter<<S as Scheduler>::Ports>;

/// The service of one named workspace.
pub type NamedService<S> = NamedWorkspace<<S as Scheduler>::Ports>;

/// The number of an object in memory, which no other object has. Group 0 is the world itself.
pub type Group = u32;

/// Identifies an object.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ObjectKey {
    /// The object of a sandbox.
    Sandbox(SandboxId),
    /// The object of a named workspace.
    Workspace(Address),
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sandbox(id) => write!(f, "{id}"),
            Self::Workspace(address) => write!(f, "{address}"),
        }
    }
}

/// An object in memory.
pub struct Object<S: Scheduler> {
    /// Its number.
    pub group: Group,
    service: ObjectService<S>,
}

/// The service that an object runs.
pub enum ObjectService<S: Scheduler> {
    Sandbox(SandboxService<S>),
    Workspace(NamedService<S>),
}

impl<S: Scheduler> Clone for ObjectService<S> {
    fn clone(&self) -> Self {
        match self {
            Self::Sandbox(service) => Self::Sandbox(service.clone()),
            Self::Workspace(service) => Self::Workspace(service.clone()),
        }
    }
}

impl<S: Scheduler> ObjectService<S> {
    /// Returns the service of a sandbox.
    pub fn into_sandbox(self) -> SandboxService<S> {
        let Self::Sandbox(service) = self else { panic!("it is the object of a named workspace") };
        service
    }

    /// Returns the service of a named workspace.
    pub fn into_workspace(self) -> NamedService<S> {
        let Self::Workspace(service) = self else { panic!("it is the object of a sandbox") };
        service
    }
}

impl<S: Scheduler> World<S> {
    /// Returns an object, which is created if it does not exist.
    pub fn object(&self, key: &ObjectKey) -> (Group, ObjectService<S>) {
        if let Some(object) = self.objects.borrow().get(key) {
            return (object.group, object.service.clone());
        }
        let group = self.last_group.get() + 1;
        self.last_group.set(group);
        let (ports, config) = (ObjectPorts { group, ..self.entrypoint() }, Rc::clone(&self.config));
        let service = match key {
            ObjectKey::Sandbox(id) => {
                let (ports, ledger) = S::sandbox_ports(ports, id, self.ledger(id));
                ObjectService::Sandbox(SandboxService::<S>::new(id.clone(), ports, ledger, config))
            }
            ObjectKey::Workspace(address) => {
                let (ports, store) = S::workspace_ports(ports, self.workspace_store(address));
                ObjectService::Workspace(NamedService::<S>::new(address.clone(), ports, store, config))
            }
        };
        self.objects.borrow_mut().insert(key.clone(), Object { group, service: service.clone() });
        (group, service)
    }

    /// Returns the service of a sandbox. Fails if its ledger has a later version.
    pub fn snapshotter(&self, id: &SandboxId) -> Result<SandboxService<S>> {
        self.unless_missing(Code::LedgerTooNew, self.object(&ObjectKey::Sandbox(id.clone())).1.into_sandbox())
    }

    /// Returns the service of a named workspace. Fails if its store has a later version.
    pub fn named_workspace(&self, address: &Address) -> Result<NamedService<S>> {
        let service = self.object(&ObjectKey::Workspace(address.clone())).1.into_workspace();
        self.unless_missing(Code::LedgerTooNew, service)
    }

    /// Returns the ports of the entrypoint.
    pub fn entrypoint(&self) -> ObjectPorts<S> {
        let world = self.this();
        let bindings = Rc::clone(&self.sandbox_bindings.borrow());
        let open = |binding| TimeLimited::new(Rc::new(Namespace::new(Rc::clone(&world), binding)), Rc::clone(&world));
        let sandboxes = bindings.iter().map(open).collect();
        ObjectPorts { world, bindings, sandboxes, group: 0 }
    }

    fn unless_missing<T>(&self, code: Code, port: T) -> Result<T> {
        if self.is_missing(code) { Err(error(code, "It is not there.", "Bind it.")) } else { Ok(port) }
    }
}

/// The sandboxes of one binding, with the time limits of calls.
type LimitedSandboxes<S> = TimeLimited<Namespace<S>, World<S>>;

/// The ports of one object of the Worker.
pub struct ObjectPorts<S: Scheduler> {
    /// The world.
    pub world: Rc<World<S>>,
    bindings: Rc<SandboxBindings>,
    /// The namespaces, in the order of the bindings.
    sandboxes: Vec<LimitedSandboxes<S>>,
    group: Group,
}

impl<S: Scheduler> Ports for ObjectPorts<S> {
    type Sandboxes = LimitedSandboxes<S>;
    type Backups = World<S>;
    type Ledger = MemoryLedger;
    type SandboxLedgerClient = Self;
    type WorkspaceStore = MemoryWorkspaceStore;
    type NamedWorkspaceClient = Self;
    type Clock = World<S>;
    type Entropy = World<S>;
    type Background = Self;

    fn sandbox_bindings(&self) -> &SandboxBindings {
        &self.bindings
    }

    fn sandboxes(&self, runtime: Option<Runtime>) -> Result<&Self::Sandboxes> {
        let binding = self.bindings.of(runtime)?;
        let position = self.bindings.iter().position(|other| other == binding).unwrap();
        self.world.unless_missing(Code::SandboxBindingMissing, &self.sandboxes[position])
    }

    fn backups(&self) -> Result<&World<S>> {
        self.world.unless_missing(Code::R2BindingMissing, &*self.world)
    }

    fn sandbox_ledgers(&self) -> Result<&Self> {
        self.world.unless_missing(Code::WorkspaceBindingMissing, self)
    }

    fn named_workspaces(&self) -> Result<&Self> {
        self.world.unless_missing(Code::WorkspaceBindingMissing, self)
    }

    fn clock(&self) -> &World<S> {
        &self.world
    }

    fn entropy(&self) -> &World<S> {
        &self.world
    }

    fn background(&self) -> &Self {
        self
    }
}

impl<S: Scheduler> Background for ObjectPorts<S> {
    fn run(&self, work: LocalBoxFuture<'static, ()>) {
        self.world.spawn(self.group, work);
    }
}
