//! The report of `doctor`.

use serde::{Deserialize, Serialize};

use super::render::count;
use super::sanitize::sanitize_for_terminal;
use super::snapshots::check_mark;
use super::style::{BAD, FAINT, GOOD, styled};
use crate::failure::Failure;

/// The results of all checks.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Whether no check failed.
    pub ok: bool,
    /// The checks, in the order in which they ran.
    pub checks: Vec<Check>,
}

/// One check.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// The name of the check.
    pub name: String,
    /// Whether the check passed; absent if it has no verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ok: Option<bool>,
    /// The code of the errors that the problem causes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The result.
    pub detail: String,
    /// How to correct the problem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remediation: Option<String>,
}

impl Check {
    /// Returns a passed check.
    pub fn passed(name: &str, detail: impl Into<String>) -> Self {
        Self { name: name.to_owned(), ok: Some(true), code: None, detail: detail.into(), remediation: None }
    }

    /// Returns a failed check.
    pub fn failed(name: &str, detail: impl Into<String>, remediation: &str) -> Self {
        Self { ok: Some(false), remediation: Some(remediation.to_owned()), ..Self::passed(name, detail) }
    }

    /// Returns a check without a verdict.
    pub fn undetermined(name: &str, detail: impl Into<String>, remediation: &str) -> Self {
        Self { ok: None, ..Self::failed(name, detail, remediation) }
    }

    /// Returns the failed check for a failure.
    pub fn from_failure(name: &str, failure: &Failure) -> Self {
        let Failure::Reported(report) = failure else { return Self::failed(name, "The reader closed the output.", "") };
        Self { code: Some(report.code.clone()), ..Self::failed(name, report.message.as_str(), &report.remediation) }
    }
}

impl Report {
    /// Returns the report of these checks.
    pub fn of(checks: Vec<Check>) -> Self {
        Self { ok: checks.iter().all(|check| check.ok != Some(false)), checks }
    }

    /// Returns the text output of the report. Each line ends with a line break.
    pub fn text(&self) -> String {
        let width = self.checks.iter().map(|check| check.name.chars().count()).max().unwrap_or_default();
        let mut text: String = self.checks.iter().map(|check| line(check, width)).collect();
        let failed = self.checks.iter().filter(|check| check.ok == Some(false)).count();
        let verdict = match failed {
            0 => styled(GOOD, "No check failed."),
            failed => styled(BAD, &count(failed, "check failed.", "checks failed.")),
        };
        text += &(verdict + "\n");
        text
    }
}

fn line(check: &Check, width: usize) -> String {
    let name = format!("{:width$}", sanitize_for_terminal(&check.name));
    let code = check.code.as_ref().map_or_else(String::new, |code| format!("{}: ", sanitize_for_terminal(code)));
    let line = format!("{} {name}  {code}{}\n", check_mark(check.ok), sanitize_for_terminal(&check.detail));
    let remediation = check.remediation.as_deref().filter(|_| check.ok != Some(true)).unwrap_or_default();
    // A remediation can contain lines of a configuration.
    let lines = remediation.lines().enumerate().map(|(index, text)| {
        if text.is_empty() {
            return "\n".to_owned();
        }
        let text = format!("{}{}", if index == 0 { "→ " } else { "  " }, sanitize_for_terminal(text));
        format!("  {:width$}  {}\n", "", styled(FAINT, &text))
    });
    std::iter::once(line).chain(lines).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_without_a_verdict_is_not_a_failure() {
        assert!(Report::of(vec![Check::passed("a", ""), Check::undetermined("b", "", "Check it.")]).ok);
        assert!(!Report::of(vec![Check::passed("a", ""), Check::failed("b", "", "Correct it.")]).ok);
    }

    #[test]
    fn lines_of_a_configuration_are_below_each_other() {
        let remediation = "Add this:\n\n[[r2_buckets]]\nbinding = \"B\"";
        let text = Report::of(vec![Check::failed("bucket", "is missing", remediation)]).text();
        let text = anstream::adapter::strip_str(&text).to_string();
        let expected =
            "✗ bucket  is missing\n          → Add this:\n\n            [[r2_buckets]]\n            binding = \"B\"\n";
        assert_eq!(text, format!("{expected}1 check failed.\n"));
    }

    #[test]
    fn each_check_that_did_not_pass_has_a_remediation() {
        let report =
            Report::of(vec![Check::passed("address", "fine"), Check::failed("token", "is wrong", "Pass another.")]);
        let text = anstream::adapter::strip_str(&report.text()).to_string();
        assert_eq!(text, "✓ address  fine\n✗ token    is wrong\n           → Pass another.\n1 check failed.\n");
    }
}
