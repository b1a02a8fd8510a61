//! The in-memory platform of the service tests, as the `World` of the conformance suite.

use std::rc::Rc;

use sandbox_snapshotter::api::operations::{Operation, Request, run_sandbox};
use sandbox_snapshotter::model::{SandboxId, SnapshotId};
use sandbox_snapshotter::ports::{BackupStore, Clock, Entropy, SandboxLedgerClient, Sandboxes};
use sandbox_snapshotter::service::{CancellationToken, Config};
use serde_json::json;

use super::suite;
use super::support::{LiveObjects, MINUTE, World, sandbox};

/// The in-memory platform, with the objects of a Worker.
pub struct InMemory {
    world: Rc<World>,
    workers: Rc<LiveObjects>,
}

impl Default for InMemory {
    fn default() -> Self {
        let world = Rc::new(World::default());
        // Makes every listing span several pages.
        world.set_list_page_size(1);
        let config = Config { default_dir: suite::world::work_dir(), local_bucket: true };
        Self { workers: LiveObjects::new(Rc::clone(&world), config), world }
    }
}

impl suite::world::World for InMemory {
    fn sandboxes(&self) -> &impl Sandboxes {
        &*self.world
    }

    fn backups(&self) -> &impl BackupStore {
        &*self.world
    }

    fn sandbox_ledgers(&self) -> impl SandboxLedgerClient {
        self.workers.entrypoint()
    }

    fn clock(&self) -> &impl Clock {
        &*self.world
    }

    fn entropy(&self) -> &impl Entropy {
        &*self.world
    }

    fn sandbox(&self, name: &str) -> SandboxId {
        sandbox(name)
    }

    async fn write_file(&self, id: &SandboxId, path: &str, content: &str) {
        self.world.write_file(id.as_str(), path, content);
    }

    async fn create_symlink(&self, id: &SandboxId, path: &str) {
        self.world.create_symlink(id.as_str(), path);
    }

    async fn git_ignore(&self, id: &SandboxId, paths: &[&str]) {
        for path in paths {
            self.world.git_ignore(id.as_str(), path);
        }
    }

    async fn read_file(&self, id: &SandboxId, path: &str) -> Option<String> {
        self.world.files(id.as_str())?.get(path).cloned()
    }

    async fn delete_object(&self, key: &str) {
        self.world.edit_backups(|backup| match key.strip_prefix(&format!("backups/{}/", backup.id())) {
            Some("meta.json") => backup.metadata = None,
            Some(_) => backup.archive = None,
            None => {}
        });
    }

    async fn mint_snapshot_id(&self, id: &SandboxId) -> SnapshotId {
        self.world.write_file(id.as_str(), "/workspace/file", "first");
        self.world.advance_clock(MINUTE);
        let snapshotter = self.workers.sandbox(id);
        let run = async |operation, options| {
            let request = Request::decode(operation, &options).unwrap();
            run_sandbox(&snapshotter, request, CancellationToken::never()).await.unwrap()
        };
        let taken = run(Operation::Snapshot, json!({ "sandboxId": id })).await;
        run(Operation::Delete, json!({ "ref": taken })).await;
        serde_json::from_value(taken["ref"]["snapshotId"].clone()).unwrap()
    }
}
