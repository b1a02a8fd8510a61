//! Sandboxes whose containers come and go, with the habits of the SDK (0.12.10).

use std::collections::BTreeMap;
use std::rc::Rc;

use futures_channel::oneshot;
use sandbox_snapshotter::model::{
    BackupHandle, BackupOptions, Directory, Failure, Mark, Place, Probe, SandboxId, SandboxState, Status,
};
use sandbox_snapshotter::ports::Sandboxes;

use super::desk::Outside;
use super::{Service, Truth, World};

/// How long the download of an archive takes at most, in milliseconds.
const DOWNLOAD: u32 = 6000;

/// How long the start of a container takes at least, in milliseconds: on the platform it is some hundred.
const FASTEST_START: i64 = 20;

/// The files of a container: which, and what is in it.
pub type Files = BTreeMap<u8, u64>;

/// A sandbox's Durable Object.
#[derive(Default)]
pub struct Sandbox {
    /// Its container.
    pub container: Option<Container>,
    /// Whether somebody works in it: then nothing but captures may touch it.
    pub is_somebodys: bool,
    /// How many of its containers died.
    pub deaths: u32,
    /// What it believes of its container, which may be wrong for a while.
    believed: Option<Status>,
    /// In its own milliseconds, in which nothing is ever twice at the same time.
    last_change: i64,
    /// The operation that the next one stands behind.
    last: Option<oneshot::Receiver<()>>,
}

/// A container.
pub struct Container {
    /// Which of all containers it is.
    number: u64,
    /// When it was started.
    pub started_at: i64,
    /// What is in it.
    pub files: Files,
    /// Whether nobody but the service had anything to do with it.
    pub is_accident: bool,
    took_place: bool,
}

impl Sandbox {
    fn believe(&mut self, status: Status, now: i64) {
        self.believed = Some(status);
        self.last_change = now.max(self.last_change + 1);
    }
}

impl World {
    /// An application writes a file, which starts a container where there is none.
    pub fn writes(&self, id: &SandboxId, file: u8) {
        let content = self.chance.next() % 1000;
        self.trace(&format_args!("{id} writes {file}: {content}"));
        let number = self.chance.next();
        self.with(id, |sandbox, now| {
            sandbox.is_somebodys = true;
            let container = sandbox.start(number, now);
            container.is_accident = false;
            container.files.insert(file, content);
        });
    }

    /// An application looks what its sandbox holds, and takes that as it is.
    pub fn looks(&self, id: &SandboxId) {
        self.with(id, |sandbox, _| {
            if let Some(container) = &mut sandbox.container {
                container.is_accident = false;
            }
        });
    }

    /// The container ends; the sandbox may not notice.
    pub fn dies(&self, id: &SandboxId, is_noticed: bool) {
        self.with(id, |sandbox, now| {
            if sandbox.container.take().is_some() {
                sandbox.deaths += 1;
                self.count("containers died");
                self.trace(&format_args!("{id} dies"));
            }
            if is_noticed {
                sandbox.believe(Status::Down, now);
            }
        });
    }

    /// The sandbox connects to its container again: the same one, but the state's time changes.
    pub fn reconnects(&self, id: &SandboxId) {
        self.with(id, |sandbox, now| {
            if sandbox.container.is_some() {
                sandbox.believe(Status::Healthy, now);
            }
        });
    }

    /// The files in the container; `None` without one.
    pub fn files(&self, id: &SandboxId) -> Option<Files> {
        self.with(id, |sandbox, _| sandbox.container.as_ref().map(|container| container.files.clone()))
    }

    /// Does something with a sandbox.
    pub fn with<T>(&self, id: &SandboxId, act: impl FnOnce(&mut Sandbox, i64) -> T) -> T {
        let now = self.now();
        act(self.sandboxes.borrow_mut().entry(id.clone()).or_default(), now)
    }

    /// Starts a container where there is none, for the service; answers its number.
    async fn started(&self, id: &SandboxId) -> u64 {
        let number = self.chance.next();
        if self.with(id, |sandbox, _| sandbox.container.is_none()) {
            self.sleep(FASTEST_START + self.chance.millis(500)).await;
        }
        if self.strikes(self.weather.dies) {
            self.dies(id, self.chance.one_in(2));
        }
        self.with(id, |sandbox, now| sandbox.start(number, now).number)
    }

    /// Operations on one sandbox wait for each other, in the order of their arrival.
    fn stand_in_line(&self, id: &SandboxId) -> (Option<oneshot::Receiver<()>>, oneshot::Sender<()>) {
        let (done, is_done) = oneshot::channel();
        (self.with(id, |sandbox, _| sandbox.last.replace(is_done)), done)
    }

    /// Whether the container is still the one with the number.
    fn goes_on(&self, id: &SandboxId, number: u64) -> Result<(), Failure> {
        let is_same = self.with(id, |sandbox, _| sandbox.container.as_ref().is_some_and(|own| own.number == number));
        let interrupted = Failure::new("OperationInterruptedError", "The container ended");
        if is_same { Ok(()) } else { Err(interrupted.with_code("OPERATION_INTERRUPTED")) }
    }
}

