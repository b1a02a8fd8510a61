//! What is done with one named workspace, in an object of its own, over the workspaces of the sandboxes that it has had.
//!
//! - [`create`], [`start`], [`stop`], [`fork`], [`update`], [`delete`]: what callers ask for
//! - [`relocate`]: from a sandbox that does not answer any more to another one
//! - [`expire`]: what time asks for
//! - [`step`]: from one state to another; the record, and its alarm
//! - [`chores`]: what is left to be done
//!
//! One thing at a time is done with a workspace; whoever comes meanwhile waits, and is answered by what the one before has
//! brought about where that will do. The line has an end: who comes when it is full is refused. What was begun goes on when
//! its caller leaves.

mod chores;
mod create;
mod delete;
mod expire;
mod fork;
mod relocate;
mod start;
mod step;
mod stop;
mod update;

use std::cell::{Cell, RefCell};
use std::panic::AssertUnwindSafe;
use std::rc::Rc;

use futures_channel::oneshot;
use futures_util::FutureExt;
use futures_util::future::{Either, select};
use futures_util::lock::{Mutex, MutexGuard};

use super::line::{Line, Place};
use super::{Abort, Config};
use crate::model::named::answer::{DeletedWorkspace, Described, Forked, Started, Stopped};
use crate::model::named::record::Origin;
use crate::model::named::{Address, NamedRecord};
use crate::model::request::{CreateRequest, ForkRequest, GetOrCreateRequest, StartRequest, UpdateRequest};
use crate::model::{Code, Error, Result};
use crate::ports::{Background, Home, Ports};

/// One named workspace, whose record is in the [`Home`] of `ports`. There must be one of these at a time; its clones share
/// what is under way.
pub struct NamedWorkspace<P> {
    address: Rc<Address>,
    ports: Rc<P>,
    config: Rc<Config>,
    memory: Rc<Memory>,
}

impl<P> Clone for NamedWorkspace<P> {
    fn clone(&self) -> Self {
        Self {
            address: Rc::clone(&self.address),
            ports: Rc::clone(&self.ports),
            config: Rc::clone(&self.config),
            memory: Rc::clone(&self.memory),
        }
    }
}

/// What is known as long as the object is in memory.
#[derive(Default)]
struct Memory {
    /// Who does something with the workspace, or waits for that.
    line: Line<Wish>,
    /// Who makes others of it. That goes on when the workspace itself is done with, so they are no part of the line.
    forks: Line<Wish>,
    /// Held by who does something with the workspace.
    turn: Mutex<()>,
    /// Held by who makes the workspace, or waits for that: what it begins with is looked for once.
    sourcing: Mutex<()>,
    /// How many things were done, a start counting twice: as it begins, and when it is done.
    done: Cell<u64>,
    /// The last start that was done.
    last_start: RefCell<Option<LastStart>>,
}

/// A start that was done.
#[derive(Clone)]
struct LastStart {
    /// The number of its beginning.
    began: u64,
    /// The number of its end.
    done: u64,
    asked: StartRequest,
    outcome: Result<Started>,
}

impl Memory {
    /// The number of what is done next.
    fn next(&self) -> u64 {
        self.done.set(self.done.get() + 1);
        self.done.get()
    }
}

/// What callers who stand together may share an answer to.
#[derive(PartialEq)]
enum Wish {
    Create(CreateRequest),
    GetOrCreate(GetOrCreateRequest),
    Start(StartRequest),
    Stop,
    Delete,
}

impl<P: Ports> NamedWorkspace<P> {
    /// The workspace of that name.
    pub fn new(address: Address, ports: Rc<P>, config: Rc<Config>) -> Self {
        Self { address: Rc::new(address), ports, config, memory: Rc::default() }
    }

    /// Makes the workspace, with its first sandbox.
    pub async fn create(&self, request: CreateRequest, abort: Abort) -> Result<Started> {
        self.ready()?;
        let this = self.clone();
        let asked = abort.clone();
        let place = self.stand(Some(Wish::Create(request.clone())))?;
        self.goes_on(place, abort, async move { create::create(&this, request, &asked).await }).await
    }

    /// Starts the workspace, or makes it where there is none.
    pub async fn get_or_create(&self, request: GetOrCreateRequest, abort: Abort) -> Result<Started> {
        self.ready()?;
        let this = self.clone();
        let asked = abort.clone();
        let place = self.stand(Some(Wish::GetOrCreate(request.clone())))?;
        self.goes_on(place, abort, async move { create::get_or_create(&this, request, &asked).await }).await
    }

    /// What is known of the workspace. Nothing is started, and no sandbox looked at.
    pub fn describe(&self) -> Result<Described> {
        self.ready()?;
        Ok(Described::from(&self.existing()?))
    }

