//! The objects in memory that run the service: one per sandbox and one per named workspace. A call creates its object; a
//! crash removes it.

use std::fmt;
use std::future::Future;
use std::rc::Rc;

use futures_channel::oneshot;
use sandbox_snapshotter::model::named::Address;
use sandbox_snapshotter::model::{Directory, Result, SandboxId, Timestamp, root_of};
use sandbox_snapshotter::ports::Ledger;
use sandbox_snapshotter::service::workspace::NamedWorkspace;
use sandbox_snapshotter::service::{CloudflareSandboxSnapshotter, Config};
use serde_json::json;

use super::{CheckedLedger, CheckedWorkspaceStore, SimulatedPorts, World};
use crate::executor::Group;

/// The service of one sandbox.
pub type SandboxService = CloudflareSandboxSnapshotter<SimulatedPorts>;

/// The service of one named workspace.
pub type NamedService = NamedWorkspace<SimulatedPorts>;

/// The time after its answer for which a call may still have effects, in milliseconds.
const EFFECT_TAIL_MILLIS: i64 = 20_000;

/// Identifies an object in memory.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ObjectKey {
    /// The object of a sandbox.
    Sandbox(SandboxId),
    /// The object of a named workspace.
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

/// The service that an object runs.
#[derive(Clone)]
enum ObjectService {
    Sandbox(SandboxService),
    Workspace(NamedService),
}

/// The answer to a call was lost. The caller does not know whether the call had any effect.
#[derive(Clone, Copy, Debug)]
pub struct AnswerLost;

impl World {
    /// Returns the ledger of a workspace, which outlives its objects.
    pub fn ledger(self: &Rc<Self>, id: &SandboxId) -> Rc<CheckedLedger> {
        let new = || Rc::new(CheckedLedger::new(self, id.clone()));
        Rc::clone(self.ledgers.borrow_mut().entry(id.clone()).or_insert_with(new))
    }

    /// Returns the stored record of a named workspace.
    pub fn workspace_store(self: &Rc<Self>, address: &Address) -> Rc<CheckedWorkspaceStore> {
        let new = || Rc::new(CheckedWorkspaceStore::new(self, address.clone()));
        Rc::clone(self.workspace_stores.borrow_mut().entry(address.clone()).or_insert_with(new))
    }

    fn get_object(self: &Rc<Self>, key: &ObjectKey) -> (Group, ObjectService) {
        if let Some(object) = self.live_objects.borrow().get(key) {
            return (object.group, object.service.clone());
        }
        let group = self.last_group.get() + 1;
        self.last_group.set(group);
        let config = Rc::new(Config { default_dir: Directory::parse("/workspace").unwrap(), local_bucket: true });
        let service = match key {
            ObjectKey::Sandbox(id) => {
                let ports = SimulatedPorts::new(self, Some(self.ledger(id)), None, group);
                ObjectService::Sandbox(SandboxService::new(id.clone(), Rc::new(ports), config))
            }
            ObjectKey::Workspace(address) => {
                let ports = SimulatedPorts::new(self, None, Some(self.workspace_store(address)), group);
                ObjectService::Workspace(NamedService::new(address.clone(), Rc::new(ports), config))
            }
        };
        self.live_objects.borrow_mut().insert(key.clone(), Object { group, service: service.clone() });
        (group, service)
    }

    /// Crashes an object, which loses its memory; in one of five cases, all objects.
    pub fn crash(&self, group: Group) {
        self.count("crashes");
        let all = self.rng.one_in(5);
        let objects = self.live_objects.take();
        let (crashed, remaining) = objects.into_iter().partition(|(_, object)| all || object.group == group);
        self.live_objects.replace(remaining);
        for (key, object) in std::collections::BTreeMap::into_iter(crashed) {
            self.trace(&format_args!("CRASH of {key}"));
            if let ObjectKey::Sandbox(id) = &key
                && let Some(ledger) = self.ledgers.borrow().get(id)
            {
                ledger.note_crash(self.now());
            }
            self.executor.kill(object.group);
        }
    }

