//! What sandboxes and buckets are in, and what happens there without the ports.

use sandbox_snapshotter::model::{BackupHandle, BackupOptions, Directory, SandboxId, SnapshotId};
use sandbox_snapshotter::ports::{BackupStore, Clock, Entropy, SandboxLedgerClient, SandboxSession, Sandboxes};

/// A world of which the ports show a part.
pub trait World {
    fn sandboxes(&self) -> &impl Sandboxes;
    fn backups(&self) -> &impl BackupStore;
    fn sandbox_ledgers(&self) -> impl SandboxLedgerClient;
    fn clock(&self) -> &impl Clock;
    fn entropy(&self) -> &impl Entropy;

    /// A sandbox that nobody has used before this case.
    fn sandbox(&self, name: &str) -> SandboxId;
    /// An application writes a file in a sandbox, which is started.
    async fn write_file(&self, id: &SandboxId, path: &str, content: &str);
    /// An application puts a symbolic link into a sandbox, which is started.
    async fn create_symlink(&self, id: &SandboxId, path: &str);
    /// An application has git ignore paths in the usual directory of a sandbox, which is started.
    async fn git_ignore(&self, id: &SandboxId, paths: &[&str]);
    /// What is in a file of a sandbox that runs; `None` when it isn't there.
    async fn read_file(&self, id: &SandboxId, path: &str) -> Option<String>;
    /// Somebody removes an object from the bucket.
    async fn delete_object(&self, key: &str);
    /// An id that the workspace of a sandbox has minted, of a snapshot that was taken and deleted.
    async fn mint_snapshot_id(&self, id: &SandboxId) -> SnapshotId;
}

/// The directory that the cases work in.
pub fn work_dir() -> Directory {
    Directory::parse("/workspace").unwrap()
}

/// The options of a usual backup.
pub fn backup_options(name: &str) -> BackupOptions {
    BackupOptions {
        dir: work_dir(),
        name: name.into(),
        ttl: 3600,
        gitignore: None,
        excludes: Vec::new(),
        compression: None,
        local_bucket: true,
    }
}

/// A backup of a sandbox in which there is nothing but a file.
pub async fn create_backup(world: &impl World, sandbox: &str, content: &str) -> BackupHandle {
    let id = world.sandbox(sandbox);
    world.write_file(&id, "/workspace/file", content).await;
    world.sandboxes().open_session(&id).create_backup(&backup_options(sandbox), None).await.unwrap()
}
