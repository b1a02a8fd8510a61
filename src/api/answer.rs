//! One call from its arrival to its log line.

use std::cell::RefCell;
use std::panic::AssertUnwindSafe;
use std::rc::Rc;

use futures_util::FutureExt;
use serde::Serialize;
use serde_json::Value;
use wasm_bindgen::{JsCast, JsValue};
use worker::Env;

use super::operations::{Operation, Target, list, sweep, target_of, to_json};
use super::tell::{Told, correlation_id, tell};
use super::tools;
use super::tools::call::Operations;
use crate::cloudflare::deployment::{Deployment, Platform, api_token};
use crate::cloudflare::health::configuration;
use crate::cloudflare::runtime::{WaitUntil, WorkerClock, abort_of};
use crate::model::answer::Descent;
use crate::model::json::Printed;
use crate::model::tool::Tools;
use crate::model::{Code, Error, Result, SandboxId};
use crate::ports::{Clock, Ports};
use crate::service::named::left;
use crate::service::trace::Trace;
use crate::service::{Abort, health};

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
    /// What was asked for, or why it is not there.
    pub outcome: Result<Printed>,
}

/// Has `operation` carried out by the workspace that it is about, and tells what came of it, in one line of JSON. The
/// arguments are checked here already: what can't be done reaches no object.
pub(super) async fn answer(
    operation: Operation,
    call: impl Future<Output = Result<Call>>,
    env: &Env,
    ctx: JsValue,
) -> Answer {
    console_error_panic_hook::set_once();
    let trace = Trace::new(correlation_id());
    let started = WorkerClock.now();
    let told = Rc::new(RefCell::new(Told::default()));
    let work = trace.within(asked(operation, call, env, ctx, &told));
    let outcome = AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_| Err(Error::defect()));
    let told = told.take();
    tell(operation, &told, &trace, WorkerClock.now().millis_since(started), &outcome, env);
    let correlation_id = trace.correlation_id.clone();
    let outcome = match outcome {
        // The model is to read what happened, and go on; unless nobody listens any more.
        Err(error) if told.tool.is_some() && error.code() != Code::Aborted => {
            to_json(&tools::call::failed(&error, &correlation_id)).map(|failed| Printed::of(&failed))
        }
        outcome => outcome,
    };
    Answer { correlation_id, outcome }
}

async fn asked(
    operation: Operation,
    call: impl Future<Output = Result<Call>>,
    env: &Env,
    ctx: JsValue,
    told: &Rc<RefCell<Told>>,
) -> Result<Printed> {
    if operation == Operation::Health {
        target_of(operation, &call.await?.arguments)?;
        let checks = configuration(env);
        return match Platform::open(env, ctx) {
            Ok(platform) => print(&health(&platform, checks).await),
            Err(_) => print(&crate::model::health::Health::of(WorkerClock.now(), checks)),
        };
    }
    let deployment = Deployment::open(env, ctx.clone())?;
    deployment.ready(operation.needs_bucket())?;
    let Call { arguments, signal } = call.await?;
    let target = target_of(operation, &arguments)?;
    told.borrow_mut().target = Some(target.clone());
    let abort = signal.dyn_ref().map_or_else(Abort::never, abort_of);
    abort.check()?;
    let platform = Rc::clone(deployment.platform());
    if let Target::Tool(request) = &target {
        told.borrow_mut().tool = Some(tools::find(&request.toolset, &request.name)?.0.op());
    }
    if let Some(toolset) = target.toolset() {
        deployment.ready(toolset.needs_bucket())?;
    }
    let api_token = api_token(env)?;
    let (told, goes_on) = (Rc::clone(told), matches!(target, Target::Named(_)));
    let work = async move {
        match target {
            Target::Tools(toolset) => print(&Tools { tools: tools::definitions(&toolset)? }),
            Target::Tool(request) => print(&tools::call(&Platforms { platform, signal, told }, &request).await?),
            Target::Grant(request) => print(&tools::grant::grant(api_token.as_deref(), &request, WorkerClock.now())?),
            target => carry_out(&platform, target, operation, &arguments, &signal).await,
        }
    };
    // A caller who hangs up takes this event with it, unless something goes on: the workspace has to be told.
    let outcome = abort.ends_wait_for(work, &WaitUntil::of(ctx)).await;
    outcome.map_err(|error| if goes_on && error.code() == Code::Aborted { left() } else { error })
}

/// Has an operation carried out by whoever it is for.
async fn carry_out(
    platform: &Platform,
    target: Target,
    operation: Operation,
    arguments: &Value,
    signal: &JsValue,
) -> Result<Printed> {
    match target {
        Target::Sandbox(id) => platform.workspaces()?.perform(&id, operation.name(), arguments, signal).await,
        Target::Named(address) => platform.names()?.perform(&address, operation.name(), arguments, signal).await,
        Target::Directory(request) => list(platform, &request).await.map(|list| Printed::of(&list)),
        Target::Bucket(request) => sweep(platform, request).await.map(|counts| Printed::of(&counts)),
        Target::Tools(_) | Target::Tool(_) | Target::Grant(_) | Target::Deployment(_) => Err(Error::defect()),
    }
}

fn print(answer: &impl Serialize) -> Result<Printed> {
    to_json(answer).map(|answer| Printed::of(&answer))
}

/// The operations that tools consist of, for one caller.
struct Platforms {
    platform: Rc<Platform>,
    signal: JsValue,
    told: Rc<RefCell<Told>>,
}

impl Operations for Platforms {
    async fn carry_out(&self, operation: Operation, arguments: Value) -> Result<Value> {
        let target = target_of(operation, &arguments)?;
        let outcome = carry_out(&self.platform, target.clone(), operation, &arguments, &self.signal).await;
        let outcome = outcome.and_then(|answer| answer.read().map_err(|_| Error::defect()));
        let answer = outcome.as_ref().map_or(Value::Null, Clone::clone);
        self.told.borrow_mut().done.push((operation, target, answer));
        outcome
    }

    async fn descent(&self, id: &SandboxId) -> Result<Descent> {
        self.platform.workspaces()?.descent(id).await
    }
}
