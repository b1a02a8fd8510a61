//! What the bindings and vars of this Worker say.

use std::rc::Rc;

use js_sys::Reflect;
use wasm_bindgen::JsValue;
use worker::Env;

use super::backups::R2Backups;
use super::home::SqlHome;
use super::ledger::SqlLedger;
use super::names::NamedObjects;
use super::runtime::{WaitUntil, WorkerClock, WorkerEntropy};
use super::sandboxes::Stubs;
use super::workspaces::WorkspaceObjects;
use crate::model::named::Address;
use crate::model::origin::is_origin;
use crate::model::{Code, Directory, Error, Result, SandboxId};
use crate::ports::Ports;
use crate::service::limits::TimeLimited;
use crate::service::named::NamedWorkspace;
use crate::service::{CloudflareSandboxSnapshotter, Config};

const SANDBOX_BINDING: &str = "SANDBOX_BINDING";
const BACKUP_R2_BINDING: &str = "BACKUP_R2_BINDING";
const DEFAULT_DIR: &str = "DEFAULT_DIR";
const LOCAL_BUCKET: &str = "LOCAL_BUCKET";
const API_TOKEN: &str = "API_TOKEN";
const ALLOWED_ORIGINS: &str = "ALLOWED_ORIGINS";

/// Refuses a var whose value can't be used.
type Check = fn(&Env) -> Result<()>;

/// The vars and secrets that are read, each with what refuses a value that can't be used.
pub const VARS: [(&str, Check); 6] = [
    (SANDBOX_BINDING, |env| sandbox_binding(env).map(drop)),
    (BACKUP_R2_BINDING, |env| var(env, BACKUP_R2_BINDING).map(drop)),
    (DEFAULT_DIR, |env| default_dir(env).map(drop)),
    (LOCAL_BUCKET, |env| is_local(env).map(drop)),
    (API_TOKEN, |env| api_token(env).map(drop)),
    (ALLOWED_ORIGINS, |env| allowed_origins(env).map(drop)),
];

/// This Worker, as it is configured, while it handles one event.
pub struct Deployment {
    platform: Rc<Platform>,
    config: Rc<Config>,
}

impl Deployment {
    /// Reads the configuration: the vars `SANDBOX_BINDING`, `BACKUP_R2_BINDING`, `DEFAULT_DIR` and `LOCAL_BUCKET`, and
    /// the bindings that the first two name.
    ///
    /// # Errors
    /// [`Code::ConfigInvalid`]. A binding that is missing is an error of the operation that needs it.
    pub fn open(env: &Env, ctx: JsValue) -> Result<Self> {
        Self::with(env, ctx, |_| Err(Error::defect()), |_| Err(Error::defect()))
    }

    /// As [`open`](Self::open), in a Workspace object with the state `ctx`, where the ledger is.
    pub fn open_workspace(env: &Env, ctx: JsValue) -> Result<Self> {
        Self::with(env, ctx, SqlLedger::open, |_| Err(Error::defect()))
    }

    /// As [`open`](Self::open), in the object of a named workspace with the state `ctx`, where its record is.
    pub fn open_named(env: &Env, ctx: JsValue) -> Result<Self> {
        Self::with(env, ctx, |_| Err(Error::defect()), SqlHome::open)
    }

    fn with(
        env: &Env,
        ctx: JsValue,
        ledger: impl FnOnce(&JsValue) -> Result<SqlLedger>,
        home: impl FnOnce(&JsValue) -> Result<SqlHome>,
    ) -> Result<Self> {
        let config = Config { default_dir: default_dir(env)?, local_bucket: is_local(env)? };
        let platform = Platform::with(env, ctx, ledger, home)?;
        Ok(Self { platform: Rc::new(platform), config: Rc::new(config) })
    }

