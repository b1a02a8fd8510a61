//! The scheduler of the simulation: every step of a call takes time, and the seed decides which calls fail, hang, lose their
//! answers or arrive twice.

use std::cell::Cell;
use std::future::{Future, pending};
use std::rc::Rc;

use futures_channel::oneshot;
use futures_util::future::LocalBoxFuture;
use sandbox_snapshotter::model::{BackupId, Failure, Result, SandboxId};

use super::sandboxes::{ContainerNotes, IMAGE_NAMES, SandboxNotes};
use super::{AnswerLost, MAX_LATE_MILLIS, Simulation, World, observer};
use crate::memory::{
    Event, Group, Image, MemoryLedger, MemoryWorkspaceStore, Method, ObjectKey, ObjectPorts, ObjectService, Sandbox,
    Scheduler, Service, Work, class_image,
};
use crate::planted::{PlantedPorts, Storage};

/// The duration of the slowest step of a call, in milliseconds.
const MAX_STEP_MILLIS: u32 = 3000;

/// The longest download of an archive, in milliseconds.
const MAX_DOWNLOAD_MILLIS: u32 = 6000;

impl Scheduler for Simulation {
    type SandboxNotes = SandboxNotes;
    type ContainerNotes = ContainerNotes;
    type Ports = PlantedPorts;

    fn sandbox_ports(
        ports: ObjectPorts<Self>,
        id: &SandboxId,
        ledger: Rc<MemoryLedger>,
    ) -> (Rc<PlantedPorts>, Rc<PlantedPorts>) {
        let ports = PlantedPorts::new(ports, Storage::Sandbox(id.clone(), ledger));
        (Rc::clone(&ports), ports)
    }

    fn workspace_ports(
        ports: ObjectPorts<Self>,
        store: Rc<MemoryWorkspaceStore>,
    ) -> (Rc<PlantedPorts>, Rc<PlantedPorts>) {
        let ports = PlantedPorts::new(ports, Storage::Workspace(store));
        (Rc::clone(&ports), ports)
    }

    fn now(&self) -> i64 {
        self.executor.now()
    }

    async fn sleep(world: &World, millis: i64) {
        world.executor.sleep(millis).await;
    }

    async fn deadline(world: &World, millis: i64) {
        world.executor.sleep(millis).await;
    }

    fn spawn(&self, group: Group, work: LocalBoxFuture<'static, ()>) {
        self.executor.spawn(group, work);
    }

    async fn call<T: 'static, F: Future<Output = Result<T, Failure>> + 'static>(
        world: &Rc<World>,
        method: Method,
        target: &str,
        effect: impl FnOnce(Rc<World>) -> F + 'static,
    ) -> Result<T, Failure> {
        if method.is_read() {
            return world.read(method.service(), effect).await;
        }
        // A late command may start a container of a sandbox without a name after its container was verified. Only a marker
        // in each of its containers would show that, so these commands are never late.
        let may_hang = !method.is_command() || world.has_binding(&SandboxId::parse(target).unwrap());
        let destroys = (method == Method::Destroy).then(|| SandboxId::parse(target).unwrap());
        world.write(method.service(), may_hang, destroys, effect).await
    }

    async fn send<T: 'static, F: Future<Output = Result<T>> + 'static>(
        world: &Rc<World>,
        method: Method,
        key: &ObjectKey,
        act: impl Fn(ObjectService<Self>) -> F + Clone + 'static,
    ) -> Result<Result<T>, Failure> {
        world.reach_service(method.service()).await?;
        if method.is_repeatable() && world.inject_fault(world.profile.duplicate_rate) {
            let (again, key, act) = (Rc::clone(world), key.clone(), act.clone());
            world.executor.spawn(0, async move {
                again.pass_step().await;
                again.call_object(&key, act).await.ok();
            });
        }
        world.call_object(key, act).await.map_err(|AnswerLost| transient_failure(method.service()))
    }

    async fn work(world: &Rc<World>, work: Work<'_>) -> Result<(), Failure> {
        match work {
            Work::Start(id) => world.prepare_start(id).await,
            Work::Expected(id) => world.end_before_use(id),
            Work::Command => world.pass_step().await,
            Work::ObjectStep => {
                world.pass_step().await;
                if world.inject_fault(world.profile.crash_rate / 2) {
                    world.count("sandbox objects ended during a start");
                    return Err(transient_failure(Service::Sandboxes));
                }
            }
            Work::Archive => {
                world.pass_step().await;
                // No two backups are made in the same millisecond.
                world.executor.sleep(1).await;
                if world.inject_fault(world.profile.failure_rate / 4) {
                    return Err(Failure::new("BackupCreateError", "mksquashfs").with_code("BACKUP_CREATE_FAILED"));
                }
            }
            // The download of a large archive takes long. The container starts after it.
            Work::Download if world.rng.one_in(3) => {
                world.executor.sleep(world.rng.millis(MAX_DOWNLOAD_MILLIS)).await;
            }
            Work::Download | Work::Unpack => {}
            Work::Hook(millis) => world.executor.sleep(millis).await,
        }
        Ok(())
    }

    fn random_bytes(&self) -> Result<[u8; 32]> {
        Ok(self.rng.bytes())
    }

