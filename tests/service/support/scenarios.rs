//! Scenarios: operations with a prepared fixture, which tests run with a fault at each of their calls.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Failure, Result};
use serde_json::{Value, json};

use super::{CallPhase, CancellationSource, Fixture, Gate, MINUTE, Method, PendingOperation, by_ref};

/// Prepares a fixture, an operation and its arguments.
pub type Setup = fn() -> (Fixture, Operation, Value);

pub const SCENARIOS: [(&str, Setup); 12] = [
    ("snapshot", || (Fixture::with_sandbox(), Operation::Snapshot, labelled_snapshot())),
    ("snapshot with a freeze", || {
        let mut arguments = labelled_snapshot();
        arguments["freeze"] = json!({ "freeze": "db freeze", "thaw": "db thaw" });
        (Fixture::with_sandbox(), Operation::Snapshot, arguments)
    }),
    ("snapshot that replaces a label", || {
        let fixture = Fixture::with_sandbox();
        fixture.snapshot_labelled("agent-42", "latest");
        let arguments = json!({ "sandboxId": "agent-42", "label": "latest", "replace": true, "idempotencyKey": "k" });
        (fixture, Operation::Snapshot, arguments)
    }),
    ("snapshot that starts the container", || {
        let arguments = json!({ "sandboxId": "agent-42", "wake": true, "idempotencyKey": "k" });
        (Fixture::empty(), Operation::Snapshot, arguments)
    }),
    ("snapshot of a restored sandbox", || {
        let (fixture, snapshot) = Fixture::with_snapshot();
        fixture.world.queue_random(Some([0; 32]));
        let restored = fixture.restore(&snapshot).unwrap().sandbox_id().clone();
        fixture.world.advance_clock(MINUTE);
        (fixture, Operation::Snapshot, json!({ "sandboxId": restored, "idempotencyKey": "k" }))
    }),
    ("snapshot of a container that is replaced meanwhile", || {
        let fixture = Fixture::with_sandbox();
        fixture.world.before(Method::CreateBackup).nth(1).run(|world| world.replace_container("agent-42"));
        (fixture, Operation::Snapshot, labelled_snapshot())
    }),
    ("restore", || {
        let (fixture, snapshot) = Fixture::with_snapshot();
        (fixture, Operation::Restore, json!({ "ref": snapshot, "idempotencyKey": "k" }))
    }),
    ("branch of which the first attempt fails", || {
        let (fixture, snapshot) = Fixture::with_snapshot();
        fixture.world.after(Method::RestoreBackup).nth(1).fail_transiently();
        (fixture, Operation::Branch, json!({ "ref": snapshot, "idempotencyKey": "k" }))
    }),
    ("revive", || {
        let (fixture, _) = Fixture::with_snapshot();
        fixture.world.end_container("agent-42");
        (fixture, Operation::Revive, json!({ "sandboxId": "agent-42", "idempotencyKey": "k" }))
    }),
    ("revive that rescues files", || {
        let (fixture, _) = Fixture::with_diverged_sandbox();
        let arguments = json!({ "sandboxId": "agent-42", "onDiverged": "rescue", "idempotencyKey": "k" });
        (fixture, Operation::Revive, arguments)
    }),
    ("delete", || {
        let (fixture, snapshot) = Fixture::with_snapshot();
        (fixture, Operation::Delete, by_ref(&snapshot))
    }),
    ("retention", || {
        let fixture = Fixture::with_sandbox();
        for label in ["one", "two", "three"] {
            fixture.snapshot_labelled("agent-42", label);
        }
        let policy = json!({ "sandboxId": "agent-42", "policy": { "keepLast": { "count": 1 } } });
        (fixture, Operation::SetRetention, policy)
    }),
];

fn labelled_snapshot() -> Value {
    json!({ "sandboxId": "agent-42", "label": "before", "idempotencyKey": "k" })
}

/// An operation that a test disturbs at one port call.
pub struct Scenario {
    pub fixture: Fixture,
    pub operation: Operation,
    pub arguments: Value,
    /// The number of the port call, counted over all methods, from 1.
    pub call_number: u32,
    pub phase: CallPhase,
    /// The name of the scenario.
    pub name: &'static str,
}

impl Scenario {
    /// Returns the title that a failed test prints.
    fn title(&self) -> String {
        let Self { name, phase, call_number, .. } = self;
        format!("{name}, {phase:?} call {call_number} of {:?}", self.fixture.world.calls())
    }

    /// Begins the operation and its background work.
    pub fn start(&self) -> PendingOperation<Result<Value>> {
        let running = self.fixture.begin(self.operation, &self.arguments);
        self.fixture.world.run_background();
        running
    }

    fn block_call(&self) -> Rc<Gate> {
        self.fixture.world.at_any_call(self.phase).nth(self.call_number).block()
    }

