//! The access log: one log line and one data point for each call.

use serde_json::{Value, json};
use worker::Env;

use super::operations::{Operation, Target};
use crate::cloudflare::log::LogLine;
use crate::cloudflare::metrics::{DataPoint, Metrics};
use crate::cloudflare::runtime::WorkerEntropy;
use crate::model::json::RawJson;
use crate::model::token::TokenId;
use crate::model::{Error, Result, SnapshotId};
use crate::ports::Entropy;
use crate::service::calls::call_context::CallContext;

/// The log data of a call, besides its outcome.
#[derive(Default)]
pub(super) struct CallLog {
    /// The id of the caller's token.
    pub token_id: Option<TokenId>,
    /// The target of the operation.
    pub target: Option<Target>,
    /// The name of the tool that the call runs.
    pub tool: Option<&'static str>,
    /// The operations that the tool called, with their targets and their answers.
    pub tool_calls: Vec<(Operation, Target, Value)>,
}

/// Writes the log line of a call, and its data point.
pub(super) fn log_call(
    operation: Operation,
    call_log: &CallLog,
    context: &CallContext,
    duration_millis: i64,
    outcome: &Result<RawJson>,
    env: &Env,
) {
    let side_effects = context.effects_for_log();
    let mut line = LogLine::of(operation.name(), &context.correlation_id).with("durationMs", duration_millis);
    if let Some(tool) = call_log.tool {
        line.add("tool", tool);
    }
    log_token(&mut line, call_log.token_id.as_ref());
    if let Some(target) = &call_log.target {
        log_target(&mut line, target);
    }
    let mut size = None;
    for (operation, target, answer) in &call_log.tool_calls {
        log_target(&mut line, target);
        log_answer(&mut line, *operation, answer);
        size = size_bytes(*operation, answer).or(size);
    }
    match outcome {
        Ok(answer) => {
            line.add("outcome", "success");
            if is_logged(operation) {
                let answer = answer.parse().unwrap_or_default();
                log_answer(&mut line, operation, &answer);
                size = size_bytes(operation, &answer).or(size);
            }
        }
        Err(error) => log_error(&mut line, error),
    }
    if let Some(size) = size {
        line.add("sizeBytes", size);
    }
    line.with_side_effects(&side_effects).write();
    if let Some(metrics) = Metrics::from_env(env) {
        let code = outcome.as_ref().err().map(|error| error.code().as_str().to_owned());
        #[allow(clippy::cast_precision_loss)] // The values are far below 2^53.
        metrics.count(&DataPoint {
            event: operation.name().to_owned(),
            outcome: if outcome.is_ok() { "success" } else { "failure" },
            code: code.unwrap_or_default(),
            tool: call_log.tool.unwrap_or_default().to_owned(),
            duration_millis: duration_millis as f64,
            size_bytes: size.unwrap_or_default() as f64,
            attempts: side_effects.attempts.into(),
        });
    }
}

/// Writes the log line of a download, when its stream begins.
pub(super) fn log_download(
    name: &str,
    token_id: Option<&TokenId>,
    target: Option<&Target>,
    context: &CallContext,
    duration_millis: i64,
    outcome: Result<&SnapshotId, &Error>,
) {
    let mut line = LogLine::of(name, &context.correlation_id).with("durationMs", duration_millis);
    log_token(&mut line, token_id);
    if let Some(target) = target {
        log_target(&mut line, target);
    }
    match outcome {
        Ok(snapshot_id) => {
            line.add("outcome", "success");
            line.add("snapshotId", snapshot_id.as_str());
        }
        Err(error) => log_error(&mut line, error),
    }
    line.with_side_effects(&context.effects_for_log()).write();
}

/// Writes the log line of a request that is refused before any operation runs. Returns its correlation id.
pub(super) fn log_refusal(event: &str, error: &Error) -> String {
    let correlation_id = correlation_id();
    let mut line = LogLine::of(event, &correlation_id);
    log_error(&mut line, error);
    line.write();
    correlation_id
}

/// Returns a random id for one call: 16 hexadecimal digits.
pub(super) fn correlation_id() -> String {
    let random = WorkerEntropy.random_bytes().unwrap_or_default();
    format!("{:016x}", u64::from_be_bytes(random.first_chunk().copied().unwrap_or_default()))
}

/// Adds the id of the caller's token, which is not a secret.
fn log_token(line: &mut LogLine, id: Option<&TokenId>) {
    if let Some(id) = id {
        line.add("tokenId", id.as_str());
    }
}

fn log_target(line: &mut LogLine, target: &Target) {
    match target {
        Target::Sandbox(id) => line.add("originId", id.as_str()),
        Target::Named(address) => {
            line.add("tenant", address.tenant.as_str());
            line.add("name", address.name.as_str());
        }
        _ => {}
    }
}

