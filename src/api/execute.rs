//! The execution of one call, from its arrival to its log line.

use std::cell::RefCell;
use std::panic::AssertUnwindSafe;
use std::rc::Rc;

use futures_util::FutureExt;
use serde::Serialize;
use serde_json::Value;
use wasm_bindgen::{JsCast, JsValue};
use worker::Env;

use super::access_log::{CallLog, correlation_id, log_call};
use super::operations::{Operation, Request, Target, requests, run_entrypoint, to_json};
use super::reference::decode_request;
use super::tools::{self, OperationExecutor};
use crate::cloudflare::deployment::{Deployment, WorkerPorts, api_token};
use crate::cloudflare::health::check_configuration;
use crate::cloudflare::runtime::{WaitUntil, WorkerClock, cancellation_token};
use crate::model::answer::SandboxParent;
use crate::model::json::RawJson;
use crate::model::tool::ToolList;
use crate::model::{Code, Error, Result, SandboxId, SnapshotId};
use crate::ports::{Clock, Ports, SandboxLedgerClient};
use crate::service::access::Access;
use crate::service::access::similar::{WorkspaceNames, suggest_similar};
use crate::service::calls::call_context::CallContext;
use crate::service::files::in_sandbox;
use crate::service::lineage::locate::find_origin;
use crate::service::lineage::selection::{correct_origin, resolve_workspaces};
use crate::service::{CancellationToken, health};

/// The input of a call.
pub(super) struct Call {
    /// The operation's options.
    pub arguments: Value,
    /// An `AbortSignal`, or undefined.
    pub signal: JsValue,
    /// The content of a file to write, if the arguments contain none.
    pub input: Option<web_sys::ReadableStream>,
}

/// The outcome of a call.
pub(super) struct Answer {
    /// The correlation id, which is also in the log line of the call.
    pub correlation_id: String,
    /// The answer or the error.
    pub outcome: Result<RawJson>,
}

/// Runs `operation` in the object of its target, and writes one log line. Validates the arguments first, so that an
/// invalid call reaches no object.
pub(super) async fn execute(
    operation: Operation,
    access: Access,
    call: impl Future<Output = Result<Call>>,
    env: &Env,
    ctx: JsValue,
) -> Answer {
    console_error_panic_hook::set_once();
    let context = CallContext::new(correlation_id());
    let started = WorkerClock.now();
    let call_log = CallLog { token_id: access.token_id().cloned(), ..CallLog::default() };
    let call_log = Rc::new(RefCell::new(call_log));
    let work = context.scope(execute_operation(operation, access, call, env, ctx, &call_log));
    let outcome = AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_| Err(Error::internal()));
    let call_log = call_log.take();
    log_call(operation, &call_log, &context, WorkerClock.now().millis_since(started), &outcome, env);
    let correlation_id = context.correlation_id.clone();
    let outcome = match outcome {
        // A tool error is a result, so that the model reads it. An aborted call has no reader, and fails.
        Err(error) if call_log.tool.is_some() && error.code() != Code::Aborted => {
            to_json(&tools::call::error_result(&error, &correlation_id)).map(|result| RawJson::from_value(&result))
        }
        outcome => outcome,
    };
    Answer { correlation_id, outcome }
}

async fn execute_operation(
    operation: Operation,
    access: Access,
    call: impl Future<Output = Result<Call>>,
    env: &Env,
    ctx: JsValue,
    call_log: &Rc<RefCell<CallLog>>,
) -> Result<RawJson> {
    access.check_operation(operation)?;
    if operation == Operation::Health {
        decode_request(operation, &call.await?.arguments)?;
        let checks = check_configuration(env);
        return match WorkerPorts::open(env, ctx) {
            Ok(ports) => to_raw_json(&access.filter_health(health(&ports, checks).await)),
            Err(_) => {
                to_raw_json(&crate::model::health::Health::new(env!("CARGO_PKG_VERSION"), WorkerClock.now(), checks))
            }
        };
    }
    let deployment = Deployment::open(env, ctx.clone())?;
    deployment.ports().check_bindings(operation.needs_bucket())?;
    let call = call.await?;
    let (ports, named) = (Rc::clone(deployment.ports()), WorkspaceNames::of(&call.arguments));
    match execute_call(operation, access.clone(), call, (env, ctx), &ports, call_log).await {
        Err(error) => Err(suggest_similar(&*ports, &access, &named, error).await),
        answer => answer,
    }
}

