//! Errors: their codes, kinds, messages and JSON forms. They contain no secrets.

use std::collections::BTreeSet;

use proptest::prelude::*;
use sandbox_snapshotter::model::{Code, Error, Failure, Kind};
use serde_json::json;

use super::any_error::error;
use super::support::cases;

#[test]
fn codes_are_unique() {
    let texts: BTreeSet<_> = Code::ALL.iter().map(Code::as_str).collect();
    assert_eq!(texts.len(), Code::ALL.len());
}

#[test]
fn codes_are_written_in_capitals() {
    for code in Code::ALL {
        let is_word =
            |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
        assert!(code.as_str().split('_').all(is_word), "{code}");
    }
}

#[test]
fn code_is_the_same_as_text_and_as_json() {
    for code in Code::ALL {
        assert_eq!(code.to_string(), code.as_str());
        assert_eq!(json!(code), json!(code.as_str()));
    }
}

#[test]
fn variant_name_matches_its_code() {
    for code in Code::ALL {
        assert_eq!(format!("{code:?}").to_uppercase(), code.as_str().replace('_', ""));
    }
}

#[test]
fn only_transient_errors_are_retryable() {
    for code in Code::ALL {
        assert_eq!(code.is_retryable(), code.kind() == Kind::Transient, "{code}");
        assert_eq!(error(*code, "", "").is_retryable(), code.is_retryable(), "{code}");
    }
}

#[test]
fn retryable_codes_are_exactly_these() {
    let retryable: Vec<_> = Code::ALL.iter().filter(|code| code.is_retryable()).map(Code::as_str).collect();
    let expected = [
        "TOKENS_UNAVAILABLE",
        "SNAPSHOT_BUSY",
        "DIRECTORY_UNAVAILABLE",
        "LEDGER_UNAVAILABLE",
        "SANDBOX_STARTING",
        "SANDBOX_UNAVAILABLE",
        "SANDBOX_TIMEOUT",
        "SANDBOX_UNRESPONSIVE",
        "SANDBOX_BUSY",
        "RESTORE_FAILED",
        "OPERATION_INTERRUPTED",
        "STORAGE_UNAVAILABLE",
        "ABORTED",
    ];
    assert_eq!(retryable, expected);
}

#[test]
fn codes_whose_messages_may_quote_input_are_exactly_these() {
    let quoting: Vec<_> = Code::ALL.iter().filter(|code| code.may_quote_input()).map(Code::as_str).collect();
    let expected = [
        "NOT_PERMITTED",
        "INVALID_ARGUMENT",
        "INVALID_SANDBOX_ID",
        "INVALID_DIRECTORY",
        "EXCLUDE_UNSUPPORTED",
        "SECRETS_FOUND",
        "INVALID_LABEL",
        "INVALID_REF",
        "FOREIGN_REF",
        "SNAPSHOT_NOT_FOUND",
        "LABEL_TAKEN",
        "INVALID_WORKSPACE_NAME",
        "IMAGE_NOT_FOUND",
        "WORKSPACE_NOT_FOUND",
        "NAME_TAKEN",
        "SNAPSHOT_STALE",
        "HOOK_FAILED",
        "IDEMPOTENCY_CONFLICT",
        "INVALID_CHECKPOINT_NAME",
        "COMMAND_NOT_FOUND",
        "CHECKPOINT_NOT_FOUND",
        "CHECKPOINT_FAILED",
        "FILE_NOT_FOUND",
        "NOT_A_FILE",
        "NOT_A_DIRECTORY",
        "FILE_EXISTS",
        "FILE_CHANGED",
        "DIRECTORY_NOT_EMPTY",
        "TOOL_NOT_FOUND",
        "SANDBOX_FAILED",
        "BACKUP_FAILED",
        "BACKUP_NOT_FOUND",
        "RESTORE_FAILED",
        "ROUTE_NOT_FOUND",
        "METHOD_NOT_ALLOWED",
        "UNSUPPORTED_MEDIA_TYPE",
    ];
    assert_eq!(quoting, expected);
}

