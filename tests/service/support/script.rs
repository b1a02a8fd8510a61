//! What goes wrong, when: faults and events at the calls of the ports.

use std::cell::{Cell, RefCell};
use std::future::pending;
use std::pin::Pin;
use std::rc::Rc;

use futures_channel::oneshot;
use futures_util::FutureExt;
use sandbox_snapshotter::model::Failure;

use super::World;

/// A method of the ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    State,
    Name,
    Configure,
    Probe,
    MakeDirectory,
    LeaveNote,
    RemoveNote,
    CreateBackup,
    RestoreBackup,
    Destroy,
    KeepAwake,
    SetEnv,
    Stamp,
    Begin,
    Arrive,
    Survey,
    Hashes,
    Watch,
    IgnoredBelow,
    Stirred,
    RunHook,
    Checkpoint,
    Metadata,
    Archive,
    ArchiveHead,
    List,
    Delete,
    Claim,
    Release,
    Root,
    Describe,
    Sweep,
    Lend,
    Find,
    Newest,
    Capture,
    SetPolicy,
    Reserve,
    Look,
    AskStirred,
    Resume,
    Halt,
    Retire,
    Note,
    ListNames,
    Source,
    Create,
    Sleep,
}

impl Method {
    /// Whether it is a call to a sandbox, which has a time limit.
    pub const fn is_of_sandboxes(self) -> bool {
        (self as u8) <= (Self::Checkpoint as u8)
    }
}

/// When something happens to a call: before it has its effect, or after, when its answer is still out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    Before,
    After,
}

impl Moment {
    /// Both of them.
    pub const BOTH: [Self; 2] = [Self::Before, Self::After];

    /// Whether the call has had its effect.
    pub fn is_after(self) -> bool {
        self == Self::After
    }
}

/// Which calls of a method are meant; the first is number 1.
#[derive(Clone, Copy)]
enum Which {
    Nth(u32),
    First(u32),
    Every,
}

#[derive(Clone)]
enum Effect {
    Fail(Failure),
    Do(Rc<dyn Fn(&World)>),
    Hold(Rc<Gate>),
    /// The call is never answered.
    Hang,
    /// The call has its effect when its caller has given it up, and is not answered.
    Late,
}

/// What becomes of a call.
#[derive(PartialEq)]
enum Fate {
    GoesOn,
    IsLate,
}

struct Line {
    /// `None` for every method.
    method: Option<Method>,
    moment: Moment,
    which: Which,
    /// `None` for every sandbox.
    about: Option<String>,
    effect: Effect,
}

/// A call of a port.
struct Call<'a> {
    method: Method,
    target: &'a str,
    number: u32,
    number_of_all: u32,
}

/// What is going to happen at calls of the ports.
#[derive(Default)]
pub struct Script(RefCell<Vec<Line>>);

impl Script {
    /// Lets everything happen that is planned for this moment.
    async fn play(&self, world: &World, call: &Call<'_>, moment: Moment) -> Result<Fate, Failure> {
        let planned: Vec<Effect> = {
            let lines = self.0.borrow();
            let due = lines.iter().filter(|line| {
                let number = if line.method.is_some() { call.number } else { call.number_of_all };
                line.method.is_none_or(|method| method == call.method)
                    && line.moment == moment
                    && line.about.as_ref().is_none_or(|about| about == call.target)
                    && match line.which {
                        Which::Nth(nth) => number == nth,
                        Which::First(count) => number <= count,
                        Which::Every => true,
                    }
            });
            due.map(|line| line.effect.clone()).collect()
        };
        for effect in planned {
            match effect {
                Effect::Fail(failure) => return Err(failure),
                Effect::Do(event) => event(world),
                Effect::Hold(gate) => gate.pass().await,
                // Those of other ports have no limits.
                Effect::Hang | Effect::Late if !call.method.is_of_sandboxes() => {}
                Effect::Hang => pending().await,
                Effect::Late => return Ok(Fate::IsLate),
            }
        }
        Ok(Fate::GoesOn)
    }
}