async fn execute_call(
    operation: Operation,
    access: Access,
    call: Call,
    (env, ctx): (&Env, JsValue),
    ports: &Rc<WorkerPorts>,
    call_log: &Rc<RefCell<CallLog>>,
) -> Result<RawJson> {
    let Call { arguments, signal, input } = call;
    let arguments = resolve_workspaces(&**ports, &access, operation, arguments).await?;
    let request = decode_request(operation, &arguments)?;
    let target = request.target();
    call_log.borrow_mut().target = Some(target.clone());
    let abort = abort_token(&signal);
    abort.check()?;
    let ports = Rc::clone(ports);
    if let Request::Tools(requests::Tools::CallTool(call)) = &request {
        call_log.borrow_mut().tool = Some(tools::find_tool(&call.toolset, &call.name)?.0.op());
    }
    if let Some(toolset) = request.toolset() {
        ports.check_bindings(toolset.needs_bucket())?;
    }
    let api_token = api_token(env)?;
    let (call_log, continues_in_object) = (Rc::clone(call_log), matches!(target, Target::Named(_)));
    let work = async move {
        access.authorize(&*ports, &request).await?;
        match request {
            Request::Tools(request) => match request {
                requests::Tools::ListTools(toolset) => to_raw_json(&ToolList { tools: tools::definitions(&toolset)? }),
                requests::Tools::CallTool(call) => {
                    to_raw_json(&tools::call(&PlatformExecutor { ports, access, signal, call_log }, &call).await?)
                }
                requests::Tools::GrantTools(grant) => {
                    to_raw_json(&tools::grant::issue_token(api_token.as_deref(), &grant, WorkerClock.now())?)
                }
            },
            Request::Entrypoint(requests::Entrypoint::WriteFile(request)) => {
                to_raw_json(&in_sandbox::write(&ports, request, input).await?)
            }
            request => dispatch(&ports, &access, request, &arguments, &signal).await,
        }
    }
    .boxed_local();
    // When the caller disconnects, the platform ends this event unless work remains in the background. The work stays
    // there until the abort has reached the object.
    let outcome = abort.run_until_cancelled(work, &WaitUntil::of(ctx)).await;
    outcome.map_err(
        |error| if continues_in_object && error.code() == Code::Aborted { Error::wait_cancelled() } else { error },
    )
}

/// Returns the cancellation token of an `AbortSignal`, or of undefined.
pub(super) fn abort_token(signal: &JsValue) -> CancellationToken {
    signal.dyn_ref().map_or_else(CancellationToken::never, cancellation_token)
}

/// Runs an operation that the caller was authorized for, in the object of its target. The object gets the arguments as the
/// caller passed them.
async fn dispatch(
    ports: &Rc<WorkerPorts>,
    access: &Access,
    request: Request,
    arguments: &Value,
    signal: &JsValue,
) -> Result<RawJson> {
    let filtered = access.filters(&request).then(|| request.clone());
    let answer = match dispatch_unfiltered(ports, access, request.clone(), arguments, signal).await {
        Err(error) => match correct_origin(&**ports, &request, arguments, &error).await {
            Some(corrected) => {
                let request = Request::decode(request.operation(), &corrected)?;
                access.authorize(&**ports, &request).await?;
                dispatch_unfiltered(ports, access, request, &corrected, signal).await?
            }
            None => return Err(error),
        },
        answer => answer?,
    };
    let Some(request) = filtered else { return Ok(answer) };
    let answer = answer.parse().map_err(|_| Error::internal())?;
    access.filter(&**ports, &request, answer).await.map(|answer| RawJson::from_value(&answer))
}

async fn dispatch_unfiltered(
    ports: &Rc<WorkerPorts>,
    access: &Access,
    request: Request,
    arguments: &Value,
    signal: &JsValue,
) -> Result<RawJson> {
    let operation = request.operation();
    match request.target() {
        Target::Sandbox(id) => ports.sandbox_ledgers()?.0.run(id.as_str(), operation, arguments, signal).await,
        Target::Named(address) => {
            ports.named_workspaces()?.named.run(&address.to_string(), operation, arguments, signal).await
        }
        Target::Entrypoint | Target::Tools | Target::Deployment => {
            run_entrypoint(ports, access, request, abort_token(signal)).await.map(|answer| RawJson::from_value(&answer))
        }
    }
}

fn to_raw_json(answer: &impl Serialize) -> Result<RawJson> {
    to_json(answer).map(|answer| RawJson::from_value(&answer))
}

/// The executor of the operations of a tool, for one caller.
struct PlatformExecutor {
    ports: Rc<WorkerPorts>,
    access: Access,
    signal: JsValue,
    call_log: Rc<RefCell<CallLog>>,
}

impl OperationExecutor for PlatformExecutor {
    async fn execute(&self, operation: Operation, arguments: Value) -> Result<Value> {
        let arguments = resolve_workspaces(&*self.ports, &self.access, operation, arguments).await?;
        let request = Request::decode(operation, &arguments)?;
        self.access.authorize(&*self.ports, &request).await?;
        let target = request.target();
        let outcome = dispatch(&self.ports, &self.access, request, &arguments, &self.signal).await;
        let outcome = outcome.and_then(|answer| answer.parse().map_err(|_| Error::internal()));
        let answer = outcome.as_ref().map_or(Value::Null, Clone::clone);
        self.call_log.borrow_mut().tool_calls.push((operation, target, answer));
        outcome
    }

    async fn parent_of(&self, id: &SandboxId) -> Result<SandboxParent> {
        self.ports.sandbox_ledgers()?.parent_of(id).await
    }

    async fn origin_of(&self, id: &SandboxId, snapshot_id: &SnapshotId) -> Result<Option<SandboxId>> {
        Ok(find_origin(&*self.ports, id, snapshot_id).await?.map(|origin| origin.sandbox_id))
    }
}