    fn backup_id(&self, number: usize) -> BackupId {
        BackupId::parse(&format!("{:016x}-{number:04}", self.rng.next_u64())).unwrap()
    }

    fn list_page_size(&self) -> usize {
        self.profile.page_size
    }

    fn image(&self, sandbox: &Sandbox<Self>) -> Image {
        self.image_of(sandbox)
    }

    fn platform_image(&self, sandbox: &Sandbox<Self>) -> Option<String> {
        self.profile.has_platform.then(|| class_image(&self.image_of(sandbox).version))
    }

    fn image_names(&self) -> Option<Vec<String>> {
        self.profile.has_platform.then(|| IMAGE_NAMES.map(ToOwned::to_owned).to_vec())
    }

    fn has_image(&self, image: &str) -> bool {
        self.profile.has_platform && self.is_deployed(image)
    }

    fn starts_empty(&self) -> bool {
        self.rng.one_in(2)
    }

    fn before_access(&self, id: &SandboxId, sandbox: &mut Sandbox<Self>) {
        self.end_idle_container(id, sandbox);
    }

    fn observe(world: &Rc<World>, event: Event<'_, Self>) {
        observer::observe(world, event);
    }
}

impl World {
    /// Passes one step of a call, on its way or during its work.
    pub async fn pass_step(&self) {
        let millis = match self.rng.below(10) {
            _ if self.inject_fault(self.profile.slow_call_rate) => self.rng.millis(MAX_STEP_MILLIS),
            0..6 => 0,
            6..9 => self.rng.millis(20),
            _ => self.rng.millis(300),
        };
        self.executor.sleep(millis).await;
    }

    /// Passes the way to a service. Fails if the service is down or the call fails before it has any effect.
    async fn reach_service(&self, service: Service) -> Result<(), Failure> {
        self.pass_step().await;
        let is_down = !self.faults_stopped.get() && self.now() < self.down_until[service as usize].get();
        if is_down || self.inject_fault(self.profile.failure_rate) {
            self.count("failures");
            return Err(transient_failure(service));
        }
        Ok(())
    }

    /// Makes a call without effects.
    async fn read<T, F: Future<Output = Result<T, Failure>>>(
        self: &Rc<Self>,
        service: Service,
        read: impl FnOnce(Rc<Self>) -> F,
    ) -> Result<T, Failure> {
        self.reach_service(service).await?;
        if self.inject_hang(service) {
            return pending().await;
        }
        let answer = read(Rc::clone(self)).await;
        self.pass_step().await;
        if self.inject_fault(self.profile.lost_answer_rate) {
            self.count("lost answers");
            return Err(transient_failure(service));
        }
        answer
    }

    /// Decides whether a call hangs: it is not answered within its time limit.
    fn inject_hang(&self, service: Service) -> bool {
        let hangs = service == Service::Sandboxes && self.inject_fault(self.profile.hang_rate);
        if hangs {
            self.count("calls without an answer");
        }
        hangs
    }

    /// Makes a call with effects, which `destroys` a sandbox or does something else. Once begun, it continues even if its
    /// caller no longer waits for it.
    async fn write<T: 'static, F: Future<Output = Result<T, Failure>> + 'static>(
        self: &Rc<Self>,
        service: Service,
        may_hang: bool,
        destroys: Option<SandboxId>,
        begin: impl FnOnce(Rc<Self>) -> F,
    ) -> Result<T, Failure> {
        let hangs = may_hang && self.inject_hang(service);
        self.reach_service(service).await?;
        let change = begin(Rc::clone(self));
        let (sender, answer) = oneshot::channel();
        let world = Rc::clone(self);
        let is_answer_lost = self.inject_fault(self.profile.lost_answer_rate);
        let (sent_at, is_connection_lost) = (self.now(), Rc::new(Cell::new(false)));
        let is_abandoned = Rc::clone(&is_connection_lost);
        self.executor.spawn(0, async move {
            if hangs && world.rng.one_in(2) {
                // The calls behind it in the queue wait as well.
                world.executor.sleep(world.rng.millis(MAX_LATE_MILLIS)).await;
            }
            world.pass_step().await;
            // A sandbox runs one destroy at a time, and a repeated call shares it: both are over with its answer.
            let is_over = |id| world.with_sandbox(id, |sandbox, _| sandbox.notes.destroy_ended_at > sent_at);
            if is_abandoned.get() && destroys.as_ref().is_some_and(is_over) {
                return;
            }
            let answer = change.await;
            world.pass_step().await;
            if hangs {
                world.unanswered_senders.borrow_mut().push(Box::new(sender));
            } else if !is_answer_lost {
                sender.send(answer).ok();
            }
        });
        if self.inject_fault(self.profile.lost_answer_rate / 2) {
            self.count("lost answers");
            is_connection_lost.set(true);
            self.pass_step().await;
            return Err(transient_failure(service));
        }
        answer.await.unwrap_or_else(|_| {
            self.count("lost answers");
            Err(transient_failure(service))
        })
    }
}

/// Returns a transient failure, with the message of the platform or of R2.
fn transient_failure(service: Service) -> Failure {
    match service {
        Service::Bucket => Failure::new("R2Error", "We encountered an internal error. Please try again."),
        Service::Sandboxes | Service::Workspaces | Service::Directory => {
            Failure::new("Error", "Network connection lost.")
        }
    }
}
