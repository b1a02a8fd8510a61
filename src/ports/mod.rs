//! What the service needs of the world.
//!
//! - [`sandboxes`]: the sandboxes of an application
//! - [`backups`]: the bucket that the SDK keeps backups in
//! - [`storage`]: what the objects of this Worker keep, and their alarms
//! - [`objects`]: what they ask of each other
//!
//! Each trait has one implementation over Cloudflare (`cloudflare`) and one in memory (`tests/service/support`).
//! None of the futures need to be `Send`: a Worker is one thread.

mod backups;
mod objects;
mod sandboxes;
mod storage;

use std::future::Future;
use std::time::Duration;

use futures_util::future::LocalBoxFuture;

use crate::model::{Result, Timestamp};

pub use crate::model::record::Loan;
pub use backups::BackupStore;
pub use objects::{Names, Workspaces};
pub use sandboxes::{Sandboxes, Visit, VisitOf};
pub use storage::{Home, Index, Ledger};

/// All that the service needs, in one place.
pub trait Ports: 'static {
    /// The sandboxes.
    type Sandboxes: Sandboxes;
    /// The bucket that backups are in.
    type Backups: BackupStore;
    /// The ledger of the workspace.
    type Ledger: Ledger;
    /// The other workspaces.
    type Workspaces: Workspaces;
    /// What is kept of a named workspace.
    type Home: Home;
    /// The other named workspaces.
    type Names: Names;
    /// The clock.
    type Clock: Clock;
    /// The randomness.
    type Entropy: Entropy;
    /// Where work goes on after the answer was given.
    type Background: Background;

    /// The sandboxes, or [`Code::SandboxBindingMissing`](crate::model::Code::SandboxBindingMissing).
    fn sandboxes(&self) -> Result<&Self::Sandboxes>;
    /// The bucket that backups are in, or [`Code::R2BindingMissing`](crate::model::Code::R2BindingMissing).
    fn backups(&self) -> Result<&Self::Backups>;
    /// The ledger of the workspace, or [`Code::LedgerTooNew`](crate::model::Code::LedgerTooNew).
    fn ledger(&self) -> Result<&Self::Ledger>;
    /// The other workspaces, or [`Code::WorkspaceBindingMissing`](crate::model::Code::WorkspaceBindingMissing).
    fn workspaces(&self) -> Result<&Self::Workspaces>;
    /// What is kept of a named workspace, in whose object this is.
    fn home(&self) -> Result<&Self::Home>;
    /// The other named workspaces, or [`Code::WorkspaceBindingMissing`](crate::model::Code::WorkspaceBindingMissing).
    fn names(&self) -> Result<&Self::Names>;
    /// The clock.
    fn clock(&self) -> &Self::Clock;
    /// The randomness.
    fn entropy(&self) -> &Self::Entropy;
    /// Where work goes on after the answer was given.
    fn background(&self) -> &Self::Background;
}

/// The time.
pub trait Clock {
    /// Now. In a Worker it stands still between two answers of the world.
    fn now(&self) -> Timestamp;

    /// Waits.
    fn sleep(&self, duration: Duration) -> impl Future<Output = ()>;

    /// Waits until a time limit has passed, beside what the limit is for.
    fn deadline(&self, limit: Duration) -> impl Future<Output = ()> {
        self.sleep(limit)
    }
}

/// Unpredictable random bytes.
pub trait Entropy {
    /// 32 of them, or the platform's failure to give any.
    fn bytes(&self) -> Result<[u8; 32]>;
}

/// Where work goes on after the caller has been answered.
pub trait Background {
    /// Runs `work` to its end.
    fn run(&self, work: LocalBoxFuture<'static, ()>);
}
