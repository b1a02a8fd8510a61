//! What the product does, one operation per file, over the ports.
//!
//! Operations on one sandbox's snapshots, all of them in its own workspace:
//! - [`snapshot`]: captures the sandbox, and makes sure that what was stored is what was asked for
//! - `import`: takes in a backup that was made elsewhere
//! - [`restore`]: makes a new sandbox from a snapshot; a branch is the same by another name
//! - `list`, `manifest`, `lineage`: what there is
//! - `verify`: whether it can be restored
//! - `label`, `pin`: what people say of it
//! - `delete`, `retain`: how it goes
//! - `keys`: the keys that sign refs
//! - [`checkpoint`]: named states inside of the sandbox itself
//! - [`lifecycle`]: a sandbox that stands for a name is made, ended, and given its files again
//!
//! Operations on one named workspace, in an object of its own: [`named`]; and the list of them: [`directory`].
//!
//! What holds them together:
//! - `workspace`: the workspace's own row, and its alarm
//! - `select`, `session`: which snapshot is meant, and whether the caller may mean it
//! - `guard`: one capture of a sandbox at a time, shared by all who ask for the same
//! - `line`: how many may wait for something
//! - `once`: the same answer to the same call
//! - `memory`: what is under way
//! - `recover`, `chores`: what is left when a Worker dies, and what the alarm does
//! - `hold`: who needs a snapshot
//! - `peers`: what the other objects of this Worker ask of a workspace, and tell it
//!
//! For the whole bucket: `sweep`. For the deployment: `health`.
//!
//! And the tools of the trade:
//! - [`abort`]: the caller's wish to stop
//! - `arrival`: whether a backup has arrived where it was applied to
//! - `container`: whether a container is still the one that it was
//! - `doubt`: when that is not known
//! - `sight`: the container of a capture, before and after
//! - `suspect`: snapshots that are much smaller than the one before
//! - `stored`: what is in R2 of a backup
//! - `undo`: takes back what a failed operation left
//! - `failures`: gives what the SDK threw a code of ours
//! - `retry`: repeats what failed in passing
//! - [`limits`]: how long each call to a sandbox may take
//! - [`trace`]: what is told of a piece of work beside its answer
//! - `planted`: bugs for the simulation to find; not in the product

pub mod abort;
mod arrival;
mod checkpoint;
mod chores;
mod container;
mod delete;
pub mod directory;
mod doubt;
mod exclude;
pub(crate) mod failures;
mod guard;
mod health;
mod hold;
mod import;
mod keys;
mod label;
mod lifecycle;
pub mod limits;
mod line;
mod lineage;
mod list;
mod manifest;
mod memory;
pub mod named;
mod once;
mod peers;
mod pin;
#[doc(hidden)]
pub mod planted;
mod recover;
mod restore;
mod retain;
mod retry;
mod select;
mod session;
mod sight;
mod snapshot;
mod stored;
mod suspect;
mod sweep;
pub mod trace;
mod undo;
pub(crate) mod verify;
mod workspace;

use std::rc::Rc;

pub use abort::Abort;
pub(crate) use failures::from_object;
use guard::Guard;
pub use health::health;
pub(crate) use line::busy;
use memory::Memory;
pub use sweep::sweep;

use crate::model::answer::{Deletion, KeyRotation, Manifest, Page, Retention, Summary, Tree, Verification};
use crate::model::request::{
    ApplyRetentionRequest, DeleteRequest, ImportRequest, LabelRequest, LineageRequest, ListRequest, PolicyRequest,
    WorkspaceRequest,
};
use crate::model::{
    Code, Directory, Error, Lineage, RestoreRequest, Result, SandboxId, Selection, ShortId, SigningKey, SnapshotId,
    SnapshotRequest, Taken, WorkspaceRef,
};
use crate::ports::{Entropy, Ledger, Ports};

/// Captures the state of workspaces as refs, and makes new workspaces from them.
///
/// Neither `restore` nor `branch` changes a workspace that exists: both answer a new one.
#[allow(async_fn_in_trait)]
pub trait Snapshotter {
    /// Whether snapshots are configured: what a caller that declares the capability should ask first.
    fn ready(&self) -> Result<()>;

