//! The sandboxes of an application.

use std::collections::BTreeMap;
use std::future::Future;

use super::Ports;
use crate::model::checkpoint_call::{CheckpointCall, CheckpointDone, CheckpointRefusal, Meant};
use crate::model::named::Stamp;
use crate::model::named::answer::HookRun;
use crate::model::named::settings::Hook;
use crate::model::named::standing::{Begun, Survey};
use crate::model::{
    Arrival, BackupHandle, BackupOptions, Directory, Failure, Probe, Result, SandboxId, SandboxState, Stamping,
};

/// A visit to a sandbox of the ports `P`.
pub type VisitOf<'a, P> = <<P as Ports>::Sandboxes as Sandboxes>::Visit<'a>;

/// Calls on one sandbox that the platform counts as one request. When it breaks off, so do all further calls of it.
pub trait Visit {
    /// Tells the sandbox its name, as `getSandbox` would: the first name stays. What is called after it arrives after it.
    fn name(&self) -> impl Future<Output = Result<(), Failure>>;

    /// As [`Sandboxes::probe`].
    fn probe(&self, dir: &Directory) -> impl Future<Output = Result<Probe, Failure>>;

    /// Makes a directory, and those above it, in the container, which is started where it isn't running. Opens no session.
    fn make_directory(&self, dir: &Directory) -> impl Future<Output = Result<(), Failure>>;

    /// Stores a backup in R2, of about so many bytes, as far as that can be told: it may take the longer for that. **A sandbox
    /// that isn't running is started, and an empty backup stored.**
    fn create_backup(
        &self,
        options: &BackupOptions,
        bytes: Option<u64>,
    ) -> impl Future<Output = Result<BackupHandle, Failure>>;

    /// As [`Sandboxes::stamp`], of a container of any age.
    fn stamp(&self, from: Option<&Stamp>, to: &Stamp) -> impl Future<Output = Result<Stamping, Failure>>;

    /// Applies a backup of so many bytes to the sandbox, which is started.
    fn restore_backup(&self, backup: &BackupHandle, bytes: u64) -> impl Future<Output = Result<(), Failure>>;

    /// As [`Sandboxes::arrive`].
    fn arrive(
        &self,
        backup: &BackupHandle,
        from: &Stamp,
        to: &Stamp,
        may_be_empty: bool,
    ) -> impl Future<Output = Result<Arrival, Failure>>;
}

/// The sandboxes of an application, by id. Every call takes a fresh stub, and is a request of its own.
pub trait Sandboxes {
    /// See [`Self::visit`].
    type Visit<'a>: Visit
    where
        Self: 'a;

    /// Begins a visit to a sandbox. Nothing is asked yet.
    fn visit<'a>(&'a self, id: &'a SandboxId) -> Self::Visit<'a>;

    /// The state of the sandbox's container. Starts nothing.
    fn state(&self, id: &SandboxId) -> impl Future<Output = Result<SandboxState, Failure>>;

    /// Tells a sandbox its name, as `getSandbox` would: the first name stays; and how long its container may be idle before it
    /// goes to sleep, in seconds; `None` is for ever. Starts nothing.
    fn configure(&self, id: &SandboxId, idle_seconds: Option<u64>) -> impl Future<Output = Result<(), Failure>>;

    /// Looks inside of the container, which is started where it isn't running.
    fn probe(&self, id: &SandboxId, dir: &Directory) -> impl Future<Output = Result<Probe, Failure>>;

    /// Leaves, or takes away, the note that this container took the place of another one unasked.
    fn note_took_place(&self, id: &SandboxId, note: bool) -> impl Future<Output = Result<(), Failure>>;

    /// Ends the container and everything in it. A sandbox without one is left as it is.
    fn destroy(&self, id: &SandboxId) -> impl Future<Output = Result<(), Failure>>;

    /// Says how long the container may be idle before it goes to sleep, in seconds; `None` is for ever. Starts nothing.
    fn keep_awake(&self, id: &SandboxId, seconds: Option<u64>) -> impl Future<Output = Result<(), Failure>>;

