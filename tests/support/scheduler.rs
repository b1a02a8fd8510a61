//! What a test decides about the world.

use std::future::Future;
use std::rc::Rc;

use futures_util::future::LocalBoxFuture;
use sandbox_snapshotter::model::named::messages::{EnsureRunningRequest, StopSandboxRequest};
use sandbox_snapshotter::model::named::{Address, ContainerMarker};
use sandbox_snapshotter::model::{BackupHandle, BackupId, BackupOptions, Code, Failure, Result, SandboxId};
use sandbox_snapshotter::ports::Ports;

use super::{
    Backup, Disk, Group, HookCall, Image, MemoryLedger, MemoryWorkspaceStore, Method, ObjectKey, ObjectPorts,
    ObjectService, RowChange, Sandbox, StoreChange, World,
};

/// Decides when calls take effect, which of them fail, and what the time is.
#[allow(async_fn_in_trait)] // The futures do not need to be `Send`.
pub trait Scheduler: Sized + 'static {
    /// What the test notes about a sandbox.
    type SandboxNotes: Default;
    /// What the test notes about a container.
    type ContainerNotes: Clone + Default;
    /// The ports of an object.
    type Ports: Ports;

    /// Returns the ports and the ledger of the object of a sandbox, which are in memory.
    fn sandbox_ports(
        ports: ObjectPorts<Self>,
        id: &SandboxId,
        ledger: Rc<MemoryLedger>,
    ) -> (Rc<Self::Ports>, Rc<<Self::Ports as Ports>::Ledger>);

    /// Returns the ports and the store of the object of a named workspace, which are in memory.
    fn workspace_ports(
        ports: ObjectPorts<Self>,
        store: Rc<MemoryWorkspaceStore>,
    ) -> (Rc<Self::Ports>, Rc<<Self::Ports as Ports>::WorkspaceStore>);

    /// Returns the current time, in milliseconds since 1970.
    fn now(&self) -> i64;

    /// Waits for a time.
    async fn sleep(world: &World<Self>, millis: i64);

    /// Waits until a time limit has passed.
    async fn deadline(world: &World<Self>, millis: i64);

    /// Runs work in the background of an object.
    fn spawn(&self, group: Group, work: LocalBoxFuture<'static, ()>);

    /// Makes a call about a sandbox, a backup or a tenant. `effect` is what the call does when it arrives.
    async fn call<T: 'static, F: Future<Output = Result<T, Failure>> + 'static>(
        world: &Rc<World<Self>>,
        method: Method,
        target: &str,
        effect: impl FnOnce(Rc<World<Self>>) -> F + 'static,
    ) -> Result<T, Failure>;

    /// Sends a message to an object. `act` is what the object does when the message arrives, which can be twice.
    async fn send<T: 'static, F: Future<Output = Result<T>> + 'static>(
        world: &Rc<World<Self>>,
        method: Method,
        key: &ObjectKey,
        act: impl Fn(ObjectService<Self>) -> F + Clone + 'static,
    ) -> Result<Result<T>, Failure>;

    /// Does a part of a call that takes time and can fail.
    async fn work(world: &Rc<World<Self>>, work: Work<'_>) -> Result<(), Failure>;

    /// Returns random bytes, or the failure of the platform.
    fn random_bytes(&self) -> Result<[u8; 32]>;

    /// Returns the id of the `number`th backup.
    fn backup_id(&self, number: usize) -> BackupId;

    /// Returns the number of objects on each page of a listing of the bucket.
    fn list_page_size(&self) -> usize;

    /// Returns the image of a new container.
    fn image(&self, sandbox: &Sandbox<Self>) -> Image;

    /// Returns the names of the images that the class of the sandboxes can start, if it can start one by its name.
    fn image_names(&self) -> Option<Vec<String>> {
        None
    }

    /// Returns the image of a sandbox's next container, if its class has platform snapshots.
    fn platform_image(&self, _sandbox: &Sandbox<Self>) -> Option<String> {
        None
    }

    /// Returns whether the class has an image: that of the next container, or one that can be chosen.
    fn has_image(&self, image: &str) -> bool {
        self.platform_image(&Sandbox::default()).as_deref() == Some(image)
    }

    /// Returns whether a start from a platform snapshot that does not exist starts an empty container.
    fn starts_empty(&self) -> bool {
        false
    }

    /// Returns whether a port is unavailable, given by its error code.
    fn is_missing(&self, _port: Code) -> bool {
        false
    }

    /// Called before every access to a sandbox. May end its container.
    fn before_access(&self, _id: &SandboxId, _sandbox: &mut Sandbox<Self>) {}

    /// Observes an event.
    fn observe(world: &Rc<World<Self>>, event: Event<'_, Self>);
}

/// A part of a call that takes time.
#[derive(Clone, Copy)]
pub enum Work<'a> {
    /// A container is started for the service, unless one runs.
    Start(&'a SandboxId),
    /// A call uses the container that it expects, if that runs.
    Expected(&'a SandboxId),
    /// A step of the object of a sandbox, which may end in it.
    ObjectStep,
    /// A command begins in the container.
    Command,
    /// The archive of a backup is created.
    Archive,
    /// The archive of a backup is downloaded.
    Download,
    /// The archive of a backup is unpacked.
    Unpack,
    /// A hook runs for a number of milliseconds.
    Hook(i64),
}

/// Something that happens in the world.
pub enum Event<'a, S: Scheduler> {
    /// A call about the marker of a container begins: from one marker to another one.
    MarkerRequested(Option<&'a ContainerMarker>, &'a ContainerMarker),
    /// The marker of a container is about to change.
    MarkerSet(&'a SandboxId, &'a ContainerMarker),
    /// Files are about to be captured.
    Capture(&'a SandboxId, &'a BackupOptions),
    /// A backup is about to be stored.
    Stored(&'a mut Backup<S>),
    /// A backup was deleted.
    Deleted(&'a Backup<S>),
    /// A restore begins.
    RestoreRequested(&'a BackupHandle),
    /// A backup, and not that of a carrier, is about to be unpacked in a container. The restore was requested at the given time, in milliseconds.
    Unpacked(&'a SandboxId, &'a BackupId, i64),
    /// A delta was applied in a container, which deletes the files that the snapshot does not have.
    DeltaApplied(&'a SandboxId),
    /// The arrival of a backup is about to be verified.
    ArrivalRequested(&'a SandboxId),
    /// A backup has arrived in a container: that of the carrier for a delta.
    Arrived(&'a SandboxId, &'a BackupId),
    /// A platform snapshot is about to be stored under an id. It was requested at the given time, in milliseconds.
    DiskStored(&'a SandboxId, &'a str, &'a Disk<S>, i64),
    /// A container was started from a platform snapshot.
    DiskStarted(&'a SandboxId, &'a Disk<S>),
    /// The destroy of a container is requested.
    DestroyRequested(&'a SandboxId),
    /// A container is about to be destroyed. That was requested at the given time, in milliseconds.
    Destroyed(&'a SandboxId, i64),
    /// The files were checked for an automatic save. Contains whether they had changed.
    CheckedForSave(&'a SandboxId, bool),
    /// A hook runs.
    Hook(&'a HookCall),
    /// A command of a caller runs. The name of the call is its standard input.
    Command(&'a HookCall),
    /// Files were frozen, and the container thaws them at the given time, in milliseconds. `None`: they are about to be thawed.
    Frozen(&'a SandboxId, Option<i64>),
    /// A new sandbox is about to be claimed.
    Claim(&'a SandboxId),
    /// A sandbox is requested to run.
    EnsureRunning(&'a SandboxId, &'a EnsureRunningRequest),
    /// A sandbox is requested to stop.
    StopSandbox(&'a SandboxId, &'a StopSandboxRequest),
    /// A row of a ledger changed.
    Row(&'a SandboxId, &'a RowChange<'a>),
    /// The store of a named workspace changed.
    Store(&'a Address, &'a StoreChange<'a>),
}
