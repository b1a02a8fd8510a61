//! What is told of a call: a line of the log, and a data point.

use serde_json::{Value, json};
use worker::Env;

use super::operations::{Operation, Target};
use crate::cloudflare::log::Line;
use crate::cloudflare::metrics::{Metrics, Point};
use crate::cloudflare::runtime::WorkerEntropy;
use crate::model::{Error, Result};
use crate::ports::Entropy;
use crate::service::trace::Trace;

/// What is known of a call before it is answered.
#[derive(Default)]
pub(super) struct Told {
    /// What it is about.
    pub target: Option<Target>,
    /// The tool that it calls.
    pub tool: Option<&'static str>,
}

/// Tells what a call came to, in one line, and counts it.
pub(super) fn tell(
    operation: Operation,
    told: &Told,
    trace: &Trace,
    duration_millis: i64,
    outcome: &Result<Value>,
    env: &Env,
) {
    let deeds = trace.deeds();
    let mut line = Line::of(operation.name(), &trace.correlation_id).with("durationMs", duration_millis);
    if let Some(tool) = told.tool {
        line.add("tool", tool);
    }
    match &told.target {
        Some(Target::Sandbox(id)) => line.add("originId", id.as_str()),
        Some(Target::Named(address)) => {
            line.add("tenant", address.tenant.as_str());
            line.add("name", address.name.as_str());
        }
        _ => {}
    }
    let size = outcome.as_ref().ok().and_then(size_bytes);
    match outcome {
        Ok(answer) => {
            line.add("outcome", "success");
            add_answer(&mut line, operation, answer);
        }
        Err(error) => add_error(&mut line, error),
    }
    if let Some(size) = size {
        line.add("sizeBytes", size);
    }
    line.with_deeds(&deeds).write();
    if let Some(metrics) = Metrics::of(env) {
        let code = outcome.as_ref().err().map(|error| error.code().as_str().to_owned());
        #[allow(clippy::cast_precision_loss)] // Far below 2^53.
        metrics.count(&Point {
            event: operation.name().to_owned(),
            outcome: if outcome.is_ok() { "success" } else { "failure" },
            code: code.unwrap_or_default(),
            tool: told.tool.unwrap_or_default().to_owned(),
            duration_millis: duration_millis as f64,
            size_bytes: size.unwrap_or_default() as f64,
            attempts: deeds.attempts.into(),
        });
    }
}

/// Tells what failed without being an operation. Answers its correlation id.
pub(super) fn refused(event: &str, error: &Error) -> String {
    let correlation_id = correlation_id();
    let mut line = Line::of(event, &correlation_id);
    add_error(&mut line, error);
    line.write();
    correlation_id
}

/// An id for one call: 16 hexadecimal digits.
pub(super) fn correlation_id() -> String {
    let random = WorkerEntropy.bytes().unwrap_or_default();
    format!("{:016x}", u64::from_be_bytes(random.first_chunk().copied().unwrap_or_default()))
}

/// The size of the archive that an answer tells of.
fn size_bytes(answer: &Value) -> Option<u64> {
    let places = ["/capture/sizeBytes", "/lastSnapshot/sizeBytes", "/sizeBytes"];
    places.iter().find_map(|place| answer.pointer(place)?.as_u64())
}

fn add_answer(line: &mut Line, operation: Operation, answer: &Value) {
    match operation {
        Operation::Sweep => line.add("counts", answer.clone()),
        Operation::Health => line.add("ok", answer.get("ok").cloned().unwrap_or_default()),
        _ => {
            for id in ["tenant", "name", "state", "snapshotId", "originId", "sandboxId", "rootId"] {
                if let Some(value) = answer.pointer(&format!("/ref/{id}")).or_else(|| answer.get(id)) {
                    line.add(id, value.clone());
                }
            }
        }
    }
}

/// The message only where it is about this Worker's world: otherwise it quotes what the caller sent.
pub(super) fn add_error(line: &mut Line, error: &Error) {
    line.add("outcome", "failure");
    line.add("code", json!(error.code()));
    if !error.code().is_about_the_call() {
        line.add("message", error.message());
        line.add("cause", json!(error.cause()));
    }
}