    /// Crashes the Worker at the call. Returns whether the operation made that call.
    pub fn crash_at_call(&self) -> bool {
        let gate = self.block_call();
        let work = self.start();
        if gate.is_reached() {
            self.fixture.crash_during(work);
        }
        self.fixture.world.clear_faults();
        gate.is_reached()
    }

    /// Cancels the operation at the call. Returns its outcome, or `None` if it did not make that call.
    pub fn cancel_at_call(&self) -> Option<Result<Value>> {
        let gate = self.block_call();
        let (signal, abort) = CancellationSource::new();
        let work = self.fixture.begin_cancellable(self.operation, &self.arguments, abort);
        if !gate.is_reached() {
            return None;
        }
        signal.cancel();
        let outcome = work.answer();
        gate.open();
        self.fixture.world.finish_background();
        self.fixture.world.clear_faults();
        Some(outcome)
    }

    /// Makes the call fail, and verifies the outcome with `check`. Returns whether the operation made that call.
    fn fail_call(&self, failure: Failure, check: impl Fn(&Self, &Result<Value>)) -> bool {
        let world = &self.fixture.world;
        world.at_any_call(self.phase).nth(self.call_number).fail_with(failure);
        let outcome = self.start().answer();
        world.run_background();
        let calls = world.calls().len();
        world.clear_faults();
        check(self, &outcome);
        calls >= self.call_number as usize
    }
}

/// Crashes the Worker at every call of every scenario, and verifies the state after it with `check`.
pub fn crash_at_every_call(scenarios: &[(&'static str, Setup)], check: impl Fn(&Scenario)) {
    for_every_call_of(scenarios, |scenario| {
        let crashed = scenario.crash_at_call();
        if crashed {
            check(scenario);
        }
        crashed
    });
}

/// Makes every call of every scenario fail transiently, and verifies the outcome with `check`.
pub fn fail_every_call_transiently(scenarios: &[(&'static str, Setup)], check: impl Fn(&Scenario, &Result<Value>)) {
    let failure = || Failure::new("Error", "Network connection lost.");
    for_every_call_of(scenarios, |scenario| scenario.fail_call(failure(), &check));
}

/// Makes every call of every scenario fail permanently, and verifies the outcome with `check`.
pub fn fail_every_call_permanently(scenarios: &[(&'static str, Setup)], check: impl Fn(&Scenario, &Result<Value>)) {
    let failure = || Failure::new("Error", "boom").with_code("UNKNOWN_ERROR");
    for_every_call_of(scenarios, |scenario| match scenario.phase {
        CallPhase::Before => scenario.fail_call(failure(), &check),
        // A call that took effect never reports a permanent failure.
        CallPhase::After => scenario.call_number < 3,
    });
}

/// Runs `disturb` for every scenario at each of its calls, before and after the effect, until `disturb` returns that
/// the operation made no such call.
pub fn for_every_call(disturb: impl Fn(&Scenario) -> bool) {
    for_every_call_of(&SCENARIOS, disturb);
}

/// As [`for_every_call`], for the given scenarios.
pub fn for_every_call_of(scenarios: &[(&'static str, Setup)], disturb: impl Fn(&Scenario) -> bool) {
    for phase in CallPhase::BOTH {
        for_every_call_in(phase, scenarios, &disturb);
    }
}

/// As [`for_every_call_of`], in one phase.
pub fn for_every_call_in(phase: CallPhase, scenarios: &[(&'static str, Setup)], disturb: impl Fn(&Scenario) -> bool) {
    for scenario in scenarios {
        let disturbed = (1..).take_while(|call_number| disturb_at(scenario, phase, *call_number, &disturb));
        assert!(disturbed.count() > 1, "{} makes calls", scenario.0);
    }
}

/// Runs `disturb` for every scenario once in each phase. The call number has no meaning.
pub fn for_every_scenario(scenarios: &[(&'static str, Setup)], disturb: impl Fn(&Scenario)) {
    for phase in CallPhase::BOTH {
        for scenario in scenarios {
            disturb_at(scenario, phase, 1, &disturb);
        }
    }
}

/// Runs `disturb` for a scenario and one of its calls.
fn disturb_at<T>(
    (name, prepare): &(&'static str, Setup),
    phase: CallPhase,
    call_number: u32,
    disturb: impl Fn(&Scenario) -> T,
) -> T {
    let (fixture, operation, arguments) = prepare();
    fixture.world.reset_calls();
    let scenario = Scenario { fixture, operation, arguments, call_number, phase, name };
    catch_unwind(AssertUnwindSafe(|| disturb(&scenario))).unwrap_or_else(|panic| {
        println!("{}", scenario.title());
        resume_unwind(panic)
    })
}
