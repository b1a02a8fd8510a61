//! The configuration of this Worker: its bindings, vars and secrets.

use std::rc::Rc;

use js_sys::Reflect;
use serde_json::Value;
use wasm_bindgen::JsValue;
use worker::Env;

use super::backups::R2Backups;
use super::ledger::SqlLedger;
use super::named_workspaces::NamedWorkspaceObjects;
use super::runtime::{WaitUntil, WorkerClock, WorkerEntropy};
use super::sandbox_stubs::SandboxStubs;
use super::value::from_js;
use super::workspace_store::SqlWorkspaceStore;
use super::workspaces::WorkspaceObjects;
use crate::model::delta::MIN_BASE_BYTES;
use crate::model::named::Address;
use crate::model::web_origin::is_web_origin;
use crate::model::{Directory, Error, Result, Runtime, SandboxBindings, SandboxId};
use crate::ports::Ports;
use crate::service::calls::limits::TimeLimited;
use crate::service::workspace::NamedWorkspace;
use crate::service::{CloudflareSandboxSnapshotter, Config};

const SANDBOXES: &str = "SANDBOXES";
const SANDBOX_BINDING: &str = "SANDBOX_BINDING";
const BACKUP_R2_BINDING: &str = "BACKUP_R2_BINDING";
const DIRECTORY_BACKUP_PREFIX: &str = "DIRECTORY_BACKUP_PREFIX";
const DEFAULT_DIR: &str = "DEFAULT_DIR";
const LOCAL_BUCKET: &str = "LOCAL_BUCKET";
const INCREMENTAL: &str = "INCREMENTAL";
const API_TOKEN: &str = "API_TOKEN";
const ALLOWED_ORIGINS: &str = "ALLOWED_ORIGINS";

/// The longest prefix of the keys of `DirectoryBackup`, in bytes. R2 permits keys of 1,024 bytes.
const MAX_PREFIX_BYTES: usize = 512;

/// A check that fails when the value of a var is not valid.
type VarCheck = fn(&Env) -> Result<()>;

/// The vars and secrets that the Worker reads, each with the check of its value.
pub const VARS: [(&str, VarCheck); 9] = [
    (SANDBOXES, |env| sandbox_bindings(env, None).map(drop)),
    (SANDBOX_BINDING, |env| SandboxBindings::parse(None, var(env, SANDBOX_BINDING)?.as_deref()).map(drop)),
    (BACKUP_R2_BINDING, |env| var(env, BACKUP_R2_BINDING).map(drop)),
    (DIRECTORY_BACKUP_PREFIX, |env| directory_backup_prefix(env).map(drop)),
    (DEFAULT_DIR, |env| default_dir(env).map(drop)),
    (LOCAL_BUCKET, |env| is_local_bucket(env).map(drop)),
    (INCREMENTAL, |env| is_incremental(env).map(drop)),
    (API_TOKEN, |env| api_token(env).map(drop)),
    (ALLOWED_ORIGINS, |env| allowed_origins(env).map(drop)),
];

/// The configured Worker, for the duration of one event.
pub struct Deployment {
    ports: Rc<WorkerPorts>,
    config: Rc<Config>,
}

impl Deployment {
    /// Reads the configuration: the vars `SANDBOXES`, `SANDBOX_BINDING`, `BACKUP_R2_BINDING`, `DIRECTORY_BACKUP_PREFIX`,
    /// `DEFAULT_DIR`, `LOCAL_BUCKET` and `INCREMENTAL`, and the bindings that the first three name.
    ///
    /// # Errors
    /// [`Code::ConfigInvalid`] when a var is not valid. A missing binding is an error of the operation that needs it.
    pub fn open(env: &Env, ctx: JsValue) -> Result<Self> {
        let config = Config {
            default_dir: default_dir(env)?,
            local_bucket: is_local_bucket(env)?,
            incremental: is_incremental(env)?,
            min_base_bytes: MIN_BASE_BYTES,
        };
        Ok(Self { ports: Rc::new(WorkerPorts::open(env, ctx)?), config: Rc::new(config) })
    }

