//! The sandboxes of an application.

use std::collections::BTreeMap;
use std::future::Future;

use super::{CallerCommands, Ports};
use crate::model::delta::{CaptureBegin, CaptureBegun, Carrier, RestoreFinish, RestoreFinished, TracedBase};
use crate::model::exclude::IgnoredNames;
use crate::model::freeze::{Freeze, FreezeReport};
use crate::model::freeze_call::FreezeFailed;
use crate::model::named::ContainerMarker;
use crate::model::named::answer::HookRun;
use crate::model::named::binding::{DirectoryListing, RestoreBegun};
use crate::model::named::platform_snapshot::StoredDisk;
use crate::model::named::settings::Hook;
use crate::model::secret_search::{FoundSecrets, SecretSearch};
use crate::model::{
    Arrival, BackupHandle, BackupOptions, ChangeCursor, ContainerId, ContainerIdentity, Directory, Failure, FullReason,
    MarkerUpdate, Probe, Provenance, Result, SandboxId, SandboxStatus, SnapshotId,
};

/// A session with a sandbox of the ports `P`.
pub type SandboxSessionOf<'a, P> = <<P as Ports>::Sandboxes as Sandboxes>::SandboxSession<'a>;

/// Calls on one sandbox that the platform counts as one request. When one call loses its connection, all later calls
/// fail too.
pub trait SandboxSession {
    /// Sets the name of the sandbox as `getSandbox` does: the first name stays. Later calls of the session arrive after
    /// it.
    fn set_name(&self) -> impl Future<Output = Result<(), Failure>>;

    /// As [`Sandboxes::probe`].
    fn probe(&self, dir: &Directory) -> impl Future<Output = Result<Probe, Failure>>;

    /// Creates a directory and its parents in the container. Starts the container if it is not running. Opens no shell
    /// session.
    fn make_directory(&self, dir: &Directory) -> impl Future<Output = Result<(), Failure>>;

    /// Stores a backup in R2. `bytes` is its expected size, if known; a larger backup gets a longer time limit. **On a
    /// sandbox that is not running, this starts a container and stores an empty backup.**
    fn create_backup(
        &self,
        options: &BackupOptions,
        bytes: Option<u64>,
    ) -> impl Future<Output = Result<BackupHandle, Failure>>;

    /// As [`Sandboxes::update_marker`], for a container of any age. Also returns what the container runs on.
    fn update_marker(
        &self,
        from: Option<&ContainerMarker>,
        to: &ContainerMarker,
    ) -> impl Future<Output = Result<MarkerUpdate, Failure>>;

    /// Applies a backup of `bytes` bytes to the sandbox. With `expected`, fails in another container and starts none;
    /// otherwise starts the container if it is not running.
    fn restore_backup(
        &self,
        backup: &BackupHandle,
        bytes: u64,
        expected: Option<&ContainerId>,
    ) -> impl Future<Output = Result<(), Failure>>;

    /// As [`Sandboxes::complete_restore`].
    fn complete_restore(
        &self,
        backup: &BackupHandle,
        from: &ContainerMarker,
        to: &ContainerMarker,
        may_be_empty: bool,
    ) -> impl Future<Output = Result<Arrival, Failure>>;

    /// Writes the carrier of a delta into the container, or an inventory of the directory. Changes nothing in the directory.
    /// Starts the container if it is not running.
    fn begin_capture(&self, begin: &CaptureBegin) -> impl Future<Output = Result<CaptureBegun, Failure>>;

    /// Completes the inventory of a base, whose archive is stored; or returns why the inventory can't be used.
    fn finish_inventory(
        &self,
        dir: &Directory,
        snapshot_id: &SnapshotId,
    ) -> impl Future<Output = Result<Result<TracedBase, FullReason>, Failure>>;

    /// Deletes a carrier, whose archive is stored. Returns whether it was as [`begin_capture`](Self::begin_capture) wrote it.
    fn release_carrier(&self, carrier: &Carrier) -> impl Future<Output = Result<bool, Failure>>;

    /// Deletes the files of the directory in the container that carries the marker. Returns `false` when another container is
    /// running. A later restore of a base then leaves no other files.
    fn clear_directory(&self, dir: &Directory, marker: &ContainerMarker)
    -> impl Future<Output = Result<bool, Failure>>;

    /// Writes an inventory of the restored base, applies a delta, and verifies the files, in the container that carries the
    /// marker.
    fn finish_restore(
        &self,
        finish: &RestoreFinish,
        marker: &ContainerMarker,
    ) -> impl Future<Output = Result<RestoreFinished, Failure>>;
}

