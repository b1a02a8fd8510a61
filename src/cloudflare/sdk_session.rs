//! Several calls to one sandbox in one RPC session, through a session object of the SDK.
//!
//! The platform bills each call on a stub as a request. A call on the result of a call belongs to the same request
//! (Durable Objects' pricing, "RPC session"). The SDK's `getSession` returns an object with all methods that are used
//! here, and does not call the container. The Worker does not wait for its result: it pipelines the calls on it.

use std::cell::OnceCell;

use js_sys::{Reflect, Symbol};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use wasm_bindgen::{JsCast, JsValue};
use worker::ObjectNamespace;

use super::js_error::to_failure;
use super::prelude::PRELUDE;
use super::sandbox_command::{
    COMMAND_TIMEOUT_MILLIS, CommandOutput, NO_SESSION, WORKING_DIRECTORY, completed, name_settings, unreadable,
};
use super::scripts::{self, delta, shell_quote};
use super::stub;
use super::value::from_js;
use crate::model::delta::{CaptureBegin, CaptureBegun, Carrier, RestoreFinish, RestoreFinished, TracedBase};
use crate::model::named::ContainerMarker;
use crate::model::{
    self, Arrival, BackupHandle, BackupOptions, ContainerId, Directory, Failure, FullReason, MarkerUpdate, Probe,
    SandboxId, SnapshotId,
};
use crate::ports::SandboxSession;

/// An RPC session with one sandbox of a Durable Object namespace.
pub struct SdkSession<'a> {
    namespace: &'a ObjectNamespace,
    id: &'a SandboxId,
    stub: OnceCell<JsValue>,
    session: OnceCell<DisposableStub>,
}

impl<'a> SdkSession<'a> {
    /// Returns a session with the sandbox `id`. Calls nothing.
    pub(super) fn new(namespace: &'a ObjectNamespace, id: &'a SandboxId) -> Self {
        Self { namespace, id, stub: OnceCell::new(), session: OnceCell::new() }
    }

    /// Returns the only stub of the session. Calls on one stub arrive in order.
    fn stub(&self) -> Result<&JsValue, Failure> {
        get_or_try_init(&self.stub, || stub::get(self.namespace, self.id.as_str()))
    }

    fn session(&self) -> Result<&JsValue, Failure> {
        let get_session = || {
            stub::start_call(self.stub()?, "getSession", &stub::js_arguments(&[json!(NO_SESSION)])?).map(DisposableStub)
        };
        get_or_try_init(&self.session, get_session).map(|DisposableStub(session)| session)
    }

    async fn call<T: DeserializeOwned>(&self, method: &str, arguments: &[Value]) -> Result<T, Failure> {
        let pending = DisposableStub(stub::start_call(self.session()?, method, &stub::js_arguments(arguments)?)?);
        let answer = from_js(&stub::await_answer(&pending.0).await?).map_err(|error| to_failure(&error))?;
        model::json::from_value(&answer).map_err(|error| Failure::protocol(method, error))
    }
}

impl SdkSession<'_> {
    /// Runs a command outside of the shell sessions of the sandbox, and returns its standard output.
    async fn run(&self, command: &str, millis: u32) -> Result<String, Failure> {
        self.output(command, millis).await.map(|output| output.stdout)
    }

    /// As [`run`](Self::run), with what the class of the sandbox tells about the container.
    async fn output(&self, command: &str, millis: u32) -> Result<CommandOutput, Failure> {
        let options = json!({ "origin": "internal", "cwd": WORKING_DIRECTORY, "timeout": millis });
        completed(command, millis, self.call("exec", &[json!([PRELUDE, command].concat()), options]).await)
    }
}

fn get_or_try_init<T>(cell: &OnceCell<T>, make: impl FnOnce() -> Result<T, Failure>) -> Result<&T, Failure> {
    match cell.get() {
        Some(known) => Ok(known),
        None => make().map(|value| cell.get_or_init(|| value)),
    }
}

/// The session object or the pending answer of a call, disposed when it is dropped. Until then, answered or not, it
/// references the object that it came from and keeps the calling object in memory.
struct DisposableStub(JsValue);

impl Drop for DisposableStub {
    fn drop(&mut self) {
        let dispose = Reflect::get(&js_sys::global(), &"Symbol".into())
            .and_then(|symbol| Reflect::get(&symbol, &"dispose".into()))
            .and_then(|symbol| Reflect::get(&self.0, &symbol.unchecked_into::<Symbol>()));
        if let Ok(Ok(dispose)) = dispose.map(JsCast::dyn_into::<js_sys::Function>) {
            drop(dispose.call0(&self.0));
        }
    }
}

