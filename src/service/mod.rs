//! The operations of the product, one per file, over the ports.
//!
//! Operations on the snapshots of one sandbox. They run in the sandbox's own Workspace object:
//! - [`snapshot`]: captures the sandbox, and verifies that the stored backup matches the request
//! - `import`: adds a backup that was made elsewhere to the ledger
//! - [`restore`]: makes a new sandbox from a snapshot; a branch is the same operation with another kind of id
//! - `list`, `manifest`, `lineage`: show snapshots and the sandboxes that were made from them
//! - `verify`: checks whether a snapshot can be restored
//! - `label`, `pin`: change what users assign to a snapshot
//! - `delete`, `retention`: remove snapshots
//! - `keys`: rotates the keys that sign refs
//! - [`checkpoint`]: named states inside the sandbox itself
//! - [`lifecycle`]: creates and ends a sandbox that belongs to a named workspace, and restores its files
//!
//! Operations on one named workspace, in an object of its own: [`named`]. The list of named workspaces: [`directory`].
//!
//! Shared by the operations:
//! - `workspace`: the row of the workspace, and its alarm
//! - `select`, `lineage_scope`: find the snapshot of a request, and check that the caller may use it
//! - `coalesce`: runs one capture of a sandbox at a time, shared by all callers that make the same request
//! - `queue`: limits how many calls may wait for a resource
//! - `idempotency`: returns the same answer to the same call
//! - `in_process`: the work that runs in this object
//! - `recover`, `tasks`: complete or roll back interrupted work, and run the alarm
//! - `references`: the dependents of a snapshot
//! - `internal_api`: the calls that other objects of this Worker make to a workspace
//!
//! For the whole bucket: `sweep`. For the deployment: `health`.
//!
//! Helpers:
//! - [`cancellation`]: cancellation by the caller
//! - `arrival`: verifies that a backup has arrived in the container that it was applied to
//! - `container`: verifies that a container is still the same one
//! - `unverified`: containers for which that is not known
//! - `observation`: the container of a capture, before and after it
//! - `exclude`: refuses captures that would leave out more than the caller requested
//! - `suspect`: snapshots that are much smaller than their predecessor
//! - `stored_backup`: the objects of a backup in R2
//! - `rollback`: removes what a failed operation left
//! - `failures`: maps failures of the SDK and the platform to error codes
//! - `retry`: repeats calls that failed transiently
//! - [`limits`]: the time limit of each call to a sandbox
//! - [`call_context`]: the correlation id and the side effects of a call, for the log
//! - `planted`: bugs that the simulation must find; not in the product

mod arrival;
pub mod call_context;
pub mod cancellation;
mod checkpoint;
mod coalesce;
mod container;
mod delete;
pub mod directory;
mod exclude;
pub(crate) mod failures;
mod health;
mod idempotency;
mod import;
mod in_process;
mod internal_api;
mod keys;
mod label;
mod lifecycle;
pub mod limits;
mod lineage;
mod lineage_scope;
mod list;
mod manifest;
pub mod named;
mod observation;
mod pin;
#[doc(hidden)]
pub mod planted;
mod queue;
mod recover;
mod references;
mod restore;
mod retention;
mod retry;
mod rollback;
mod select;
mod snapshot;
mod stored_backup;
mod suspect;
mod sweep;
mod tasks;
mod unverified;
pub(crate) mod verify;
mod workspace;

use std::rc::Rc;

pub use cancellation::CancellationToken;
use coalesce::SnapshotCoalescer;
pub(crate) use failures::from_object;
pub use health::health;
use in_process::InProcessState;
pub(crate) use queue::busy;
pub use sweep::sweep;

use crate::model::answer::{Deletion, KeyRotation, Manifest, Page, Retention, Summary, Tree, Verification};
use crate::model::request::{
    ApplyRetentionRequest, DeleteRequest, ImportRequest, LabelRequest, LineageRequest, ListRequest, SandboxRequest,
    SetRetentionRequest,
};
use crate::model::{
    Code, DerivationKind, Directory, Error, RestoreRequest, Result, SandboxId, Selection, ShortId, SigningKey,
    SnapshotId, SnapshotRequest, TakenSnapshot, WorkspaceRef,
};
use crate::ports::{Entropy, Ledger, Ports};

