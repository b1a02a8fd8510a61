//! What the service needs of the world.
//!
//! Each trait has one implementation over Cloudflare (`cloudflare`) and one in memory (`tests/service/support`).
//! None of the futures need to be `Send`: a Worker is one thread.

use std::future::Future;
use std::time::Duration;

use futures_util::future::LocalBoxFuture;

use crate::model::{
    BackupHandle, BackupId, BackupMetadata, BackupOptions, Directory, Failure, Probe, Result, SandboxId, SandboxState,
    Timestamp,
};

/// All that the service needs, in one place.
pub trait Ports: 'static {
    /// The sandboxes.
    type Sandboxes: Sandboxes;
    /// The bucket that backups are in.
    type Backups: BackupStore;
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
    /// The clock.
    fn clock(&self) -> &Self::Clock;
    /// The randomness.
    fn entropy(&self) -> &Self::Entropy;
    /// Where work goes on after the answer was given.
    fn background(&self) -> &Self::Background;
}

/// The sandboxes of an application, by id. Every call takes a fresh stub.
pub trait Sandboxes {
    /// The state of the sandbox's container. Starts nothing.
    fn state(&self, id: &SandboxId) -> impl Future<Output = Result<SandboxState, Failure>>;

    /// Tells a sandbox its name, as `getSandbox` would: the first name stays. Starts nothing.
    fn name(&self, id: &SandboxId) -> impl Future<Output = Result<(), Failure>>;

    /// Looks inside of the container, which is started where it isn't running.
    fn probe(&self, id: &SandboxId, dir: &Directory) -> impl Future<Output = Result<Probe, Failure>>;

    /// Leaves, or takes away, the note that this container took the place of another one unasked.
    fn note_took_place(&self, id: &SandboxId, note: bool) -> impl Future<Output = Result<(), Failure>>;

    /// Stores a backup in R2. **A sandbox that isn't running is started, and an empty backup stored.**
    fn create_backup(
        &self,
        id: &SandboxId,
        options: &BackupOptions,
    ) -> impl Future<Output = Result<BackupHandle, Failure>>;

    /// Applies a backup to the sandbox, which is started.
    fn restore_backup(&self, id: &SandboxId, backup: &BackupHandle) -> impl Future<Output = Result<(), Failure>>;

    /// Ends the container and everything in it. A sandbox without one is left as it is.
    fn destroy(&self, id: &SandboxId) -> impl Future<Output = Result<(), Failure>>;
}

/// The bucket that the SDK keeps backups in.
pub trait BackupStore {
    /// What the SDK recorded about a backup; `None` only when it is definitely not there.
    fn metadata(&self, id: &BackupId) -> impl Future<Output = Result<Option<BackupMetadata>, Failure>>;

    /// The size of a backup's archive in bytes; `None` only when it is definitely not there.
    fn archive_size(&self, id: &BackupId) -> impl Future<Output = Result<Option<u64>, Failure>>;

    /// Deletes both objects of a backup. One that isn't there is fine.
    fn delete(&self, id: &BackupId) -> impl Future<Output = Result<(), Failure>>;
}

/// The time.
pub trait Clock {
    /// Now. In a Worker it stands still between two answers of the world.
    fn now(&self) -> Timestamp;

    /// Waits.
    fn sleep(&self, duration: Duration) -> impl Future<Output = ()>;
}

/// Random bytes that nobody can guess.
pub trait Entropy {
    /// 32 of them, or the platform's failure to give any.
    fn bytes(&self) -> Result<[u8; 32]>;
}

/// Where work goes on after the caller has been answered.
pub trait Background {
    /// Runs `work` to its end.
    fn run(&self, work: LocalBoxFuture<'static, ()>);
}
