//! How the ports of a sandbox reach its Durable Object and its container.

use std::future::Future;
use std::rc::Rc;

use sandbox_snapshotter::model::named::ContainerMarker;
use sandbox_snapshotter::model::{ContainerIdentity, Failure, SandboxId};

use super::{Container, Event, Method, Namespace, Sandbox, Scheduler, World};

impl<S: Scheduler> Namespace<S> {
    /// Calls a sandbox. `act` gets the id that the sandbox has in the world.
    pub(super) async fn call<T: 'static, F: Future<Output = Result<T, Failure>> + 'static>(
        &self,
        method: Method,
        id: &SandboxId,
        act: impl FnOnce(Rc<World<S>>, SandboxId) -> F + 'static,
    ) -> Result<T, Failure> {
        let id = self.key(id);
        let target = id.to_string();
        S::call(&self.world, method, &target, |world| act(world, id)).await
    }

    /// Calls the Durable Object of a sandbox.
    pub(super) async fn call_object<T: 'static>(
        &self,
        method: Method,
        id: &SandboxId,
        act: impl FnOnce(&mut Sandbox<S>, i64) -> T + 'static,
    ) -> Result<T, Failure> {
        self.call(method, id, |world, id| async move { Ok(world.with_sandbox(&id, act)) }).await
    }

    /// Runs a script in the container, which is started if none runs.
    pub(super) async fn run_script<T: 'static>(
        &self,
        method: Method,
        id: &SandboxId,
        act: impl FnOnce(&Rc<World<S>>, &SandboxId) -> T + 'static,
    ) -> Result<T, Failure> {
        let run = |world: Rc<World<S>>, id| async move {
            world.enter_container(&id).await?;
            Ok(act(&world, &id))
        };
        self.call(method, id, run).await
    }

    /// As [`run_script`](Self::run_script), for a script that needs only the container.
    pub(super) async fn in_container<T: 'static>(
        &self,
        method: Method,
        id: &SandboxId,
        act: impl FnOnce(&mut Container<S>, i64) -> T + 'static,
    ) -> Result<T, Failure> {
        self.run_script(method, id, |world, id| world.with_container(id, act)).await
    }

    /// As [`in_container`](Self::in_container), but only in the expected container, if one is.
    pub(super) async fn in_expected_container<T: 'static>(
        &self,
        method: Method,
        id: &SandboxId,
        expected: Option<ContainerIdentity>,
        act: impl FnOnce(&mut Container<S>, i64) -> T + 'static,
    ) -> Result<T, Failure> {
        self.run_expected_script(method, id, expected, |world, id| world.with_container(id, act)).await
    }

    /// As [`run_script`](Self::run_script), but only in the expected container, if one is.
    pub(super) async fn run_expected_script<T: 'static>(
        &self,
        method: Method,
        id: &SandboxId,
        expected: Option<ContainerIdentity>,
        act: impl FnOnce(&Rc<World<S>>, &SandboxId) -> T + 'static,
    ) -> Result<T, Failure> {
        let Some(expected) = expected.filter(|_| self.world.owns_containers()) else {
            return self.run_script(method, id, act).await;
        };
        let run = move |world: Rc<World<S>>, id| async move {
            world.expect_container(&id, |world| world.identity(&id) == Some(expected)).await?;
            Ok(act(&world, &id))
        };
        self.call(method, id, run).await
    }
}

impl<S: Scheduler> World<S> {
    /// Sets the marker of the container.
    pub(super) fn set_marker(self: &Rc<Self>, id: &SandboxId, to: &ContainerMarker) {
        if self.marker_of(id).as_ref() != Some(to) {
            S::observe(self, Event::MarkerSet(id, to));
        }
        self.with_container(id, |container, now| container.set_marker(to, now));
    }

    pub(super) fn marker_of(&self, id: &SandboxId) -> Option<ContainerMarker> {
        self.with_container(id, |container, _| container.marker.clone())
    }
}