impl World {
    /// Plans something for the moment at which a call arrives, before it has any effect.
    pub fn before(&self, method: Method) -> Plan<'_> {
        Plan { world: self, method: Some(method), moment: Moment::Before, which: Which::Every }
    }

    /// Plans something for the moment at which a call has had its effect, before it is answered.
    pub fn after(&self, method: Method) -> Plan<'_> {
        Plan { world: self, method: Some(method), moment: Moment::After, which: Which::Every }
    }

    /// Plans something for either moment of a call.
    pub fn at(&self, method: Method, moment: Moment) -> Plan<'_> {
        Plan { moment, ..self.before(method) }
    }

    /// Plans something for calls of any method; they are numbered together.
    pub fn at_any_call(&self, moment: Moment) -> Plan<'_> {
        Plan { world: self, method: None, moment, which: Which::Every }
    }

    /// From now on no call to this sandbox is answered.
    pub fn falls_silent(&self, id: &str) {
        let (about, effect) = (Some(id.to_owned()), Effect::Hang);
        self.script.0.borrow_mut().push(Line {
            method: None,
            moment: Moment::Before,
            which: Which::Every,
            about,
            effect,
        });
    }

    /// Forgets what was planned.
    pub fn goes_well(&self) {
        self.script.0.borrow_mut().clear();
    }

    /// One call of a port: it is logged, takes a moment to arrive and one to be answered, and what is planned
    /// happens around its effect.
    pub async fn call<T>(
        &self,
        method: Method,
        target: &str,
        effect: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.reach(method, target, async { effect() }).await
    }

    /// As [`call`](Self::call), for one whose effect takes time itself.
    pub async fn reach<T>(
        &self,
        method: Method,
        target: &str,
        effect: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let (number, number_of_all) = self.log(method, target);
        let call = Call { method, target, number, number_of_all };
        self.pass(1);
        if self.script.play(self, &call, Moment::Before).await? == Fate::IsLate {
            let _late = Late(Box::pin(effect));
            pending::<()>().await;
            unreachable!("nothing ends that wait");
        }
        let answer = effect.await?;
        self.script.play(self, &call, Moment::After).await?;
        self.pass(1);
        Ok(answer)
    }
}

/// Something that is planned for the calls of a method: for all of them, where it isn't said which.
#[derive(Clone, Copy)]
pub struct Plan<'a> {
    world: &'a World,
    method: Option<Method>,
    moment: Moment,
    which: Which,
}

impl Plan<'_> {
    /// Only for one call.
    pub fn nth(self, number: u32) -> Self {
        Self { which: Which::Nth(number), ..self }
    }

    /// Only for the first calls.
    pub fn first(self, count: u32) -> Self {
        Self { which: Which::First(count), ..self }
    }

    /// The call fails. After its effect, that is an answer that got lost.
    pub fn fails_with(self, failure: Failure) {
        self.add(Effect::Fail(failure));
    }

    /// The call fails in a way that passes.
    pub fn fails_in_passing(self) {
        self.fails_with(Failure::new("Error", "Network connection lost."));
    }

    /// Something happens in the world.
    pub fn happens(self, event: impl Fn(&World) + 'static) {
        self.add(Effect::Do(Rc::new(event)));
    }

    /// The call takes time.
    pub fn takes(self, millis: i64) {
        self.happens(move |world| world.pass(millis));
    }

    /// The call is never answered.
    pub fn is_never_answered(self) {
        self.add(Effect::Hang);
    }

    /// The call has its effect as soon as its caller has given it up; for those planned before their effect.
    pub fn comes_late(self) {
        self.add(Effect::Late);
    }

    /// The call is held open until the gate is opened.
    pub fn held(self) -> Rc<Gate> {
        let gate = Rc::new(Gate::new());
        self.add(Effect::Hold(Rc::clone(&gate)));
        gate
    }

    fn add(self, effect: Effect) {
        let Self { method, moment, which, .. } = self;
        self.world.script.0.borrow_mut().push(Line { method, moment, which, about: None, effect });
    }
}

/// An effect that comes when nobody waits for it any more.
struct Late<F: Future>(Pin<Box<F>>);

impl<F: Future> Drop for Late<F> {
    fn drop(&mut self) {
        // Nobody hears what it answers.
        drop(self.0.as_mut().now_or_never());
    }
}

/// Holds one call open.
pub struct Gate {
    reached: Cell<bool>,
    opener: RefCell<Option<oneshot::Sender<()>>>,
    opened: RefCell<Option<oneshot::Receiver<()>>>,
}

impl Gate {
    fn new() -> Self {
        let (sender, receiver) = oneshot::channel();
        Self { reached: Cell::new(false), opener: Some(sender).into(), opened: Some(receiver).into() }
    }

    /// Whether a call waits here, or has.
    pub fn is_reached(&self) -> bool {
        self.reached.get()
    }

    /// Lets the call go on.
    pub fn open(&self) {
        let opener = self.opener.borrow_mut().take().expect("a gate is opened once");
        opener.send(()).ok();
    }

    async fn pass(&self) {
        self.reached.set(true);
        let opened = self.opened.borrow_mut().take();
        if let Some(opened) = opened {
            opened.await.ok();
        }
    }
}