    /// Sets environment variables of everything that runs in the container from now on, or takes them away. Where the sandbox
    /// remembers a session, the SDK does it there, and starts the container for that.
    fn set_env(
        &self,
        id: &SandboxId,
        env: &BTreeMap<String, Option<String>>,
    ) -> impl Future<Output = Result<(), Failure>>;

    /// Puts a stamp on the container that carries the stamp `from`, or none; where an age is given, in milliseconds, on one that is
    /// at least so old, and carries no note that it took the place of another one. Nothing is done in another one: it is not the
    /// container that is meant. One that isn't running is started.
    fn stamp(
        &self,
        id: &SandboxId,
        from: Option<&Stamp>,
        to: &Stamp,
        older_than_millis: Option<i64>,
    ) -> impl Future<Output = Result<Stamping, Failure>>;

    /// Puts a stamp on the container that is going to be filled, and answers what is in it: as [`survey`](Self::survey) and
    /// [`hashes`](Self::hashes) do. `None`, and nothing is done, where it does not carry the stamp `from`. One that isn't running
    /// is started. No session is opened.
    fn begin(
        &self,
        id: &SandboxId,
        from: Option<&Stamp>,
        to: &Stamp,
        dir: &Directory,
        files: &[String],
    ) -> impl Future<Output = Result<Option<Begun>, Failure>>;

    /// Makes sure that a backup has arrived in the container with the stamp `from`, and that every process works in its files; then
    /// puts the stamp `to` on it. It is fine where that is there already. The cost does not grow with the number of files.
    fn arrive(
        &self,
        id: &SandboxId,
        backup: &BackupHandle,
        from: &Stamp,
        to: &Stamp,
        may_be_empty: bool,
    ) -> impl Future<Output = Result<Arrival, Failure>>;

    /// What is in the container: its image, and the names, sizes and times of the files in the directory. A container that isn't
    /// running is started, and a directory that isn't there is made.
    fn survey(&self, id: &SandboxId, dir: &Directory) -> impl Future<Output = Result<Survey, Failure>>;

    /// SHA-256 of files, in hexadecimal, by their paths as given: absolute, or in the directory. Empty where there is none.
    fn hashes(
        &self,
        id: &SandboxId,
        dir: &Directory,
        files: &[String],
    ) -> impl Future<Output = Result<BTreeMap<String, String>, Failure>>;

    /// Paths in the directory, relative to it, that git ignores and that contain a slash: the first of them, and one more than
    /// [`MAX_NAMED`](crate::model::exclude::MAX_NAMED) at most. None where there is no git, or the directory is in no repository.
    /// A container that isn't running is started.
    fn ignored_below(&self, id: &SandboxId, dir: &Directory) -> impl Future<Output = Result<Vec<String>, Failure>>;

    /// Changes count from now on.
    fn watch(&self, id: &SandboxId) -> impl Future<Output = Result<(), Failure>>;

    /// Whether anything in the directory was changed since this or [`watch`](Self::watch) was asked last, or since the stamp was
    /// put on the container. What can't be told in time counts as changed.
    fn stirred(&self, id: &SandboxId, dir: &Directory) -> impl Future<Output = Result<bool, Failure>>;

    /// Runs a command in the directory with variables that hold for it alone, in the container that carries the stamp; `None` when
    /// another one runs.
    fn run_hook(
        &self,
        id: &SandboxId,
        stamp: &Stamp,
        dir: &Directory,
        name: &str,
        hook: &Hook,
        env: &BTreeMap<String, String>,
    ) -> impl Future<Output = Result<Option<HookRun>, Failure>>;

    /// Makes, lists, restores or compares checkpoints of the directory, or says why that was refused. A container that isn't
    /// running is started, and nothing is done in one that is not meant.
    fn checkpoint(
        &self,
        id: &SandboxId,
        dir: &Directory,
        meant: Meant,
        call: &CheckpointCall,
    ) -> impl Future<Output = Result<Result<CheckpointDone, CheckpointRefusal>, Failure>>;
}
