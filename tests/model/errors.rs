//! Errors: legible to people and programs, and without secrets.

use std::collections::BTreeSet;

use proptest::prelude::*;
use sandbox_snapshotter::model::{Code, Error, Failure, Kind};
use serde_json::json;

use super::support::cases;

#[test]
fn every_code_is_its_own() {
    let texts: BTreeSet<_> = Code::ALL.iter().map(Code::as_str).collect();
    assert_eq!(texts.len(), Code::ALL.len());
}

#[test]
fn every_code_is_written_in_capitals() {
    for code in Code::ALL {
        let is_word =
            |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
        assert!(code.as_str().split('_').all(is_word), "{code}");
    }
}

#[test]
fn a_code_is_the_same_as_text_and_as_json() {
    for code in Code::ALL {
        assert_eq!(code.to_string(), code.as_str());
        assert_eq!(json!(code), json!(code.as_str()));
    }
}

#[test]
fn the_name_of_a_code_is_the_code() {
    for code in Code::ALL {
        assert_eq!(format!("{code:?}").to_uppercase(), code.as_str().replace('_', ""));
    }
}

#[test]
fn only_what_may_pass_is_to_be_tried_again() {
    for code in Code::ALL {
        assert_eq!(code.is_retryable(), code.kind() == Kind::Transient, "{code}");
        assert_eq!(Error::new(*code, "", "").is_retryable(), code.is_retryable(), "{code}");
    }
}

