//! Calls of the stubs of sandboxes, and the commands that run in them.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use worker::ObjectNamespace;

use super::js_error::to_failure;
use super::prelude::PRELUDE;
use super::sandbox_command::{CommandOutput, NO_SESSION, WORKING_DIRECTORY, completed, stdout_of};
use super::stub;
use super::value::from_js;
use crate::model::{self, ContainerIdentity, Failure, SandboxId};

/// The sandboxes of a Durable Object namespace.
pub struct SandboxStubs {
    pub(super) namespace: ObjectNamespace,
}

impl SandboxStubs {
    /// Returns the sandboxes in `namespace`.
    pub fn new(namespace: ObjectNamespace) -> Self {
        Self { namespace }
    }

    /// Calls a method on a new stub, and decodes its answer.
    pub(super) async fn call<T: DeserializeOwned>(
        &self,
        id: &SandboxId,
        method: &str,
        arguments: &[Value],
    ) -> Result<T, Failure> {
        let answer =
            stub::call(&stub::get(&self.namespace, id.as_str())?, method, &stub::js_arguments(arguments)?).await?;
        let answer = from_js(&answer).map_err(|error| to_failure(&error))?;
        model::json::from_value(&answer).map_err(|error| Failure::protocol(method, error))
    }

    /// Runs a command outside of any session, and returns its standard output. The environment variables of the sandbox
    /// apply.
    pub(super) async fn run(&self, id: &SandboxId, command: &str, millis: u32) -> Result<String, Failure> {
        self.run_with_env(id, &[PRELUDE, command].concat(), millis, &BTreeMap::new()).await
    }

    /// As [`run`](Self::run), but only in the expected container, if the class of the sandbox reads the identity.
    pub(super) async fn run_in(
        &self,
        id: &SandboxId,
        command: &str,
        millis: u32,
        expected: Option<ContainerIdentity>,
    ) -> Result<String, Failure> {
        self.output_in(id, command, millis, expected).await.map(|output| output.stdout)
    }

    /// As [`run_in`](Self::run_in), with what the class of the sandbox tells about the container.
    pub(super) async fn output_in(
        &self,
        id: &SandboxId,
        command: &str,
        millis: u32,
        expected: Option<ContainerIdentity>,
    ) -> Result<CommandOutput, Failure> {
        let command = [PRELUDE, command].concat();
        let mut options = json!({ "origin": "internal", "cwd": WORKING_DIRECTORY, "timeout": millis });
        if let (Some(expected), Some(options)) = (expected, options.as_object_mut()) {
            options.insert("expectedLastChange".to_owned(), json!(expected));
        }
        let arguments = [json!(command), json!(NO_SESSION), options];
        completed(&command, millis, self.call(id, "execWithSessionToken", &arguments).await)
    }

    /// As [`run`](Self::run), with additional environment variables and without the prelude.
    pub(super) async fn run_with_env(
        &self,
        id: &SandboxId,
        command: &str,
        millis: u32,
        env: &BTreeMap<String, String>,
    ) -> Result<String, Failure> {
        let options = json!({ "origin": "internal", "cwd": WORKING_DIRECTORY, "timeout": millis, "env": env });
        let arguments = [json!(command), json!(NO_SESSION), options];
        stdout_of(command, millis, self.call(id, "execWithSessionToken", &arguments).await)
    }
}
