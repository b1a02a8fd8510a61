//! What can be seen of a deployment's health in its configuration alone.

use wasm_bindgen::JsValue;
use worker::Env;

use super::Deployment;
use super::deployment::{Platform, VARS, api_token, is_local, var};
use super::metrics::Metrics;
use crate::model::health::{HealthCheck, Part, backup_credentials};
use crate::model::{Code, Result};
use crate::ports::Ports;

/// Judges the vars, secrets and bindings of this Worker. Nothing is called, and no value is told.
pub fn configuration(env: &Env) -> Vec<HealthCheck> {
    let platform = Platform::open(env, JsValue::UNDEFINED);
    let bound = |name, missing: Result<()>, what: &str, code, remediation: &str| match (&platform, missing) {
        (Ok(_), Ok(())) => HealthCheck::right(name, format!("{what} bound.")),
        _ => HealthCheck::wrong(name, code, format!("{what} not bound."), remediation),
    };
    let has = |port: fn(&Platform) -> Result<()>| platform.as_ref().map_err(Clone::clone).and_then(port);
    vec![
        vars(env),
        bound(
            Part::Bucket,
            has(|platform| platform.backups().map(drop)),
            "The R2 bucket is",
            Code::R2BindingMissing,
            "Bind it in wrangler.toml as BACKUP_BUCKET, or as what the var BACKUP_R2_BINDING says.",
        ),
        bound(
            Part::Sandboxes,
            has(|platform| platform.sandboxes().map(drop)),
            "The Durable Object namespace of the sandboxes is",
            Code::SandboxBindingMissing,
            "Bind it in wrangler.toml as Sandbox, or as what the var SANDBOX_BINDING says.",
        ),
        bound(
            Part::Workspaces,
            has(|platform| platform.workspaces().map(drop)),
            "The Durable Object namespace Workspace is",
            Code::WorkspaceBindingMissing,
            "Bind the class Workspace of this Worker to it, as its own wrangler.toml does.",
        ),
        bound(
            Part::Directory,
            has(|platform| platform.names().map(drop)),
            "The Durable Object namespaces NamedWorkspace and Directory are",
            Code::WorkspaceBindingMissing,
            "Bind the classes NamedWorkspace and Directory of this Worker to it, as its own wrangler.toml does.",
        ),
        token(env),
        backup_credentials(is_local(env).unwrap_or_default(), |name| matches!(var(env, name), Ok(Some(_)))),
        metrics(env),
    ]
}

/// The vars that can be read at all, and those with a value that can be used.
fn vars(env: &Env) -> HealthCheck {
    let unreadable = VARS.iter().filter(|name| var(env, name).is_err()).copied();
    let unusable = Deployment::unusable(env).filter(|name| matches!(var(env, name), Ok(Some(_))));
    let wrong: Vec<&str> = unreadable.chain(unusable).collect();
    if wrong.is_empty() {
        return HealthCheck::right(Part::Config, "Every var that is set has a value that can be used.");
    }
    let detail = format!("A value that can't be used: {}.", wrong.join(", "));
    HealthCheck::wrong(Part::Config, Code::ConfigInvalid, detail, "Set it in wrangler.toml as its documentation says.")
}

fn token(env: &Env) -> HealthCheck {
    match api_token(env) {
        Ok(Some(token)) if !token.trim().is_empty() => HealthCheck::right(Part::ApiToken, "It is set."),
        _ => HealthCheck {
            code: Some(Code::ApiTokenMissing),
            ..HealthCheck::open(
                Part::ApiToken,
                "It is not set: the HTTP API, the command line, the console and /mcp are closed, and RPC is open.",
                "To open them, `wrangler secret put API_TOKEN`.",
            )
        },
    }
}

fn metrics(env: &Env) -> HealthCheck {
    if Metrics::of(env).is_some() {
        return HealthCheck::right(Part::Metrics, "The Analytics Engine dataset is bound.");
    }
    HealthCheck::open(
        Part::Metrics,
        "No Analytics Engine dataset is bound as METRICS: operations are logged, and not counted.",
        "To count them, add [[analytics_engine_datasets]] to wrangler.toml.",
    )
}
