//! The objects in memory that run the service: one per workspace, made when it is called, and gone when it dies.

use std::future::Future;
use std::rc::Rc;

use futures_channel::oneshot;
use sandbox_snapshotter::model::answer::Description;
use sandbox_snapshotter::model::record::Parent;
use sandbox_snapshotter::model::{BackupId, Directory, Failure, Result, SandboxId, SnapshotId, Timestamp, root_of};
use sandbox_snapshotter::ports::{Ledger, Workspaces};
use sandbox_snapshotter::service::{CloudflareSandboxSnapshotter, Config};
use serde_json::json;

use super::{Desk, Service, Watched, World, passing};
use crate::executor::Group;

/// The service of one workspace.
pub type Snapshotter = CloudflareSandboxSnapshotter<Desk>;

/// An object in memory.
pub struct Object {
    group: Group,
    snapshotter: Snapshotter,
}

/// The answer to a call was lost: what became of the call is not known.
#[derive(Clone, Copy, Debug)]
pub struct Lost;

impl World {
    /// The ledger of a workspace, which outlives its objects.
    pub fn ledger(self: &Rc<Self>, id: &SandboxId) -> Rc<Watched> {
        let new = || Rc::new(Watched::new(self, id.clone()));
        Rc::clone(self.ledgers.borrow_mut().entry(id.clone()).or_insert_with(new))
    }

    fn object(self: &Rc<Self>, id: &SandboxId) -> (Group, Snapshotter) {
        if let Some(object) = self.objects.borrow().get(id) {
            return (object.group, object.snapshotter.clone());
        }
        let group = self.groups.get() + 1;
        self.groups.set(group);
        let desk = Desk::new(self, Some(self.ledger(id)), group);
        let config = Config { default_dir: Directory::parse("/workspace").unwrap(), local_bucket: true };
        let snapshotter = Snapshotter::new(id.clone(), Rc::new(desk), Rc::new(config));
        self.objects.borrow_mut().insert(id.clone(), Object { group, snapshotter: snapshotter.clone() });
        (group, snapshotter)
    }

    /// An object dies, with everything that it had in memory; sometimes all of them do.
    pub fn crash(&self, group: Group) {
        self.count("crashes");
        let all = self.chance.one_in(5);
        let objects = self.objects.take();
        let (dead, alive) = objects.into_iter().partition(|(_, object)| all || object.group == group);
        self.objects.replace(alive);
        for (id, object) in std::collections::BTreeMap::into_iter(dead) {
            self.trace(&format_args!("CRASH of {id}"));
            if let Some(ledger) = self.ledgers.borrow().get(&id) {
                ledger.is_left(self.now());
            }
            self.executor.kill(object.group);
        }
    }

    /// Somebody else has a sandbox of that id, and the service knows it; unless it was claimed before.
    fn is_taken(self: &Rc<Self>, id: &SandboxId) {
        let ledger = self.ledger(id);
        if ledger.workspace().unwrap().is_none() {
            let known = json!({ "sandboxId": id, "rootId": root_of(id) });
            ledger.put_workspace(&serde_json::from_value(known).unwrap()).unwrap();
            self.book.borrow_mut().others.insert(id.clone());
            self.writes(id, 0);
        }
    }

    /// Calls the object of a workspace. Its work ends with it.
    pub async fn ask<T: 'static, F: Future<Output = T> + 'static>(
        self: &Rc<Self>,
        id: &SandboxId,
        work: impl FnOnce(Snapshotter) -> F,
    ) -> Result<T, Lost> {
        self.moment().await;
        if self.strikes(self.weather.fails / 2) {
            return Err(Lost);
        }
        let (group, snapshotter) = self.object(id);
        let (sender, answer) = oneshot::channel();
        let work = work(snapshotter);
        self.executor.spawn(group, async move {
            sender.send(work.await).ok();
        });
        let answer = answer.await;
        self.moment().await;
        if self.strikes(self.weather.lost) {
            return Err(Lost);
        }
        answer.map_err(|_| Lost)
    }

