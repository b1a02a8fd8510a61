//! One call from its arrival to its log line.

use std::cell::Cell;
use std::panic::AssertUnwindSafe;
use std::rc::Rc;

use futures_util::FutureExt;
use serde_json::{Map, Value, json};
use wasm_bindgen::{JsCast, JsValue};
use worker::Env;

use super::operations::{Operation, Target, list, sweep, target_of, to_json};
use super::tools;
use super::tools::call::Operations;
use crate::cloudflare::Deployment;
use crate::cloudflare::deployment::{Platform, api_token};
use crate::cloudflare::runtime::{WaitUntil, WorkerClock, WorkerEntropy, abort_of};
use crate::model::answer::Descent;
use crate::model::tool::Tools;
use crate::model::{Code, Error, Result, SandboxId};
use crate::ports::{Clock, Entropy, Ports};
use crate::service::Abort;

/// What a caller wants.
pub(super) struct Call {
    /// The operation's options.
    pub arguments: Value,
    /// An `AbortSignal`, or undefined.
    pub signal: JsValue,
}

/// What a call came to.
pub(super) struct Answer {
    /// Also in the log line of the call.
    pub correlation_id: String,
    /// The JSON that was asked for, or why there is none.
    pub outcome: Result<Value>,
}

/// Has `operation` carried out by the workspace that it is about, and logs what came of it, in one line of JSON. The
/// arguments are checked here already: what can't be done reaches no object.
pub(super) async fn answer(operation: Operation, call: Result<Call>, env: &Env, ctx: JsValue) -> Answer {
    console_error_panic_hook::set_once();
    let correlation_id = correlation_id();
    let started = WorkerClock.now();
    let tool = Cell::new(None);
    let work = async {
        let deployment = Deployment::open(env, ctx.clone())?;
        deployment.ready(operation.needs_bucket())?;
        let Call { arguments, signal } = call?;
        let target = target_of(operation, &arguments)?;
        let abort = signal.dyn_ref().map_or_else(Abort::never, abort_of);
        abort.check()?;
        let platform = Rc::clone(deployment.platform());
        if let Target::Tool(request) = &target {
            tool.set(Some(tools::find(&request.toolset, &request.name)?.0));
        }
        if let Some(toolset) = target.toolset() {
            deployment.ready(toolset.needs_bucket())?;
        }
        let api_token = api_token(env)?;
        let work = async move {
            match target {
                Target::Tools(toolset) => to_json(&Tools { tools: tools::definitions(&toolset)? }),
                Target::Tool(request) => to_json(&tools::call(&Platforms { platform, signal }, &request).await?),
                Target::Grant(request) => {
                    to_json(&tools::grant::grant(api_token.as_deref(), &request, WorkerClock.now())?)
                }
                target => carry_out(&platform, target, operation, &arguments, &signal).await,
            }
        };
        // A caller who hangs up takes this event with it, unless something goes on: the workspace has to be told.
        abort.ends_wait_for(work, &WaitUntil::of(ctx)).await
    };
    let outcome = AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_| Err(Error::defect()));
    let mut line = begin(operation.name(), &correlation_id);
    line.insert("durationMs".into(), json!(WorkerClock.now().millis_since(started)));
    if let Some(tool) = tool.get() {
        line.insert("tool".into(), json!(tool.op()));
    }
    if outcome.is_ok() {
        line.insert("outcome".into(), json!("success"));
    }
    match &outcome {
        Ok(answer) if operation == Operation::Sweep => _ = line.insert("counts".into(), answer.clone()),
        Ok(answer) => add_answer(&mut line, answer),
        Err(error) => add_error(&mut line, error),
    }
    log(line);
    let outcome = match outcome {
        // The model is to read what happened, and go on; unless nobody listens any more.
        Err(error) if tool.get().is_some() && error.code() != Code::Aborted => {
            to_json(&tools::call::failed(&error, &correlation_id))
        }
        outcome => outcome,
    };
    Answer { correlation_id, outcome }
}

/// Has an operation carried out by whoever it is for.
async fn carry_out(
    platform: &Platform,
    target: Target,
    operation: Operation,
    arguments: &Value,
    signal: &JsValue,
) -> Result<Value> {
    match target {
        Target::Sandbox(id) => platform.workspaces()?.perform(&id, operation.name(), arguments, signal).await,
        Target::Named(address) => platform.names()?.perform(&address, operation.name(), arguments, signal).await,
        Target::Directory(request) => list(platform, &request).await,
        Target::Bucket(request) => sweep(platform, request).await,
        Target::Tools(_) | Target::Tool(_) | Target::Grant(_) => Err(Error::defect()),
    }
}

/// The operations that tools consist of, for one caller.
struct Platforms {
    platform: Rc<Platform>,
    signal: JsValue,
}

impl Operations for Platforms {
    async fn carry_out(&self, operation: Operation, arguments: Value) -> Result<Value> {
        let target = target_of(operation, &arguments)?;
        carry_out(&self.platform, target, operation, &arguments, &self.signal).await
    }

    async fn descent(&self, id: &SandboxId) -> Result<Descent> {
        self.platform.workspaces()?.descent(id).await
    }
}

/// Logs what failed without being an operation. Answers its correlation id.
pub(super) fn refused(event: &str, error: &Error) -> String {
    let correlation_id = correlation_id();
    let mut line = begin(event, &correlation_id);
    add_error(&mut line, error);
    log(line);
    correlation_id
}

/// An id for one call: 16 hexadecimal digits.
fn correlation_id() -> String {
    let random = WorkerEntropy.bytes().unwrap_or_default();
    format!("{:016x}", u64::from_be_bytes(random.first_chunk().copied().unwrap_or_default()))
}

fn begin(event: &str, correlation_id: &str) -> Map<String, Value> {
    Map::from_iter([("event".into(), json!(event)), ("correlationId".into(), json!(correlation_id))])
}

fn add_answer(line: &mut Map<String, Value>, answer: &Value) {
    for id in ["tenant", "name", "state", "snapshotId", "originId", "sandboxId", "rootId"] {
        if let Some(value) = answer.pointer(&format!("/ref/{id}")).or_else(|| answer.get(id)) {
            line.insert(id.into(), value.clone());
        }
    }
}

/// The message only where it is about this Worker's world: otherwise it quotes what the caller sent.
fn add_error(line: &mut Map<String, Value>, error: &Error) {
    line.insert("outcome".into(), json!("failure"));
    line.insert("code".into(), json!(error.code()));
    if !error.code().is_about_the_call() {
        line.insert("message".into(), json!(error.message()));
        line.insert("cause".into(), json!(error.cause()));
    }
}

/// One line of JSON: ids and outcomes, never content, labels or secrets.
fn log(line: Map<String, Value>) {
    web_sys::console::log_1(&Value::Object(line).to_string().into());
}
