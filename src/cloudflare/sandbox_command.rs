//! What all calls to a sandbox share: its settings, and the answers of the commands that run in its container.

use std::collections::BTreeMap;

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::model::{Failure, Provenance, SandboxId};

/// The SDK's session id for commands outside of any session. Such a command waits for no other command, and does not
/// change the sessions of the sandbox.
pub(super) const NO_SESSION: &str = "__DISABLE_SESSION__";

/// The working directory of the Worker's own commands. The directory of the sandbox may have been deleted.
pub(super) const WORKING_DIRECTORY: &str = "/";

/// The time limit of the Worker's own commands, in milliseconds.
pub(super) const COMMAND_TIMEOUT_MILLIS: u32 = 10_000;

/// The exit code that the SDK's server reports for a command outside of any session that it killed at its time limit.
/// The server reports the partial output as well, which must not be parsed. None of the Worker's own commands exits
/// with this code.
const TIMEOUT_EXIT_CODE: i64 = 124;

/// Returns the settings of the name of a sandbox.
pub(super) fn name_settings(id: &SandboxId) -> Value {
    json!({ "sandboxName": { "name": id, "normalizeId": false } })
}

/// The answer of the SDK to a command.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CommandOutput {
    /// The standard output.
    pub stdout: String,
    #[serde(default)]
    exit_code: Option<i64>,
    /// The image of the container, from the class for containers only.
    #[serde(default)]
    image: Option<String>,
    /// The version of the class for containers.
    #[serde(default)]
    class_version: Option<String>,
}

impl CommandOutput {
    /// Returns what a container printed about itself, with what its class tells.
    pub(super) fn provenance(&self, printed: Option<Provenance>) -> Option<Provenance> {
        Provenance::with_class(printed, self.image.as_deref(), self.class_version.as_deref())
    }
}

/// Returns the standard output of a command with a time limit of `millis`.
pub(super) fn stdout_of(command: &str, millis: u32, output: Result<CommandOutput, Failure>) -> Result<String, Failure> {
    completed(command, millis, output).map(|output| output.stdout)
}

/// Returns the output of a command with a time limit of `millis`, if it was not killed at the limit.
pub(super) fn completed(
    command: &str,
    millis: u32,
    output: Result<CommandOutput, Failure>,
) -> Result<CommandOutput, Failure> {
    match output {
        Ok(CommandOutput { exit_code: Some(TIMEOUT_EXIT_CODE), .. }) => {
            Err(Failure::timed_out("a command in the sandbox", Duration::from_millis(millis.into())))
        }
        Ok(output) => Ok(output),
        Err(failure) => Err(redact_command(command, failure)),
    }
}

/// Returns the failure of a command with malformed output. It leaves the output out, which may contain the content of
/// files.
pub(super) fn unreadable(what: &str) -> Failure {
    Failure::protocol("the sandbox", format!("{what} can't be read"))
}

/// Removes the command that a failure quotes at the end: it is one of the Worker's own, and long.
pub(super) fn redact_command(command: &str, mut failure: Failure) -> Failure {
    if let Some(start) = command.lines().next().and_then(|line| failure.message.find(line)) {
        failure.message.truncate(start);
        failure.message.truncate(failure.message.trim_end_matches([' ', ':']).len());
    }
    failure
}

/// Removes the values of variables from a failure to set them. The SDK sets them with commands, which its message may
/// quote.
pub(super) fn redact_env(env: &BTreeMap<String, Option<String>>, mut failure: Failure) -> Failure {
    let contains = |text: &str| !text.is_empty() && failure.message.contains(text);
    if contains("export ") || env.values().flatten().any(|value| contains(value)) {
        let names: Vec<&str> = env.keys().map(String::as_str).collect();
        failure.message = format!("the variables {} can't be set", names.join(", "));
    }
    failure
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failure_does_not_quote_the_command() {
        let redacted =
            |message: &str| redact_command("run=/run/x\nrm -rf", Failure::new("CommandError", message)).message;
        assert_eq!(redacted("It timed out after 1000 ms: run=/run/x\nrm…"), "It timed out after 1000 ms");
        assert_eq!(redacted("The container went away"), "The container went away");
    }

    fn stdout_of_answer(answer: Value) -> Result<String, Failure> {
        stdout_of("read -r up", 10_000, Ok(serde_json::from_value(answer).unwrap()))
    }

    #[test]
    fn killed_command_is_a_timeout_whatever_it_printed() {
        for stdout in ["", "1000.50 90000 full 0\n\n"] {
            let failure = stdout_of_answer(json!({ "success": false, "exitCode": 124, "stdout": stdout })).unwrap_err();
            assert!(failure.is_timed_out() && !failure.is_protocol(), "{failure}");
            assert!(failure.message.contains("10 seconds"), "{failure}");
        }
    }

    #[test]
    fn output_of_a_completed_command_is_returned_whatever_its_exit_code() {
        for answer in
            [json!({ "stdout": "x" }), json!({ "stdout": "x", "exitCode": 0 }), json!({ "stdout": "x", "exitCode": 1 })]
        {
            assert_eq!(stdout_of_answer(answer).as_deref(), Ok("x"));
        }
    }

    #[test]
    fn class_for_containers_tells_its_image_and_version() {
        let output = |answer: Value| serde_json::from_value::<CommandOutput>(answer).unwrap();
        let text = |output: CommandOutput| output.provenance(Provenance::parse("0.12.10 0123")).unwrap().to_string();
        assert_eq!(text(output(json!({ "stdout": "" }))), "0.12.10 0123");
        let answer = json!({ "stdout": "", "image": "debian:12", "classVersion": "0.1.0" });
        assert_eq!(text(output(answer)), "0.12.10 0123 0.1.0 debian:12");
    }

    #[test]
    fn failure_to_set_variables_names_them_without_their_values() {
        let env = BTreeMap::from([
            ("KEY".to_owned(), Some("open sesame".to_owned())),
            ("GONE".to_owned(), None),
            ("EMPTY".to_owned(), Some(String::new())),
        ]);
        let redacted = |message: &str| redact_env(&env, Failure::new("CommandError", message)).message;
        for quoting in [
            "Failed to execute command 'export KEY='open sesame'' in session 'default'",
            "It timed out after 1000 ms: export KEY='open s…",
            "Failed to set KEY: bash: open sesame: no",
        ] {
            assert_eq!(redacted(quoting), "the variables EMPTY, GONE, KEY can't be set");
        }
        assert_eq!(redacted("Network connection lost."), "Network connection lost.");
    }
}