/// Returns the members of an answer that are logged: their names in the line, and their JSON pointers in the answer.
fn logged_members(operation: Operation) -> &'static [(&'static str, &'static str)] {
    match operation {
        Operation::Snapshot | Operation::Import => {
            &[("snapshotId", "/ref/snapshotId"), ("originId", "/ref/originId"), ("rootId", "/ref/rootId")]
        }
        Operation::Restore | Operation::Branch => &[("sandboxId", "/ref/sandboxId"), ("rootId", "/ref/rootId")],
        Operation::Revive => &[
            ("sandboxId", "/sandboxId"),
            ("how", "/how"),
            ("snapshotId", "/restoredFrom/snapshotId"),
            ("snapshotAgeSeconds", "/restoredFrom/ageSeconds"),
            ("mayHaveLost", "/mayHaveLost"),
        ],
        Operation::Get
        | Operation::Manifest
        | Operation::Label
        | Operation::Pin
        | Operation::Unpin
        | Operation::Delete => &[("snapshotId", "/snapshotId")],
        Operation::ListFiles
        | Operation::StatFile
        | Operation::ReadFile
        | Operation::SummarizeFiles
        | Operation::WriteFile
        | Operation::MakeDirectory
        | Operation::MoveFile
        | Operation::RemoveFile
        | Operation::RestoreFiles => &[("snapshotId", "/snapshotId"), ("sandboxId", "/sandboxId")],
        Operation::Diff => &[("snapshotId", "/from"), ("comparedTo", "/to"), ("sandboxId", "/sandboxId")],
        Operation::Verify => &[("snapshotId", "/snapshotId"), ("ok", "/ok")],
        Operation::StartCommand | Operation::ReadCommandOutput | Operation::EndCommand => {
            &[("sandboxId", "/sandboxId"), ("commandId", "/commandId"), ("state", "/state"), ("exitCode", "/exitCode")]
        }
        Operation::ListCommands => &[("sandboxId", "/sandboxId")],
        Operation::Exec => &[("sandboxId", "/sandboxId"), ("exitCode", "/exitCode"), ("timedOut", "/timedOut")],
        Operation::Sweep => &[("counts", "")],
        Operation::Health => &[("ok", "/ok")],
        Operation::StopWorkspace | Operation::MigrateWorkspace => {
            &[("state", "/state"), ("sandboxId", "/sandboxId"), ("snapshotId", "/lastSnapshot/id")]
        }
        Operation::CreateWorkspace
        | Operation::GetOrCreateWorkspace
        | Operation::GetWorkspaceByName
        | Operation::StartWorkspace
        | Operation::UpdateWorkspace
        | Operation::PromoteWorkspace => &[
            ("state", "/state"),
            ("sandboxId", "/sandboxId"),
            ("snapshotId", "/restoredFrom/snapshotId"),
            ("snapshotStorage", "/restoredFrom/storage"),
            ("snapshotAgeSeconds", "/restoredFrom/ageSeconds"),
            ("mayHaveLost", "/mayHaveLost"),
        ],
        Operation::TurnEnded => &[("state", "/state"), ("saveDueAt", "/saveDueAt")],
        Operation::ForkWorkspace => {
            &[("snapshotId", "/snapshotId"), ("originId", "/originId"), ("mayHaveLost", "/mayHaveLost")]
        }
        Operation::CreateCheckpoint
        | Operation::RestoreCheckpoint
        | Operation::DeleteCheckpoint
        | Operation::DiffCheckpoint => &[("commit", "/commit")],
        Operation::List
        | Operation::Lineage
        | Operation::Retention
        | Operation::SetRetention
        | Operation::ApplyRetention
        | Operation::RotateKey
        | Operation::ListWorkspaces
        | Operation::Usage
        | Operation::DeleteWorkspace
        | Operation::ListCheckpoints
        | Operation::ListTools
        | Operation::CallTool
        | Operation::GrantTools
        | Operation::CreateToken
        | Operation::ListTokens
        | Operation::RevokeToken
        | Operation::CurrentToken => &[],
    }
}

/// Returns whether any member of an answer is logged.
fn is_logged(operation: Operation) -> bool {
    !logged_members(operation).is_empty()
}

fn log_answer(line: &mut LogLine, operation: Operation, answer: &Value) {
    for (name, pointer) in logged_members(operation) {
        if let Some(value) = answer.pointer(pointer) {
            let mut value = value.clone();
            // The keys may belong to the application, so only the caller receives them.
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

/// Returns the size of the archive in an answer, in bytes.
fn size_bytes(operation: Operation, answer: &Value) -> Option<u64> {
    let pointer = match operation {
        Operation::Snapshot | Operation::Import => "/capture/sizeBytes",
        Operation::StopWorkspace | Operation::MigrateWorkspace => "/lastSnapshot/sizeBytes",
        Operation::Get | Operation::Manifest | Operation::Label | Operation::Pin | Operation::Unpin => "/sizeBytes",
        _ => return None,
    };
    answer.pointer(pointer)?.as_u64()
}

/// Adds an error to a log line. Omits the message if it may quote input, which only the caller receives.
pub(super) fn log_error(line: &mut LogLine, error: &Error) {
    line.add("outcome", "failure");
    line.add("code", json!(error.code()));
    let may_quote_input = error.code().may_quote_input();
    if !may_quote_input {
        line.add("message", error.message());
    }
    if let Some(cause) = error.cause() {
        let mut cause = json!(cause);
        if let (true, Some(cause)) = (may_quote_input, cause.as_object_mut()) {
            cause.remove("message");
        }
        line.add("cause", cause);
    }
}
