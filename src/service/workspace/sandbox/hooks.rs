//! Runs the workspace's hooks: commands in the sandbox.

use std::collections::BTreeMap;

use crate::model::named::ContainerMarker;
use crate::model::named::answer::HookRun;
use crate::model::named::settings::{Hook, OnFailure};
use crate::model::{Directory, Error, Result, counted};
use crate::ports::{Ports, Sandboxes};
use crate::service::CloudflareSandboxSnapshotter;
use crate::service::calls::failures::{During, from_sandbox};

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
            Ok(None) => return Err(Error::another_container(&self.id)),
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
            (true, _) => {
                let limit = counted(hook.timeout_seconds.into(), "second");
                format!("exceeded its time limit of {limit} and was killed")
            }
            (false, Some(code)) => format!("failed with exit code {code}"),
            (false, None) => "did not finish".to_owned(),
        };
        Err(Error::hook_failed(&self.id, name, &how, &run.output))
    }
}
