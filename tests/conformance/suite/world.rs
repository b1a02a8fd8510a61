//! What sandboxes and buckets are in, and what happens there without the ports.

use sandbox_snapshotter::model::{BackupHandle, BackupOptions, Directory, SandboxId, SnapshotId};
use sandbox_snapshotter::ports::{BackupStore, Clock, Entropy, Sandboxes, Visit, Workspaces};

/// A world of which the ports show a part.
pub trait World {
    fn sandboxes(&self) -> &impl Sandboxes;
    fn backups(&self) -> &impl BackupStore;
    fn workspaces(&self) -> impl Workspaces;
    fn clock(&self) -> &impl Clock;
    fn entropy(&self) -> &impl Entropy;

    /// A sandbox that nobody has used before this case.
    fn sandbox(&self, name: &str) -> SandboxId;
    /// An application writes a file in a sandbox, which is started.
    async fn writes(&self, id: &SandboxId, path: &str, content: &str);
    /// An application puts a symbolic link into a sandbox, which is started.
    async fn links(&self, id: &SandboxId, path: &str);
    /// An application has git ignore paths in the usual directory of a sandbox, which is started.
    async fn ignores(&self, id: &SandboxId, paths: &[&str]);
    /// What is in a file of a sandbox that runs; `None` when it isn't there.
    async fn reads(&self, id: &SandboxId, path: &str) -> Option<String>;
    /// Somebody removes an object from the bucket.
    async fn loses(&self, key: &str);
    /// An id that the workspace of a sandbox has minted, of a snapshot that was taken and deleted.
    async fn minted(&self, id: &SandboxId) -> SnapshotId;
}

/// The directory that the cases work in.
pub fn workspace() -> Directory {
    Directory::parse("/workspace").unwrap()
}

/// The options of a usual backup.
pub fn options(name: &str) -> BackupOptions {
    BackupOptions {
        dir: workspace(),
        name: name.into(),
        ttl: 3600,
        gitignore: None,
        excludes: Vec::new(),
        compression: None,
        local_bucket: true,
    }
}

/// A backup of a sandbox in which there is nothing but a file.
pub async fn backup(world: &impl World, sandbox: &str, content: &str) -> BackupHandle {
    let id = world.sandbox(sandbox);
    world.writes(&id, "/workspace/file", content).await;
    world.sandboxes().visit(&id).create_backup(&options(sandbox), None).await.unwrap()
}
