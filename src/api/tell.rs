//! What is told of a call: a line of the log, and a data point.

use serde_json::{Value, json};
use worker::Env;

use super::operations::{Operation, Target};
use crate::cloudflare::log::Line;
use crate::cloudflare::metrics::{Metrics, Point};
use crate::cloudflare::runtime::WorkerEntropy;
use crate::model::json::Printed;
use crate::model::{Error, Result};
use crate::ports::Entropy;
use crate::service::trace::Trace;

/// What is known of a call beside what it came to.
#[derive(Default)]
pub(super) struct Told {
    /// What it is about.
    pub target: Option<Target>,
    /// The tool that it calls.
    pub tool: Option<&'static str>,
    /// What the tool has done: the operations, what they were about, and what they answered.
    pub done: Vec<(Operation, Target, Value)>,
}

/// Tells what a call came to, in one line, and counts it.
pub(super) fn tell(
    operation: Operation,
    told: &Told,
    trace: &Trace,
    duration_millis: i64,
    outcome: &Result<Printed>,
    env: &Env,
) {
    let deeds = trace.tell();
    let mut line = Line::of(operation.name(), &trace.correlation_id).with("durationMs", duration_millis);
    if let Some(tool) = told.tool {
        line.add("tool", tool);
    }
    if let Some(target) = &told.target {
        add_target(&mut line, target);
    }
    let mut size = None;
    for (operation, target, answer) in &told.done {
        add_target(&mut line, target);
        add_answer(&mut line, *operation, answer);
        size = size_bytes(*operation, answer).or(size);
    }
    match outcome {
        Ok(answer) => {
            line.add("outcome", "success");
            if is_told(operation) {
                let answer = answer.read().unwrap_or_default();
                add_answer(&mut line, operation, &answer);
                size = size_bytes(operation, &answer).or(size);
            }
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

fn add_target(line: &mut Line, target: &Target) {
    match target {
        Target::Sandbox(id) => line.add("originId", id.as_str()),
        Target::Named(address) => {
            line.add("tenant", address.tenant.as_str());
            line.add("name", address.name.as_str());
        }
        _ => {}
    }
}

/// The members of an answer that are told: by what, and where it is.
fn members(operation: Operation) -> &'static [(&'static str, &'static str)] {
    match operation {
        Operation::Snapshot | Operation::Import => {
            &[("snapshotId", "/ref/snapshotId"), ("originId", "/ref/originId"), ("rootId", "/ref/rootId")]
        }
        Operation::Restore | Operation::Branch => &[("sandboxId", "/ref/sandboxId"), ("rootId", "/ref/rootId")],
        Operation::Get
        | Operation::Manifest
        | Operation::Label
        | Operation::Pin
        | Operation::Unpin
        | Operation::Delete => &[("snapshotId", "/snapshotId")],
        Operation::Verify => &[("snapshotId", "/snapshotId"), ("ok", "/ok")],
        Operation::Sweep => &[("counts", "")],
        Operation::Health => &[("ok", "/ok")],
        Operation::StopWorkspace => {
            &[("state", "/state"), ("sandboxId", "/sandboxId"), ("snapshotId", "/lastSnapshot/id")]
        }
        Operation::CreateWorkspace
        | Operation::GetOrCreateWorkspace
        | Operation::GetWorkspaceByName
        | Operation::StartWorkspace
        | Operation::UpdateWorkspace => {
            &[("state", "/state"), ("sandboxId", "/sandboxId"), ("snapshotId", "/restoredFrom")]
        }
        Operation::ForkWorkspace => &[("snapshotId", "/snapshotId"), ("originId", "/originId")],
        Operation::CreateCheckpoint | Operation::RestoreCheckpoint | Operation::DiffCheckpoint => {
            &[("commit", "/commit")]
        }
        Operation::List
        | Operation::Lineage
        | Operation::Retention
        | Operation::SetRetention
        | Operation::ApplyRetention
        | Operation::RotateKey
        | Operation::ListWorkspaces
        | Operation::DeleteWorkspace
        | Operation::ListCheckpoints
        | Operation::ListTools
        | Operation::CallTool
        | Operation::GrantTools => &[],
    }
}

/// Whether anything of an answer is told.
fn is_told(operation: Operation) -> bool {
    !members(operation).is_empty()
}

fn add_answer(line: &mut Line, operation: Operation, answer: &Value) {
    for (name, place) in members(operation) {
        if let Some(value) = answer.pointer(place) {
            let mut value = value.clone();
            // The keys may be an application's own: they are for the caller alone.
            if let (Operation::Sweep, Some(counts)) = (operation, value.as_object_mut()) {
                counts.remove("unownedObjects");
            }
            line.add(name, value);
        }
    }
    if let (Operation::ForkWorkspace, Some(forks)) = (operation, answer.get("forks").and_then(Value::as_array)) {
        let failed = forks.iter().filter(|fork| fork.get("error").is_some()).count();
        line.add("made", forks.len().saturating_sub(failed));
        line.add("failed", failed);
    }
}

/// The size of the archive that an answer tells of.
fn size_bytes(operation: Operation, answer: &Value) -> Option<u64> {
    let place = match operation {
        Operation::Snapshot | Operation::Import => "/capture/sizeBytes",
        Operation::StopWorkspace => "/lastSnapshot/sizeBytes",
        Operation::Get | Operation::Manifest | Operation::Label | Operation::Pin | Operation::Unpin => "/sizeBytes",
        _ => return None,
    };
    answer.pointer(place)?.as_u64()
}

/// What was said only where it can be nobody's content: otherwise it is for the caller alone.
pub(super) fn add_error(line: &mut Line, error: &Error) {
    line.add("outcome", "failure");
    line.add("code", json!(error.code()));
    let may_quote = error.code().may_quote();
    if !may_quote {
        line.add("message", error.message());
    }
    if let Some(cause) = error.cause() {
        let mut cause = json!(cause);
        if let (true, Some(cause)) = (may_quote, cause.as_object_mut()) {
            cause.remove("message");
        }
        line.add("cause", cause);
    }
}
