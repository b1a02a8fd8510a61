//! The effects of commands that run in sandboxes.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::World;

/// The planned effects of commands, by command text.
pub(super) type Commands<S> = BTreeMap<String, Rc<dyn Fn(&World<S>, &HookCall) -> CommandResult>>;

/// A hook that was run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookCall {
    /// The sandbox.
    pub sandbox: String,
    /// The name of the hook.
    pub name: String,
    /// The working directory.
    pub dir: String,
    /// The environment variables.
    pub env: BTreeMap<String, String>,
}

/// The result of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandResult {
    pub(super) exit_code: Option<i32>,
    pub(super) output: String,
}

impl CommandResult {
    /// Returns a result with exit code 0 and no output.
    pub fn success() -> Self {
        Self::exit(0, "")
    }

    /// Returns a result with an exit code and output.
    pub fn exit(code: i32, output: &str) -> Self {
        Self { exit_code: Some(code), output: output.into() }
    }

    /// Returns the result of a command that exceeds its timeout.
    pub fn timeout() -> Self {
        Self { exit_code: None, output: String::new() }
    }
}

/// Returns the result of a command without a planned effect: the code of `exit <code>`, otherwise success.
pub(super) fn run_default(command: &str) -> CommandResult {
    let code = command.strip_prefix("exit ").and_then(|code| code.parse().ok());
    CommandResult::exit(code.unwrap_or_default(), "")
}