/// Captures the state of workspaces as refs, and makes new workspaces from them.
///
/// Neither `restore` nor `branch` changes an existing workspace: both return a new one.
#[allow(async_fn_in_trait)]
pub trait Snapshotter {
    /// Verifies that snapshots are configured. A caller should check this before it declares the capability.
    fn ready(&self) -> Result<()>;

    /// Captures a sandbox's directory, or shares the capture of another caller that made the same request.
    async fn snapshot(&self, request: SnapshotRequest, abort: CancellationToken) -> Result<TakenSnapshot>;

    /// Makes a new sandbox from a snapshot, to recover its state.
    async fn restore(&self, request: RestoreRequest, abort: CancellationToken) -> Result<WorkspaceRef>;

    /// Makes a new sandbox from a snapshot, to continue from its state independently.
    async fn branch(&self, request: RestoreRequest, abort: CancellationToken) -> Result<WorkspaceRef>;

    /// Returns a page of the workspace's snapshots, the newest first.
    async fn list(&self, request: ListRequest) -> Result<Page>;

    /// Deletes a snapshot that has no dependents.
    async fn delete(&self, request: DeleteRequest) -> Result<Deletion>;
}

/// The configuration of a deployment.
#[derive(Clone, Debug)]
pub struct Config {
    /// The directory that is captured if the caller names none.
    pub default_dir: Directory,
    /// Whether archives go through the R2 binding instead of signed URLs. For development.
    pub local_bucket: bool,
}

/// The [`Snapshotter`] of one Cloudflare Sandbox, whose backups are in R2 and whose ledger is in its Workspace object.
///
/// There is one ledger, so only one of these may exist at a time; its clones share the work in progress.
pub struct CloudflareSandboxSnapshotter<P> {
    id: Rc<SandboxId>,
    ports: Rc<P>,
    config: Rc<Config>,
    in_process: Rc<InProcessState>,
}

impl<P> Clone for CloudflareSandboxSnapshotter<P> {
    fn clone(&self) -> Self {
        Self {
            id: Rc::clone(&self.id),
            ports: Rc::clone(&self.ports),
            config: Rc::clone(&self.config),
            in_process: Rc::clone(&self.in_process),
        }
    }
}

impl<P: Ports> Snapshotter for CloudflareSandboxSnapshotter<P> {
    fn ready(&self) -> Result<()> {
        self.ports.backups()?;
        self.ports.sandboxes()?;
        Ok(())
    }

    async fn snapshot(&self, request: SnapshotRequest, abort: CancellationToken) -> Result<TakenSnapshot> {
        self.prepare_call().await?;
        if request.lineage_scope.sandbox_id.is_some() {
            lineage_scope::check_workspace(self, &request.lineage_scope).await?;
        }
        let key = request.idempotency_key.clone();
        let work = SnapshotCoalescer::capture(self, request.clone(), abort.clone());
        idempotency::run_once(self, key.as_deref(), "snapshot", &request, &abort, work).await
    }

    async fn restore(&self, request: RestoreRequest, abort: CancellationToken) -> Result<WorkspaceRef> {
        self.derive_sandbox(request, DerivationKind::Restored, abort).await
    }

    async fn branch(&self, request: RestoreRequest, abort: CancellationToken) -> Result<WorkspaceRef> {
        self.derive_sandbox(request, DerivationKind::Branch, abort).await
    }

    async fn list(&self, request: ListRequest) -> Result<Page> {
        self.prepare_call().await?;
        list::list(self, &request).await
    }

    async fn delete(&self, request: DeleteRequest) -> Result<Deletion> {
        self.prepare_call().await?;
        delete::delete(self, &request).await
    }
}