    /// Registers a sandbox of another application under an id, unless the id was claimed before.
    pub(super) fn claim_by_other(self: &Rc<Self>, id: &SandboxId) {
        let ledger = self.ledger(id);
        if ledger.workspace().unwrap().is_none() {
            let workspace = json!({ "sandboxId": id, "rootId": root_of(id) });
            ledger.put_workspace(&serde_json::from_value(workspace).unwrap()).unwrap();
            self.history.borrow_mut().foreign_sandboxes.insert(id.clone());
            self.write_file(id, 0);
        }
    }

    /// Calls the object of a sandbox. The call ends if the object crashes.
    pub async fn call_sandbox<T: 'static, F: Future<Output = T> + 'static>(
        self: &Rc<Self>,
        id: &SandboxId,
        work: impl FnOnce(SandboxService) -> F,
    ) -> Result<T, AnswerLost> {
        let begun = (self.now(), self.next_serial());
        self.calls_in_flight.borrow_mut().entry(id.clone()).or_default().insert(begun);
        let key = ObjectKey::Sandbox(id.clone());
        let answer = self.call_object(&key, |service| {
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

    /// Returns the start time of the oldest call to a sandbox that is in progress or may still have effects; now, if there is
    /// none.
    pub fn busy_since(&self, id: &SandboxId) -> i64 {
        let busy = self.calls_in_flight.borrow();
        busy.get(id).and_then(|calls| calls.first()).map_or_else(|| self.now(), |(since, _)| *since)
    }

    /// Calls the object of a named workspace. The call ends if the object crashes.
    pub async fn call_named<T: 'static, F: Future<Output = T> + 'static>(
        self: &Rc<Self>,
        address: &Address,
        work: impl FnOnce(NamedService) -> F,
    ) -> Result<T, AnswerLost> {
        let key = ObjectKey::Workspace(address.clone());
        let answer = self.call_object(&key, |service| {
            let ObjectService::Workspace(named) = service else { unreachable!() };
            work(named)
        });
        answer.await
    }

    async fn call_object<T: 'static, F: Future<Output = T> + 'static>(
        self: &Rc<Self>,
        key: &ObjectKey,
        work: impl FnOnce(ObjectService) -> F,
    ) -> Result<T, AnswerLost> {
        self.pass_step().await;
        if self.inject_fault(self.profile.failure_rate / 2) {
            return Err(AnswerLost);
        }
        let (group, service) = self.get_object(key);
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

    /// Delivers the alarm of an object at a time, unless the alarm changes before.
    pub fn set_alarm(self: &Rc<Self>, key: ObjectKey, at: Timestamp) {
        let world = Rc::clone(self);
        self.executor.spawn(0, async move {
            world.sleep(at.as_millis() - world.now()).await;
            if world.alarm_at(&key) == Some(at) {
                world.deliver_alarm(&key).await;
            }
        });
    }

    fn alarm_at(self: &Rc<Self>, key: &ObjectKey) -> Option<Timestamp> {
        match key {
            ObjectKey::Sandbox(id) => self.ledger(id).alarm_at(),
            ObjectKey::Workspace(address) => self.workspace_store(address).alarm_at(),
        }
    }

    /// Calls the alarm handler of an object, and repeats the call if it fails. The platform does not guarantee the repetition
    /// if the handler removed the alarm.
    async fn deliver_alarm(self: &Rc<Self>, key: &ObjectKey) {
        for attempt in 0..=6 {
            self.trace(&format_args!("alarm of {key}"));
            self.count("alarms");
            let outcome = match key {
                ObjectKey::Sandbox(id) => {
                    self.ledger(id).clear_fired_alarm();
                    self.call_sandbox(id, async |snapshotter: SandboxService| snapshotter.alarm().await).await
                }
                ObjectKey::Workspace(address) => {
                    self.workspace_store(address).clear_fired_alarm();
                    self.call_named(address, async |named: NamedService| named.alarm().await).await
                }
            };
            let was_alarm_cleared = match key {
                ObjectKey::Sandbox(id) => self.ledger(id).was_alarm_cleared(),
                ObjectKey::Workspace(address) => self.workspace_store(address).was_alarm_cleared(),
            };
            match outcome {
                Ok(Ok(())) => return,
                Ok(Err(_)) | Err(AnswerLost) if self.alarm_at(key).is_some() => return,
                Err(AnswerLost) if was_alarm_cleared && self.rng.one_in(2) => return,
                Ok(Err(_)) | Err(AnswerLost) => self.sleep(2000 << attempt).await,
            }
        }
    }
}