impl SandboxSession for SdkSession<'_> {
    async fn set_name(&self) -> Result<(), Failure> {
        stub::call(self.stub()?, "configure", &stub::js_arguments(&[name_settings(self.id)])?).await.map(drop)
    }

    async fn probe(&self, dir: &Directory) -> Result<Probe, Failure> {
        let stdout = self.run(&scripts::probe(dir), COMMAND_TIMEOUT_MILLIS).await?;
        scripts::read_probe(&stdout).ok_or_else(|| unreadable("the output of the probe"))
    }

    async fn update_marker(
        &self,
        from: Option<&ContainerMarker>,
        to: &ContainerMarker,
    ) -> Result<MarkerUpdate, Failure> {
        let output = self.output(&scripts::update_marker(from, to, None, true), COMMAND_TIMEOUT_MILLIS).await?;
        let update = scripts::read_marker_update(&output.stdout)
            .ok_or_else(|| Failure::protocol("the sandbox", "the container marker can't be changed"))?;
        Ok(MarkerUpdate { provenance: output.provenance(update.provenance), ..update })
    }

    async fn complete_restore(
        &self,
        backup: &BackupHandle,
        from: &ContainerMarker,
        to: &ContainerMarker,
        may_be_empty: bool,
    ) -> Result<Arrival, Failure> {
        let stdout = self.run(&scripts::verify_arrival(backup, from, to, may_be_empty), COMMAND_TIMEOUT_MILLIS).await?;
        scripts::read_arrival(&stdout).ok_or_else(|| unreadable("the result of the restore check"))
    }

    async fn make_directory(&self, dir: &Directory) -> Result<(), Failure> {
        let command = format!("mkdir -p -- {} && echo done", shell_quote(dir.as_str()));
        match self.run(&command, COMMAND_TIMEOUT_MILLIS).await?.trim() {
            "done" => Ok(()),
            _ => Err(Failure::protocol("the sandbox", format!("{dir} can't be created"))),
        }
    }

    async fn create_backup(&self, options: &BackupOptions, _: Option<u64>) -> Result<BackupHandle, Failure> {
        let options = model::json::to_value(options).map_err(|error| Failure::protocol("createBackup", error))?;
        let handle: Map<String, Value> = self.call("createBackup", &[options]).await?;
        BackupHandle::try_from(handle).map_err(|error| Failure::protocol("createBackup", error))
    }

    async fn restore_backup(
        &self,
        backup: &BackupHandle,
        _: u64,
        expected: Option<&ContainerId>,
    ) -> Result<(), Failure> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Argument<'a> {
            #[serde(flatten)]
            handle: &'a BackupHandle,
            /// The class of the SDK (0.12) does not read it.
            #[serde(skip_serializing_if = "Option::is_none")]
            expected_container: Option<&'a ContainerId>,
        }
        #[derive(Deserialize)]
        struct Outcome {
            success: bool,
        }
        let argument = Argument { handle: backup, expected_container: expected };
        let argument = model::json::to_value(&argument).map_err(|error| Failure::protocol("restoreBackup", error))?;
        match self.call("restoreBackup", &[argument]).await? {
            Outcome { success: true } => Ok(()),
            Outcome { success: false } => Err(Failure::new("Error", "restoreBackup returned success: false")),
        }
    }
    async fn begin_capture(&self, begin: &CaptureBegin) -> Result<CaptureBegun, Failure> {
        let stdout = self.run(&delta::begin_capture(begin), delta::TIMEOUT_MILLIS).await?;
        scripts::read_capture_begun(&stdout, begin).ok_or_else(|| unreadable("the comparison with the base"))
    }

    async fn finish_inventory(
        &self,
        dir: &Directory,
        snapshot_id: &SnapshotId,
    ) -> Result<Result<TracedBase, FullReason>, Failure> {
        let stdout = self.run(&delta::finish_inventory(dir, snapshot_id), delta::TIMEOUT_MILLIS).await?;
        scripts::read_inventory(&stdout, snapshot_id).ok_or_else(|| unreadable("the inventory"))
    }

    async fn release_carrier(&self, carrier: &Carrier) -> Result<bool, Failure> {
        let stdout = self.run(&delta::release_carrier(carrier), delta::TIMEOUT_MILLIS).await?;
        scripts::read_carrier_released(&stdout).ok_or_else(|| unreadable("the check of the carrier"))
    }

    async fn clear_directory(&self, dir: &Directory, marker: &ContainerMarker) -> Result<bool, Failure> {
        match self.run(&delta::clear_directory(dir, marker), delta::TIMEOUT_MILLIS).await?.trim() {
            "done" => Ok(true),
            "other" => Ok(false),
            _ => Err(Failure::protocol("the sandbox", format!("{dir} can't be cleared"))),
        }
    }

    async fn finish_restore(
        &self,
        finish: &RestoreFinish,
        marker: &ContainerMarker,
    ) -> Result<RestoreFinished, Failure> {
        let stdout = self.run(&delta::finish_restore(finish, marker), delta::TIMEOUT_MILLIS).await?;
        scripts::read_restore_finished(&stdout, &finish.base_id).ok_or_else(|| unreadable("the check of the files"))
    }
}
