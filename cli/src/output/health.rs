//! What `doctor` found, for people.

use serde::{Deserialize, Serialize};

use super::render::count;
use super::sanitize::sanitize_for_terminal;
use super::snapshots::check_mark;
use super::style::{BAD, FAINT, GOOD, styled};
use crate::failure::Failure;

/// What was found.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Whether nothing was found that is wrong.
    pub ok: bool,
    /// What was looked at, in its order.
    pub checks: Vec<Check>,
}

/// One check.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// What was checked.
    pub name: String,
    /// Whether it is right; absent where there is nothing to judge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ok: Option<bool>,
    /// The code that commands fail with because of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// What was found.
    pub detail: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remediation: Option<String>,
}

impl Check {
    /// Something is right.
    pub fn right(name: &str, detail: impl Into<String>) -> Self {
        Self { name: name.to_owned(), ok: Some(true), code: None, detail: detail.into(), remediation: None }
    }

    /// Something is wrong.
    pub fn wrong(name: &str, detail: impl Into<String>, remediation: &str) -> Self {
        Self { ok: Some(false), remediation: Some(remediation.to_owned()), ..Self::right(name, detail) }
    }

    /// Something can't be judged, or need not be as it is.
    pub fn undetermined(name: &str, detail: impl Into<String>, remediation: &str) -> Self {
        Self { ok: None, ..Self::wrong(name, detail, remediation) }
    }

    /// Something failed.
    pub fn from_failure(name: &str, failure: &Failure) -> Self {
        let Failure::Reported(told) = failure else { return Self::wrong(name, "The reader closed the output.", "") };
        Self { code: Some(told.code.clone()), ..Self::wrong(name, told.message.as_str(), &told.remediation) }
    }
}

impl Report {
    /// Of these checks.
    pub fn of(checks: Vec<Check>) -> Self {
        Self { ok: checks.iter().all(|check| check.ok != Some(false)), checks }
    }

    /// All of it, for people, in lines that end.
    pub fn text(&self) -> String {
        let width = self.checks.iter().map(|check| check.name.chars().count()).max().unwrap_or_default();
        let mut text: String = self.checks.iter().map(|check| line(check, width)).collect();
        let wrong = self.checks.iter().filter(|check| check.ok == Some(false)).count();
        let verdict = match wrong {
            0 => styled(GOOD, "Nothing is wrong."),
            wrong => styled(BAD, &count(wrong, "check failed.", "checks failed.")),
        };
        text += &(verdict + "\n");
        text
    }
}

fn line(check: &Check, width: usize) -> String {
    let name = format!("{:width$}", sanitize_for_terminal(&check.name));
    let code = check.code.as_ref().map_or_else(String::new, |code| format!("{}: ", sanitize_for_terminal(code)));
    let line = format!("{} {name}  {code}{}\n", check_mark(check.ok), sanitize_for_terminal(&check.detail));
    match check.remediation.as_deref().filter(|remediation| check.ok != Some(true) && !remediation.is_empty()) {
        Some(remediation) => {
            format!("{line}  {:width$}  {}\n", "", styled(FAINT, &format!("→ {}", sanitize_for_terminal(remediation))))
        }
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_judged_is_not_wrong() {
        assert!(Report::of(vec![Check::right("a", ""), Check::undetermined("b", "", "look")]).ok);
        assert!(!Report::of(vec![Check::right("a", ""), Check::wrong("b", "", "look")]).ok);
    }

    #[test]
    fn each_check_tells_what_to_do_unless_it_is_right() {
        let report =
            Report::of(vec![Check::right("address", "fine"), Check::wrong("token", "is wrong", "Give another.")]);
        let text = anstream::adapter::strip_str(&report.text()).to_string();
        assert_eq!(text, "✓ address  fine\n✗ token    is wrong\n           → Give another.\n1 check failed.\n");
    }
}
