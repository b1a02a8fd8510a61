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

use super::{Desk, Watched, WatchedHome, World};
use crate::executor::Group;

/// The service of one sandbox.
pub type Snapshotter = CloudflareSandboxSnapshotter<Desk>;

/// The service of one name.
pub type Named = NamedWorkspace<Desk>;

/// How long after its answer something may still go on that a call has begun, in milliseconds.
const GOES_ON: i64 = 20_000;

/// What an object in memory is for.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// A sandbox.
    Sandbox(SandboxId),
    /// A name.
    Name(Address),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sandbox(id) => write!(f, "{id}"),
            Self::Name(address) => write!(f, "{address}"),
        }
    }
}

/// An object in memory.
pub struct Object {
    group: Group,
    service: Service,
}

/// What it runs.
#[derive(Clone)]
enum Service {
    Sandbox(Snapshotter),
    Name(Named),
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

    /// What is kept of a named workspace.
    pub fn home(self: &Rc<Self>, address: &Address) -> Rc<WatchedHome> {
        let new = || Rc::new(WatchedHome::new(self, address.clone()));
        Rc::clone(self.homes.borrow_mut().entry(address.clone()).or_insert_with(new))
    }

    fn object(self: &Rc<Self>, place: &Place) -> (Group, Service) {
        if let Some(object) = self.objects.borrow().get(place) {
            return (object.group, object.service.clone());
        }
        let group = self.groups.get() + 1;
        self.groups.set(group);
        let config = Rc::new(Config { default_dir: Directory::parse("/workspace").unwrap(), local_bucket: true });
        let service = match place {
            Place::Sandbox(id) => {
                let desk = Desk::new(self, Some(self.ledger(id)), None, group);
                Service::Sandbox(Snapshotter::new(id.clone(), Rc::new(desk), config))
            }
            Place::Name(address) => {
                let desk = Desk::new(self, None, Some(self.home(address)), group);
                Service::Name(Named::new(address.clone(), Rc::new(desk), config))
            }
        };
        self.objects.borrow_mut().insert(place.clone(), Object { group, service: service.clone() });
        (group, service)
    }

    /// An object dies, with everything that it had in memory; sometimes all of them do.
    pub fn crash(&self, group: Group) {
        self.count("crashes");
        let all = self.chance.one_in(5);
        let objects = self.objects.take();
        let (dead, alive) = objects.into_iter().partition(|(_, object)| all || object.group == group);
        self.objects.replace(alive);
        for (place, object) in std::collections::BTreeMap::into_iter(dead) {
            self.trace(&format_args!("CRASH of {place}"));
            if let Place::Sandbox(id) = &place
                && let Some(ledger) = self.ledgers.borrow().get(id)
            {
                ledger.is_left(self.now());
            }
            self.executor.kill(object.group);
        }
    }

    /// Somebody else has a sandbox of that id, and the service knows it; unless it was claimed before.
    pub(super) fn is_taken(self: &Rc<Self>, id: &SandboxId) {
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
        let begun = (self.now(), self.serial());
        self.busy.borrow_mut().entry(id.clone()).or_default().insert(begun);
        let place = Place::Sandbox(id.clone());
        let answer = self.call(&place, |service| {
            let Service::Sandbox(snapshotter) = service else { unreachable!() };
            work(snapshotter)
        });
        let answer = answer.await;
        let (world, id) = (Rc::clone(self), id.clone());
        self.executor.spawn(0, async move {
            world.sleep(GOES_ON).await;
            world.busy.borrow_mut().entry(id).or_default().remove(&begun);
        });
        answer
    }

    /// Since when calls are under way on a sandbox, or may still have effects; now where there are none.
    pub fn busy_since(&self, id: &SandboxId) -> i64 {
        let busy = self.busy.borrow();
        busy.get(id).and_then(|calls| calls.first()).map_or_else(|| self.now(), |(since, _)| *since)
    }

    /// Calls the object of a name. Its work ends with it.
    pub async fn ask_named<T: 'static, F: Future<Output = T> + 'static>(
        self: &Rc<Self>,
        address: &Address,
        work: impl FnOnce(Named) -> F,
    ) -> Result<T, Lost> {
        let place = Place::Name(address.clone());
        let answer = self.call(&place, |service| {
            let Service::Name(named) = service else { unreachable!() };
            work(named)
        });
        answer.await
    }

    async fn call<T: 'static, F: Future<Output = T> + 'static>(
        self: &Rc<Self>,
        place: &Place,
        work: impl FnOnce(Service) -> F,
    ) -> Result<T, Lost> {
        self.moment().await;
        if self.strikes(self.weather.fails / 2) {
            return Err(Lost);
        }
        let (group, service) = self.object(place);
        let (sender, answer) = oneshot::channel();
        let work = work(service);
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
    pub fn set_alarm(self: &Rc<Self>, place: Place, at: Timestamp) {
        let world = Rc::clone(self);
        self.executor.spawn(0, async move {
            world.sleep(at.as_millis() - world.now()).await;
            if world.alarm_at(&place) == Some(at) {
                world.alarm(&place).await;
            }
        });
    }

    fn alarm_at(self: &Rc<Self>, place: &Place) -> Option<Timestamp> {
        match place {
            Place::Sandbox(id) => self.ledger(id).alarm_at(),
            Place::Name(address) => self.home(address).alarm_at(),
        }
    }

    /// Calls an object by its alarm, again if that fails. The platform does not promise that where the alarm was taken away
    /// meanwhile.
    async fn alarm(self: &Rc<Self>, place: &Place) {
        for attempt in 0..=6 {
            self.trace(&format_args!("alarm of {place}"));
            self.count("alarms");
            let outcome = match place {
                Place::Sandbox(id) => {
                    self.ledger(id).comes();
                    self.ask(id, async |snapshotter: Snapshotter| snapshotter.alarm().await).await
                }
                Place::Name(address) => {
                    self.home(address).comes();
                    self.ask_named(address, async |named: Named| named.alarm().await).await
                }
            };
            let was_taken_away = match place {
                Place::Sandbox(id) => self.ledger(id).was_taken_away(),
                Place::Name(address) => self.home(address).was_taken_away(),
            };
            match outcome {
                Ok(Ok(())) => return,
                Ok(Err(_)) | Err(Lost) if self.alarm_at(place).is_some() => return,
                Err(Lost) if was_taken_away && self.chance.one_in(2) => return,
                Ok(Err(_)) | Err(Lost) => self.sleep(2000 << attempt).await,
            }
        }
    }
}
