//! One call from its arrival to its log line.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use serde_json::{Map, Value, json};
use wasm_bindgen::JsValue;
use worker::Env;

use super::operations::{Operation, run};
use crate::cloudflare::Deployment;
use crate::cloudflare::runtime::{WorkerClock, WorkerEntropy};
use crate::model::{Code, Error, Result};
use crate::ports::{Clock, Entropy};
use crate::service::Abort;

/// What a call came to.
pub(super) struct Answer {
    /// Also in the log line of the call.
    pub correlation_id: String,
    /// The JSON that was asked for, or why there is none.
    pub outcome: Result<Value>,
}

/// Carries out `operation` and logs what came of it, in one line of JSON. A panic becomes [`Code::Internal`].
pub(super) async fn answer(
    operation: Operation,
    arguments: Result<Value>,
    abort: Abort,
    env: &Env,
    ctx: JsValue,
) -> Answer {
    console_error_panic_hook::set_once();
    let correlation_id = correlation_id();
    let started = WorkerClock.now();
    let work = async {
        let deployment = Deployment::open(env, ctx)?;
        run(deployment.snapshotter(), operation, &arguments?, abort).await
    };
    let outcome = AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_| {
        Err(Error::new(
            Code::Internal,
            "This Worker failed where it never should.",
            "Report it, with the log lines around this call's correlation id.",
        ))
    });
    let duration = WorkerClock.now().millis_since(started);
    log(&line(operation, &outcome, &correlation_id, duration));
    Answer { correlation_id, outcome }
}

/// An id for one call: 16 hexadecimal digits.
pub(super) fn correlation_id() -> String {
    let random = WorkerEntropy.bytes().unwrap_or_default();
    format!("{:016x}", u64::from_be_bytes(random.first_chunk().copied().unwrap_or_default()))
}

/// Ids and outcomes only: never content, labels or secrets.
fn line(operation: Operation, outcome: &Result<Value>, correlation_id: &str, duration: i64) -> Value {
    let mut line = Map::new();
    line.insert("event".into(), json!(operation.name()));
    line.insert("correlationId".into(), json!(correlation_id));
    line.insert("durationMs".into(), json!(duration));
    match outcome {
        Ok(answer) => {
            line.insert("outcome".into(), json!("success"));
            for id in ["snapshotId", "originId", "sandboxId", "rootId"] {
                if let Some(value) = answer.pointer(&format!("/ref/{id}")) {
                    line.insert(id.into(), value.clone());
                }
            }
        }
        Err(error) => {
            line.insert("outcome".into(), json!("failure"));
            line.insert("code".into(), json!(error.code()));
            line.insert("message".into(), json!(error.message()));
            line.insert("cause".into(), json!(error.cause()));
        }
    }
    Value::Object(line)
}

fn log(line: &Value) {
    web_sys::console::log_1(&line.to_string().into());
}
