//! Operations, each on a stage that is prepared for it, to be disturbed at each of their calls.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::Result;
use serde_json::{Value, json};

use super::{MINUTE, Method, Moment, Running, Stage, by_ref};

/// An operation, on a stage that is prepared for it.
pub type Prepare = fn() -> (Stage, Operation, Value);

pub const PLAYS: [(&str, Prepare); 9] = [
    ("snapshot", || (Stage::with_sandbox(), Operation::Snapshot, labelled())),
    ("snapshot that replaces a label", || {
        let stage = Stage::with_sandbox();
        stage.captures("agent-42", "latest");
        let arguments = json!({ "sandboxId": "agent-42", "label": "latest", "replace": true, "idempotencyKey": "k" });
        (stage, Operation::Snapshot, arguments)
    }),
    ("snapshot of a sandbox that wakes", || {
        let arguments = json!({ "sandboxId": "agent-42", "wake": true, "idempotencyKey": "k" });
        (Stage::empty(), Operation::Snapshot, arguments)
    }),
    ("snapshot of a restored sandbox", || {
        let (stage, snapshot) = Stage::with_snapshot();
        stage.world.draws_next(Some([0; 32]));
        let restored = stage.restore(&snapshot).unwrap().sandbox_id().clone();
        stage.world.pass(MINUTE);
        (stage, Operation::Snapshot, json!({ "sandboxId": restored, "idempotencyKey": "k" }))
    }),
    ("snapshot of a container that is replaced meanwhile", || {
        let stage = Stage::with_sandbox();
        stage.world.before(Method::CreateBackup).nth(1).happens(|world| world.is_replaced("agent-42"));
        (stage, Operation::Snapshot, labelled())
    }),
    ("restore", || {
        let (stage, snapshot) = Stage::with_snapshot();
        (stage, Operation::Restore, json!({ "ref": snapshot, "idempotencyKey": "k" }))
    }),
    ("branch of which the first attempt fails", || {
        let (stage, snapshot) = Stage::with_snapshot();
        stage.world.after(Method::RestoreBackup).nth(1).fails_in_passing();
        (stage, Operation::Branch, json!({ "ref": snapshot, "idempotencyKey": "k" }))
    }),
    ("delete", || {
        let (stage, snapshot) = Stage::with_snapshot();
        (stage, Operation::Delete, by_ref(&snapshot))
    }),
    ("retention", || {
        let stage = Stage::with_sandbox();
        for label in ["one", "two", "three"] {
            stage.captures("agent-42", label);
        }
        let policy = json!({ "sandboxId": "agent-42", "policy": { "keepLast": { "count": 1 } } });
        (stage, Operation::SetRetention, policy)
    }),
];

fn labelled() -> Value {
    json!({ "sandboxId": "agent-42", "label": "before", "idempotencyKey": "k" })
}

/// A play that is to be disturbed at one call of a port.
pub struct Play {
    pub stage: Stage,
    pub operation: Operation,
    pub arguments: Value,
    /// The how manieth call it is, of any method.
    pub number: u32,
    pub moment: Moment,
    /// What it is called.
    pub name: &'static str,
}

impl Play {
    /// What is said of it when it fails.
    fn title(&self) -> String {
        let Self { name, moment, number, .. } = self;
        format!("{name}, {moment:?} call {number} of {:?}", self.stage.world.calls())
    }

    /// Begins it, and what it leaves to the background.
    pub fn begin(&self) -> Running<Result<Value>> {
        let running = self.stage.begin(self.operation, &self.arguments);
        self.stage.world.go_on_in_background();
        running
    }
}

/// Has every play disturbed at each of its calls, before and after its effect, as long as `disturb` says that there was
/// such a call.
pub fn at_every_call(disturb: impl Fn(&Play) -> bool) {
    at_every_call_of(&PLAYS, disturb);
}

/// As [`at_every_call`], of these plays.
pub fn at_every_call_of(plays: &[(&'static str, Prepare)], disturb: impl Fn(&Play) -> bool) {
    for (name, prepare) in plays {
        for moment in Moment::BOTH {
            let disturbed = (1..).take_while(|number| {
                let (stage, operation, arguments) = prepare();
                stage.world.forget_calls();
                let play = Play { stage, operation, arguments, number: *number, moment, name };
                catch_unwind(AssertUnwindSafe(|| disturb(&play))).unwrap_or_else(|panic| {
                    println!("{}", play.title());
                    resume_unwind(panic)
                })
            });
            assert!(disturbed.count() > 1, "{name} makes calls");
        }
    }
}
