//! The fault plan: faults and events at port calls.

use std::cell::{Cell, RefCell};
use std::future::pending;
use std::pin::Pin;
use std::rc::Rc;

use futures_channel::oneshot;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use sandbox_snapshotter::model::Failure;

use super::{Method, World};

/// The phase of a call in which a fault occurs: before its effect, or after its effect and before its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallPhase {
    Before,
    After,
}

impl CallPhase {
    /// Both phases.
    pub const BOTH: [Self; 2] = [Self::Before, Self::After];

    /// Returns whether the call has had its effect.
    pub fn is_after(self) -> bool {
        self == Self::After
    }
}

/// The calls that a fault applies to. The first call is number 1.
#[derive(Clone, Copy)]
enum CallSelector {
    Nth(u32),
    First(u32),
    Every,
}

#[derive(Clone)]
enum Fault {
    Fail(Failure),
    Run(Rc<dyn Fn(&World)>),
    Block(Rc<Gate>),
    /// The call is never answered.
    Hang,
    /// The call takes effect when its caller drops it, and is never answered.
    Delay,
    /// The call takes effect when the test lets it, and is never answered.
    Hold(Rc<HeldCall>),
}

/// The delivery of a call.
enum Delivery {
    OnTime,
    Delayed,
    Held(Rc<HeldCall>),
}

struct PlannedFault {
    /// The method; `None` for every method.
    method: Option<Method>,
    phase: CallPhase,
    selector: CallSelector,
    /// The sandbox; `None` for every sandbox.
    target: Option<String>,
    fault: Fault,
}

/// A call of a port.
struct PortCall<'a> {
    method: Method,
    target: &'a str,
    number: u32,
    overall_number: u32,
}

/// The planned faults.
#[derive(Default)]
pub struct FaultPlan(RefCell<Vec<PlannedFault>>);

impl FaultPlan {
    /// Executes the faults that are planned for this call and phase.
    async fn inject(&self, world: &World, call: &PortCall<'_>, phase: CallPhase) -> Result<Delivery, Failure> {
        let faults: Vec<Fault> = {
            let plan = self.0.borrow();
            let due = plan.iter().filter(|planned| {
                let number = if planned.method.is_some() { call.number } else { call.overall_number };
                planned.method.is_none_or(|method| method == call.method)
                    && planned.phase == phase
                    && planned.target.as_ref().is_none_or(|target| target == call.target)
                    && match planned.selector {
                        CallSelector::Nth(nth) => number == nth,
                        CallSelector::First(count) => number <= count,
                        CallSelector::Every => true,
                    }
            });
            due.map(|planned| planned.fault.clone()).collect()
        };
        for fault in faults {
            match fault {
                Fault::Fail(failure) => return Err(failure),
                Fault::Run(event) => event(world),
                Fault::Block(gate) => gate.wait().await,
                // Calls of other ports have no timeout.
                Fault::Hang | Fault::Delay | Fault::Hold(_) if !call.method.is_sandbox_call() => {}
                Fault::Hang => pending().await,
                Fault::Delay => return Ok(Delivery::Delayed),
                Fault::Hold(held) => return Ok(Delivery::Held(held)),
            }
        }
        Ok(Delivery::OnTime)
    }
}

impl World {
    /// Plans a fault before the effect of a call.
    pub fn before(&self, method: Method) -> FaultBuilder<'_> {
        FaultBuilder { world: self, method: Some(method), phase: CallPhase::Before, selector: CallSelector::Every }
    }

    /// Plans a fault after the effect of a call, before its answer.
    pub fn after(&self, method: Method) -> FaultBuilder<'_> {
        FaultBuilder { world: self, method: Some(method), phase: CallPhase::After, selector: CallSelector::Every }
    }

    /// Plans a fault in a phase of a call.
    pub fn at(&self, method: Method, phase: CallPhase) -> FaultBuilder<'_> {
        FaultBuilder { phase, ..self.before(method) }
    }

    /// Plans a fault at calls of any method, which are numbered together.
    pub fn at_any_call(&self, phase: CallPhase) -> FaultBuilder<'_> {
        FaultBuilder { world: self, method: None, phase, selector: CallSelector::Every }
    }

    /// Makes all calls to a sandbox hang.
    pub fn hang_sandbox(&self, id: &str) {
        self.faults.0.borrow_mut().push(PlannedFault {
            method: None,
            phase: CallPhase::Before,
            selector: CallSelector::Every,
            target: Some(id.to_owned()),
            fault: Fault::Hang,
        });
    }

    /// Removes all planned faults.
    pub fn clear_faults(&self) {
        self.faults.0.borrow_mut().clear();
    }

    /// Makes a port call: records it, executes the planned faults around its effect, and advances the clock by 1 ms
    /// before and after.
    pub(super) async fn call<T>(
        &self,
        method: Method,
        target: &str,
        effect: impl Future<Output = Result<T, Failure>> + 'static,
    ) -> Result<T, Failure> {
        let (number, overall_number) = self.record_call(method, target);
        let call = PortCall { method, target, number, overall_number };
        self.advance_clock(1);
        match self.faults.inject(self, &call, CallPhase::Before).await? {
            Delivery::OnTime => {}
            Delivery::Delayed => {
                let _late_effect = LateEffect(Box::pin(effect));
                return pending().await;
            }
            Delivery::Held(held) => {
                held.0.replace(Some(async move { drop(effect.await) }.boxed_local()));
                return pending().await;
            }
        }
        let answer = effect.await?;
        self.faults.inject(self, &call, CallPhase::After).await?;
        self.advance_clock(1);
        Ok(answer)
    }
}

