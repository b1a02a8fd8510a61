//! What the product does, one operation per file, over the ports.
//!
//! - [`snapshot`]: captures a sandbox, and makes sure that what was stored is what was asked for
//! - [`restore`]: makes a new sandbox from a snapshot; a branch is the same by another name
//! - `guard`: one capture of a sandbox at a time, shared by all who ask for the same
//! - [`abort`]: the caller's wish to stop
//! - `container`: whether a container is still the one that it was
//! - `stored`: what is in R2 of a backup
//! - `undo`: takes back what a failed operation left
//! - `failures`: gives what the SDK threw a code of ours
//! - `retry`: repeats what failed in passing

pub mod abort;
mod container;
mod failures;
mod guard;
mod restore;
mod retry;
mod snapshot;
mod stored;
mod undo;

use std::rc::Rc;

pub use abort::Abort;
use guard::Guard;

use crate::model::{
    Code, Directory, Error, Lineage, RestoreRequest, Result, ShortId, SnapshotId, SnapshotRequest, Taken, WorkspaceRef,
};
use crate::ports::{Entropy, Ports};

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
}

/// How a deployment is configured.
#[derive(Clone, Debug)]
pub struct Config {
    /// The directory that is captured where the caller names none.
    pub default_dir: Directory,
    /// Whether archives go through the R2 binding instead of signed URLs: for development.
    pub local_bucket: bool,
}

/// The [`Snapshotter`] of one Cloudflare Sandbox, whose backups are in R2. Its clones guard the sandbox together.
pub struct CloudflareSandboxSnapshotter<P> {
    ports: Rc<P>,
    config: Rc<Config>,
    guard: Rc<Guard>,
}

impl<P> Clone for CloudflareSandboxSnapshotter<P> {
    fn clone(&self) -> Self {
        Self { ports: Rc::clone(&self.ports), config: Rc::clone(&self.config), guard: Rc::clone(&self.guard) }
    }
}

impl<P: Ports> Snapshotter for CloudflareSandboxSnapshotter<P> {
    fn ready(&self) -> Result<()> {
        self.ports.backups()?;
        self.ports.sandboxes()?;
        Ok(())
    }

    async fn snapshot(&self, request: SnapshotRequest, abort: Abort) -> Result<Taken> {
        self.ready()?;
        Guard::capture(self, request, abort).await
    }

    async fn restore(&self, request: RestoreRequest, abort: Abort) -> Result<WorkspaceRef> {
        self.derive(request, Lineage::Restored, abort).await
    }

    async fn branch(&self, request: RestoreRequest, abort: Abort) -> Result<WorkspaceRef> {
        self.derive(request, Lineage::Branch, abort).await
    }
}

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// The snapshotter over `ports`.
    pub fn new(ports: Rc<P>, config: Config) -> Self {
        Self { ports, config: Rc::new(config), guard: Rc::default() }
    }

    async fn derive(&self, request: RestoreRequest, lineage: Lineage, abort: Abort) -> Result<WorkspaceRef> {
        self.ready()?;
        let work = restore::restore(self.clone(), request, lineage, abort.clone());
        abort.ends_wait_for(work, self.ports.background()).await
    }

    fn draw<T>(&self, from_bytes: impl Fn(&[u8]) -> Option<T>) -> Result<T> {
        for _ in 0..4 {
            if let Some(drawn) = from_bytes(&self.ports.entropy().bytes()?) {
                return Ok(drawn);
            }
        }
        Err(Error::new(
            Code::Internal,
            "The platform's randomness is not random.",
            "Try again; report it if it happens again.",
        ))
    }

    fn draw_short_id(&self) -> Result<ShortId> {
        self.draw(ShortId::draw)
    }

    fn draw_snapshot_id(&self) -> Result<SnapshotId> {
        self.draw(SnapshotId::draw)
    }
}