    /// The vars whose values can't be used.
    pub fn unusable(env: &Env) -> impl Iterator<Item = &'static str> {
        VARS.into_iter().filter_map(|(name, check)| check(env).is_err().then_some(name))
    }

    /// The ports over this Worker's bindings.
    pub fn platform(&self) -> &Rc<Platform> {
        &self.platform
    }

    /// The service for one sandbox.
    pub fn snapshotter(&self, id: SandboxId) -> CloudflareSandboxSnapshotter<Platform> {
        CloudflareSandboxSnapshotter::new(id, Rc::clone(&self.platform), Rc::clone(&self.config))
    }

    /// The service for one named workspace.
    pub fn named(&self, address: Address) -> NamedWorkspace<Platform> {
        NamedWorkspace::new(address, Rc::clone(&self.platform), Rc::clone(&self.config))
    }

    /// Whether the bindings are there: of the bucket as far as it is needed.
    pub fn ready(&self, needs_bucket: bool) -> Result<()> {
        if needs_bucket {
            self.platform.backups()?;
        }
        self.platform.sandboxes()?;
        Ok(())
    }
}

/// The secret `API_TOKEN`; `None` when it is not set, or empty.
///
/// # Errors
/// [`Code::ConfigInvalid`] when it is something else than text.
pub fn api_token(env: &Env) -> Result<Option<String>> {
    var(env, API_TOKEN)
}

/// The var `ALLOWED_ORIGINS`: the origins of web pages that may use `/mcp`, with commas between them.
///
/// # Errors
/// [`Code::ConfigInvalid`] when one of them can be no page's.
pub fn allowed_origins(env: &Env) -> Result<Option<String>> {
    let list = var(env, ALLOWED_ORIGINS)?;
    let mut origins = list.iter().flat_map(|list| list.split(',')).map(str::trim);
    if origins.all(|origin| origin.is_empty() || origin == "null" || is_origin(origin)) {
        return Ok(list);
    }
    Err(Error::new(
        Code::ConfigInvalid,
        "The var ALLOWED_ORIGINS names something that is not the origin of a web page.",
        "List origins without paths or wildcards, with commas between them: \"https://app.example.com, http://localhost:3000\".",
    ))
}

/// The ports over this Worker's bindings.
pub struct Platform {
    sandboxes: Result<TimeLimited<Stubs, WorkerClock>>,
    backups: Result<R2Backups>,
    ledger: Result<SqlLedger>,
    workspaces: Result<WorkspaceObjects>,
    home: Result<SqlHome>,
    names: Result<NamedObjects>,
    background: WaitUntil,
}

impl Platform {
    /// The ports over the bindings, outside of any Durable Object. A binding that is missing is an error of the port.
    ///
    /// # Errors
    /// [`Code::ConfigInvalid`] when a var that names a binding can't be used.
    pub fn open(env: &Env, ctx: JsValue) -> Result<Self> {
        Self::with(env, ctx, |_| Err(Error::defect()), |_| Err(Error::defect()))
    }

    fn with(
        env: &Env,
        ctx: JsValue,
        ledger: impl FnOnce(&JsValue) -> Result<SqlLedger>,
        home: impl FnOnce(&JsValue) -> Result<SqlHome>,
    ) -> Result<Self> {
        let sandbox_binding = sandbox_binding(env)?;
        let r2_binding = var(env, BACKUP_R2_BINDING)?.unwrap_or_else(|| "BACKUP_BUCKET".into());
        Ok(Self {
            sandboxes: env
                .durable_object(&sandbox_binding)
                .map(|namespace| TimeLimited::new(Rc::new(Stubs::new(namespace)), Rc::new(WorkerClock)))
                .map_err(|_| no_sandboxes(&sandbox_binding)),
            backups: env.bucket(&r2_binding).map(R2Backups::new).map_err(|_| no_bucket(&r2_binding)),
            ledger: ledger(&ctx),
            workspaces: WorkspaceObjects::open(env),
            home: home(&ctx),
            names: NamedObjects::open(env),
            background: WaitUntil::of(ctx),
        })
    }
}

impl Ports for Platform {
    type Sandboxes = TimeLimited<Stubs, WorkerClock>;
    type Backups = R2Backups;
    type Ledger = SqlLedger;
    type Workspaces = WorkspaceObjects;
    type Home = SqlHome;
    type Names = NamedObjects;
    type Clock = WorkerClock;
    type Entropy = WorkerEntropy;
    type Background = WaitUntil;

