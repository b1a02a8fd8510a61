//! The ports of an object, and what the bugs note about it.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::panic::Location;
use std::rc::{Rc, Weak};

use sandbox_snapshotter::model::named::ContainerMarker;
use sandbox_snapshotter::model::record::{CaptureInProgress, SnapshotRecord, Stage};
use sandbox_snapshotter::model::{BackupId, Result, Runtime, SandboxBinding, SandboxBindings, SandboxId};
use sandbox_snapshotter::ports::{Ledger, Ports};

use super::Bug;
use super::sandboxes::PlantedSandboxes;
use crate::memory::{MemoryLedger, MemoryWorkspaceStore, ObjectPorts};
use crate::world::{Simulation, World};

/// The ports in memory, between which and the service the planted bug is played.
pub struct PlantedPorts {
    pub(super) ports: Rc<ObjectPorts<Simulation>>,
    sandboxes: Vec<PlantedSandboxes>,
    storage: Storage,
    pub(super) notes: Notes,
}

/// The storage of an object.
pub enum Storage {
    /// The ledger of a sandbox.
    Sandbox(SandboxId, Rc<MemoryLedger>),
    /// The store of a named workspace.
    Workspace(Rc<MemoryWorkspaceStore>),
}

/// What the bugs note about an object. A crash of the object removes it.
#[derive(Default)]
pub(super) struct Notes {
    /// The file of the service that last called the ledger, except the files that many operations share.
    operation: Cell<&'static str>,
    /// A marker that the container gets after the capture in progress.
    pub late_marker: RefCell<Option<ContainerMarker>>,
    /// The marker of the last adoption.
    pub adopted_marker: RefCell<Option<ContainerMarker>>,
    /// Whether the container is not probed, because a start adopts it.
    pub is_adopting: Cell<bool>,
    /// Whether the last probe found an unfinished restore, or none of the files.
    pub is_unfinished: Cell<bool>,
    /// Whether the service believes that it ended the container.
    pub is_spared: Cell<bool>,
    /// The backups that recovery found in a search for the backup of a capture.
    pub listed: RefCell<BTreeSet<BackupId>>,
    /// The state that the last check for an automatic save named.
    pub checked_state: RefCell<Option<String>>,
    /// The sandbox whose reservation was claimed.
    pub claimed: RefCell<Option<SandboxId>>,
}

/// The place in the service that calls a port.
#[derive(Clone, Copy)]
pub(super) struct Place {
    file: &'static str,
    operation: &'static str,
}

impl Place {
    /// Returns the place that calls the method of a port that calls this.
    #[track_caller]
    pub fn here() -> Self {
        let file = Location::caller().file().rsplit_once("src/service/").map_or("", |(_, file)| file);
        Self { file, operation: file }
    }

    /// Returns whether it is in a file or a folder of `src/service`.
    pub fn is_in(self, path: &str) -> bool {
        self.file.starts_with(path)
    }

    /// Returns whether it is called from a file of `src/service`. Files that many operations share do not count.
    pub fn is_called_from(self, path: &str) -> bool {
        self.operation.starts_with(path)
    }
}

impl PlantedPorts {
    /// Returns the ports of an object.
    pub fn new(ports: ObjectPorts<Simulation>, storage: Storage) -> Rc<Self> {
        let ports = Rc::new(ports);
        Rc::new_cyclic(|planted| {
            let open = |binding: &SandboxBinding| PlantedSandboxes {
                runtime: binding.runtime,
                ports: Rc::clone(&ports),
                planted: Weak::clone(planted),
            };
            let sandboxes = ports.sandbox_bindings().iter().map(open).collect();
            Self { sandboxes, storage, notes: Notes::default(), ports: Rc::clone(&ports) }
        })
    }

    /// Returns the world.
    pub(super) fn world(&self) -> &Rc<World> {
        &self.ports.world
    }

    /// Returns whether a bug is planted.
    pub(super) fn is_planted(&self, bug: Bug) -> bool {
        self.world().planted.is(bug)
    }

    /// Returns whether `id` is the sandbox of the object.
    pub(super) fn is_own(&self, id: &SandboxId) -> bool {
        matches!(&self.storage, Storage::Sandbox(own, _) if own == id)
    }

    /// Returns the sandbox of the object.
    pub(super) fn own(&self) -> &SandboxId {
        let Storage::Sandbox(id, _) = &self.storage else { panic!("it is the object of a named workspace") };
        id
    }

    /// Returns the ledger; `None` for the object of a named workspace.
    pub(super) fn memory_ledger(&self) -> Option<&MemoryLedger> {
        if let Storage::Sandbox(_, ledger) = &self.storage { Some(ledger) } else { None }
    }

    /// Returns the store of the named workspace.
    pub(super) fn memory_store(&self) -> &MemoryWorkspaceStore {
        let Storage::Workspace(store) = &self.storage else { panic!("it is the object of a sandbox") };
        store
    }

    /// Returns the place that calls the ledger.
    #[track_caller]
    pub(super) fn ledger_place(&self) -> Place {
        const SHARED: [&str; 2] = ["ledger.rs", "retention/references.rs"];
        let place = Place::here();
        if SHARED.contains(&place.file) {
            return Place { operation: self.notes.operation.get(), ..place };
        }
        self.begin_operation()
    }

    /// Returns the place that calls the ledger, which begins an operation.
    #[track_caller]
    pub(super) fn begin_operation(&self) -> Place {
        let place = Place::here();
        self.notes.operation.set(place.file);
        place
    }

    /// Returns the first capture in progress that `matches`.
    pub(super) fn find_capture(
        &self,
        matches: impl Fn(&CaptureInProgress) -> bool,
    ) -> Option<(SnapshotRecord, CaptureInProgress)> {
        let rows = self.memory_ledger()?.unfinished_snapshots().unwrap();
        rows.into_iter().find_map(|row| match &row.stage {
            Stage::Creating(progress) if matches(progress) => {
                let progress = progress.clone();
                Some((row, progress))
            }
            _ => None,
        })
    }
}

impl Ports for PlantedPorts {
    type Sandboxes = PlantedSandboxes;
    type Backups = Self;
    type Ledger = Self;
    type SandboxLedgerClient = Self;
    type WorkspaceStore = Self;
    type NamedWorkspaceClient = <ObjectPorts<Simulation> as Ports>::NamedWorkspaceClient;
    type Clock = <ObjectPorts<Simulation> as Ports>::Clock;
    type Entropy = <ObjectPorts<Simulation> as Ports>::Entropy;
    type Background = <ObjectPorts<Simulation> as Ports>::Background;

    fn sandbox_bindings(&self) -> &SandboxBindings {
        self.ports.sandbox_bindings()
    }

    fn sandboxes(&self, runtime: Option<Runtime>) -> Result<&PlantedSandboxes> {
        self.ports.sandboxes(runtime)?;
        Ok(self.sandboxes.iter().find(|sandboxes| sandboxes.runtime == runtime).unwrap())
    }

    fn backups(&self) -> Result<&Self> {
        self.ports.backups().map(|_| self)
    }

    fn sandbox_ledgers(&self) -> Result<&Self> {
        self.ports.sandbox_ledgers().map(|_| self)
    }

    fn named_workspaces(&self) -> Result<&Self::NamedWorkspaceClient> {
        self.ports.named_workspaces()
    }

    fn clock(&self) -> &Self::Clock {
        self.ports.clock()
    }

    fn entropy(&self) -> &Self::Entropy {
        self.ports.entropy()
    }

    fn background(&self) -> &Self::Background {
        self.ports.background()
    }
}
