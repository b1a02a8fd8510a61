//! The operations of the product, one per file, over the ports. One folder for each area:
//!
//! - [`snapshot`]: takes, imports, finds, shows, checks and labels the snapshots of one sandbox
//! - [`restore`]: makes a new sandbox from a snapshot; a branch is the same operation with another kind of id
//! - [`retention`]: removes snapshots, by the policy or by a caller, unless a sandbox depends on them
//! - [`lineage`]: the tree of sandboxes and snapshots, and what a caller of one lineage may use
//! - [`container`]: verifies that the container that runs is the one with the sandbox's files
//! - [`checkpoint`]: named states inside the sandbox itself
//! - [`workspace`]: named workspaces, the sandboxes that belong to them, and the list of them
//! - [`tasks`]: completes or rolls back interrupted work, and runs the alarm
//! - [`calls`]: what all calls share: context, cancellation, idempotency, queues, time limits, retries, failures
//!
//! Each sandbox has a Workspace object, which runs the operations on it and has its ledger:
//!
//! - `ledger`: the row of the sandbox itself in its ledger, and its alarm
//! - `in_process`: the work in progress in this object
//! - `internal_api`: the calls that other objects of this Worker make to it
//!
//! Each named workspace has an object of its own. For the whole bucket: [`sweep`]. For the deployment: [`health`].
//! `planted` contains the bugs that the simulation must find; they are not in the product.

pub mod calls;
mod checkpoint;
mod container;
mod health;
mod in_process;
mod internal_api;
mod ledger;
mod lineage;
#[doc(hidden)]
pub mod planted;
mod restore;
mod retention;
pub(crate) mod snapshot;
mod tasks;
pub mod workspace;

use std::rc::Rc;

pub use self::calls::cancellation::CancellationToken;
pub(crate) use self::calls::failures::from_object;
pub(crate) use self::calls::queue::busy;
pub use self::health::health;
use self::in_process::InProcessState;
pub use self::retention::sweep::sweep;
use self::snapshot::coalesce::SnapshotCoalescer;

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
            lineage::scope::check_workspace(self, &request.lineage_scope).await?;
        }
        let key = request.idempotency_key.clone();
        let work = SnapshotCoalescer::capture(self, request.clone(), abort.clone());
        calls::idempotency::run_once(self, key.as_deref(), "snapshot", &request, &abort, work).await
    }

    async fn restore(&self, request: RestoreRequest, abort: CancellationToken) -> Result<WorkspaceRef> {
        self.derive_sandbox(request, DerivationKind::Restored, abort).await
    }

    async fn branch(&self, request: RestoreRequest, abort: CancellationToken) -> Result<WorkspaceRef> {
        self.derive_sandbox(request, DerivationKind::Branch, abort).await
    }

    async fn list(&self, request: ListRequest) -> Result<Page> {
        self.prepare_call().await?;
        snapshot::list::list(self, &request).await
    }

    async fn delete(&self, request: DeleteRequest) -> Result<Deletion> {
        self.prepare_call().await?;
        retention::delete::delete(self, &request).await
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
        snapshot::list::get(self, &selection).await
    }

    /// Returns everything that the ledger records about one snapshot.
    pub async fn manifest(&self, selection: Selection) -> Result<Manifest> {
        self.prepare_call().await?;
        snapshot::manifest::manifest(self, &selection).await
    }

    /// Checks a snapshot in R2. Does not start a container.
    pub async fn verify(&self, selection: Selection) -> Result<Verification> {
        self.prepare_call().await?;
        snapshot::verify::verify(self, &selection).await
    }

    /// Changes the label of a snapshot.
    pub async fn label(&self, request: LabelRequest) -> Result<Summary> {
        self.prepare_call().await?;
        snapshot::label::label(self, &request).await
    }

    /// Pins a snapshot, so that the retention policy never removes it, or unpins it.
    pub async fn pin(&self, selection: Selection, pinned: bool) -> Result<Summary> {
        self.prepare_call().await?;
        snapshot::pin::pin(self, &selection, pinned).await
    }

    /// Adds a backup that the ledger does not list.
    pub async fn import(&self, request: ImportRequest) -> Result<TakenSnapshot> {
        self.prepare_call().await?;
        snapshot::import::import(self, request).await
    }

    /// Returns the tree of sandboxes and snapshots that this sandbox belongs to.
    pub async fn lineage(&self, request: LineageRequest) -> Result<Tree> {
        self.prepare_call().await?;
        lineage::lineage(self, &request).await
    }

    /// Returns the retention policy, and its current effect on each snapshot.
    pub async fn retention(&self, request: SandboxRequest) -> Result<Retention> {
        self.prepare_call().await?;
        lineage::scope::check_workspace(self, &request.lineage_scope).await?;
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
        lineage::scope::check_workspace(self, &request.lineage_scope).await?;
        snapshot::keys::rotate(self)
    }

    /// Runs the due tasks: recovery, retention, and messages to other workspaces.
    pub async fn alarm(&self) -> Result<()> {
        tasks::alarm::run_alarm(self).await
    }

    /// Begins every call: checks the configuration, and recovers what an earlier instance of the object left.
    async fn prepare_call(&self) -> Result<()> {
        self.ready()?;
        self.ports.ledger()?;
        tasks::recover::ensure_recovered(self).await;
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
            lineage::scope::check_workspace(self, &request.selection.lineage_scope).await?;
        }
        let (this, token) = (self.clone(), abort.clone());
        let work = async move {
            let restore = async {
                let what = format!("restores and branches of the sandbox {:?}", this.id.as_str());
                let _permit = this.in_process.restore_queue.acquire(None, &what)?;
                restore::restore(&this, &request, kind, &token).await
            };
            let key = request.idempotency_key.as_deref();
            calls::idempotency::run_once(&this, key, kind.as_str(), &request, &token, restore).await
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
