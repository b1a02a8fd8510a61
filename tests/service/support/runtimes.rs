//! A deployment with both runtimes. The sandboxes of the SDK 0.12 have their id in the world; those of the runtime
//! `container` have the prefix `container:`.

use std::rc::Rc;

use sandbox_snapshotter::model::{Runtime, SandboxBindings};
use sandbox_snapshotter::ports::Ledger;
use serde_json::{Value, json};

use super::Fixture;

impl Fixture {
    /// An empty world, in which sandboxes are made in the runtime of the SDK 0.12 by default.
    pub fn with_both_runtimes() -> Self {
        let fixture = Self::empty();
        fixture.deploy_both_runtimes(Runtime::Sdk012);
        fixture
    }

    /// Deploys the Worker with both runtimes.
    pub fn deploy_both_runtimes(&self, default: Runtime) {
        self.deploy_sandboxes(&json!([
            { "binding": "Sandbox", "runtime": "sdk-0.12", "default": default == Runtime::Sdk012 },
            { "binding": "SnapshotSandbox", "runtime": "container", "default": default == Runtime::Container },
        ]));
    }

    /// Deploys the Worker with a value of the var `SANDBOXES`.
    pub fn deploy_sandboxes(&self, sandboxes: &Value) {
        self.world.sandbox_bindings.replace(Rc::new(SandboxBindings::parse(Some(sandboxes), None).unwrap()));
        self.crash_worker();
    }

    /// Returns the runtime in the ledger of a sandbox.
    pub fn runtime_of(&self, id: &str) -> Option<Runtime> {
        self.ledger(id).sandbox().unwrap().and_then(|row| row.runtime)
    }

    /// Returns the id that a sandbox has in the world.
    pub fn world_id(&self, id: &str) -> String {
        match self.runtime_of(id) {
            Some(Runtime::Container) => format!("container:{id}"),
            _ => id.to_owned(),
        }
    }
}
