//! `exec` as a stream of server-sent events: a command whose output the caller reads while it runs.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{Either, select};
use futures_util::stream::{self, Stream};
use js_sys::Promise;
use js_sys::futures::future_to_promise;
use serde_json::json;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::*;
use worker::{Env, Response, ResponseBuilder};

use super::access_log::{CallLog, correlation_id, log_call};
use super::exception::to_exception;
use super::execute::{Call, abort_token};
use super::operations::{Operation, Request, requests};
use super::reference::name_page;
use super::rpc::{read_arguments, take_signal, take_stream};
use crate::cloudflare::deployment::{Deployment, WorkerPorts};
use crate::cloudflare::runtime::WorkerClock;
use crate::model::exec::{ExecEvent, ExecEventWriter};
use crate::model::json::RawJson;
use crate::model::request::ExecRequest;
use crate::model::{Error, Result};
use crate::ports::{Clock, Ports};
use crate::service::access::Access;
use crate::service::calls::call_context::CallContext;
use crate::service::exec::{self, Execution};

/// The media type of the stream.
pub(super) const MEDIA_TYPE: &str = "text/event-stream";

/// The time without events after which a comment is sent: only a write shows that the connection is closed.
const HEARTBEAT: Duration = Duration::from_secs(2);

/// A comment, which readers of events ignore.
const COMMENT: &[u8] = b":\n\n";

/// A command whose output the caller reads.
pub(super) struct ExecStream {
    execution: Execution<WorkerPorts>,
    correlation_id: String,
}

/// The outcome of a call that starts a command.
pub(super) struct Opened {
    /// The correlation id, which is also in the log line of the call.
    pub correlation_id: String,
    /// The stream or the error.
    pub outcome: Result<ExecStream>,
}

/// Starts a command, and writes one log line. `input` is a stream with its standard input.
pub(super) async fn open(
    access: &Access,
    call: impl Future<Output = Result<Call>>,
    input: Option<web_sys::ReadableStream>,
    env: &Env,
    ctx: JsValue,
) -> Opened {
    console_error_panic_hook::set_once();
    let context = CallContext::new(correlation_id());
    let started = WorkerClock.now();
    let work = AssertUnwindSafe(context.scope(start(access, call, input, env, ctx))).catch_unwind();
    let outcome = work.await.unwrap_or_else(|_| Err(Error::internal()));
    let duration_millis = WorkerClock.now().millis_since(started);
    let logged = outcome.as_ref().map_err(Clone::clone);
    let logged = logged.map(|execution| RawJson::from_value(&json!({ "sandboxId": execution.sandbox_id })));
    let call_log = CallLog { token_id: access.token_id().cloned(), ..CallLog::default() };
    log_call(Operation::Exec, &call_log, &context, duration_millis, &logged, env);
    let correlation_id = context.correlation_id.clone();
    let outcome = outcome.map(|execution| ExecStream { execution, correlation_id: correlation_id.clone() });
    Opened { correlation_id, outcome }
}

async fn start(
    access: &Access,
    call: impl Future<Output = Result<Call>>,
    input: Option<web_sys::ReadableStream>,
    env: &Env,
    ctx: JsValue,
) -> Result<Execution<WorkerPorts>> {
    access.check_operation(Operation::Exec)?;
    let deployment = Deployment::open(env, ctx)?;
    let ports = Rc::clone(deployment.ports());
    ports.check_bindings(Operation::Exec.needs_bucket())?;
    let Call { arguments, signal, .. } = call.await?;
    let request = ExecRequest::decode(&arguments).map_err(|error| name_page(error, Operation::Exec))?;
    if input.is_some() && request.stdin.is_some() {
        return Err(Error::exec_input_twice());
    }
    let abort = abort_token(&signal);
    let cancelled = abort.clone();
    let work = async move {
        access.authorize(&*ports, &Request::Entrypoint(requests::Entrypoint::Exec(request.clone()))).await?;
        exec::start(ports, request, input, cancelled).await
    };
    abort.unless_cancelled(work).await.unwrap_or_else(|| Err(Error::exec_cancelled()))
}

impl ExecStream {
    /// Returns the response whose body is the stream. Where the body is cancelled, the command is killed.
    pub fn into_response(self, builder: ResponseBuilder) -> worker::Result<Response> {
        builder.from_stream(Box::pin(self.into_events()))
    }

    fn into_events(self) -> impl Stream<Item = worker::Result<Vec<u8>>> {
        stream::unfold(Some((self, ExecEventWriter::default())), async |state| {
            let (mut this, mut writer) = state?;
            let event = match select(pin!(this.execution.next()), pin!(WorkerClock.sleep(HEARTBEAT))).await {
                Either::Left((event, _)) => Some(event),
                Either::Right(_) => None,
            };
            let Some(event) = event else { return Some((Ok(COMMENT.to_vec()), Some((this, writer)))) };
            let is_last = matches!(event, Ok(ExecEvent::Exit(_)) | Err(_));
            let event = event.unwrap_or_else(|error| ExecEvent::from((&error, this.correlation_id.as_str())));
            let text = writer.write(event);
            Some((Ok(text.into_bytes()), (!is_last).then_some((this, writer))))
        })
    }
}

/// Starts a command for the RPC method `execStream`, and returns a `ReadableStream` of the events. The option `stdin` may be a
/// `ReadableStream`.
#[wasm_bindgen(js_name = execStream)]
pub fn exec_stream(options: JsValue, env: Env, ctx: JsValue) -> Promise {
    future_to_promise(AssertUnwindSafe(async move {
        let (options, input) = take_stream(options, "stdin");
        let call = async {
            let (options, signal) = take_signal(&options)?;
            Ok(Call { arguments: read_arguments(&options)?, signal, input: None })
        };
        let Opened { correlation_id, outcome } = open(&Access::Everything, call, input, &env, ctx).await;
        let stream = outcome.map_err(|error| to_exception(&error, &correlation_id))?;
        let response = stream.into_response(ResponseBuilder::new()).map_err(JsValue::from)?;
        // Only the body of a response is a stream of bytes, as RPC requires.
        Ok(web_sys::Response::from(response).body().into())
    }))
}
