//! The sandboxes, by their Durable Object stubs.
//!
//! What `getSandbox` of the SDK does for an id, done here: the stub by name, and `configure` with the name.

use std::collections::BTreeMap;
use std::pin::pin;
use std::time::Duration;

use futures_util::future::{Either, select};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use worker::ObjectNamespace;

use super::prelude::PRELUDE;
use super::session::SdkSession;
use super::thrown::failure;
use super::value::from_js;
use super::{checkpoints, ignored, scripts, stub};
use crate::model::checkpoint_call::{CheckpointCall, CheckpointDone, CheckpointRefusal, Meant};
use crate::model::named::Stamp;
use crate::model::named::answer::HookRun;
use crate::model::named::settings::Hook;
use crate::model::named::standing::{Begun, Survey};
use crate::model::{self, Arrival, BackupHandle, Directory, Failure, Probe, SandboxId, SandboxState, Stamping, Status};
use crate::ports::Sandboxes;
use crate::timer;

/// The SDK's session id for commands outside of any session: they wait for no other command, and leave the
/// sandbox's sessions as they are.
pub(super) const NO_SESSION: &str = "__DISABLE_SESSION__";

/// How long a command of ours may take, in milliseconds.
pub(super) const COMMAND_MILLIS: u32 = 10_000;

/// How long one may take that looks at every file of a directory.
const WALK_MILLIS: u32 = 60_000;

/// How much longer a hook may take than its time limit says, so that it is killed for that.
const HOOK_MARGIN_MILLIS: u32 = 20_000;

/// How much longer the Worker waits for the answer of a command than the command may take.
const ANSWER_MARGIN_MILLIS: u32 = 5_000;

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
    async fn call<T: DeserializeOwned>(&self, id: &SandboxId, method: &str, arguments: &[Value]) -> Result<T, Failure> {
        let answer = stub::call(&stub::of(&self.namespace, id.as_str())?, method, &stub::list(arguments)?).await?;
        let answer = from_js(&answer).map_err(|error| failure(&error))?;
        model::json::read(&answer).map_err(|error| Failure::unexpected(method, error))
    }

    /// Runs a command outside of any session, and answers what it printed. Variables that were set are set for it too.
    async fn run(&self, id: &SandboxId, command: &str, millis: u32) -> Result<String, Failure> {
        self.run_with(id, &[PRELUDE, command].concat(), millis, &BTreeMap::new()).await
    }

    /// The same with variables of its own, and without the prelude.
    async fn run_with(
        &self,
        id: &SandboxId,
        command: &str,
        millis: u32,
        env: &BTreeMap<String, String>,
    ) -> Result<String, Failure> {
        let options = json!({ "origin": "internal", "timeout": millis, "env": env });
        let arguments = [json!(command), json!(NO_SESSION), options];
        printed(command, millis, self.call(id, "execWithSessionToken", &arguments).await)
    }
}

/// What tells a sandbox how long its container may be idle, in seconds; `None` is for ever.
fn awake(seconds: Option<u64>) -> Vec<(String, Value)> {
    match seconds {
        Some(seconds) => vec![("sleepAfter".to_owned(), json!(seconds)), ("keepAlive".to_owned(), json!(false))],
        None => vec![("keepAlive".to_owned(), json!(true))],
    }
}

/// What tells a sandbox its name.
pub(super) fn named(id: &SandboxId) -> Value {
    json!({ "sandboxName": { "name": id, "normalizeId": false } })
}

/// The exit code that the SDK's server answers for a command outside of any session that ran out of time and was killed. What
/// it had printed until then is answered as well, and is not to be read. No command of ours ends with it.
const RAN_OUT_OF_TIME: i64 = 124;

/// What the SDK answers to a command.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Output {
    stdout: String,
    #[serde(default)]
    exit_code: Option<i64>,
}

/// What a command of ours printed, which had so many milliseconds.
pub(super) fn printed(command: &str, millis: u32, output: Result<Output, Failure>) -> Result<String, Failure> {
    match output {
        Ok(Output { exit_code: Some(RAN_OUT_OF_TIME), .. }) => {
            Err(Failure::timed_out("a command in the sandbox", Duration::from_millis(millis.into())))
        }
        Ok(output) => Ok(output.stdout),
        Err(failure) => Err(without(command, failure)),
    }
}

/// The failure of a command of ours that printed something else than it should: what that is may be anybody's content.
pub(super) fn unreadable(what: &str) -> Failure {
    Failure::unexpected("the sandbox", format!("{what} can't be read"))
}

/// The failure of a command that did not answer in time.
fn unanswered(what: &str, limit: Duration) -> Failure {
    Failure::new("TimeoutError", &format!("{what} did not answer within {} s", limit.as_secs()))
}