impl Sandbox {
    fn start(&mut self, number: u64, now: i64) -> &mut Container {
        if self.container.is_none() {
            self.believe(Status::Healthy, now);
        }
        let new = || Container { number, started_at: now, files: Files::new(), is_accident: true, took_place: false };
        self.container.get_or_insert_with(new)
    }
}

impl Sandboxes for Outside {
    async fn state(&self, id: &SandboxId) -> Result<SandboxState, Failure> {
        let look = || {
            #[allow(clippy::cast_precision_loss)] // Milliseconds of our age are exact.
            let seen = self.with(id, |sandbox, _| SandboxState {
                status: sandbox.believed.unwrap_or(Status::Down),
                last_change: sandbox.last_change as f64,
            });
            Ok(seen)
        };
        self.look(Service::Sandboxes, look).await
    }

    async fn name(&self, _: &SandboxId) -> Result<(), Failure> {
        self.look(Service::Sandboxes, || Ok(())).await
    }

    async fn probe(&self, id: &SandboxId, _: &Directory) -> Result<Probe, Failure> {
        let id = id.clone();
        let look = async move |world: Rc<World>| {
            let number = world.started(&id).await;
            world.moment().await;
            world.goes_on(&id, number)?;
            world.with(&id, |sandbox, now| {
                let container = sandbox.container.as_ref().unwrap();
                let place = if container.files.is_empty() { Place::Empty } else { Place::Full };
                let age_millis = (now - container.started_at) / 10 * 10;
                Ok(Probe { age_millis, place, took_place: container.took_place })
            })
        };
        self.change(Service::Sandboxes, look).await
    }

    async fn note_took_place(&self, id: &SandboxId, note: bool) -> Result<(), Failure> {
        let id = id.clone();
        let change = async move |world: Rc<World>| {
            let number = world.started(&id).await;
            world.moment().await;
            world.goes_on(&id, number)?;
            world.with(&id, |sandbox, _| sandbox.container.as_mut().unwrap().took_place = note);
            Ok(())
        };
        self.change(Service::Sandboxes, change).await
    }

    async fn create_backup(&self, id: &SandboxId, options: &BackupOptions) -> Result<BackupHandle, Failure> {
        let (id, options) = (id.clone(), options.clone());
        let store = |world: Rc<World>| {
            let (before, done) = world.stand_in_line(&id);
            async move {
                if let Some(before) = before {
                    before.await.ok();
                }
                world.moment().await;
                let number = world.started(&id).await;
                world.moment().await;
                world.goes_on(&id, number)?;
                let truth = world.with(&id, |sandbox, now| {
                    let container = sandbox.container.as_ref().unwrap();
                    Truth {
                        sandbox: id.clone(),
                        files: container.files.clone(),
                        started_at: container.started_at,
                        is_accident: container.is_accident,
                        captured_at: now,
                    }
                });
                world.moment().await;
                if world.strikes(world.weather.fails / 4) {
                    return Err(Failure::new("BackupCreateError", "mksquashfs").with_code("BACKUP_CREATE_FAILED"));
                }
                if Mark::parse(&options.name).is_none_or(|mark| mark.origin_id != id) {
                    world.violated("rule 4, what is stored can be traced", &format_args!("{:?}", options.name));
                }
                let handle = world.store(truth, Some(&options.name), options.dir.as_str(), options.ttl);
                drop(done);
                Ok(handle)
            }
        };
        self.change(Service::Sandboxes, store).await
    }

    async fn restore_backup(&self, id: &SandboxId, backup: &BackupHandle) -> Result<(), Failure> {
        let (id, backup) = (id.clone(), backup.id().clone());
        let apply = |world: Rc<World>| {
            let (before, done) = world.stand_in_line(&id);
            async move {
                if let Some(before) = before {
                    before.await.ok();
                }
                let files = world.fetch(&backup)?;
                if world.chance.one_in(3) {
                    // A large archive takes its time, before anything is started.
                    world.sleep(world.chance.millis(DOWNLOAD)).await;
                }
                world.moment().await;
                let number = world.started(&id).await;
                world.moment().await;
                world.goes_on(&id, number)?;
                world.with(&id, |sandbox, _| {
                    if sandbox.is_somebodys {
                        world.violated("rule 2, no restore into what exists", &format_args!("{backup} into {id}"));
                    }
                    let container = sandbox.container.as_mut().unwrap();
                    container.files.extend(files);
                    container.is_accident = false;
                });
                world.trace(&format_args!("restored {backup} into {id}"));
                drop(done);
                Ok(())
            }
        };
        self.change(Service::Sandboxes, apply).await
    }

    async fn destroy(&self, id: &SandboxId) -> Result<(), Failure> {
        let id = id.clone();
        let end = async move |world: Rc<World>| {
            world.moment().await;
            if world.with(&id, |sandbox, _| sandbox.is_somebodys) {
                world.violated("rule 2, nobody's sandbox is destroyed", &format_args!("{id}"));
            }
            world.trace(&format_args!("destroys {id}"));
            world.with(&id, |sandbox, now| {
                sandbox.container = None;
                sandbox.believe(Status::Down, now);
            });
            Ok(())
        };
        self.change(Service::Sandboxes, end).await
    }
}