    /// Captures a sandbox's directory, or shares the capture of another caller who asked for the same.
    async fn snapshot(&self, request: SnapshotRequest, abort: Abort) -> Result<Taken>;

    /// Makes a new sandbox from a snapshot, to recover its state.
    async fn restore(&self, request: RestoreRequest, abort: Abort) -> Result<WorkspaceRef>;

    /// Makes a new sandbox from a snapshot, to go on from its state in another way.
    async fn branch(&self, request: RestoreRequest, abort: Abort) -> Result<WorkspaceRef>;

    /// A page of the workspace's snapshots, the newest first.
    async fn list(&self, request: ListRequest) -> Result<Page>;

    /// Deletes a snapshot that nobody needs.
    async fn delete(&self, request: DeleteRequest) -> Result<Deletion>;
}

/// How a deployment is configured.
#[derive(Clone, Debug)]
pub struct Config {
    /// The directory that is captured where the caller names none.
    pub default_dir: Directory,
    /// Whether archives go through the R2 binding instead of signed URLs: for development.
    pub local_bucket: bool,
}

/// The [`Snapshotter`] of one Cloudflare Sandbox, whose backups are in R2 and whose ledger is in its Workspace object.
///
/// There is one ledger, so there must be one of these at a time; its clones share what is under way.
pub struct CloudflareSandboxSnapshotter<P> {
    id: Rc<SandboxId>,
    ports: Rc<P>,
    config: Rc<Config>,
    memory: Rc<Memory>,
}

impl<P> Clone for CloudflareSandboxSnapshotter<P> {
    fn clone(&self) -> Self {
        Self {
            id: Rc::clone(&self.id),
            ports: Rc::clone(&self.ports),
            config: Rc::clone(&self.config),
            memory: Rc::clone(&self.memory),
        }
    }
}

impl<P: Ports> Snapshotter for CloudflareSandboxSnapshotter<P> {
    fn ready(&self) -> Result<()> {
        self.ports.backups()?;
        self.ports.sandboxes()?;
        Ok(())
    }

    async fn snapshot(&self, request: SnapshotRequest, abort: Abort) -> Result<Taken> {
        self.begin().await?;
        if request.session.sandbox_id.is_some() {
            session::check_workspace(self, &request.session).await?;
        }
        let key = request.idempotency_key.clone();
        let work = Guard::capture(self, request.clone(), abort.clone());
        once::once(self, key.as_deref(), "snapshot", &request, &abort, work).await
    }

    async fn restore(&self, request: RestoreRequest, abort: Abort) -> Result<WorkspaceRef> {
        self.derive(request, Lineage::Restored, abort).await
    }

    async fn branch(&self, request: RestoreRequest, abort: Abort) -> Result<WorkspaceRef> {
        self.derive(request, Lineage::Branch, abort).await
    }

    async fn list(&self, request: ListRequest) -> Result<Page> {
        self.begin().await?;
        list::list(self, &request).await
    }

    async fn delete(&self, request: DeleteRequest) -> Result<Deletion> {
        self.begin().await?;
        delete::delete(self, &request).await
    }
}

