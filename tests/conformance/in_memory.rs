//! The world in memory, as the suite sees it.

use std::rc::Rc;

use sandbox_snapshotter::api::operations::{Operation, run};
use sandbox_snapshotter::model::{SandboxId, SnapshotId};
use sandbox_snapshotter::ports::{BackupStore, Clock, Entropy, Sandboxes, Workspaces};
use sandbox_snapshotter::service::{Abort, Config};
use serde_json::json;

use super::suite;
use super::support::{MINUTE, Workers, World, sandbox};

/// A world of which nothing but the ports is seen.
pub struct InMemory {
    world: Rc<World>,
    workers: Rc<Workers>,
}

impl Default for InMemory {
    fn default() -> Self {
        let world = Rc::new(World::default());
        // So that a listing has several pages.
        world.lists_at_once(1);
        let config = Config { default_dir: suite::world::workspace(), local_bucket: true };
        Self { workers: Workers::new(Rc::clone(&world), config), world }
    }
}

impl suite::world::World for InMemory {
    fn sandboxes(&self) -> &impl Sandboxes {
        &*self.world
    }

    fn backups(&self) -> &impl BackupStore {
        &*self.world
    }

    fn workspaces(&self) -> impl Workspaces {
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

    async fn writes(&self, id: &SandboxId, path: &str, content: &str) {
        self.world.writes(id.as_str(), path, content);
    }

    async fn links(&self, id: &SandboxId, path: &str) {
        self.world.links(id.as_str(), path);
    }

    async fn ignores(&self, id: &SandboxId, paths: &[&str]) {
        for path in paths {
            self.world.ignores(id.as_str(), path);
        }
    }

    async fn reads(&self, id: &SandboxId, path: &str) -> Option<String> {
        self.world.files(id.as_str())?.get(path).cloned()
    }

    async fn loses(&self, key: &str) {
        self.world.spoil(|backup| match key.strip_prefix(&format!("backups/{}/", backup.id())) {
            Some("meta.json") => backup.metadata = None,
            Some(_) => backup.archive = None,
            None => {}
        });
    }

    async fn minted(&self, id: &SandboxId) -> SnapshotId {
        self.world.writes(id.as_str(), "/workspace/file", "first");
        self.world.pass(MINUTE);
        let snapshotter = self.workers.of(id);
        let captured = json!({ "sandboxId": id });
        let taken = run(&snapshotter, Operation::Snapshot, &captured, Abort::never()).await.unwrap();
        run(&snapshotter, Operation::Delete, &json!({ "ref": taken }), Abort::never()).await.unwrap();
        serde_json::from_value(taken["ref"]["snapshotId"].clone()).unwrap()
    }
}
