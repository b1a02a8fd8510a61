//! The in-memory platform of the service tests, as the `World` of the conformance suite.

use std::rc::Rc;

use sandbox_snapshotter::api::operations::{Operation, Request, run_sandbox};
use sandbox_snapshotter::model::{SandboxId, SnapshotId};
use sandbox_snapshotter::ports::{BackupStore, Clock, Entropy, Ports, SandboxLedgerClient, Sandboxes};
use sandbox_snapshotter::service::CancellationToken;
use serde_json::json;

use super::suite;
use super::support::{Fixture, MINUTE, Namespace, sandbox};

/// The in-memory platform, with the objects of a Worker.
pub struct InMemory {
    fixture: Fixture,
    sandboxes: Namespace,
}

impl Default for InMemory {
    fn default() -> Self {
        let fixture = Fixture::empty();
        // Makes every listing span several pages.
        fixture.world.set_list_page_size(1);
        let binding = fixture.entrypoint().sandbox_bindings().default_binding().clone();
        Self { sandboxes: Namespace::new(Rc::clone(&fixture.world), &binding), fixture }
    }
}

impl suite::world::World for InMemory {
    fn sandboxes(&self) -> &impl Sandboxes {
        &self.sandboxes
    }

    fn backups(&self) -> &impl BackupStore {
        &*self.fixture.world
    }

    fn sandbox_ledgers(&self) -> impl SandboxLedgerClient {
        self.fixture.entrypoint()
    }

    fn clock(&self) -> &impl Clock {
        &*self.fixture.world
    }

    fn entropy(&self) -> &impl Entropy {
        &*self.fixture.world
    }

    fn sandbox(&self, name: &str) -> SandboxId {
        sandbox(name)
    }

    async fn write_file(&self, id: &SandboxId, path: &str, content: &str) {
        self.fixture.world.write_file(id.as_str(), path, content);
    }

    async fn create_symlink(&self, id: &SandboxId, path: &str) {
        self.fixture.world.create_symlink(id.as_str(), path);
    }

    async fn git_ignore(&self, id: &SandboxId, paths: &[&str]) {
        for path in paths {
            self.fixture.world.git_ignore(id.as_str(), path);
        }
    }

    async fn read_file(&self, id: &SandboxId, path: &str) -> Option<String> {
        self.fixture.world.files(id.as_str())?.get(path).cloned()
    }

    async fn delete_object(&self, key: &str) {
        self.fixture.world.edit_backups(|backup| match key.strip_prefix(&format!("backups/{}/", backup.id())) {
            Some("meta.json") => backup.metadata = None,
            Some(_) => backup.archive = None,
            None => {}
        });
    }

    async fn mint_snapshot_id(&self, id: &SandboxId) -> SnapshotId {
        self.fixture.world.write_file(id.as_str(), "/workspace/file", "first");
        self.fixture.world.advance_clock(MINUTE);
        let snapshotter = self.fixture.world.snapshotter(id).unwrap();
        let run = async |operation, options| {
            let request = Request::decode(operation, &options).unwrap();
            Box::pin(run_sandbox(&snapshotter, request, CancellationToken::never())).await.unwrap()
        };
        let taken = run(Operation::Snapshot, json!({ "sandboxId": id })).await;
        run(Operation::Delete, json!({ "ref": taken })).await;
        serde_json::from_value(taken["ref"]["snapshotId"].clone()).unwrap()
    }
}
