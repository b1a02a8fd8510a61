//! A visit to a sandbox, by a session of the SDK.
//!
//! The platform counts each call on a stub as a request, but what is called on its answer belongs to the same one
//! (Durable Objects' pricing, "RPC session"). The SDK's `getSession` answers an object with all that a visit does, and asks
//! nothing of the container. It is not waited for: calls on it go out with it.

use std::cell::OnceCell;

use js_sys::{Reflect, Symbol};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use wasm_bindgen::JsCast;
use wasm_bindgen::JsValue;
use worker::ObjectNamespace;

use super::prelude::PRELUDE;
use super::sandboxes::{COMMAND_MILLIS, NO_SESSION, named, printed, unreadable};
use super::scripts::quoted;
use super::thrown::failure;
use super::value::from_js;
use super::{scripts, stub};
use crate::model::named::Stamp;
use crate::model::{self, Arrival, BackupHandle, BackupOptions, Directory, Failure, Probe, SandboxId, Stamping};
use crate::ports::Visit;

/// A visit to a sandbox of a Durable Object namespace.
pub struct SdkSession<'a> {
    namespace: &'a ObjectNamespace,
    id: &'a SandboxId,
    stub: OnceCell<JsValue>,
    session: OnceCell<Asked>,
}

impl<'a> SdkSession<'a> {
    /// That to the sandbox `id`.
    pub(super) fn new(namespace: &'a ObjectNamespace, id: &'a SandboxId) -> Self {
        Self { namespace, id, stub: OnceCell::new(), session: OnceCell::new() }
    }

    /// The one stub of the visit: what is called on it arrives in that order.
    fn stub(&self) -> Result<&JsValue, Failure> {
        once(&self.stub, || stub::of(self.namespace, self.id.as_str()))
    }

    fn session(&self) -> Result<&JsValue, Failure> {
        let ask = || stub::ask(self.stub()?, "getSession", &stub::list(&[json!(NO_SESSION)])?).map(Asked);
        once(&self.session, ask).map(|Asked(session)| session)
    }

    async fn call<T: DeserializeOwned>(&self, method: &str, arguments: &[Value]) -> Result<T, Failure> {
        let asked = Asked(stub::ask(self.session()?, method, &stub::list(arguments)?)?);
        let answer = from_js(&stub::answer(&asked.0).await?).map_err(|error| failure(&error))?;
        model::json::read(&answer).map_err(|error| Failure::unexpected(method, error))
    }
}

impl SdkSession<'_> {
    /// Runs a command outside of the sandbox's own sessions, and answers what it printed.
    async fn run(&self, command: &str, millis: u32) -> Result<String, Failure> {
        let options = json!({ "origin": "internal", "timeout": millis });
        printed(command, millis, self.call("exec", &[json!([PRELUDE, command].concat()), options]).await)
    }
}

fn once<T>(cell: &OnceCell<T>, make: impl FnOnce() -> Result<T, Failure>) -> Result<&T, Failure> {
    match cell.get() {
        Some(known) => Ok(known),
        None => make().map(|value| cell.get_or_init(|| value)),
    }
}

/// What a session was asked for, and the session itself. Each holds what it came from, and with it the object that asks stays
/// in memory, until it is disposed of: answered or not.
struct Asked(JsValue);

impl Drop for Asked {
    fn drop(&mut self) {
        let dispose = Reflect::get(&js_sys::global(), &"Symbol".into())
            .and_then(|symbol| Reflect::get(&symbol, &"dispose".into()))
            .and_then(|symbol| Reflect::get(&self.0, &symbol.unchecked_into::<Symbol>()));
        if let Ok(Ok(dispose)) = dispose.map(JsCast::dyn_into::<js_sys::Function>) {
            drop(dispose.call0(&self.0));
        }
    }
}

impl Visit for SdkSession<'_> {
    async fn name(&self) -> Result<(), Failure> {
        stub::call(self.stub()?, "configure", &stub::list(&[named(self.id)])?).await.map(drop)
    }

    async fn probe(&self, dir: &Directory) -> Result<Probe, Failure> {
        let stdout = self.run(&scripts::probe(dir), COMMAND_MILLIS).await?;
        scripts::read_probe(&stdout).ok_or_else(|| unreadable("the probe"))
    }

    async fn stamp(&self, from: Option<&Stamp>, to: &Stamp) -> Result<Stamping, Failure> {
        let stdout = self.run(&scripts::stamp(from, to, None), COMMAND_MILLIS).await?;
        scripts::read_stamp(&stdout).ok_or_else(|| Failure::unexpected("the sandbox", "the stamp can't be changed"))
    }

    async fn arrive(
        &self,
        backup: &BackupHandle,
        from: &Stamp,
        to: &Stamp,
        may_be_empty: bool,
    ) -> Result<Arrival, Failure> {
        let stdout = self.run(&scripts::arrive(backup, from, to, may_be_empty), COMMAND_MILLIS).await?;
        scripts::read_arrive(&stdout).ok_or_else(|| unreadable("whether the files have arrived"))
    }

    async fn make_directory(&self, dir: &Directory) -> Result<(), Failure> {
        let command = format!("mkdir -p -- {} && echo done", quoted(dir.as_str()));
        match self.run(&command, COMMAND_MILLIS).await?.trim() {
            "done" => Ok(()),
            _ => Err(Failure::unexpected("the sandbox", format!("{dir} can't be made"))),
        }
    }

    async fn create_backup(&self, options: &BackupOptions, _: Option<u64>) -> Result<BackupHandle, Failure> {
        let options = model::json::write(options).map_err(|error| Failure::unexpected("createBackup", error))?;
        let handle: Map<String, Value> = self.call("createBackup", &[options]).await?;
        BackupHandle::try_from(handle).map_err(|error| Failure::unexpected("createBackup", error))
    }

    async fn restore_backup(&self, backup: &BackupHandle, _: u64) -> Result<(), Failure> {
        #[derive(Deserialize)]
        struct Outcome {
            success: bool,
        }
        let handle = model::json::write(backup).map_err(|error| Failure::unexpected("restoreBackup", error))?;
        match self.call("restoreBackup", &[handle]).await? {
            Outcome { success: true } => Ok(()),
            Outcome { success: false } => Err(Failure::new("Error", "restoreBackup answered success: false")),
        }
    }
}
