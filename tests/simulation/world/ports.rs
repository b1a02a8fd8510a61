//! The ports of one object of the service.

use std::ops::Deref;
use std::rc::Rc;
use std::time::Duration;

use futures_util::future::LocalBoxFuture;
use sandbox_snapshotter::model::{Code, Error, Result, Timestamp};
use sandbox_snapshotter::ports::{Background, Clock, Entropy, Ports};
use sandbox_snapshotter::service::calls::limits::TimeLimited;

use super::sandbox_ledgers::PeerClients;
use super::{CheckedLedger, CheckedWorkspaceStore, World};
use crate::executor::Group;

/// The ports that all objects share: sandboxes, bucket, clock and randomness.
#[derive(Clone)]
pub struct SharedPorts(pub Rc<World>);

impl Deref for SharedPorts {
    type Target = Rc<World>;

    fn deref(&self) -> &Rc<World> {
        &self.0
    }
}

/// The ports of one object in memory.
pub struct SimulatedPorts {
    shared: SharedPorts,
    sandboxes: TimeLimited<SharedPorts, SharedPorts>,
    peers: PeerClients,
    /// Absent at the entrypoint.
    ledger: Option<Rc<CheckedLedger>>,
    /// Absent if the object is not that of a named workspace.
    workspace_store: Option<Rc<CheckedWorkspaceStore>>,
    background: ObjectTasks,
}

/// Runs tasks that end with the object.
pub struct ObjectTasks {
    world: Rc<World>,
    group: Group,
}

impl SimulatedPorts {
    /// Returns the ports of an object, or of the entrypoint.
    pub fn new(
        world: &Rc<World>,
        ledger: Option<Rc<CheckedLedger>>,
        workspace_store: Option<Rc<CheckedWorkspaceStore>>,
        group: Group,
    ) -> Self {
        Self {
            shared: SharedPorts(Rc::clone(world)),
            sandboxes: TimeLimited::new(Rc::new(SharedPorts(Rc::clone(world))), Rc::new(SharedPorts(Rc::clone(world)))),
            peers: PeerClients(Rc::clone(world)),
            ledger,
            workspace_store,
            background: ObjectTasks { world: Rc::clone(world), group },
        }
    }
}

impl Ports for SimulatedPorts {
    type Sandboxes = TimeLimited<SharedPorts, SharedPorts>;
    type Backups = SharedPorts;
    type Ledger = CheckedLedger;
    type SandboxLedgerClient = PeerClients;
    type WorkspaceStore = CheckedWorkspaceStore;
    type NamedWorkspaceClient = PeerClients;
    type Clock = SharedPorts;
    type Entropy = SharedPorts;
    type Background = ObjectTasks;

    fn sandboxes(&self) -> Result<&Self::Sandboxes> {
        Ok(&self.sandboxes)
    }

    fn backups(&self) -> Result<&SharedPorts> {
        Ok(&self.shared)
    }

    fn ledger(&self) -> Result<&CheckedLedger> {
        self.ledger.as_deref().ok_or_else(|| Error::new(Code::Internal, "This object has no ledger.", "Report it."))
    }

    fn sandbox_ledgers(&self) -> Result<&PeerClients> {
        Ok(&self.peers)
    }

    fn workspace_store(&self) -> Result<&CheckedWorkspaceStore> {
        self.workspace_store
            .as_deref()
            .ok_or_else(|| Error::new(Code::Internal, "This object has no workspace store.", "Report it."))
    }

    fn named_workspaces(&self) -> Result<&PeerClients> {
        Ok(&self.peers)
    }

    fn clock(&self) -> &SharedPorts {
        &self.shared
    }

    fn entropy(&self) -> &SharedPorts {
        &self.shared
    }

    fn background(&self) -> &ObjectTasks {
        &self.background
    }
}

impl Clock for SharedPorts {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.now())
    }

    async fn sleep(&self, duration: Duration) {
        self.0.sleep(i64::try_from(duration.as_millis()).unwrap()).await;
    }
}

impl Entropy for SharedPorts {
    fn random_bytes(&self) -> Result<[u8; 32]> {
        let mut bytes = [0; 32];
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.rng.next_u64().to_le_bytes());
        }
        Ok(bytes)
    }
}

impl Background for ObjectTasks {
    fn run(&self, work: LocalBoxFuture<'static, ()>) {
        self.world.executor.spawn(self.group, work);
    }
}