#[test]
fn kinds_have_their_published_texts() {
    let kinds = [
        (Kind::Transient, "transient"),
        (Kind::Permanent, "permanent"),
        (Kind::Conflict, "conflict"),
        (Kind::NotFound, "not_found"),
        (Kind::ResourceExhausted, "resource_exhausted"),
        (Kind::Unsupported, "unsupported"),
        (Kind::PolicyDenied, "policy_denied"),
    ];
    for (kind, text) in kinds {
        assert_eq!(json!(kind), json!(text));
    }
}

#[test]
fn error_body_has_all_fields() {
    let error = error(Code::SandboxStarting, "It is starting.", "Wait.");
    assert_eq!(
        json!(error.body("c0ffee")),
        json!({
            "code": "SANDBOX_STARTING",
            "kind": "transient",
            "message": "It is starting.",
            "remediation": "Wait.",
            "retryable": true,
            "correlationId": "c0ffee",
        })
    );
}

#[test]
fn error_body_has_the_cause() {
    let mut cause = Failure::new("BackupCreateError", "no room").with_code("BACKUP_CREATE_FAILED");
    cause.http_status = Some(500);
    cause.retryable = true;
    let error = error(Code::BackupFailed, "It failed.", "Look.").caused_by(cause);
    assert_eq!(
        json!(error.body("x"))["cause"],
        json!({ "code": "BACKUP_CREATE_FAILED", "name": "BackupCreateError", "message": "no room" })
    );
}

#[test]
fn error_text_begins_with_the_code() {
    let error = error(Code::Aborted, "It stopped.", "").with_note("Everything was rolled back.");
    assert_eq!(error.to_string(), "ABORTED: It stopped. Everything was rolled back.");
}

#[test]
fn failure_message_hides_the_query_of_a_signed_url() {
    let signed = "curl: (22) https://x.r2.cloudflarestorage.com/b/k?X-Amz-Credential=AK&X-Amz-Signature=S3CRET failed";
    let kept = Failure::new("Error", signed).message;
    assert_eq!(kept, "curl: (22) https://x.r2.cloudflarestorage.com/b/k?… failed");
}

#[test]
fn failure_message_hides_passwords_in_urls() {
    let kept = Failure::new("Error", "fatal: https://bot:S3CRET@example.com/repo.git not found").message;
    assert!(!kept.contains("S3CRET"), "{kept}");
    assert!(kept.contains("example.com/repo.git"), "{kept}");
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn failure_message_hides_every_query_of_a_url(
        before in "[^:?]{0,600}", scheme in "[a-z]{1,6}", host in "[a-z./]{0,20}", after in "[ \"'`>].{0,20}",
    ) {
        let kept = Failure::new("Error", &format!("{before}{scheme}://{host}?sig=S3CRET{after}")).message;
        prop_assert!(!kept.contains("S3CRET"), "{}", kept);
    }

    #[test]
    fn failure_message_hides_every_user_of_a_url(
        before in "[^:?]{0,600}", outer in "(https://[a-z.]{1,9}[/,(=])?", user in "[a-z0-9%]{0,5}", host in "[a-z./]{0,9}",
    ) {
        let kept = Failure::new("Error", &format!("{before} {outer}https://{user}:S3CRET@{host}")).message;
        prop_assert!(!kept.contains("S3CRET"), "{}", kept);
    }

    #[test]
    fn failure_message_is_truncated(message in "\\PC{0,700}") {
        prop_assert!(Failure::new("Error", &message).message.chars().count() <= 501);
    }
}

#[test]
fn error_round_trips_between_objects() {
    let cause = Failure::new("BackupCreateError", "no room").with_code("BACKUP_CREATE_FAILED");
    for error in [
        error(Code::BackupFailed, "It failed.", "Look.").caused_by(cause),
        error(Code::SandboxBusy, "Later.", "Try again."),
    ] {
        let text = serde_json::to_string(&error).unwrap();
        assert_eq!(serde_json::from_str::<Error>(&text).unwrap(), error);
    }
}

