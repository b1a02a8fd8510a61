//! The environment of the cases: the ports, and actions of the application that bypass the ports.

use sandbox_snapshotter::model::required_container::RequiredContainer;
use sandbox_snapshotter::model::{BackupHandle, BackupOptions, Directory, SandboxId, SnapshotId};
use sandbox_snapshotter::ports::{BackupStore, Clock, Entropy, SandboxLedgerClient, SandboxSession, Sandboxes};

/// The environment of a case.
pub trait World {
    fn sandboxes(&self) -> &impl Sandboxes;
    fn backups(&self) -> &impl BackupStore;
    fn sandbox_ledgers(&self) -> impl SandboxLedgerClient;
    fn clock(&self) -> &impl Clock;
    fn entropy(&self) -> &impl Entropy;

    /// The id of a sandbox that this case alone uses.
    fn sandbox(&self, name: &str) -> SandboxId;
    /// Writes a file as the application does, and starts the sandbox.
    async fn write_file(&self, id: &SandboxId, path: &str, content: &str);
    /// Creates a symbolic link as the application does, and starts the sandbox.
    async fn create_symlink(&self, id: &SandboxId, path: &str);
    /// Makes git ignore paths in [`work_dir`], and starts the sandbox.
    async fn git_ignore(&self, id: &SandboxId, paths: &[&str]);
    /// Returns the content of a file in a running sandbox, or `None` if the file does not exist.
    async fn read_file(&self, id: &SandboxId, path: &str) -> Option<String>;
    /// Removes an object from the bucket, without the port.
    async fn delete_object(&self, key: &str);
    /// Returns an id that the sandbox's ledger minted, of a snapshot that was taken and deleted.
    async fn mint_snapshot_id(&self, id: &SandboxId) -> SnapshotId;
}

/// Any container without the note of a replacement.
pub const ANY_CONTAINER: &RequiredContainer = &RequiredContainer::OlderThan { millis: 0 };

/// The directory that the cases use.
pub fn work_dir() -> Directory {
    Directory::parse("/workspace").unwrap()
}

/// The default options of a backup.
pub fn backup_options(name: &str) -> BackupOptions {
    BackupOptions {
        dir: work_dir(),
        name: name.into(),
        ttl: 3600,
        gitignore: None,
        excludes: Vec::new(),
        compression: None,
        local_bucket: true,
        expected_last_change: None,
    }
}

/// Creates a backup of a sandbox that contains one file.
pub async fn create_backup(world: &impl World, sandbox: &str, content: &str) -> BackupHandle {
    let id = world.sandbox(sandbox);
    world.write_file(&id, "/workspace/file", content).await;
    world.sandboxes().open_session(&id).create_backup(&backup_options(sandbox), None).await.unwrap()
}
