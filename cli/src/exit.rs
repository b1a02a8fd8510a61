//! What a command ends with.

use std::fmt::Write;
use std::process::ExitCode;

use sandbox_snapshotter::client::ErrorCode;
use sandbox_snapshotter::model::Kind;

/// The exit status of a command. Scripts depend on the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// It is done.
    Done = 0,
    /// It failed, and stays failing until something is changed.
    Failed = 1,
    /// The arguments, the settings or the input are wrong.
    Invalid = 2,
    /// What it is about does not exist.
    NotFound = 3,
    /// The present state does not allow it.
    Conflict = 4,
    /// The caller may not do it.
    Denied = 5,
    /// It may pass by itself.
    Transient = 6,
    /// A limit was reached.
    Exhausted = 7,
    /// The deployment or the platform can't do it.
    Unsupported = 8,
    /// There is no answer, or none of the snapshotter's.
    NoAnswer = 9,
    /// What was looked at is not as it should be.
    CheckFailed = 10,
    /// It was interrupted.
    Interrupted = 130,
    /// The reader closed the output.
    OutputClosed = 141,
}

impl Exit {
    /// Every status and what it means, for people.
    pub const ALL: [(Self, &str); 13] = [
        (Self::Done, "done"),
        (Self::Failed, "failed, and fails again until something is changed"),
        (Self::Invalid, "wrong arguments, settings or input"),
        (Self::NotFound, "what it is about does not exist (any more)"),
        (Self::Conflict, "the present state does not allow it: a tag is taken, a snapshot has dependents"),
        (Self::Denied, "not allowed: the token is missing or wrong, or a policy refuses it"),
        (Self::Transient, "failed in passing: try again"),
        (Self::Exhausted, "a limit was reached"),
        (Self::Unsupported, "the deployment or the platform can't do it"),
        (Self::NoAnswer, "the server was not reached, did not answer, or is something else"),
        (Self::CheckFailed, "`snapshot verify` or `doctor` found something wrong"),
        (Self::Interrupted, "interrupted"),
        (Self::OutputClosed, "the reader closed the output"),
    ];

    /// The status for a failed call.
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

    /// The number.
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// The table of them, as help shows it.
    pub fn table() -> String {
        Self::ALL.iter().fold("Exit status:".to_owned(), |mut table, (exit, meaning)| {
            // Writing to a text can't fail.
            let _ = write!(table, "\n  {:>3}  {meaning}", exit.number());
            table
        })
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.number())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sandbox_snapshotter::model::Code;

    fn of(code: Code) -> u8 {
        Exit::of(&ErrorCode::Known(code), code.kind()).number()
    }

    #[test]
    fn each_kind_of_failure_has_its_status() {
        assert_eq!(of(Code::BackupFailed), 1);
        assert_eq!(of(Code::SnapshotNotFound), 3);
        assert_eq!(of(Code::LabelTaken), 4);
        assert_eq!(of(Code::Unauthorized), 5);
        assert_eq!(of(Code::StorageUnavailable), 6);
        assert_eq!(of(Code::PayloadTooLarge), 7);
        assert_eq!(of(Code::GitMissing), 8);
    }

    #[test]
    fn what_the_server_calls_invalid_is_a_wrong_argument() {
        let invalid = Code::ALL.iter().filter(|code| code.as_str().starts_with("INVALID_"));
        assert!(invalid.clone().count() > 5);
        for code in invalid {
            assert_eq!(of(*code), 2, "{code}");
        }
    }

    #[test]
    fn without_an_answer_of_the_snapshotter_it_is_9() {
        for code in [ErrorCode::Unreachable, ErrorCode::AnswerLost, ErrorCode::ForeignAnswer] {
            assert_eq!(Exit::of(&code, Kind::Transient).number(), 9);
        }
    }

    #[test]
    fn a_code_of_a_later_server_goes_by_its_kind() {
        assert_eq!(Exit::of(&ErrorCode::Other("QUOTA_SPENT".into()), Kind::ResourceExhausted).number(), 7);
    }

    #[test]
    fn no_two_have_the_same_number() {
        let mut numbers: Vec<_> = Exit::ALL.iter().map(|(exit, _)| exit.number()).collect();
        assert!(numbers.is_sorted());
        numbers.dedup();
        assert_eq!(numbers.len(), Exit::ALL.len());
    }
}
