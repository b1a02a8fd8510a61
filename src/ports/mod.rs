//! The ports: the traits through which the service reaches everything outside of it.
//!
//! - [`sandboxes`]: the sandboxes of an application; [`caller_commands`]: what callers do in their containers
//! - [`backups`]: the bucket in which the SDK stores backups
//! - [`storage`]: the durable storage of this Worker's objects, and their alarms
//! - [`objects`]: the calls between this Worker's objects
//!
//! Each trait has one implementation on Cloudflare (`cloudflare`) and one in memory (`tests/support`). The
//! futures do not need to be `Send`, because a Worker has one thread.

mod backups;
mod caller_commands;
mod objects;
mod sandboxes;
mod storage;

use std::future::Future;
use std::time::Duration;

use futures_util::future::LocalBoxFuture;

use crate::model::{Result, Runtime, SandboxBindings, Timestamp};

pub use crate::model::record::RestoreSource;
pub use backups::BackupStore;
pub use caller_commands::{CallerCommands, InputOf, RunningCommand, RunningCommandOf};
pub use objects::{NamedWorkspaceClient, SandboxLedgerClient};
pub use sandboxes::{SandboxSession, SandboxSessionOf, Sandboxes};
pub use storage::{DirectoryStore, Ledger, TokenStore, WorkspaceStore};

/// All ports of the service.
pub trait Ports: 'static {
    /// The sandboxes.
    type Sandboxes: Sandboxes;
    /// The bucket that contains the backups.
    type Backups: BackupStore;
    /// The ledger of a sandbox, which only the object of the sandbox has.
    type Ledger: Ledger;
    /// The client for the ledgers of other sandboxes.
    type SandboxLedgerClient: SandboxLedgerClient;
    /// The storage of a named workspace, which only its object has.
    type WorkspaceStore: WorkspaceStore;
    /// The client for other named workspaces.
    type NamedWorkspaceClient: NamedWorkspaceClient;
    /// The clock.
    type Clock: Clock;
    /// The source of randomness.
    type Entropy: Entropy;
    /// Runs work that continues after the response.
    type Background: Background;

    /// Returns the bindings of the sandboxes.
    fn sandbox_bindings(&self) -> &SandboxBindings;
    /// Returns the sandboxes of a runtime, or
    /// [`Code::SandboxBindingMissing`](crate::model::Code::SandboxBindingMissing). `None` is the runtime of a binding
    /// whose runtime the deployment does not name.
    fn sandboxes(&self, runtime: Option<Runtime>) -> Result<&Self::Sandboxes>;
    /// Returns the bucket that contains the backups, or
    /// [`Code::R2BindingMissing`](crate::model::Code::R2BindingMissing).
    fn backups(&self) -> Result<&Self::Backups>;
    /// Returns the client for the ledgers of other sandboxes, or
    /// [`Code::WorkspaceBindingMissing`](crate::model::Code::WorkspaceBindingMissing).
    fn sandbox_ledgers(&self) -> Result<&Self::SandboxLedgerClient>;
    /// Returns the client for other named workspaces, or
    /// [`Code::WorkspaceBindingMissing`](crate::model::Code::WorkspaceBindingMissing).
    fn named_workspaces(&self) -> Result<&Self::NamedWorkspaceClient>;
    /// Returns the clock.
    fn clock(&self) -> &Self::Clock;
    /// Returns the source of randomness.
    fn entropy(&self) -> &Self::Entropy;
    /// Returns the runner for work that continues after the response.
    fn background(&self) -> &Self::Background;

    /// Verifies that sandboxes of at least one runtime are bound and, with `needs_bucket`, the bucket, which is checked
    /// first.
    fn check_bindings(&self, needs_bucket: bool) -> Result<()> {
        if needs_bucket {
            self.backups()?;
        }
        let bindings = self.sandbox_bindings();
        if bindings.iter().any(|binding| self.sandboxes(binding.runtime).is_ok()) {
            return Ok(());
        }
        self.sandboxes(bindings.default_binding().runtime).map(drop)
    }
}

/// The clock.
pub trait Clock {
    /// Returns the current time. In a Worker it advances only with I/O.
    fn now(&self) -> Timestamp;

    /// Waits for `duration`.
    fn sleep(&self, duration: Duration) -> impl Future<Output = ()>;

    /// Waits until a time limit has passed, while the call that it limits runs. Separate from [`sleep`](Self::sleep) so
    /// that tests can control it.
    fn deadline(&self, limit: Duration) -> impl Future<Output = ()> {
        self.sleep(limit)
    }
}

/// A source of unpredictable random bytes.
pub trait Entropy {
    /// Returns 32 random bytes, or the platform's failure.
    fn random_bytes(&self) -> Result<[u8; 32]>;
}

/// Runs work that continues after the response to the caller.
pub trait Background {
    /// Runs `work` to completion.
    fn run(&self, work: LocalBoxFuture<'static, ()>);
}