    fn sandboxes(&self) -> Result<&Self::Sandboxes> {
        self.sandboxes.as_ref().map_err(Clone::clone)
    }

    fn backups(&self) -> Result<&R2Backups> {
        self.backups.as_ref().map_err(Clone::clone)
    }

    fn ledger(&self) -> Result<&SqlLedger> {
        self.ledger.as_ref().map_err(Clone::clone)
    }

    fn workspaces(&self) -> Result<&WorkspaceObjects> {
        self.workspaces.as_ref().map_err(Clone::clone)
    }

    fn home(&self) -> Result<&SqlHome> {
        self.home.as_ref().map_err(Clone::clone)
    }

    fn names(&self) -> Result<&NamedObjects> {
        self.names.as_ref().map_err(Clone::clone)
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

/// A var or a secret; `None` when it is not set, or empty.
///
/// # Errors
/// [`Code::ConfigInvalid`] when it is something else than text.
pub fn var(env: &Env, name: &str) -> Result<Option<String>> {
    let value = Reflect::get(env, &name.into()).unwrap_or_default();
    if value.is_undefined() || value.is_null() {
        return Ok(None);
    }
    let text = value.as_string().ok_or_else(|| {
        Error::new(
            Code::ConfigInvalid,
            format!("The var {name} is not text."),
            format!("Write its value in quotes: {name} = \"…\"."),
        )
    })?;
    Ok(Some(text).filter(|text| !text.is_empty()))
}

/// The name of the namespace of the sandboxes.
fn sandbox_binding(env: &Env) -> Result<String> {
    let name = var(env, SANDBOX_BINDING)?.unwrap_or_else(|| "Sandbox".into());
    if ["Workspace", "NamedWorkspace", "Directory"].contains(&name.as_str()) {
        return Err(Error::new(
            Code::ConfigInvalid,
            format!("The var SANDBOX_BINDING names {name}, which are this Worker's own objects and no sandboxes."),
            "Set it to the binding of the sandboxes, or leave it out where that is called Sandbox.",
        ));
    }
    Ok(name)
}

fn default_dir(env: &Env) -> Result<Directory> {
    let dir = var(env, DEFAULT_DIR)?.unwrap_or_else(|| "/workspace".into());
    let dir = Directory::parse(&dir).and_then(|dir| dir.check_restorable().map(|()| dir));
    dir.map_err(|error| {
        let message = format!("The var DEFAULT_DIR can't be used. {}", error.message());
        Error::new(Code::ConfigInvalid, message, error.remediation())
    })
}

/// Whether backups pass through the Worker, as in development.
///
/// # Errors
/// [`Code::ConfigInvalid`]
pub fn is_local(env: &Env) -> Result<bool> {
    match var(env, LOCAL_BUCKET)?.as_deref() {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(_) => Err(Error::new(
            Code::ConfigInvalid,
            "The var LOCAL_BUCKET is neither \"true\" nor \"false\".",
            "Set it to \"true\" in development, and leave it out of production.",
        )),
    }
}

fn no_bucket(binding: &str) -> Error {
    Error::new(
        Code::R2BindingMissing,
        format!(
            "No R2 bucket is bound to this Worker as {binding:?}, so there is nowhere to keep snapshots. Nothing was touched."
        ),
        format!(
            "Add to wrangler.toml and deploy again:\n\n[[r2_buckets]]\nbinding = \"{binding}\"\nbucket_name = \"<your bucket>\"\n\n\
             If the bucket is bound under another name, set the var BACKUP_R2_BINDING to that name."
        ),
    )
}

fn no_sandboxes(binding: &str) -> Error {
    Error::new(
        Code::SandboxBindingMissing,
        format!(
            "No Durable Object namespace of sandboxes is bound to this Worker as {binding:?}. Nothing was touched."
        ),
        format!(
            "Add to wrangler.toml and deploy again:\n\n[[durable_objects.bindings]]\nname = \"{binding}\"\nclass_name = \"Sandbox\"\n\
             script_name = \"<the Worker that exports the class, if it is not this one>\"\n\n\
             If the namespace is bound under another name, set the var SANDBOX_BINDING to that name."
        ),
    )
}
