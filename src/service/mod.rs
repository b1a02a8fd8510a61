//! The operations of the product, one per file, over the ports. One folder for each area:
//!
//! - [`snapshot`]: takes, imports, finds, shows, checks and labels the snapshots of one sandbox
//! - [`files`]: reads the files of a snapshot from its archive
//! - [`restore`]: makes a new sandbox from a snapshot; a branch is the same operation with another kind of id
//! - [`retention`]: removes snapshots, by the policy or by a caller, unless a sandbox depends on them
//! - [`lineage`]: the tree of sandboxes and snapshots, and what a caller of one lineage may use
//! - [`container`]: verifies that the container that runs is the one with the sandbox's files
//! - [`checkpoint`]: named states inside the sandbox itself
//! - [`exec`]: runs the commands of callers in sandboxes
//! - [`workspace`]: named workspaces, the sandboxes that belong to them, and the list of them
//! - [`access`]: what callers with tokens may do
//! - [`tasks`]: lists and runs deferred work: what an operation did not finish, and what is due later
//! - [`calls`]: what all calls share: context, cancellation, idempotency, queues, time limits, retries, failures
//!
//! Each sandbox has a Workspace object, which runs the operations on it and has its ledger:
//!
//! - `ledger`: what the operations store in its ledger together: the row of the sandbox itself, snapshots, the alarm
//! - `in_process`: the work in progress in this object
//! - `runtime`: which of the deployment's namespaces the sandbox is in
//!
//! Each named workspace has an object of its own. For the whole bucket: [`sweep`]. For the deployment: [`health()`].

pub mod access;
pub mod calls;
mod checkpoint;
mod container;
pub mod exec;
pub(crate) mod files;
mod health;
mod in_process;
mod ledger;
pub mod lineage;
mod restore;
mod retention;
mod runtime;
pub(crate) mod snapshot;
mod tasks;
mod usage;
pub mod workspace;

use std::rc::Rc;

pub use self::calls::cancellation::CancellationToken;
pub(crate) use self::calls::failures::from_object;
pub use self::health::health;
pub use self::retention::sweep::sweep;
pub use self::usage::usage;

use self::calls::completion::run_to_completion;
use self::calls::failures::{During, from_sandbox};
use self::calls::retry::retry;
use self::in_process::SandboxInProcessState;
use crate::model::{
    Directory, Error, Failure, Result, Runtime, SandboxId, ShortId, SigningKey, SnapshotId, Timestamp, mint_snapshot_id,
};
use crate::ports::{Clock, Entropy, Ledger, Ports};

/// The configuration of a deployment.
#[derive(Clone, Debug)]
pub struct Config {
    /// The directory that is captured if the caller names none.
    pub default_dir: Directory,
    /// Whether archives go through the R2 binding instead of signed URLs. For development.
    pub local_bucket: bool,
    /// Whether a snapshot may contain only what changed since a full one, if the caller does not decide.
    pub incremental: bool,
    /// The size of the smallest archive that deltas are based on, in bytes.
    pub min_base_bytes: u64,
}

/// The operations on one Cloudflare Sandbox, whose backups are in R2 and whose ledger is in its Workspace object.
///
/// There is one ledger, so only one of these may exist at a time; its clones share the work in progress.
pub struct CloudflareSandboxSnapshotter<P: Ports> {
    id: Rc<SandboxId>,
    ports: Rc<P>,
    ledger: Rc<P::Ledger>,
    config: Rc<Config>,
    in_process: Rc<SandboxInProcessState>,
    /// The runtime that the caller requests. It decides only until the ledger names one.
    requested_runtime: Option<Runtime>,
}

impl<P: Ports> Clone for CloudflareSandboxSnapshotter<P> {
    fn clone(&self) -> Self {
        Self {
            id: Rc::clone(&self.id),
            ports: Rc::clone(&self.ports),
            ledger: Rc::clone(&self.ledger),
            config: Rc::clone(&self.config),
            in_process: Rc::clone(&self.in_process),
            requested_runtime: self.requested_runtime,
        }
    }
}

/// What all operations use. Each operation is in a file of its own.
impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Returns the snapshotter of the sandbox `id`, whose ledger is `ledger`.
    pub fn new(id: SandboxId, ports: Rc<P>, ledger: Rc<P::Ledger>, config: Rc<Config>) -> Self {
        Self { id: Rc::new(id), ports, ledger, config, in_process: Rc::default(), requested_runtime: None }
    }

    /// Verifies that snapshots are configured. A caller should check this before it declares the capability.
    pub fn ready(&self) -> Result<()> {
        self.ports.check_bindings(true)
    }

    /// Begins every call: checks the configuration, and recovers what an earlier instance of the object left.
    async fn prepare_call(&self) -> Result<()> {
        self.ready()?;
        self.ensure_recovered().await;
        Ok(())
    }

    fn backups(&self) -> Result<&P::Backups> {
        self.ports.backups()
    }

    fn sandbox_ledgers(&self) -> Result<&P::SandboxLedgerClient> {
        self.ports.sandbox_ledgers()
    }

    fn now(&self) -> Timestamp {
        self.ports.clock().now()
    }

    /// Repeats `work` while it fails with a transient error.
    async fn retry<T>(&self, work: impl AsyncFnMut() -> Result<T>) -> Result<T> {
        retry(&*self.ports, &CancellationToken::never(), work).await
    }

    /// Runs `work` to completion, even if the caller disconnects.
    async fn run_to_completion<T: 'static>(&self, work: impl Future<Output = Result<T>> + 'static) -> Result<T> {
        run_to_completion(&*self.ports, work).await
    }

    /// Returns the conversion of failures of this sandbox to errors.
    fn failed(&self, during: During) -> impl Fn(Failure) -> Error + Copy {
        move |failure| from_sandbox(failure, &self.id, during)
    }

    fn random_short_id(&self) -> Result<ShortId> {
        draw_random(&*self.ports, ShortId::from_random)
    }

    fn mint_snapshot_id(&self, key: &SigningKey) -> Result<SnapshotId> {
        draw_random(&*self.ports, |random| {
            mint_snapshot_id(random, key).filter(|id| matches!(self.ledger.snapshot(id), Ok(None)))
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
    Err(Error::no_usable_id())
}