/// What this provider does beyond the interface.
impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// The snapshotter of the sandbox `id`, over `ports` whose ledger is this sandbox's.
    pub fn new(id: SandboxId, ports: Rc<P>, config: Rc<Config>) -> Self {
        Self { id: Rc::new(id), ports, config, memory: Rc::default() }
    }

    /// One snapshot, as lists show it.
    pub async fn get(&self, selection: Selection) -> Result<Summary> {
        self.begin().await?;
        list::get(self, &selection).await
    }

    /// Everything that is known about one snapshot.
    pub async fn manifest(&self, selection: Selection) -> Result<Manifest> {
        self.begin().await?;
        manifest::manifest(self, &selection).await
    }

    /// Checks a snapshot in R2. No container is started.
    pub async fn verify(&self, selection: Selection) -> Result<Verification> {
        self.begin().await?;
        verify::verify(self, &selection).await
    }

    /// Gives a snapshot another label.
    pub async fn label(&self, request: LabelRequest) -> Result<Summary> {
        self.begin().await?;
        label::label(self, &request).await
    }

    /// Pins a snapshot, so that it stays whatever the policy says, or unpins it.
    pub async fn pin(&self, selection: Selection, pinned: bool) -> Result<Summary> {
        self.begin().await?;
        pin::pin(self, &selection, pinned).await
    }

    /// Takes in a backup that the ledger does not know.
    pub async fn import(&self, request: ImportRequest) -> Result<Taken> {
        self.begin().await?;
        import::import(self, request).await
    }

    /// The tree of sandboxes and snapshots that this one belongs to.
    pub async fn lineage(&self, request: LineageRequest) -> Result<Tree> {
        self.begin().await?;
        lineage::lineage(self, &request).await
    }

    /// The policy, and what it means for each snapshot now.
    pub async fn retention(&self, request: WorkspaceRequest) -> Result<Retention> {
        self.begin().await?;
        session::check_workspace(self, &request.session).await?;
        retain::plan(self)
    }

    /// Gives the workspace another policy, which is applied at once.
    pub async fn set_retention(&self, request: PolicyRequest) -> Result<Retention> {
        self.begin().await?;
        retain::set(self, request).await
    }

    /// Lets go what the policy says.
    pub async fn apply_retention(&self, request: ApplyRetentionRequest) -> Result<Retention> {
        self.begin().await?;
        retain::apply(self, request.dry_run).await
    }

    /// Signs refs with a new key from now on. The one before is still accepted.
    pub async fn rotate_key(&self, request: WorkspaceRequest) -> Result<KeyRotation> {
        self.begin().await?;
        session::check_workspace(self, &request.session).await?;
        keys::rotate(self)
    }

    /// What the alarm is for: recovery, retention, and what has to be passed on.
    pub async fn alarm(&self) -> Result<()> {
        chores::alarm(self).await
    }

    /// What every call begins with: the deployment is checked, and what a former object left is followed up.
    async fn begin(&self) -> Result<()> {
        self.ready()?;
        self.ports.ledger()?;
        recover::recovered(self).await;
        Ok(())
    }

    async fn derive(&self, request: RestoreRequest, lineage: Lineage, abort: Abort) -> Result<WorkspaceRef> {
        self.begin().await?;
        // Before the idempotency key is looked up: a caller of another lineage is not told that it was used.
        if request.selection.session.sandbox_id.is_some() {
            session::check_workspace(self, &request.selection.session).await?;
        }
        let (this, asked) = (self.clone(), abort.clone());
        let work = async move {
            let restore = async {
                let what = format!("restores and branches of the sandbox {:?}", this.id.as_str());
                let _place = this.memory.restores.stand(None, &what)?;
                restore::restore(&this, &request, lineage, &asked).await
            };
            let key = request.idempotency_key.as_deref();
            once::once(&this, key, lineage.word(), &request, &asked, restore).await
        };
        abort.ends_wait_for(work, self.ports.background()).await
    }

    fn draw_short_id(&self) -> Result<ShortId> {
        draw(&*self.ports, ShortId::draw)
    }

    fn mint_snapshot_id(&self, seal: &SigningKey) -> Result<SnapshotId> {
        let ledger = self.ports.ledger()?;
        draw(&*self.ports, |random| SnapshotId::mint(random, seal).filter(|id| matches!(ledger.snapshot(id), Ok(None))))
    }
}

/// What is made of random bytes, of which a few may not be usable.
fn draw<P: Ports, T>(ports: &P, from_bytes: impl Fn(&[u8]) -> Option<T>) -> Result<T> {
    for _ in 0..4 {
        if let Some(drawn) = from_bytes(&ports.entropy().bytes()?) {
            return Ok(drawn);
        }
    }
    Err(Error::new(
        Code::Internal,
        "The platform's randomness is not random.",
        "Try again; report it if it happens again.",
    ))
}
