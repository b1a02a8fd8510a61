//! What commands do that run in sandboxes.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::World;

/// What commands do, by their text.
pub type Commands = BTreeMap<String, Rc<dyn Fn(&World, &HookCall) -> Ran>>;

/// A hook that was run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookCall {
    /// The sandbox.
    pub sandbox: String,
    /// What it was called.
    pub name: String,
    /// Where it ran.
    pub dir: String,
    /// The variables that it saw.
    pub env: BTreeMap<String, String>,
}

/// What a command comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    pub(super) exit_code: Option<i32>,
    pub(super) output: String,
}

impl Ran {
    /// It succeeds.
    pub fn well() -> Self {
        Self::exits(0, "")
    }

    /// It ends with that exit code, and has printed something.
    pub fn exits(code: i32, output: &str) -> Self {
        Self { exit_code: Some(code), output: output.into() }
    }

    /// It is killed when its time is over.
    pub fn for_ever() -> Self {
        Self { exit_code: None, output: String::new() }
    }
}

/// What a command comes to of which nothing is planned.
pub(super) fn simple(command: &str) -> Ran {
    let code = command.strip_prefix("exit ").and_then(|code| code.parse().ok());
    Ran::exits(code.unwrap_or_default(), "")
}
