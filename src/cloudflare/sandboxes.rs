//! The sandboxes, by their Durable Object stubs.
//!
//! What `getSandbox` of the SDK does for an id, done here: the stub by name, and `configure` with the name.
//! Methods of a stub are called by [`Reflect::apply`], since a stub's functions proxy `call` too.

use js_sys::futures::JsFuture;
use js_sys::{Array, Function, Promise, Reflect};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use serde_wasm_bindgen::Serializer;
use wasm_bindgen::{JsCast, JsValue};
use worker::ObjectNamespace;

use super::thrown::{failure, unexpected};
use crate::model::{BackupHandle, BackupOptions, Directory, Failure, Probe, SandboxId, SandboxState, Status};
use crate::ports::Sandboxes;

/// The SDK's session id for commands outside of any session: they wait for no other command, and leave the
/// sandbox's sessions as they are.
const NO_SESSION: &str = "__DISABLE_SESSION__";

/// The sandboxes of a Durable Object namespace.
pub struct Stubs {
    namespace: ObjectNamespace,
}

impl Stubs {
    /// The sandboxes in `namespace`.
    pub fn new(namespace: ObjectNamespace) -> Self {
        Self { namespace }
    }

    /// Calls a method on a fresh stub, and decodes its answer.
    async fn call<T: for<'de> Deserialize<'de>>(
        &self,
        id: &SandboxId,
        method: &str,
        arguments: &[Value],
    ) -> Result<T, Failure> {
        let stub =
            self.namespace.get_by_name(id.as_str()).map_err(|error| Failure::new("Error", &error.to_string()))?;
        let stub: JsValue = stub.into_rpc();
        let answer = invoke(&stub, method, arguments).await.map_err(|thrown| failure(&thrown))?;
        serde_wasm_bindgen::from_value(answer).map_err(|error| unexpected(method, error))
    }
}

impl Sandboxes for Stubs {
    async fn state(&self, id: &SandboxId) -> Result<SandboxState, Failure> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct State {
            status: String,
            last_change: f64,
        }
        let state: State = self.call(id, "getState", &[]).await?;
        let status = match state.status.as_str() {
            "healthy" => Status::Healthy,
            "running" => Status::Starting,
            "stopping" | "stopped" | "stopped_with_code" => Status::Down,
            other => return Err(unexpected("getState", format!("the status {other:?}"))),
        };
        Ok(SandboxState { status, last_change: state.last_change })
    }

    async fn name(&self, id: &SandboxId) -> Result<(), Failure> {
        let configuration = json!({ "sandboxName": { "name": id, "normalizeId": false } });
        self.call::<Option<Map<String, Value>>>(id, "configure", &[configuration]).await.map(drop)
    }

    async fn probe(&self, id: &SandboxId, dir: &Directory) -> Result<Probe, Failure> {
        #[derive(Deserialize)]
        struct Output {
            stdout: String,
        }
        let arguments = [json!(probe_command(dir)), json!(NO_SESSION), json!({ "origin": "internal" })];
        let output: Output = self.call(id, "execWithSessionToken", &arguments).await?;
        read_probe(&output.stdout).ok_or_else(|| unexpected("the probe", format!("{:?}", output.stdout)))
    }

    async fn create_backup(&self, id: &SandboxId, options: &BackupOptions) -> Result<BackupHandle, Failure> {
        let options = serde_json::to_value(options).map_err(|error| unexpected("createBackup", error))?;
        let handle: Map<String, Value> = self.call(id, "createBackup", &[options]).await?;
        BackupHandle::try_from(handle).map_err(|error| unexpected("createBackup", error))
    }

    async fn restore_backup(&self, id: &SandboxId, backup: &BackupHandle) -> Result<(), Failure> {
        #[derive(Deserialize)]
        struct Outcome {
            success: bool,
        }
        let handle = serde_json::to_value(backup).map_err(|error| unexpected("restoreBackup", error))?;
        match self.call(id, "restoreBackup", &[handle]).await? {
            Outcome { success: true } => Ok(()),
            Outcome { success: false } => Err(Failure::new("Error", "restoreBackup answered success: false")),
        }
    }

    async fn destroy(&self, id: &SandboxId) -> Result<(), Failure> {
        self.call::<Option<Map<String, Value>>>(id, "destroy", &[]).await.map(drop)
    }
}

async fn invoke(stub: &JsValue, method: &str, arguments: &[Value]) -> Result<JsValue, JsValue> {
    let list = Array::new();
    for argument in arguments {
        list.push(&argument.serialize(&Serializer::json_compatible())?);
    }
    let function: Function = Reflect::get(stub, &method.into())?.dyn_into()?;
    let answer = Reflect::apply(&function, stub, &list)?;
    // What an RPC call answers is thenable, but no promise.
    JsFuture::from(Promise::resolve(&answer)).await
}

/// Prints `<uptime of the system> <start of PID 1 in ticks> <ticks a second> <1 if dir has entries, else 0>`.
fn probe_command(dir: &Directory) -> String {
    let dir = dir.as_str().replace('\'', r"'\''");
    format!(
        "read -r up _ </proc/uptime; start=$(sed 's/.*) //' /proc/1/stat | cut -d' ' -f20); \
         full=$(ls -A -- '{dir}' 2>/dev/null | head -c1 | wc -c); echo \"$up $start $(getconf CLK_TCK) $full\""
    )
}

fn read_probe(stdout: &str) -> Option<Probe> {
    let mut fields = stdout.split_whitespace();
    let mut number = || fields.next()?.parse::<f64>().ok();
    let (uptime, start, ticks, full) = (number()?, number()?, number()?, number()?);
    #[allow(clippy::cast_possible_truncation)] // It saturates.
    let age_millis = ((uptime - start / ticks) * 1000.0) as i64;
    Some(Probe { age_millis, has_entries: full > 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_tells_the_age_of_the_container_from_its_first_process() {
        assert_eq!(read_probe("1000.50 90000 100 1\n"), Some(Probe { age_millis: 100_500, has_entries: true }));
    }

    #[test]
    fn a_probe_that_prints_something_else_tells_nothing() {
        for stdout in ["", "1000.50", "1000.50 x 100 1", "sh: not found"] {
            assert_eq!(read_probe(stdout), None, "{stdout:?}");
        }
    }

    #[test]
    fn a_directory_with_quotes_stays_one_word_of_the_probe() {
        let command = probe_command(&Directory::parse("/workspace/it's $(here)").unwrap());
        assert!(command.contains(r"'/workspace/it'\''s $(here)'"), "{command}");
    }
}
