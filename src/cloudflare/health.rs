//! The health checks of a deployment that need only its configuration.

use js_sys::Reflect;
use wasm_bindgen::JsValue;
use worker::Env;

use super::Deployment;
use super::deployment::{WorkerPorts, api_token, is_local_bucket};
use super::metrics::Metrics;
use crate::model::backup_credentials::{PassesThrough, backup_credentials};
use crate::model::health::{HealthCheck, HealthComponent};
use crate::model::{Code, Result, Runtime, SandboxBinding};
use crate::ports::Ports;

/// Checks the vars, secrets and bindings of this Worker. Calls nothing, and reports no value.
pub fn check_configuration(env: &Env) -> Vec<HealthCheck> {
    let ports = WorkerPorts::open(env, JsValue::UNDEFINED);
    let bound = |name, what: &str, port: fn(&WorkerPorts) -> Result<()>, remediation: &str| match &ports {
        Ok(ports) => match port(ports) {
            Ok(()) => HealthCheck::healthy(name, format!("{what} bound.")),
            Err(error) => HealthCheck::unhealthy(name, error.code(), format!("{what} not bound."), remediation),
        },
        Err(_) => unchecked(name),
    };
    vec![
        check_vars(env),
        bound(
            HealthComponent::Bucket,
            "The R2 bucket is",
            |ports| ports.backups().map(drop),
            "Bind it in wrangler.toml as BACKUP_BUCKET, or under the name in the var BACKUP_R2_BINDING.",
        ),
        check_sandboxes(&ports),
        bound(
            HealthComponent::Workspaces,
            "The Durable Object namespace Workspace is",
            |ports| ports.sandbox_ledgers().map(drop),
            "Bind the class Workspace of this Worker, as the wrangler.toml of the project does.",
        ),
        bound(
            HealthComponent::Directory,
            "The Durable Object namespaces NamedWorkspace and Directory are",
            |ports| ports.named_workspaces().map(drop),
            "Bind the classes NamedWorkspace and Directory of this Worker, as the wrangler.toml of the project does.",
        ),
        check_token(env),
        backup_credentials(passes_through(env, &ports), |name| Reflect::get(env, &name.into()).ok()?.as_string()),
        check_metrics(env),
    ]
}

/// Returns why no sandbox needs credentials.
fn passes_through(env: &Env, ports: &Result<WorkerPorts>) -> Option<PassesThrough> {
    if is_local_bucket(env).unwrap_or_default() {
        return Some(PassesThrough::LocalBucket);
    }
    let is_container = |binding: &SandboxBinding| binding.runtime == Some(Runtime::Container);
    let all = ports.as_ref().is_ok_and(|ports| ports.sandbox_bindings().iter().all(is_container));
    all.then_some(PassesThrough::Containers)
}

/// The check of a binding whose name is not known.
fn unchecked(name: HealthComponent) -> HealthCheck {
    HealthCheck::undetermined(
        name,
        "Not checked, because a var that names a binding is invalid.",
        "Fix what the check `config` reports.",
    )
}

/// Checks that the namespaces of the sandboxes are bound. Reports the runtime of each binding.
fn check_sandboxes(ports: &Result<WorkerPorts>) -> HealthCheck {
    let Ok(ports) = ports else { return unchecked(HealthComponent::Sandboxes) };
    let bindings = ports.sandbox_bindings();
    let default = bindings.default_binding();
    let describe = |binding: &SandboxBinding| match binding.runtime {
        Some(runtime) if binding == default => format!("{} ({runtime}, the default)", binding.name),
        Some(runtime) => format!("{} ({runtime})", binding.name),
        None => format!("{} (the var SANDBOXES names no runtime)", binding.name),
    };
    let (bound, missing): (Vec<_>, Vec<_>) =
        bindings.iter().partition(|binding| ports.sandboxes(binding.runtime).is_ok());
    let list = |bindings: Vec<&SandboxBinding>| bindings.into_iter().map(describe).collect::<Vec<_>>().join(", ");
    if missing.is_empty() {
        return HealthCheck::healthy(
            HealthComponent::Sandboxes,
            format!("The Durable Object namespaces of the sandboxes are bound: {}.", list(bound)),
        );
    }
    HealthCheck::unhealthy(
        HealthComponent::Sandboxes,
        Code::SandboxBindingMissing,
        format!("Not bound: {}.", list(missing)),
        "Bind each namespace of sandboxes in wrangler.toml, and name the binding in the var SANDBOXES, or in \
         SANDBOX_BINDING if there is only one.",
    )
}

/// Checks that every var has a valid value.
fn check_vars(env: &Env) -> HealthCheck {
    let invalid: Vec<&str> = Deployment::invalid_vars(env).collect();
    if invalid.is_empty() {
        return HealthCheck::healthy(HealthComponent::Config, "Every var that is set has a valid value.");
    }
    let detail = format!("Invalid values: {}.", invalid.join(", "));
    HealthCheck::unhealthy(
        HealthComponent::Config,
        Code::ConfigInvalid,
        detail,
        "Correct them in wrangler.toml, as the documentation of each var describes.",
    )
}

fn check_token(env: &Env) -> HealthCheck {
    match api_token(env) {
        Ok(Some(token)) if !token.trim().is_empty() => HealthCheck::healthy(HealthComponent::ApiToken, "It is set."),
        Ok(_) => HealthCheck {
            code: Some(Code::ApiTokenMissing),
            ..HealthCheck::undetermined(
                HealthComponent::ApiToken,
                "It is not set: the HTTP API, the command line, the console and /mcp are closed, and RPC is open.",
                "To open them, run `wrangler secret put API_TOKEN`.",
            )
        },
        Err(error) => HealthCheck::unhealthy(
            HealthComponent::ApiToken,
            error.code(),
            "It is not text: every operation fails, except `health` over RPC.",
            "Remove it from the vars, and run `wrangler secret put API_TOKEN`.",
        ),
    }
}

fn check_metrics(env: &Env) -> HealthCheck {
    if Metrics::from_env(env).is_some() {
        return HealthCheck::healthy(HealthComponent::Metrics, "The Analytics Engine dataset is bound.");
    }
    let (detail, remediation) = if Metrics::is_bound(env) {
        (
            "The binding METRICS is not an Analytics Engine dataset: operations are logged, but not counted.",
            "To count them, bind a dataset as METRICS: [[analytics_engine_datasets]] in wrangler.toml.",
        )
    } else {
        (
            "No Analytics Engine dataset is bound as METRICS: operations are logged, but not counted.",
            "To count them, add [[analytics_engine_datasets]] to wrangler.toml.",
        )
    };
    HealthCheck::undetermined(HealthComponent::Metrics, detail, remediation)
}