/// The sandboxes of an application, by id. Every call uses a new stub and is a request of its own.
pub trait Sandboxes: CallerCommands {
    /// See [`Self::open_session`].
    type SandboxSession<'a>: SandboxSession
    where
        Self: 'a;

    /// Opens a session with a sandbox. Makes no call yet.
    fn open_session<'a>(&'a self, id: &'a SandboxId) -> Self::SandboxSession<'a>;

    /// Returns the status of the sandbox's container. Starts no container.
    fn status(&self, id: &SandboxId) -> impl Future<Output = Result<SandboxStatus, Failure>>;

    /// Sets the name of the sandbox as `getSandbox` does: the first name stays. Also sets the idle timeout of its
    /// container, in seconds; `None` disables the timeout. Sets the name of the image from which its next containers start,
    /// if its class can start one by its name; `None` is the default of the class. Starts no container.
    fn configure(
        &self,
        id: &SandboxId,
        idle_seconds: Option<u64>,
        image: Option<&str>,
    ) -> impl Future<Output = Result<(), Failure>>;

    /// Probes the container with a command. Starts it if it is not running.
    fn probe(&self, id: &SandboxId, dir: &Directory) -> impl Future<Output = Result<Probe, Failure>>;

    /// Creates or removes the note in the container that it replaced another container without a request to do so.
    fn set_replaced_note(&self, id: &SandboxId, note: bool) -> impl Future<Output = Result<(), Failure>>;

    /// Destroys the container and everything in it. Does nothing when there is no container.
    fn destroy(&self, id: &SandboxId) -> impl Future<Output = Result<(), Failure>>;

    /// Sets the idle timeout of the container, in seconds; `None` disables the timeout. Starts no container.
    fn set_idle_timeout(&self, id: &SandboxId, seconds: Option<u64>) -> impl Future<Output = Result<(), Failure>>;

    /// Sets environment variables for everything that starts in the container from now on; `None` removes a variable.
    /// If the sandbox has stored a shell session, the SDK sets them there, and starts the container to do so.
    fn set_env(
        &self,
        id: &SandboxId,
        env: &BTreeMap<String, Option<String>>,
    ) -> impl Future<Output = Result<(), Failure>>;

    /// Replaces the marker of the container: `from`, or no marker, becomes `to`. With `older_than_millis`, the
    /// container must also be at least that old, in milliseconds, and must not carry the note that it replaced another
    /// container. A container that does not match is left unchanged, because it is not the expected one. Starts the
    /// container if it is not running.
    fn update_marker(
        &self,
        id: &SandboxId,
        from: Option<&ContainerMarker>,
        to: &ContainerMarker,
        older_than_millis: Option<i64>,
    ) -> impl Future<Output = Result<MarkerUpdate, Failure>>;

    /// Replaces the marker of a container before a restore, and returns what is in the container, as
    /// [`list_directory`](Self::list_directory) and [`hash_files`](Self::hash_files) do. Returns `None` and changes
    /// nothing when the container does not carry the marker `from`, or, with a token, did not start from the platform
    /// snapshot with this token, whose files are not listed. Starts the container if it is not running. Opens no shell
    /// session.
    fn begin_restore(
        &self,
        id: &SandboxId,
        from: Option<&ContainerMarker>,
        to: &ContainerMarker,
        token: Option<&str>,
        dir: &Directory,
        files: &[String],
    ) -> impl Future<Output = Result<Option<RestoreBegun>, Failure>>;

    /// Verifies that a backup has arrived in the container with the marker `from` and that every process uses the
    /// restored files; then sets the marker `to`. Succeeds when the container already carries `to`. The cost does not
    /// depend on the number of files.
    fn complete_restore(
        &self,
        id: &SandboxId,
        backup: &BackupHandle,
        from: &ContainerMarker,
        to: &ContainerMarker,
        may_be_empty: bool,
    ) -> impl Future<Output = Result<Arrival, Failure>>;

    /// Returns the container's image and a hash of the names, sizes and times of the files in the directory. Starts the
    /// container if it is not running, and creates the directory if it does not exist.
    fn list_directory(
        &self,
        id: &SandboxId,
        dir: &Directory,
    ) -> impl Future<Output = Result<DirectoryListing, Failure>>;

    /// Returns the SHA-256 of each file, in hexadecimal, by its path as given: absolute, or relative to the directory.
    /// The hash of a file that does not exist is empty.
    fn hash_files(
        &self,
        id: &SandboxId,
        dir: &Directory,
        files: &[String],
    ) -> impl Future<Output = Result<BTreeMap<String, String>, Failure>>;

    /// Returns the names of what git ignores in the directory. Returns none when the image has no git, or when the directory
    /// is in no repository. Starts the container if it is not running.
    fn ignored_names(&self, id: &SandboxId, dir: &Directory) -> impl Future<Output = Result<IgnoredNames, Failure>>;