    /// Returns the names of the vars whose values are not valid.
    pub fn invalid_vars(env: &Env) -> impl Iterator<Item = &'static str> {
        VARS.into_iter().filter_map(|(name, check)| check(env).is_err().then_some(name))
    }

    /// Returns the ports over the bindings of this Worker.
    pub fn ports(&self) -> &Rc<WorkerPorts> {
        &self.ports
    }

    /// Returns the service for one sandbox.
    pub fn snapshotter(&self, id: SandboxId, ledger: Rc<SqlLedger>) -> CloudflareSandboxSnapshotter<WorkerPorts> {
        CloudflareSandboxSnapshotter::new(id, Rc::clone(&self.ports), ledger, Rc::clone(&self.config))
    }

    /// Returns the service for one named workspace.
    pub fn named_workspace(&self, address: Address, store: Rc<SqlWorkspaceStore>) -> NamedWorkspace<WorkerPorts> {
        NamedWorkspace::new(address, Rc::clone(&self.ports), store, Rc::clone(&self.config))
    }
}

/// Returns the secret `API_TOKEN`; `None` when it is not set, or empty.
///
/// # Errors
/// [`Code::ConfigInvalid`] when it is not text.
pub fn api_token(env: &Env) -> Result<Option<String>> {
    var(env, API_TOKEN)
}

/// Returns the var `ALLOWED_ORIGINS`: the origins of web pages that may use `/mcp`, separated by commas.
///
/// # Errors
/// [`Code::ConfigInvalid`] when one of them is not the origin of a web page.
pub fn allowed_origins(env: &Env) -> Result<Option<String>> {
    let list = var(env, ALLOWED_ORIGINS)?;
    let mut origins = list.iter().flat_map(|list| list.split(',')).map(str::trim);
    if origins.all(|origin| origin.is_empty() || origin == "null" || is_web_origin(origin)) {
        return Ok(list);
    }
    Err(Error::allowed_origins_invalid())
}

/// The ports over the bindings of this Worker.
pub struct WorkerPorts {
    sandbox_bindings: SandboxBindings,
    /// The namespaces, in the order of the bindings.
    sandboxes: Vec<Result<TimeLimited<SandboxStubs, WorkerClock>>>,
    backups: Result<R2Backups>,
    sandbox_ledgers: Result<WorkspaceObjects>,
    named_workspaces: Result<NamedWorkspaceObjects>,
    background: WaitUntil,
}

impl WorkerPorts {
    /// Opens the ports. A missing binding is an error of its port.
    ///
    /// # Errors
    /// [`Code::ConfigInvalid`] when a var that names a binding is not valid.
    pub fn open(env: &Env, ctx: JsValue) -> Result<Self> {
        let sandbox_bindings = sandbox_bindings(env, var(env, SANDBOX_BINDING)?.as_deref())?;
        let r2_binding = var(env, BACKUP_R2_BINDING)?.unwrap_or_else(|| "BACKUP_BUCKET".into());
        let prefix = directory_backup_prefix(env)?;
        let backups = env.bucket(&r2_binding).map(|bucket| R2Backups::new(bucket, prefix));
        Ok(Self {
            sandboxes: sandbox_bindings.iter().map(|binding| open_sandboxes(env, &binding.name)).collect(),
            sandbox_bindings,
            backups: backups.map_err(|_| Error::r2_binding_missing(&r2_binding)),
            sandbox_ledgers: WorkspaceObjects::open(env),
            named_workspaces: NamedWorkspaceObjects::open(env),
            background: WaitUntil::of(ctx),
        })
    }
}

impl Ports for WorkerPorts {
    type Sandboxes = TimeLimited<SandboxStubs, WorkerClock>;
    type Backups = R2Backups;
    type Ledger = SqlLedger;
    type SandboxLedgerClient = WorkspaceObjects;
    type WorkspaceStore = SqlWorkspaceStore;
    type NamedWorkspaceClient = NamedWorkspaceObjects;
    type Clock = WorkerClock;
    type Entropy = WorkerEntropy;
    type Background = WaitUntil;

    fn sandbox_bindings(&self) -> &SandboxBindings {
        &self.sandbox_bindings
    }