/// The operations that this provider offers beyond [`Snapshotter`].
impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Returns the snapshotter of the sandbox `id`. The ledger of `ports` must be the ledger of this sandbox.
    pub fn new(id: SandboxId, ports: Rc<P>, config: Rc<Config>) -> Self {
        Self { id: Rc::new(id), ports, config, in_process: Rc::default() }
    }

    /// Returns one snapshot, in the form that lists show.
    pub async fn get(&self, selection: Selection) -> Result<Summary> {
        self.prepare_call().await?;
        list::get(self, &selection).await
    }

    /// Returns everything that the ledger records about one snapshot.
    pub async fn manifest(&self, selection: Selection) -> Result<Manifest> {
        self.prepare_call().await?;
        manifest::manifest(self, &selection).await
    }

    /// Checks a snapshot in R2. Does not start a container.
    pub async fn verify(&self, selection: Selection) -> Result<Verification> {
        self.prepare_call().await?;
        verify::verify(self, &selection).await
    }

    /// Changes the label of a snapshot.
    pub async fn label(&self, request: LabelRequest) -> Result<Summary> {
        self.prepare_call().await?;
        label::label(self, &request).await
    }

    /// Pins a snapshot, so that the retention policy never removes it, or unpins it.
    pub async fn pin(&self, selection: Selection, pinned: bool) -> Result<Summary> {
        self.prepare_call().await?;
        pin::pin(self, &selection, pinned).await
    }

    /// Adds a backup that the ledger does not list.
    pub async fn import(&self, request: ImportRequest) -> Result<TakenSnapshot> {
        self.prepare_call().await?;
        import::import(self, request).await
    }

    /// Returns the tree of sandboxes and snapshots that this sandbox belongs to.
    pub async fn lineage(&self, request: LineageRequest) -> Result<Tree> {
        self.prepare_call().await?;
        lineage::lineage(self, &request).await
    }

    /// Returns the retention policy, and its current effect on each snapshot.
    pub async fn retention(&self, request: SandboxRequest) -> Result<Retention> {
        self.prepare_call().await?;
        lineage_scope::check_workspace(self, &request.lineage_scope).await?;
        retention::plan(self)
    }

    /// Changes the retention policy, and applies it at once.
    pub async fn set_retention(&self, request: SetRetentionRequest) -> Result<Retention> {
        self.prepare_call().await?;
        retention::set_policy(self, request).await
    }

    /// Applies the retention policy.
    pub async fn apply_retention(&self, request: ApplyRetentionRequest) -> Result<Retention> {
        self.prepare_call().await?;
        retention::apply(self, request.dry_run).await
    }

    /// Signs refs with a new key from now on. Refs that the previous key signed stay valid.
    pub async fn rotate_key(&self, request: SandboxRequest) -> Result<KeyRotation> {
        self.prepare_call().await?;
        lineage_scope::check_workspace(self, &request.lineage_scope).await?;
        keys::rotate(self)
    }

    /// Runs the due tasks: recovery, retention, and messages to other workspaces.
    pub async fn alarm(&self) -> Result<()> {
        tasks::run_alarm(self).await
    }

    /// Begins every call: checks the configuration, and recovers what an earlier instance of the object left.
    async fn prepare_call(&self) -> Result<()> {
        self.ready()?;
        self.ports.ledger()?;
        recover::ensure_recovered(self).await;
        Ok(())
    }

    async fn derive_sandbox(
        &self,
        request: RestoreRequest,
        kind: DerivationKind,
        abort: CancellationToken,
    ) -> Result<WorkspaceRef> {
        self.prepare_call().await?;
        // This check precedes the idempotency key, so that a caller of another lineage does not learn that it was used.
        if request.selection.lineage_scope.sandbox_id.is_some() {
            lineage_scope::check_workspace(self, &request.selection.lineage_scope).await?;
        }
        let (this, token) = (self.clone(), abort.clone());
        let work = async move {
            let restore = async {
                let what = format!("restores and branches of the sandbox {:?}", this.id.as_str());
                let _permit = this.in_process.restore_queue.acquire(None, &what)?;
                restore::restore(&this, &request, kind, &token).await
            };
            let key = request.idempotency_key.as_deref();
            idempotency::run_once(&this, key, kind.as_str(), &request, &token, restore).await
        };
        abort.run_until_cancelled(work, self.ports.background()).await
    }

    fn random_short_id(&self) -> Result<ShortId> {
        draw_random(&*self.ports, ShortId::from_random)
    }

    fn mint_snapshot_id(&self, key: &SigningKey) -> Result<SnapshotId> {
        let ledger = self.ports.ledger()?;
        draw_random(&*self.ports, |random| {
            SnapshotId::mint(random, key).filter(|id| matches!(ledger.snapshot(id), Ok(None)))
        })
    }
}

/// Derives a value from random bytes. Draws again, at most 4 times in all, if the bytes are not usable.
fn draw_random<P: Ports, T>(ports: &P, from_bytes: impl Fn(&[u8]) -> Option<T>) -> Result<T> {
    for _ in 0..4 {
        if let Some(value) = from_bytes(&ports.entropy().random_bytes()?) {
            return Ok(value);
        }
    }
    Err(Error::new(
        Code::Internal,
        "None of 4 random values gave a usable id.",
        "Try again. If the error persists, report it.",
    ))
}
