//! The exit status of a command.

use std::fmt::Write;
use std::process::ExitCode;

use sandbox_snapshotter_client::ErrorCode;
use sandbox_snapshotter_client::model::Kind;

/// The exit status of a command. Scripts depend on the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// The command succeeded.
    Done = 0,
    /// The command failed, and fails again until something changes.
    Failed = 1,
    /// The arguments, the settings or the input are invalid.
    Invalid = 2,
    /// The object does not exist.
    NotFound = 3,
    /// The current state does not allow the call.
    Conflict = 4,
    /// The call is not permitted.
    Denied = 5,
    /// The failure is transient.
    Transient = 6,
    /// A limit was reached.
    Exhausted = 7,
    /// The deployment or the platform does not support the call.
    Unsupported = 8,
    /// There is no answer, or the answer is not from a snapshotter.
    NoAnswer = 9,
    /// A check found a problem.
    CheckFailed = 10,
    /// A signal interrupted the command.
    Interrupted = 130,
    /// The reader closed the output.
    OutputClosed = 141,
    /// The command of `exec` did not run, or its end is not known.
    NotRun = 255,
}

impl Exit {
    /// Every status with its meaning, for the help.
    pub const ALL: [(Self, &str); 14] = [
        (Self::Done, "success"),
        (Self::Failed, "failed; fails again until something changes"),
        (Self::Invalid, "invalid arguments, settings or input"),
        (Self::NotFound, "the object does not exist, or does not exist any more"),
        (Self::Conflict, "the current state does not allow it, such as a taken label or a snapshot with dependents"),
        (Self::Denied, "not permitted: the token is missing or wrong, or a policy refuses the call"),
        (Self::Transient, "transient failure; try again"),
        (Self::Exhausted, "a limit was reached"),
        (Self::Unsupported, "the deployment or the platform does not support it"),
        (Self::NoAnswer, "the server was not reached, did not answer, or is not a snapshotter"),
        (Self::CheckFailed, "`snapshot verify` or `doctor` found a problem"),
        (Self::Interrupted, "interrupted"),
        (Self::OutputClosed, "the reader closed the output"),
        (
            Self::NotRun,
            "`exec`, `commands output --follow`: the command did not run, or its end is not known; otherwise its own exit status",
        ),
    ];

    /// Returns the status for the error of a call.
    pub fn of(code: &ErrorCode, kind: Kind) -> Self {
        match (code, kind) {
            (ErrorCode::Unreachable | ErrorCode::AnswerLost | ErrorCode::ForeignAnswer, _) => Self::NoAnswer,
            (code, _) if code.as_str().starts_with("INVALID_") => Self::Invalid,
            (_, Kind::Permanent) => Self::Failed,
            (_, Kind::NotFound) => Self::NotFound,
            (_, Kind::Conflict) => Self::Conflict,
            (_, Kind::PolicyDenied) => Self::Denied,
            (_, Kind::Transient) => Self::Transient,
            (_, Kind::ResourceExhausted) => Self::Exhausted,
            (_, Kind::Unsupported) => Self::Unsupported,
        }
    }

    /// Returns the number.
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// Returns the table of all statuses, for the help. Further lines of a meaning are indented.
    pub fn table() -> String {
        Self::ALL.iter().fold("Exit status:".to_owned(), |mut table, (exit, meaning)| {
            // Writing to a string cannot fail.
            let _ = write!(table, "\n  {:>3} ", exit.number());
            let mut width = INDENT - 1;
            for word in meaning.split(' ') {
                let length = word.chars().count() + 1;
                if width + length > WIDTH {
                    let _ = write!(table, "\n{:width$}", "", width = INDENT - 1);
                    width = INDENT - 1;
                }
                let _ = write!(table, " {word}");
                width += length;
            }
            table
        })
    }
}

/// The column at which the meanings in the table of statuses begin.
const INDENT: usize = 7;

/// The number of columns of the table of statuses.
const WIDTH: usize = 80;

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.number())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sandbox_snapshotter_client::model::Code;

    fn status_of(code: Code) -> u8 {
        Exit::of(&ErrorCode::Known(code), code.kind()).number()
    }

    #[test]
    fn each_kind_of_failure_has_a_status() {
        assert_eq!(status_of(Code::BackupFailed), 1);
        assert_eq!(status_of(Code::SnapshotNotFound), 3);
        assert_eq!(status_of(Code::LabelTaken), 4);
        assert_eq!(status_of(Code::Unauthorized), 5);
        assert_eq!(status_of(Code::StorageUnavailable), 6);
        assert_eq!(status_of(Code::PayloadTooLarge), 7);
        assert_eq!(status_of(Code::GitMissing), 8);
    }

    #[test]
    fn invalid_codes_have_the_status_of_invalid_arguments() {
        let invalid = Code::ALL.iter().filter(|code| code.as_str().starts_with("INVALID_"));
        assert!(invalid.clone().count() > 5);
        for code in invalid {
            assert_eq!(status_of(*code), 2, "{code}");
        }
    }

    #[test]
    fn a_missing_or_foreign_answer_has_status_9() {
        for code in [ErrorCode::Unreachable, ErrorCode::AnswerLost, ErrorCode::ForeignAnswer] {
            assert_eq!(Exit::of(&code, Kind::Transient).number(), 9);
        }
    }

    #[test]
    fn an_unknown_code_has_the_status_of_its_kind() {
        assert_eq!(Exit::of(&ErrorCode::Other("QUOTA_SPENT".into()), Kind::ResourceExhausted).number(), 7);
    }

    #[test]
    fn the_table_fits_into_80_columns() {
        let table = Exit::table();
        for line in table.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
        let last = "\n  255  `exec`, `commands output --follow`: the command did not run, or its end\n       is not known; \
                    otherwise its own exit status";
        assert!(table.ends_with(last), "{table}");
        assert!(table.contains("\n    0  success\n"), "{table}");
    }

    #[test]
    fn the_numbers_are_distinct() {
        let mut numbers: Vec<_> = Exit::ALL.iter().map(|(exit, _)| exit.number()).collect();
        assert!(numbers.is_sorted());
        numbers.dedup();
        assert_eq!(numbers.len(), Exit::ALL.len());
    }
}