    /// Gives the workspace a sandbox that runs with its files in place.
    pub async fn start(&self, request: StartRequest, abort: Abort) -> Result<Started> {
        self.ready()?;
        let this = self.clone();
        let asked = abort.clone();
        let place = self.stand(Some(Wish::Start(request.clone())))?;
        self.goes_on(place, abort, async move { start::start(&this, request, &asked).await }).await
    }

    /// Takes a snapshot, and ends the sandbox.
    pub async fn stop(&self, abort: Abort) -> Result<Stopped> {
        self.ready()?;
        let this = self.clone();
        let asked = abort.clone();
        let place = self.stand(Some(Wish::Stop))?;
        self.goes_on(place, abort, async move { stop::stop(&this, &asked).await }).await
    }

    /// Makes other workspaces that begin where this one is now.
    pub async fn fork(&self, request: ForkRequest, abort: Abort) -> Result<Forked> {
        self.ready()?;
        let this = self.clone();
        let asked = abort.clone();
        let place = self.stand_for_forks()?;
        self.goes_on(place, abort, async move { fork::fork(&this, request, &asked).await }).await
    }

    /// The snapshot with which another workspace begins where this one is now.
    pub async fn source(&self, key: Option<String>) -> Result<Origin> {
        self.ready()?;
        let this = self.clone();
        let place = self.stand_for_forks()?;
        self.goes_on(place, Abort::never(), async move { fork::source(&this, key).await }).await
    }

    /// Changes how the workspace is kept, or goes back to an earlier snapshot of it.
    pub async fn update(&self, request: UpdateRequest, abort: Abort) -> Result<Described> {
        self.ready()?;
        let this = self.clone();
        let asked = abort.clone();
        let place = self.stand(None)?;
        self.goes_on(place, abort, async move { update::update(&this, request, &asked).await }).await
    }

    /// Ends the workspace, removes its snapshots, and frees its name.
    pub async fn delete(&self, abort: Abort) -> Result<DeletedWorkspace> {
        self.ready()?;
        let this = self.clone();
        let asked = abort.clone();
        let place = self.stand(Some(Wish::Delete))?;
        self.goes_on(place, abort, async move { delete::delete(&this, &asked).await }).await
    }

    /// What the alarm is for: time limits, and what is left to be done.
    pub async fn alarm(&self) -> Result<()> {
        expire::alarm(self).await
    }

    /// What every call begins with.
    fn ready(&self) -> Result<()> {
        self.ports.backups()?;
        self.ports.sandboxes()?;
        self.ports.workspaces()?;
        self.ports.names()?;
        self.ports.home()?;
        Ok(())
    }

    fn stand(&self, wish: Option<Wish>) -> Result<Place<Wish>> {
        self.memory.line.stand(wish, &format!("calls for {}", self.whose()))
    }

    fn stand_for_forks(&self) -> Result<Place<Wish>> {
        self.memory.forks.stand(None, &format!("forks of {}", self.whose()))
    }

    /// What a message calls the workspace.
    fn whose(&self) -> String {
        format!("the workspace {:?}", self.address.name.as_str())
    }

    /// Waits for this call's turn. Whoever had it before is done, or died.
    async fn turn(&self, abort: &Abort) -> Result<MutexGuard<'_, ()>> {
        let turn = self.memory.turn.lock().await;
        abort.check()?;
        step::recover(self)?;
        Ok(turn)
    }

    /// The workspace, if there is one.
    fn existing(&self) -> Result<NamedRecord> {
        let record = self.ports.home()?.named()?.filter(NamedRecord::exists);
        record.ok_or_else(|| {
            Error::new(
                Code::WorkspaceNotFound,
                format!(
                    "The tenant {:?} has no workspace {:?}.",
                    self.address.tenant.as_str(),
                    self.address.name.as_str()
                ),
                "Make it with create() or getOrCreate(); list() shows those that there are.",
            )
        })
    }

    /// Does `work` to its end, also when the caller stops waiting for it. So long it has its place.
    async fn goes_on<T: 'static>(
        &self,
        place: Place<Wish>,
        abort: Abort,
        work: impl Future<Output = Result<T>> + 'static,
    ) -> Result<T> {
        abort.check()?;
        let (sender, outcome) = oneshot::channel();
        let work = AssertUnwindSafe(work).catch_unwind().map(|outcome| {
            drop(place);
            // Nobody waits any more when this fails.
            let _ = sender.send(outcome.unwrap_or_else(|_| Err(Error::defect())));
        });
        self.ports.background().run(work.boxed_local());
        match select(outcome, abort.fired().boxed_local()).await {
            Either::Left((outcome, _)) => outcome.unwrap_or_else(|_| Err(Error::defect())),
            Either::Right(((), _)) => Err(left()),
        }
    }
}

/// The error of a caller who does not wait any longer for what is done with a workspace.
pub fn left() -> Error {
    Error::new(
        Code::Aborted,
        "The caller's AbortSignal fired. What was begun with the workspace goes on; what was not is not done.",
        "Ask getByName() what came of it.",
    )
}
