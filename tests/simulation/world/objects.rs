//! The objects in memory that run the service: one per sandbox and one per name, made when it is called, and gone when it
//! dies.

use std::fmt;
use std::future::Future;
use std::rc::Rc;

use futures_channel::oneshot;
use sandbox_snapshotter::model::named::Address;
use sandbox_snapshotter::model::{Directory, Result, SandboxId, Timestamp, root_of};
use sandbox_snapshotter::ports::Ledger;
use sandbox_snapshotter::service::named::NamedWorkspace;
use sandbox_snapshotter::service::{CloudflareSandboxSnapshotter, Config};
use serde_json::json;

use super::{CheckedLedger, CheckedWorkspaceStore, SimulatedPorts, World};
use crate::executor::Group;

/// The service of one sandbox.
pub type SandboxService = CloudflareSandboxSnapshotter<SimulatedPorts>;

/// The service of one name.
pub type NamedService = NamedWorkspace<SimulatedPorts>;

/// How long after its answer something may still go on that a call has begun, in milliseconds.
const EFFECT_TAIL_MILLIS: i64 = 20_000;

/// What an object in memory is for.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ObjectKey {
    /// A sandbox.
    Sandbox(SandboxId),
    /// A name.
    Workspace(Address),
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sandbox(id) => write!(f, "{id}"),
            Self::Workspace(address) => write!(f, "{address}"),
        }
    }
}

/// An object in memory.
pub struct Object {
    group: Group,
    service: ObjectService,
}

/// What it runs.
#[derive(Clone)]
enum ObjectService {
    Sandbox(SandboxService),
    Workspace(NamedService),
}

/// The answer to a call was lost: what became of the call is not known.
#[derive(Clone, Copy, Debug)]
pub struct AnswerLost;

impl World {
    /// The ledger of a workspace, which outlives its objects.
    pub fn ledger(self: &Rc<Self>, id: &SandboxId) -> Rc<CheckedLedger> {
        let new = || Rc::new(CheckedLedger::new(self, id.clone()));
        Rc::clone(self.ledgers.borrow_mut().entry(id.clone()).or_insert_with(new))
    }

    /// What is kept of a named workspace.
    pub fn workspace_store(self: &Rc<Self>, address: &Address) -> Rc<CheckedWorkspaceStore> {
        let new = || Rc::new(CheckedWorkspaceStore::new(self, address.clone()));
        Rc::clone(self.workspace_stores.borrow_mut().entry(address.clone()).or_insert_with(new))
    }

    fn get_object(self: &Rc<Self>, place: &ObjectKey) -> (Group, ObjectService) {
        if let Some(object) = self.live_objects.borrow().get(place) {
            return (object.group, object.service.clone());
        }
        let group = self.last_group.get() + 1;
        self.last_group.set(group);
        let config = Rc::new(Config { default_dir: Directory::parse("/workspace").unwrap(), local_bucket: true });
        let service = match place {
            ObjectKey::Sandbox(id) => {
                let desk = SimulatedPorts::new(self, Some(self.ledger(id)), None, group);
                ObjectService::Sandbox(SandboxService::new(id.clone(), Rc::new(desk), config))
            }
            ObjectKey::Workspace(address) => {
                let desk = SimulatedPorts::new(self, None, Some(self.workspace_store(address)), group);
                ObjectService::Workspace(NamedService::new(address.clone(), Rc::new(desk), config))
            }
        };
        self.live_objects.borrow_mut().insert(place.clone(), Object { group, service: service.clone() });
        (group, service)
    }

    /// An object dies, with everything that it had in memory; sometimes all of them do.
    pub fn crash(&self, group: Group) {
        self.count("crashes");
        let all = self.rng.one_in(5);
        let objects = self.live_objects.take();
        let (dead, alive) = objects.into_iter().partition(|(_, object)| all || object.group == group);
        self.live_objects.replace(alive);
        for (place, object) in std::collections::BTreeMap::into_iter(dead) {
            self.trace(&format_args!("CRASH of {place}"));
            if let ObjectKey::Sandbox(id) = &place
                && let Some(ledger) = self.ledgers.borrow().get(id)
            {
                ledger.note_crash(self.now());
            }
            self.executor.kill(object.group);
        }
    }

    /// Somebody else has a sandbox of that id, and the service knows it; unless it was claimed before.
    pub(super) fn claim_by_other(self: &Rc<Self>, id: &SandboxId) {
        let ledger = self.ledger(id);
        if ledger.workspace().unwrap().is_none() {
            let known = json!({ "sandboxId": id, "rootId": root_of(id) });
            ledger.put_workspace(&serde_json::from_value(known).unwrap()).unwrap();
            self.history.borrow_mut().foreign_sandboxes.insert(id.clone());
            self.write_file(id, 0);
        }
    }