#[test]
fn message_ends_with_a_full_stop_after_a_quoted_failure() {
    let error = Error::invalid_argument("It cannot be read: no port", "Look.").with_note("Nothing was changed.");
    assert_eq!(error.message(), "It cannot be read: no port. Nothing was changed.");
    for whole in ["It failed.", "Did it fail?", "It was cut…"] {
        assert_eq!(Error::invalid_argument(whole, "Look.").message(), whole);
    }
}

#[test]
fn other_remediation_keeps_code_message_and_cause() {
    let failed = error(Code::SandboxStarting, "It is starting.", "Wait.").caused_by(Failure::new("Error", "boom"));
    let expected =
        error(Code::SandboxStarting, "It is starting.", "Start it.").caused_by(Failure::new("Error", "boom"));
    assert_eq!(failed.with_remediation("Start it."), expected);
}

/// A code that a later release may have.
const LATER_CODE: &str = "ADDED_LATER";

#[test]
fn code_of_a_later_release_round_trips() {
    let code: Code = serde_json::from_value(json!(LATER_CODE)).unwrap();
    assert_eq!((code.as_str(), code.to_string().as_str(), json!(code)), (LATER_CODE, LATER_CODE, json!(LATER_CODE)));
    assert_eq!((code.kind(), code.is_retryable(), code.may_quote_input()), (Kind::Permanent, false, true));
    assert!(!Code::ALL.contains(&code));
}

#[test]
fn text_without_the_form_of_a_code_is_refused() {
    for invalid in ["", "lower", "1A", "_A", "A-B", "A B", "Ä", &"A".repeat(49)] {
        assert!(serde_json::from_value::<Code>(json!(invalid)).is_err(), "{invalid}");
    }
    assert!(serde_json::from_value::<Code>(json!("A".repeat(48))).is_ok());
}

#[test]
fn error_of_a_later_release_keeps_its_code_and_kind() {
    for (kind, expected) in [
        (json!("transient"), Kind::Transient),
        (json!("not_found"), Kind::NotFound),
        (json!("of_a_later_release"), Kind::Permanent),
        (json!(null), Kind::Permanent),
    ] {
        let passed = json!({ "code": LATER_CODE, "kind": kind, "message": "It failed.", "remediation": "Update.", "further": 1 });
        let error: Error = serde_json::from_value(passed).unwrap();
        assert_eq!((error.code().as_str(), error.code().kind()), (LATER_CODE, expected));
        assert_eq!(error.is_retryable(), expected == Kind::Transient);
        let body = json!(error.body("c0ffee"));
        assert_eq!((&body["code"], &body["kind"]), (&json!(LATER_CODE), &json!(expected)));
        let again: Error = serde_json::from_value(json!(error)).unwrap();
        assert_eq!((again.code().kind(), &again), (expected, &error));
    }
}

#[test]
fn error_round_trips_between_the_previous_and_this_release() {
    /// An error in the form of the previous release.
    #[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
    struct EarlierError {
        code: String,
        message: String,
        remediation: String,
        cause: Option<Failure>,
    }
    let earlier = |cause| EarlierError {
        code: "SANDBOX_BUSY".into(),
        message: "Later.".into(),
        remediation: "Try again.".into(),
        cause,
    };
    let cause = || Failure::new("Error", "boom");
    let plain = error(Code::SandboxBusy, "Later.", "Try again.");
    for (error, earlier) in [(plain.clone(), earlier(None)), (plain.caused_by(cause()), earlier(Some(cause())))] {
        assert_eq!(serde_json::from_value::<Error>(json!(earlier)).unwrap(), error);
        assert_eq!(serde_json::from_value::<EarlierError>(json!(error)).unwrap(), earlier);
    }
}