    /// Searches a directory for files with secrets. Nothing is found in a directory that does not exist. `expected` is as in
    /// `watch_changes`.
    fn find_secrets(
        &self,
        id: &SandboxId,
        search: &SecretSearch,
        expected: Option<ContainerIdentity>,
    ) -> impl Future<Output = Result<FoundSecrets, Failure>>;

    /// Starts to watch for changes: for this cursor, changes count from now on. Ends the watches of earlier stops, or of earlier
    /// captures, if the cursor is of one. Returns what the container runs on, if anything of it is known. With `expected`,
    /// fails in another container and starts none; otherwise starts the container if it is not running.
    fn watch_changes(
        &self,
        id: &SandboxId,
        cursor: &ChangeCursor,
        expected: Option<ContainerIdentity>,
    ) -> impl Future<Output = Result<Option<Provenance>, Failure>>;

    /// Returns whether anything in the directory has changed since the last call of this or of
    /// [`watch_changes`](Self::watch_changes) with the same cursor, or, for [`ChangeCursor::Idle`], since the marker was
    /// set. A check that does not finish within its time limit counts as a change. Fails with [`Failure::unmounted`] where the
    /// directory does not show its files. `expected` is as in `watch_changes`.
    fn changed_since_watch(
        &self,
        id: &SandboxId,
        dir: &Directory,
        cursor: &ChangeCursor,
        expected: Option<ContainerIdentity>,
    ) -> impl Future<Output = Result<bool, Failure>>;

    /// Returns whether anything in the directory has changed since the state `saved`, or since the marker was set if that
    /// is [`SAVED_AT_START`](crate::model::change_cursor::SAVED_AT_START). If so, records the present state as `next`. An
    /// unknown state, and a check that does not finish within its time limit, count as a change. Returns `None` and
    /// records nothing in a container without a ready marker. Fails with [`Failure::unmounted`] where the directory does not
    /// show its files. `expected` is as in `watch_changes`.
    fn changed_since_save(
        &self,
        id: &SandboxId,
        dir: &Directory,
        saved: Option<&str>,
        next: &str,
        expected: Option<ContainerIdentity>,
    ) -> impl Future<Output = Result<Option<bool>, Failure>>;

    /// Runs a command in the directory, with environment variables for this command only, in the container that carries
    /// the marker. Returns `None` when another container is running.
    fn run_hook(
        &self,
        id: &SandboxId,
        marker: &ContainerMarker,
        dir: &Directory,
        name: &str,
        hook: &Hook,
        env: &BTreeMap<String, String>,
    ) -> impl Future<Output = Result<Option<HookRun>, Failure>>;

    /// Freezes the files in the directory for the capture of a snapshot, or returns why the command failed. The container thaws
    /// them after [`Freeze::timeout_seconds`], unless [`thaw`](Self::thaw) does it before. `expected` is as in `watch_changes`.
    fn freeze(
        &self,
        id: &SandboxId,
        dir: &Directory,
        snapshot_id: &SnapshotId,
        freeze: &Freeze,
        expected: Option<ContainerIdentity>,
    ) -> impl Future<Output = Result<Result<(), FreezeFailed>, Failure>>;

    /// Thaws the files, and returns whether they stayed frozen until now. In another container, nothing was frozen.
    fn thaw(
        &self,
        id: &SandboxId,
        snapshot_id: &SnapshotId,
        expected: Option<ContainerIdentity>,
    ) -> impl Future<Output = Result<FreezeReport, Failure>>;

    /// Returns the names of the images that the class of the sandbox can start, or `None` if it can't start one by its name.
    /// Starts no container.
    fn image_names(&self, id: &SandboxId) -> impl Future<Output = Result<Option<Vec<String>>, Failure>>;

    /// Returns the image of the next container of the sandbox, or `None` if its class has no platform snapshots. Starts no
    /// container.
    fn platform_image(&self, id: &SandboxId) -> impl Future<Output = Result<Option<String>, Failure>>;

    /// Has the platform store the disk of the container that carries the marker, with the token in a file. Returns `None`
    /// when another container is running. Starts the container if it is not running.
    fn take_platform_snapshot(
        &self,
        id: &SandboxId,
        marker: &ContainerMarker,
        token: &str,
    ) -> impl Future<Output = Result<Option<StoredDisk>, Failure>>;

    /// Starts a container from a platform snapshot, unless one is running. The container may nevertheless have other files:
    /// [`begin_restore`](Self::begin_restore) verifies the token.
    fn start_from_platform_snapshot(
        &self,
        id: &SandboxId,
        snapshot_id: &str,
    ) -> impl Future<Output = Result<(), Failure>>;
}