/// A failure to set variables, without their values: the SDK sets them by commands, which it may quote.
fn untold(env: &BTreeMap<String, Option<String>>, mut failure: Failure) -> Failure {
    let quotes = |text: &str| !text.is_empty() && failure.message.contains(text);
    if quotes("export ") || env.values().flatten().any(|value| quotes(value)) {
        let names: Vec<&str> = env.keys().map(String::as_str).collect();
        failure.message = format!("the variables {} can't be set", names.join(", "));
    }
    failure
}

/// A failure without the command that it quotes at the end: that is ours, and long.
fn without(command: &str, mut failure: Failure) -> Failure {
    if let Some(start) = command.lines().next().and_then(|line| failure.message.find(line)) {
        failure.message.truncate(start);
        failure.message.truncate(failure.message.trim_end_matches([' ', ':']).len());
    }
    failure
}

impl Sandboxes for Stubs {
    type Visit<'a> = SdkSession<'a>;

    fn visit<'a>(&'a self, id: &'a SandboxId) -> SdkSession<'a> {
        SdkSession::new(&self.namespace, id)
    }

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
            other => return Err(Failure::unexpected("getState", format!("the status {other:?}"))),
        };
        Ok(SandboxState { status, last_change: state.last_change })
    }

    async fn configure(&self, id: &SandboxId, idle_seconds: Option<u64>) -> Result<(), Failure> {
        let mut configuration = named(id);
        if let Some(members) = configuration.as_object_mut() {
            members.extend(awake(idle_seconds));
        }
        self.call::<Option<Map<String, Value>>>(id, "configure", &[configuration]).await.map(drop)
    }

    async fn probe(&self, id: &SandboxId, dir: &Directory) -> Result<Probe, Failure> {
        let stdout = self.run(id, &scripts::probe(dir), COMMAND_MILLIS).await?;
        scripts::read_probe(&stdout).ok_or_else(|| unreadable("the probe"))
    }

    async fn note_took_place(&self, id: &SandboxId, note: bool) -> Result<(), Failure> {
        match self.run(id, &scripts::note(note), COMMAND_MILLIS).await?.trim() {
            "done" => Ok(()),
            _ => Err(Failure::unexpected("the sandbox", "the note can't be changed")),
        }
    }

    async fn destroy(&self, id: &SandboxId) -> Result<(), Failure> {
        self.call::<Option<Map<String, Value>>>(id, "destroy", &[]).await.map(drop)
    }

    async fn keep_awake(&self, id: &SandboxId, seconds: Option<u64>) -> Result<(), Failure> {
        let configuration = awake(seconds).into_iter().collect::<Map<_, _>>().into();
        self.call::<Option<Map<String, Value>>>(id, "configure", &[configuration]).await.map(drop)
    }

    async fn set_env(&self, id: &SandboxId, env: &BTreeMap<String, Option<String>>) -> Result<(), Failure> {
        let set = self.call::<Option<Map<String, Value>>>(id, "setEnvVars", &[json!(env)]).await;
        set.map(drop).map_err(|failure| untold(env, failure))
    }

    async fn stamp(
        &self,
        id: &SandboxId,
        from: Option<&Stamp>,
        to: &Stamp,
        older_than_millis: Option<i64>,
    ) -> Result<Stamping, Failure> {
        let stdout = self.run(id, &scripts::stamp(from, to, older_than_millis), COMMAND_MILLIS).await?;
        scripts::read_stamp(&stdout).ok_or_else(|| Failure::unexpected("the sandbox", "the stamp can't be changed"))
    }

    async fn begin(
        &self,
        id: &SandboxId,
        from: Option<&Stamp>,
        to: &Stamp,
        dir: &Directory,
        files: &[String],
    ) -> Result<Option<Begun>, Failure> {
        let stdout = self.run(id, &scripts::begin(from, to, dir, files), WALK_MILLIS).await?;
        scripts::read_begin(&stdout, files)
    }

    async fn arrive(
        &self,
        id: &SandboxId,
        backup: &BackupHandle,
        from: &Stamp,
        to: &Stamp,
        may_be_empty: bool,
    ) -> Result<Arrival, Failure> {
        let stdout = self.run(id, &scripts::arrive(backup, from, to, may_be_empty), COMMAND_MILLIS).await?;
        scripts::read_arrive(&stdout).ok_or_else(|| unreadable("whether the files have arrived"))
    }

    async fn survey(&self, id: &SandboxId, dir: &Directory) -> Result<Survey, Failure> {
        let stdout = self.run(id, &scripts::survey(dir), WALK_MILLIS).await?;
        scripts::read_survey(&stdout).ok_or_else(|| unreadable("the survey"))
    }

    async fn hashes(
        &self,
        id: &SandboxId,
        dir: &Directory,
        files: &[String],
    ) -> Result<BTreeMap<String, String>, Failure> {
        if files.is_empty() {
            return Ok(BTreeMap::new());
        }
        let stdout = self.run(id, &scripts::hashes(dir, files), WALK_MILLIS).await?;
        scripts::read_hashes(&stdout, files).ok_or_else(|| unreadable("the list of hashes"))
    }

    async fn watch(&self, id: &SandboxId) -> Result<(), Failure> {
        match self.run(id, &scripts::watch(), COMMAND_MILLIS).await?.trim() {
            "still" => Ok(()),
            _ => Err(unreadable("since when changes count")),
        }
    }

    async fn ignored_below(&self, id: &SandboxId, dir: &Directory) -> Result<Vec<String>, Failure> {
        let stdout = self.run(id, &ignored::list(dir), WALK_MILLIS).await?;
        ignored::read(&stdout).ok_or_else(|| unreadable("the list of ignored paths"))
    }

    async fn stirred(&self, id: &SandboxId, dir: &Directory) -> Result<bool, Failure> {
        match self.run(id, &scripts::stirred(dir), WALK_MILLIS).await?.trim() {
            "stirred" => Ok(true),
            "still" => Ok(false),
            _ => Err(unreadable("whether files have changed")),
        }
    }

    async fn run_hook(
        &self,
        id: &SandboxId,
        stamp: &Stamp,
        dir: &Directory,
        name: &str,
        hook: &Hook,
        env: &BTreeMap<String, String>,
    ) -> Result<Option<HookRun>, Failure> {
        let millis = hook.timeout_seconds.saturating_mul(1000).saturating_add(HOOK_MARGIN_MILLIS);
        let command = scripts::hook(stamp, dir, hook);
        let run = self.run_with(id, &command, millis, env);
        let limit = Duration::from_millis(millis.saturating_add(ANSWER_MARGIN_MILLIS).into());
        let stdout = match select(pin!(run), pin!(timer::sleep(limit))).await {
            Either::Left((stdout, _)) => stdout?,
            Either::Right(((), _)) => return Err(unanswered("the hook", limit)),
        };
        scripts::read_hook(&stdout, name)
    }

    async fn checkpoint(
        &self,
        id: &SandboxId,
        dir: &Directory,
        meant: Meant,
        call: &CheckpointCall,
    ) -> Result<Result<CheckpointDone, CheckpointRefusal>, Failure> {
        let stdout = self.run(id, &checkpoints::command(dir, meant, call), checkpoints::MILLIS).await?;
        checkpoints::read(&stdout, call)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_does_not_quote_the_command() {
        let told = |message: &str| without("run=/run/x\nrm -rf", Failure::new("CommandError", message)).message;
        assert_eq!(told("It timed out after 1000 ms: run=/run/x\nrm…"), "It timed out after 1000 ms");
        assert_eq!(told("The container went away"), "The container went away");
    }

    fn printed_of(answer: Value) -> Result<String, Failure> {
        printed("read -r up", 10_000, Ok(serde_json::from_value(answer).unwrap()))
    }

    #[test]
    fn a_command_that_ran_out_of_time_is_a_timeout_whatever_it_had_printed() {
        for stdout in ["", "1000.50 90000 full 0\n\n"] {
            let failure = printed_of(json!({ "success": false, "exitCode": 124, "stdout": stdout })).unwrap_err();
            assert!(failure.is_timed_out() && !failure.is_unexpected(), "{failure}");
            assert!(failure.message.contains("10 seconds"), "{failure}");
        }
    }

    #[test]
    fn a_command_that_ended_is_read_whatever_its_exit_code_is() {
        for answer in
            [json!({ "stdout": "x" }), json!({ "stdout": "x", "exitCode": 0 }), json!({ "stdout": "x", "exitCode": 1 })]
        {
            assert_eq!(printed_of(answer).as_deref(), Ok("x"));
        }
    }

    #[test]
    fn a_failure_to_set_variables_tells_their_names_alone() {
        let env = BTreeMap::from([
            ("KEY".to_owned(), Some("open sesame".to_owned())),
            ("GONE".to_owned(), None),
            ("EMPTY".to_owned(), Some(String::new())),
        ]);
        let told = |message: &str| untold(&env, Failure::new("CommandError", message)).message;
        for quoting in [
            "Failed to execute command 'export KEY='open sesame'' in session 'default'",
            "It timed out after 1000 ms: export KEY='open s…",
            "Failed to set KEY: bash: open sesame: no",
        ] {
            assert_eq!(told(quoting), "the variables EMPTY, GONE, KEY can't be set");
        }
        assert_eq!(told("Network connection lost."), "Network connection lost.");
    }
}
