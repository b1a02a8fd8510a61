//! Calls to objects, which crash, and their alarms.

use std::future::Future;
use std::rc::Rc;

use futures_channel::oneshot;
use sandbox_snapshotter::model::named::Address;
use sandbox_snapshotter::model::{Result, SandboxId, Timestamp, root_of};
use sandbox_snapshotter::ports::Ledger;
use serde_json::json;

use super::{NamedService, SandboxService, Simulation, World};
use crate::memory::{Alarm, Group, ObjectKey, ObjectService};

/// The time after its answer for which a call may still have effects, in milliseconds.
const EFFECT_TAIL_MILLIS: i64 = 20_000;

/// The answer to a call was lost. The caller does not know whether the call had any effect.
#[derive(Clone, Copy, Debug)]
pub struct AnswerLost;

impl Simulation {
    /// Returns the start time of the oldest call to a sandbox that is in progress or may still have effects; now, if there is
    /// none.
    pub fn busy_since(&self, id: &SandboxId) -> i64 {
        let busy = self.calls_in_flight.borrow();
        busy.get(id).and_then(|calls| calls.first()).map_or_else(|| self.now(), |(since, _)| *since)
    }
}

impl World {
    /// Returns whether a call to a sandbox is in progress.
    pub fn is_busy(&self) -> bool {
        self.calls_in_flight.borrow().values().any(|calls| !calls.is_empty())
    }

    /// Crashes an object, which loses its memory; in one of five cases, all objects.
    pub fn crash(&self, group: Group) {
        self.count("crashes");
        let all = self.rng.one_in(5);
        let objects = self.objects.take().into_iter();
        let (crashed, remaining): (Vec<_>, _) = objects.partition(|(_, object)| all || object.group == group);
        self.objects.replace(remaining.into_iter().collect());
        for (key, object) in crashed {
            self.trace(&format_args!("CRASH of {key}"));
            if let ObjectKey::Sandbox(id) = key {
                self.crashed_at.borrow_mut().insert(id, self.now());
            }
            self.executor.kill(object.group);
        }
    }

    /// Registers a sandbox of another application under an id, unless the id was claimed before.
    pub(super) fn claim_by_other(&self, id: &SandboxId) {
        let ledger = self.ledger(id);
        if ledger.sandbox().unwrap().is_none() {
            let sandbox = json!({ "sandboxId": id, "rootId": root_of(id) });
            ledger.put_sandbox(&serde_json::from_value(sandbox).unwrap()).unwrap();
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
        self.call_object(&ObjectKey::Sandbox(id.clone()), |object| work(object.into_sandbox())).await
    }

    /// Calls the object of a named workspace. The call ends if the object crashes.
    pub async fn call_named<T: 'static, F: Future<Output = T> + 'static>(
        self: &Rc<Self>,
        address: &Address,
        work: impl FnOnce(NamedService) -> F,
    ) -> Result<T, AnswerLost> {
        self.call_object(&ObjectKey::Workspace(address.clone()), |object| work(object.into_workspace())).await
    }

    /// Calls an object. The call ends if the object crashes.
    pub(super) async fn call_object<T: 'static, F: Future<Output = T> + 'static>(
        self: &Rc<Self>,
        key: &ObjectKey,
        work: impl FnOnce(ObjectService<Simulation>) -> F,
    ) -> Result<T, AnswerLost> {
        let ObjectKey::Sandbox(id) = key else { return self.deliver(key, work).await };
        let begun = (self.now(), self.next_serial());
        self.calls_in_flight.borrow_mut().entry(id.clone()).or_default().insert(begun);
        let answer = self.deliver(key, work).await;
        let (world, id) = (Rc::clone(self), id.clone());
        self.executor.spawn(0, async move {
            world.executor.sleep(EFFECT_TAIL_MILLIS).await;
            world.calls_in_flight.borrow_mut().entry(id).or_default().remove(&begun);
        });
        answer
    }

    async fn deliver<T: 'static, F: Future<Output = T> + 'static>(
        self: &Rc<Self>,
        key: &ObjectKey,
        work: impl FnOnce(ObjectService<Simulation>) -> F,
    ) -> Result<T, AnswerLost> {
        self.pass_step().await;
        if self.inject_fault(self.profile.failure_rate / 2) {
            return Err(AnswerLost);
        }
        let (group, object) = self.object(key);
        let (sender, answer) = oneshot::channel();
        let work = work(object);
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
    pub(super) fn set_alarm(self: &Rc<Self>, key: ObjectKey, at: Timestamp) {
        let world = Rc::clone(self);
        self.executor.spawn(0, async move {
            world.executor.sleep(at.as_millis() - world.now()).await;
            if world.with_alarm(&key, Alarm::due) == Some(at) {
                world.deliver_alarm(&key).await;
            }
        });
    }

    fn with_alarm<T>(&self, key: &ObjectKey, act: impl FnOnce(&Alarm) -> T) -> T {
        match key {
            ObjectKey::Sandbox(id) => act(&self.ledger(id).alarm),
            ObjectKey::Workspace(address) => act(&self.workspace_store(address).alarm),
        }
    }

    /// Calls the alarm handler of an object, and repeats the call if it fails. The platform does not guarantee the repetition
    /// if the handler removed the alarm.
    async fn deliver_alarm(self: &Rc<Self>, key: &ObjectKey) {
        for attempt in 0..=6 {
            self.trace(&format_args!("alarm of {key}"));
            self.count("alarms");
            self.with_alarm(key, Alarm::fire);
            let run = async |object: ObjectService<Simulation>| match object {
                ObjectService::Sandbox(snapshotter) => snapshotter.alarm().await,
                ObjectService::Workspace(named) => Box::pin(named.alarm()).await,
            };
            match self.call_object(key, run).await {
                Ok(Ok(())) => return,
                Ok(Err(_)) | Err(AnswerLost) if self.with_alarm(key, Alarm::due).is_some() => return,
                Err(AnswerLost) if self.with_alarm(key, Alarm::was_removed) && self.rng.one_in(2) => return,
                Ok(Err(_)) | Err(AnswerLost) => self.executor.sleep(2000 << attempt).await,
            }
        }
    }
}