    /// Calls the object of a workspace. Its work ends with it.
    pub async fn call_sandbox<T: 'static, F: Future<Output = T> + 'static>(
        self: &Rc<Self>,
        id: &SandboxId,
        work: impl FnOnce(SandboxService) -> F,
    ) -> Result<T, AnswerLost> {
        let begun = (self.now(), self.next_serial());
        self.calls_in_flight.borrow_mut().entry(id.clone()).or_default().insert(begun);
        let place = ObjectKey::Sandbox(id.clone());
        let answer = self.call_object(&place, |service| {
            let ObjectService::Sandbox(snapshotter) = service else { unreachable!() };
            work(snapshotter)
        });
        let answer = answer.await;
        let (world, id) = (Rc::clone(self), id.clone());
        self.executor.spawn(0, async move {
            world.sleep(EFFECT_TAIL_MILLIS).await;
            world.calls_in_flight.borrow_mut().entry(id).or_default().remove(&begun);
        });
        answer
    }

    /// Since when calls are under way on a sandbox, or may still have effects; now where there are none.
    pub fn busy_since(&self, id: &SandboxId) -> i64 {
        let busy = self.calls_in_flight.borrow();
        busy.get(id).and_then(|calls| calls.first()).map_or_else(|| self.now(), |(since, _)| *since)
    }

    /// Calls the object of a name. Its work ends with it.
    pub async fn call_named<T: 'static, F: Future<Output = T> + 'static>(
        self: &Rc<Self>,
        address: &Address,
        work: impl FnOnce(NamedService) -> F,
    ) -> Result<T, AnswerLost> {
        let place = ObjectKey::Workspace(address.clone());
        let answer = self.call_object(&place, |service| {
            let ObjectService::Workspace(named) = service else { unreachable!() };
            work(named)
        });
        answer.await
    }

    async fn call_object<T: 'static, F: Future<Output = T> + 'static>(
        self: &Rc<Self>,
        place: &ObjectKey,
        work: impl FnOnce(ObjectService) -> F,
    ) -> Result<T, AnswerLost> {
        self.pass_step().await;
        if self.inject_fault(self.profile.failure_rate / 2) {
            return Err(AnswerLost);
        }
        let (group, service) = self.get_object(place);
        let (sender, answer) = oneshot::channel();
        let work = work(service);
        self.executor.spawn(group, async move {
            sender.send(work.await).ok();
        });
        let answer = answer.await;
        self.pass_step().await;
        if self.inject_fault(self.profile.lost_answer_rate) {
            return Err(AnswerLost);
        }
        answer.map_err(|_| AnswerLost)
    }

    /// The alarm of a workspace comes at that time, unless it is set anew.
    pub fn set_alarm(self: &Rc<Self>, place: ObjectKey, at: Timestamp) {
        let world = Rc::clone(self);
        self.executor.spawn(0, async move {
            world.sleep(at.as_millis() - world.now()).await;
            if world.alarm_at(&place) == Some(at) {
                world.deliver_alarm(&place).await;
            }
        });
    }

    fn alarm_at(self: &Rc<Self>, place: &ObjectKey) -> Option<Timestamp> {
        match place {
            ObjectKey::Sandbox(id) => self.ledger(id).alarm_at(),
            ObjectKey::Workspace(address) => self.workspace_store(address).alarm_at(),
        }
    }

    /// Calls an object by its alarm, again if that fails. The platform does not promise that where the alarm was taken away
    /// meanwhile.
    async fn deliver_alarm(self: &Rc<Self>, place: &ObjectKey) {
        for attempt in 0..=6 {
            self.trace(&format_args!("alarm of {place}"));
            self.count("alarms");
            let outcome = match place {
                ObjectKey::Sandbox(id) => {
                    self.ledger(id).clear_fired_alarm();
                    self.call_sandbox(id, async |snapshotter: SandboxService| snapshotter.alarm().await).await
                }
                ObjectKey::Workspace(address) => {
                    self.workspace_store(address).clear_fired_alarm();
                    self.call_named(address, async |named: NamedService| named.alarm().await).await
                }
            };
            let was_alarm_cleared = match place {
                ObjectKey::Sandbox(id) => self.ledger(id).was_alarm_cleared(),
                ObjectKey::Workspace(address) => self.workspace_store(address).was_alarm_cleared(),
            };
            match outcome {
                Ok(Ok(())) => return,
                Ok(Err(_)) | Err(AnswerLost) if self.alarm_at(place).is_some() => return,
                Err(AnswerLost) if was_alarm_cleared && self.rng.one_in(2) => return,
                Ok(Err(_)) | Err(AnswerLost) => self.sleep(2000 << attempt).await,
            }
        }
    }
}