    fn sandboxes(&self, runtime: Option<Runtime>) -> Result<&Self::Sandboxes> {
        let binding = self.sandbox_bindings.of(runtime)?;
        let position = self.sandbox_bindings.iter().position(|other| other == binding);
        let opened = position.and_then(|position| self.sandboxes.get(position));
        opened.ok_or_else(Error::internal)?.as_ref().map_err(Clone::clone)
    }

    fn backups(&self) -> Result<&R2Backups> {
        self.backups.as_ref().map_err(Clone::clone)
    }

    fn sandbox_ledgers(&self) -> Result<&WorkspaceObjects> {
        self.sandbox_ledgers.as_ref().map_err(Clone::clone)
    }

    fn named_workspaces(&self) -> Result<&NamedWorkspaceObjects> {
        self.named_workspaces.as_ref().map_err(Clone::clone)
    }

    fn clock(&self) -> &WorkerClock {
        &WorkerClock
    }

    fn entropy(&self) -> &WorkerEntropy {
        &WorkerEntropy
    }

    fn background(&self) -> &WaitUntil {
        &self.background
    }
}

/// Returns a var or a secret; `None` when it is not set, or empty.
///
/// # Errors
/// [`Code::ConfigInvalid`] when it is not text.
pub fn var(env: &Env, name: &str) -> Result<Option<String>> {
    let value = Reflect::get(env, &name.into()).unwrap_or_default();
    if value.is_undefined() || value.is_null() {
        return Ok(None);
    }
    let text = value.as_string().ok_or_else(|| Error::var_not_text(name))?;
    Ok(Some(text).filter(|text| !text.is_empty()))
}

/// Returns the bindings of the sandboxes, of which earlier releases used the one that `SANDBOX_BINDING` names.
fn sandbox_bindings(env: &Env, sandbox_binding: Option<&str>) -> Result<SandboxBindings> {
    let unreadable = |_| Error::sandboxes_var_invalid("it is not JSON");
    let value = from_js(&Reflect::get(env, &SANDBOXES.into()).unwrap_or_default()).map_err(unreadable)?;
    let is_set = !matches!(&value, Value::Null) && value != Value::String(String::new());
    SandboxBindings::parse(Some(&value).filter(|_| is_set), sandbox_binding)
}

fn open_sandboxes(env: &Env, binding: &str) -> Result<TimeLimited<SandboxStubs, WorkerClock>> {
    let namespace = env.durable_object(binding).map_err(|_| Error::sandbox_binding_missing(binding))?;
    Ok(TimeLimited::new(Rc::new(SandboxStubs::new(namespace)), Rc::new(WorkerClock)))
}

/// Returns the prefix of the keys of `DirectoryBackup`; empty when the var `DIRECTORY_BACKUP_PREFIX` is not set.
fn directory_backup_prefix(env: &Env) -> Result<String> {
    let prefix = var(env, DIRECTORY_BACKUP_PREFIX)?.unwrap_or_default();
    if prefix.len() > MAX_PREFIX_BYTES || prefix.contains(char::is_control) {
        return Err(Error::directory_backup_prefix_invalid(MAX_PREFIX_BYTES));
    }
    Ok(prefix)
}

fn default_dir(env: &Env) -> Result<Directory> {
    let dir = var(env, DEFAULT_DIR)?.unwrap_or_else(|| "/workspace".into());
    let dir = Directory::parse(&dir).and_then(|dir| dir.check_restorable().map(|()| dir));
    dir.map_err(|error| Error::default_dir_invalid(&error))
}

/// Returns whether backups pass through the Worker, as in development.
///
/// # Errors
/// [`Code::ConfigInvalid`] when the var `LOCAL_BUCKET` is neither "true" nor "false".
pub fn is_local_bucket(env: &Env) -> Result<bool> {
    match var(env, LOCAL_BUCKET)?.as_deref() {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(_) => Err(Error::local_bucket_invalid()),
    }
}

/// Returns whether snapshots are incremental where the caller does not decide.
///
/// # Errors
/// [`Code::ConfigInvalid`] when the var `INCREMENTAL` is neither "true" nor "false".
fn is_incremental(env: &Env) -> Result<bool> {
    match var(env, INCREMENTAL)?.as_deref() {
        None | Some("true") => Ok(true),
        Some("false") => Ok(false),
        Some(_) => Err(Error::incremental_invalid()),
    }
}