/// Builds a planned fault. Without a selector, it applies to every call.
#[derive(Clone, Copy)]
pub struct FaultBuilder<'a> {
    world: &'a World,
    method: Option<Method>,
    phase: CallPhase,
    selector: CallSelector,
}

impl FaultBuilder<'_> {
    /// Selects one call.
    pub fn nth(self, number: u32) -> Self {
        Self { selector: CallSelector::Nth(number), ..self }
    }

    /// Selects the first `count` calls.
    pub fn first(self, count: u32) -> Self {
        Self { selector: CallSelector::First(count), ..self }
    }

    /// Makes the call fail. After its effect, the answer is lost.
    pub fn fail_with(self, failure: Failure) {
        self.add(Fault::Fail(failure));
    }

    /// Makes the call fail with a transient error.
    pub fn fail_transiently(self) {
        self.fail_with(Failure::new("Error", "Network connection lost."));
    }

    /// Runs an event in the world.
    pub fn run(self, event: impl Fn(&World) + 'static) {
        self.add(Fault::Run(Rc::new(event)));
    }

    /// Makes the call take time.
    pub fn take_millis(self, millis: i64) {
        self.run(move |world| world.advance_clock(millis));
    }

    /// Makes the call hang: it is never answered.
    pub fn hang(self) {
        self.add(Fault::Hang);
    }

    /// Makes the call take effect when its caller drops it. Use it only before the effect.
    pub fn take_effect_late(self) {
        self.add(Fault::Delay);
    }

    /// Makes the call take effect when the test lets it, whether or not its caller still waits. It is never answered.
    pub fn hold(self) -> Rc<HeldCall> {
        let held = Rc::default();
        self.add(Fault::Hold(Rc::clone(&held)));
        held
    }

    /// Blocks the call until the gate is opened.
    pub fn block(self) -> Rc<Gate> {
        let gate = Rc::new(Gate::new());
        self.add(Fault::Block(Rc::clone(&gate)));
        gate
    }

    fn add(self, fault: Fault) {
        let Self { method, phase, selector, .. } = self;
        self.world.faults.0.borrow_mut().push(PlannedFault { method, phase, selector, target: None, fault });
    }
}

/// An effect that is applied when its call is dropped.
struct LateEffect<F: Future>(Pin<Box<F>>);

impl<F: Future> Drop for LateEffect<F> {
    fn drop(&mut self) {
        // The answer is discarded.
        drop(self.0.as_mut().now_or_never());
    }
}

/// A call that has not taken effect yet.
#[derive(Default)]
pub struct HeldCall(RefCell<Option<LocalBoxFuture<'static, ()>>>);

impl HeldCall {
    /// Makes the call take effect.
    pub fn take_effect(&self) {
        let effect = self.0.take().expect("a held call takes effect once");
        effect.now_or_never().expect("its effect waits for nothing");
    }
}

/// Blocks one call.
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

    /// Returns whether a call has reached the gate.
    pub fn is_reached(&self) -> bool {
        self.reached.get()
    }

    /// Unblocks the call.
    pub fn open(&self) {
        let opener = self.opener.borrow_mut().take().expect("a gate is opened once");
        opener.send(()).ok();
    }

    async fn wait(&self) {
        self.reached.set(true);
        let opened = self.opened.borrow_mut().take();
        if let Some(opened) = opened {
            opened.await.ok();
        }
    }
}
