//! The Durable Object namespaces of the sandboxes, one for each binding. The same id in two of them is two sandboxes.

use std::rc::Rc;

use sandbox_snapshotter::model::{Runtime, SandboxBinding, SandboxId};

use super::{Scheduler, World};

/// The binding whose sandboxes have the same id in the world.
pub const USUAL_BINDING: &str = "Sandbox";

/// The sandboxes of one binding.
pub struct Namespace<S: Scheduler> {
    pub(super) world: Rc<World<S>>,
    prefix: Option<Runtime>,
}

impl<S: Scheduler> Namespace<S> {
    /// Returns the sandboxes of `binding`.
    pub fn new(world: Rc<World<S>>, binding: &SandboxBinding) -> Self {
        Self { world, prefix: binding.runtime.filter(|_| binding.name != USUAL_BINDING) }
    }

    /// Returns the id that a sandbox has in the world.
    pub(super) fn key(&self, id: &SandboxId) -> SandboxId {
        self.prefix.map_or_else(|| id.clone(), |runtime| in_namespace(runtime, id))
    }
}

/// Returns the id that the sandbox `id` of another binding than [`USUAL_BINDING`] has in the world.
pub fn in_namespace(runtime: Runtime, id: &SandboxId) -> SandboxId {
    SandboxId::parse(&format!("{runtime}:{id}")).unwrap()
}