#[test]
fn these_codes_may_pass_and_no_others() {
    let passing: Vec<_> = Code::ALL.iter().filter(|code| code.is_retryable()).map(Code::as_str).collect();
    let expected = [
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
    assert_eq!(passing, expected);
}

#[test]
fn the_messages_of_these_codes_may_quote_what_a_caller_sent_or_what_is_in_a_sandbox() {
    let quoting: Vec<_> = Code::ALL.iter().filter(|code| code.may_quote_input()).map(Code::as_str).collect();
    let expected = [
        "INVALID_ARGUMENT",
        "INVALID_SANDBOX_ID",
        "INVALID_DIRECTORY",
        "EXCLUDE_UNSUPPORTED",
        "INVALID_LABEL",
        "INVALID_REF",
        "FOREIGN_REF",
        "SNAPSHOT_NOT_FOUND",
        "LABEL_TAKEN",
        "INVALID_WORKSPACE_NAME",
        "WORKSPACE_NOT_FOUND",
        "NAME_TAKEN",
        "SNAPSHOT_STALE",
        "HOOK_FAILED",
        "IDEMPOTENCY_CONFLICT",
        "INVALID_CHECKPOINT_NAME",
        "CHECKPOINT_NOT_FOUND",
        "CHECKPOINT_FAILED",
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
fn every_kind_is_written_as_callers_know_it() {
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
fn the_body_of_an_error_has_all_that_callers_need() {
    let error = Error::new(Code::SandboxStarting, "It is starting.", "Wait.");
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
fn the_body_of_an_error_tells_the_cause() {
    let mut cause = Failure::new("BackupCreateError", "no room").with_code("BACKUP_CREATE_FAILED");
    cause.http_status = Some(500);
    cause.retryable = true;
    let error = Error::new(Code::BackupFailed, "It failed.", "Look.").caused_by(cause);
    assert_eq!(
        json!(error.body("x"))["cause"],
        json!({ "code": "BACKUP_CREATE_FAILED", "name": "BackupCreateError", "message": "no room" })
    );
}

#[test]
fn the_text_of_an_error_begins_with_its_code() {
    let error = Error::new(Code::Aborted, "It stopped.", "").with_note("All was taken back.");
    assert_eq!(error.to_string(), "ABORTED: It stopped. All was taken back.");
}

#[test]
fn signed_urls_lose_what_is_signed() {
    let signed = "curl: (22) https://x.r2.cloudflarestorage.com/b/k?X-Amz-Credential=AK&X-Amz-Signature=S3CRET failed";
    let kept = Failure::new("Error", signed).message;
    assert_eq!(kept, "curl: (22) https://x.r2.cloudflarestorage.com/b/k?… failed");
}

#[test]
fn urls_lose_the_passwords_in_them() {
    let kept = Failure::new("Error", "fatal: https://bot:S3CRET@example.com/repo.git not found").message;
    assert!(!kept.contains("S3CRET"), "{kept}");
    assert!(kept.contains("example.com/repo.git"), "{kept}");
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn no_query_of_a_url_survives_wherever_it_is(
        before in "[^:?]{0,600}", scheme in "[a-z]{1,6}", host in "[a-z./]{0,20}", after in "[ \"'`>].{0,20}",
    ) {
        let kept = Failure::new("Error", &format!("{before}{scheme}://{host}?sig=S3CRET{after}")).message;
        prop_assert!(!kept.contains("S3CRET"), "{}", kept);
    }

    #[test]
    fn no_user_of_a_url_survives_wherever_it_is(
        before in "[^:?]{0,600}", outer in "(https://[a-z.]{1,9}[/,(=])?", user in "[a-z0-9%]{0,5}", host in "[a-z./]{0,9}",
    ) {
        let kept = Failure::new("Error", &format!("{before} {outer}https://{user}:S3CRET@{host}")).message;
        prop_assert!(!kept.contains("S3CRET"), "{}", kept);
    }

    #[test]
    fn no_message_is_longer_than_it_may_be(message in "\\PC{0,700}") {
        prop_assert!(Failure::new("Error", &message).message.chars().count() <= 501);
    }
}

#[test]
fn an_error_passes_between_objects_as_it_is() {
    let cause = Failure::new("BackupCreateError", "no room").with_code("BACKUP_CREATE_FAILED");
    for error in [
        Error::new(Code::BackupFailed, "It failed.", "Look.").caused_by(cause),
        Error::new(Code::SandboxBusy, "Later.", "Try again."),
    ] {
        let text = serde_json::to_string(&error).unwrap();
        assert_eq!(serde_json::from_str::<Error>(&text).unwrap(), error);
    }
}

#[test]
fn a_message_is_whole_sentences_even_where_it_ends_in_somebody_elses_words() {
    let error = Error::new(Code::SandboxFailed, "The sandbox failed: no port", "Look.").with_note("It was destroyed.");
    assert_eq!(error.message(), "The sandbox failed: no port. It was destroyed.");
    for whole in ["It failed.", "Did it fail?", "It was cut…"] {
        assert_eq!(Error::new(Code::SandboxFailed, whole, "Look.").message(), whole);
    }
}

/// A code that a later release may have.
const LATER_CODE: &str = "SANDBOX_ON_FIRE";

#[test]
fn a_code_of_a_later_release_survives() {
    let code: Code = serde_json::from_value(json!(LATER_CODE)).unwrap();
    assert_eq!((code.as_str(), code.to_string().as_str(), json!(code)), (LATER_CODE, LATER_CODE, json!(LATER_CODE)));
    assert_eq!((code.kind(), code.is_retryable(), code.may_quote_input()), (Kind::Permanent, false, true));
    assert!(!Code::ALL.contains(&code));
}

#[test]
fn what_has_not_the_form_of_a_code_is_none() {
    for odd in ["", "lower", "1A", "_A", "A-B", "A B", "Ä", &"A".repeat(49)] {
        assert!(serde_json::from_value::<Code>(json!(odd)).is_err(), "{odd}");
    }
    assert!(serde_json::from_value::<Code>(json!("A".repeat(48))).is_ok());
}

#[test]
fn an_error_of_a_later_release_keeps_its_code_and_kind_on_its_way() {
    for (kind, expected) in [
        (json!("transient"), Kind::Transient),
        (json!("not_found"), Kind::NotFound),
        (json!("of_a_later_release"), Kind::Permanent),
        (json!(null), Kind::Permanent),
    ] {
        let passed =
            json!({ "code": LATER_CODE, "kind": kind, "message": "It burns.", "remediation": "Run.", "further": 1 });
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
fn an_error_of_an_earlier_release_is_read_and_reads_one_of_this() {
    /// An error as the release before passed it.
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
    let plain = Error::new(Code::SandboxBusy, "Later.", "Try again.");
    for (error, earlier) in [(plain.clone(), earlier(None)), (plain.caused_by(cause()), earlier(Some(cause())))] {
        assert_eq!(serde_json::from_value::<Error>(json!(earlier)).unwrap(), error);
        assert_eq!(serde_json::from_value::<EarlierError>(json!(error)).unwrap(), earlier);
    }
}
