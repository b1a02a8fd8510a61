//! Runs the workspace's hooks: commands in the sandbox.

use std::collections::BTreeMap;

use crate::model::named::ContainerMarker;
use crate::model::named::messages::HookRun;
use crate::model::named::settings::{Hook, OnFailure};
use crate::model::{Code, Directory, Error, Result};
use crate::ports::{Ports, Sandboxes};
use crate::service::CloudflareSandboxSnapshotter;
use crate::service::calls::failures::{During, from_sandbox};
use crate::service::restore::arrival;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Runs a hook in the container that carries `marker`. Passes the workspace's environment variables, because the
    /// sandbox's object may have lost them.
    ///
    /// # Errors
    /// [`Code::HookFailed`], with the output, if the hook failed and its `onFailure` is not `warn`;
    /// [`Code::OperationInterrupted`] if another container runs.
    pub(in crate::service) async fn run_hook(
        &self,
        marker: &ContainerMarker,
        dir: &Directory,
        name: &str,
        hook: &Hook,
        env: &BTreeMap<String, String>,
    ) -> Result<HookRun> {
        let outcome = self.sandboxes()?.run_hook(&self.id, marker, dir, name, hook, env).await;
        let run = match outcome {
            Ok(Some(run)) => run,
            Ok(None) => return Err(self.container_replaced()),
            Err(failure) => {
                let error = from_sandbox(failure, &self.id, During::Hook);
                let output = error.message().to_owned();
                HookRun { hook: name.to_owned(), ok: false, exit_code: None, timed_out: false, output }
            }
        };
        if run.ok || hook.on_failure == OnFailure::Warn {
            return Ok(run);
        }
        let how = match (run.timed_out, run.exit_code) {
            (true, _) => format!("exceeded its time limit of {} seconds and was killed", hook.timeout_seconds),
            (false, Some(code)) => format!("failed with exit code {code}"),
            (false, None) => "did not finish".to_owned(),
        };
        let output = if run.output.is_empty() { String::new() } else { format!(" Output:\n{}", run.output) };
        Err(Error::new(
            Code::HookFailed,
            format!("The hook `{name}` of the sandbox {:?} {how}.{output}", self.id.as_str()),
            "Fix the command, or set `onFailure: \"warn\"` to continue despite its failure.",
        ))
    }

    /// Returns the error of a step that found another container than the one that is being populated.
    pub(super) fn container_replaced(&self) -> Error {
        arrival::another_container(&self.id)
    }
}
