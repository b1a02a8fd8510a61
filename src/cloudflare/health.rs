//! What can be seen of a deployment's health in its configuration alone.

use js_sys::Reflect;
use wasm_bindgen::JsValue;
use worker::Env;

use super::Deployment;
use super::deployment::{Platform, api_token, is_local};
use super::metrics::Metrics;
use crate::model::health::{HealthCheck, Part, backup_credentials};
use crate::model::{Code, Result};
use crate::ports::Ports;

/// Judges the vars, secrets and bindings of this Worker. Nothing is called, and no value is told.
pub fn configuration(env: &Env) -> Vec<HealthCheck> {
    let platform = Platform::open(env, JsValue::UNDEFINED);
    let bound = |name, what: &str, port: fn(&Platform) -> Result<()>, remediation: &str| match &platform {
        Ok(platform) => match port(platform) {
            Ok(()) => HealthCheck::right(name, format!("{what} bound.")),
            Err(error) => HealthCheck::wrong(name, error.code(), format!("{what} not bound."), remediation),
        },
        Err(_) => HealthCheck::open(
            name,
            "It can't be judged, since a var that names a binding can't be used.",
            "Look at the check `config` first.",
        ),
    };
    vec![
        vars(env),
        bound(
            Part::Bucket,
            "The R2 bucket is",
            |platform| platform.backups().map(drop),
            "Bind it in wrangler.toml as BACKUP_BUCKET, or as what the var BACKUP_R2_BINDING says.",
        ),
        bound(
            Part::Sandboxes,
            "The Durable Object namespace of the sandboxes is",
            |platform| platform.sandboxes().map(drop),
            "Bind it in wrangler.toml as Sandbox, or as what the var SANDBOX_BINDING says.",
        ),
        bound(
            Part::Workspaces,
            "The Durable Object namespace Workspace is",
            |platform| platform.workspaces().map(drop),
            "Bind the class Workspace of this Worker to it, as its own wrangler.toml does.",
        ),
        bound(
            Part::Directory,
            "The Durable Object namespaces NamedWorkspace and Directory are",
            |platform| platform.names().map(drop),
            "Bind the classes NamedWorkspace and Directory of this Worker to it, as its own wrangler.toml does.",
        ),
        token(env),
        backup_credentials(is_local(env).unwrap_or_default(), |name| Reflect::get(env, &name.into()).ok()?.as_string()),
        metrics(env),
    ]
}

/// Whether every var has a value that can be used.
fn vars(env: &Env) -> HealthCheck {
    let wrong: Vec<&str> = Deployment::unusable(env).collect();
    if wrong.is_empty() {
        return HealthCheck::right(Part::Config, "Every var that is set has a value that can be used.");
    }
    let detail = format!("A value that can't be used: {}.", wrong.join(", "));
    HealthCheck::wrong(Part::Config, Code::ConfigInvalid, detail, "Set it in wrangler.toml as its documentation says.")
}

fn token(env: &Env) -> HealthCheck {
    match api_token(env) {
        Ok(Some(token)) if !token.trim().is_empty() => HealthCheck::right(Part::ApiToken, "It is set."),
        Ok(_) => HealthCheck {
            code: Some(Code::ApiTokenMissing),
            ..HealthCheck::open(
                Part::ApiToken,
                "It is not set: the HTTP API, the command line, the console and /mcp are closed, and RPC is open.",
                "To open them, `wrangler secret put API_TOKEN`.",
            )
        },
        Err(error) => HealthCheck::wrong(
            Part::ApiToken,
            error.code(),
            "It is not text: whatever needs it fails, and so does every operation but `health` over RPC.",
            "Remove it from the vars, and `wrangler secret put API_TOKEN`.",
        ),
    }
}

fn metrics(env: &Env) -> HealthCheck {
    if Metrics::of(env).is_some() {
        return HealthCheck::right(Part::Metrics, "The Analytics Engine dataset is bound.");
    }
    let (detail, remediation) = if Metrics::are_bound(env) {
        (
            "What is bound as METRICS is no Analytics Engine dataset: operations are logged, and not counted.",
            "To count them, bind a dataset under that name: [[analytics_engine_datasets]] in wrangler.toml.",
        )
    } else {
        (
            "No Analytics Engine dataset is bound as METRICS: operations are logged, and not counted.",
            "To count them, add [[analytics_engine_datasets]] to wrangler.toml.",
        )
    };
    HealthCheck::open(Part::Metrics, detail, remediation)
}