    /// The alarm of a workspace comes at that time, unless it is set anew.
    pub fn set_alarm(self: &Rc<Self>, id: &SandboxId, at: Timestamp) {
        let (world, id) = (Rc::clone(self), id.clone());
        self.executor.spawn(0, async move {
            world.sleep(at.as_millis() - world.now()).await;
            if world.ledger(&id).alarm_at() == Some(at) {
                world.alarm(&id).await;
            }
        });
    }

    /// Calls a workspace by its alarm, again if that fails. The platform does not promise that where the alarm was taken
    /// away meanwhile.
    async fn alarm(self: &Rc<Self>, id: &SandboxId) {
        let ledger = self.ledger(id);
        for attempt in 0..=6 {
            self.trace(&format_args!("alarm of {id}"));
            self.count("alarms");
            ledger.comes();
            let outcome = self.ask(id, async |snapshotter: Snapshotter| snapshotter.alarm().await).await;
            let is_set = ledger.alarm_at().is_some();
            match outcome {
                Ok(Ok(())) => return,
                Ok(Err(_)) | Err(Lost) if is_set => return,
                Err(Lost) if ledger.was_taken_away() && self.chance.one_in(2) => return,
                Ok(Err(_)) | Err(Lost) => self.sleep(2000 << attempt).await,
            }
        }
    }
}

/// The workspaces, as one of them sees the others.
pub struct Others(pub Rc<World>);

impl Others {
    async fn tell<T: 'static, F: Future<Output = Result<T>> + 'static>(
        &self,
        id: &SandboxId,
        message: impl Fn(Snapshotter) -> F + Clone + 'static,
    ) -> Result<T, Failure> {
        let Self(world) = self;
        world.reach(Service::Workspaces).await?;
        if world.strikes(world.weather.twice) {
            let (again, id, message) = (Rc::clone(world), id.clone(), message.clone());
            world.executor.spawn(0, async move {
                again.moment().await;
                again.ask(&id, message).await.ok();
            });
        }
        match world.ask(id, message).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(Failure::new(error.code().as_str(), error.message())),
            Err(Lost) => Err(passing(Service::Workspaces)),
        }
    }
}

impl Workspaces for Others {
    async fn claim(&self, id: &SandboxId, root_id: &SandboxId, parent: &Parent) -> Result<bool, Failure> {
        let Self(world) = self;
        if world.strikes(world.weather.taken) {
            world.is_taken(id);
        }
        let (root_id, parent) = (root_id.clone(), parent.clone());
        let claim = move |workspace: Snapshotter| {
            let claimed = workspace.claim(&root_id, &parent);
            async move { claimed }
        };
        self.tell(id, claim).await
    }

    async fn release(&self, id: &SandboxId, snapshot_id: &SnapshotId, holder: &SandboxId) -> Result<(), Failure> {
        let (snapshot_id, holder) = (snapshot_id.clone(), holder.clone());
        let release = move |workspace: Snapshotter| {
            let released = workspace.release(&snapshot_id, &holder);
            async move { released }
        };
        self.tell(id, release).await
    }

    async fn root(&self, id: &SandboxId) -> Result<SandboxId, Failure> {
        self.tell(id, async |workspace: Snapshotter| workspace.root()).await
    }

    async fn describe(&self, id: &SandboxId) -> Result<Description, Failure> {
        self.tell(id, async |workspace: Snapshotter| workspace.describe()).await
    }

    async fn sweep(&self, id: &SandboxId, backups: &[(BackupId, SnapshotId)], dry_run: bool) -> Result<usize, Failure> {
        let backups = backups.to_vec();
        let sweep = move |workspace: Snapshotter| {
            let backups = backups.clone();
            async move { workspace.sweep(&backups, dry_run).await }
        };
        self.tell(id, sweep).await
    }
}
