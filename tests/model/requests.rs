//! The arguments of `snapshot`. They are decoded strictly, and errors name the wrong option.

use proptest::prelude::*;
use sandbox_snapshotter::model::freeze::Freeze;
use sandbox_snapshotter::model::policy::MAX_EXPIRATION;
use sandbox_snapshotter::model::request::{CapturePurpose, LineageScope};
use sandbox_snapshotter::model::{
    Code, Compression, CompressionFormat, Consistency, RestoreRequest, Runtime, SecretsMode, SnapshotRequest,
};
use serde_json::{Value, json};

use super::support::{cases, expect_error, sandbox};

/// Returns the arguments of a snapshot of `agent-42`, with one more field.
fn arguments(field: &str, value: Value) -> Value {
    let mut arguments = json!({ "sandboxId": "agent-42" });
    arguments[field] = value;
    arguments
}

fn decoded(field: &str, value: Value) -> SnapshotRequest {
    SnapshotRequest::decode(&arguments(field, value)).unwrap()
}

#[track_caller]
fn expect_invalid(field: &str, value: Value) -> String {
    let error = expect_error(SnapshotRequest::decode(&arguments(field, value)));
    assert_eq!(error.code(), Code::InvalidArgument, "{error}");
    error.message().to_owned()
}

#[test]
fn only_the_sandbox_id_is_required() {
    let request = SnapshotRequest::decode(&json!({ "sandboxId": "agent-42" })).unwrap();
    assert_eq!(request, SnapshotRequest::of(sandbox("agent-42")));
    let error = expect_error(SnapshotRequest::decode(&json!({})));
    assert_eq!(error.code(), Code::InvalidArgument);
    assert!(error.remediation().contains("sandboxId"), "{error}");
}

#[test]
fn every_option_is_decoded() {
    let request = SnapshotRequest::decode(&json!({
        "sandboxId": "Agent-42",
        "runtime": "container",
        "dir": "/home/me",
        "label": "before",
        "replace": true,
        "expirationSeconds": 3600,
        "excludes": ["node_modules", "*.log"],
        "gitignore": false,
        "compression": { "format": "zstd", "threads": 2 },
        "wake": true, "adopt": true,
        "fresh": true,
        "incremental": true,
        "consistency": "settled",
        "secrets": "refuse",
        "freeze": { "freeze": "db freeze", "thaw": "db thaw" },
        "lineageScope": "agent-42-restored-k3f9x2ab",
        "allowCrossLineage": true,
        "idempotencyKey": "k",
    }))
    .unwrap();
    let compression =
        Compression { format: Some(CompressionFormat::Zstd), threads: Some(std::num::NonZeroU32::new(2).unwrap()) };
    let expected = SnapshotRequest {
        sandbox_id: sandbox("Agent-42"),
        runtime: Some(Runtime::Container),
        dir: Some("/home/me".to_owned().try_into().unwrap()),
        label: Some("before".to_owned().try_into().unwrap()),
        replace: true,
        expiration_seconds: Some(3600),
        excludes: vec!["node_modules".into(), "*.log".into()],
        gitignore: Some(false),
        compression: Some(compression),
        wake: true,
        adopt: true,
        fresh: true,
        incremental: Some(true),
        idempotency_key: Some("k".into()),
        lineage_scope: LineageScope {
            sandbox_id: Some(sandbox("agent-42-restored-k3f9x2ab")),
            allow_cross_lineage: true,
        },
        consistency: Consistency::Settled,
        secrets: Some(SecretsMode::Refuse),
        freeze: Some(Freeze { freeze: "db freeze".into(), thaw: "db thaw".into(), timeout_seconds: 60 }),
        purpose: CapturePurpose::Caller,
    };
    assert_eq!(request, expected);
}

#[test]
fn null_counts_as_absent() {
    let options = [
        "dir",
        "label",
        "replace",
        "expirationSeconds",
        "excludes",
        "gitignore",
        "compression",
        "wake",
        "fresh",
        "lineageScope",
        "allowCrossLineage",
        "idempotencyKey",
    ];
    for field in options {
        assert_eq!(decoded(field, json!(null)), SnapshotRequest::of(sandbox("agent-42")), "{field}");
    }
    expect_invalid("sandboxId", json!(null));
}

#[test]
fn unknown_option_is_named() {
    for field in ["Dir", "sandbox_id", "multipart", "name", "ttl", "allow_cross_session", "idempotency_key"] {
        assert!(expect_invalid(field, json!(null)).contains(field));
    }
}

#[test]
fn value_of_a_wrong_type_is_named_by_its_path() {
    let wrong = [
        ("sandboxId", json!(42), "sandboxId"),
        ("dir", json!(["/tmp"]), "dir"),
        ("label", json!(1), "label"),
        ("replace", json!("yes"), "replace"),
        ("expirationSeconds", json!("3600"), "expirationSeconds"),
        ("expirationSeconds", json!(-1), "expirationSeconds"),
        ("expirationSeconds", json!(61.5), "expirationSeconds"),
        ("idempotencyKey", json!(7), "idempotencyKey"),
        ("excludes", json!("*.log"), "excludes"),
        ("excludes", json!(["a", 1]), "excludes[1]"),
        ("gitignore", json!("yes"), "gitignore"),
        ("wake", json!(1), "wake"),
        ("compression", json!("gzip"), "compression"),
        ("compression", json!({ "format": "rar" }), "compression"),
        ("compression", json!({ "format": "GZIP" }), "compression"),
        ("compression", json!({ "threads": 0 }), "compression"),
        ("compression", json!({ "threads": 1.5 }), "compression"),
        ("compression", json!({ "level": 9 }), "compression"),
        ("compression", json!({ "threads": 65 }), "compression.threads"),
    ];
    for (field, value, path) in wrong {
        let message = expect_invalid(field, value.clone());
        assert!(message.contains(&format!("`{path}`")), "{field}: {value}: {message}");
    }
}

#[test]
fn arguments_that_are_not_an_object_are_refused() {
    for value in [json!(null), json!("agent-42"), json!(["agent-42"]), json!([]), json!(1)] {
        assert_eq!(expect_error(SnapshotRequest::decode(&value)).code(), Code::InvalidArgument, "{value}");
    }
}

#[test]
fn compression_that_is_not_an_object_is_refused() {
    for value in [json!([]), json!(["gzip"]), json!(["gzip", 2])] {
        expect_invalid("compression", value);
    }
}

#[test]
fn compression_may_have_one_field_only() {
    assert_eq!(decoded("compression", json!({})).compression, Some(Compression { format: None, threads: None }));
    for (name, format) in
        [("gzip", CompressionFormat::Gzip), ("lz4", CompressionFormat::Lz4), ("zstd", CompressionFormat::Zstd)]
    {
        let compression = decoded("compression", json!({ "format": name, "threads": null })).compression;
        assert_eq!(compression, Some(Compression { format: Some(format), threads: None }));
    }
}

#[test]
fn expiration_is_0_or_from_a_minute_to_a_hundred_years() {
    for seconds in [1, 59, MAX_EXPIRATION + 1, u64::MAX] {
        assert!(expect_invalid("expirationSeconds", json!(seconds)).contains(&seconds.to_string()));
    }
    for seconds in [0, 60, 259_200, MAX_EXPIRATION] {
        assert_eq!(decoded("expirationSeconds", json!(seconds)).expiration_seconds, Some(seconds));
    }
}

#[test]
fn idempotency_key_is_one_line_of_1_to_128_characters() {
    for key in [String::new(), "a\nb".into(), "\u{7}".into(), "x".repeat(129)] {
        expect_invalid("idempotencyKey", json!(key));
    }
    for key in ["k".to_owned(), "ä 😀".into(), "😀".repeat(128)] {
        assert_eq!(decoded("idempotencyKey", json!(key)).idempotency_key, Some(key));
    }
}

#[test]
fn misspelled_field_of_an_object_has_the_similar_name() {
    let remediation = |field: &str| {
        let freeze = json!({ "freeze": "pause", "thaw": "resume", field: 30 });
        expect_error(SnapshotRequest::decode(&arguments("freeze", freeze))).remediation().to_owned()
    };
    assert_eq!(remediation("timeoutSecond"), "Did you mean `timeoutSeconds`?");
    assert_eq!(remediation("colour"), "Correct `freeze`, or omit it.");
}

#[test]
fn replace_requires_a_label() {
    assert!(expect_invalid("replace", json!(true)).contains("`label`"));
    let mut both = arguments("replace", json!(true));
    both["label"] = json!("latest");
    assert!(SnapshotRequest::decode(&both).unwrap().replace);
    assert!(!decoded("replace", json!(false)).replace);
}

#[test]
fn exclude_pattern_is_one_nonempty_line() {
    for pattern in ["", "a\0b", "a\nb", "\n"] {
        expect_invalid("excludes", json!(["fine", pattern]));
    }
    for pattern in ["node_modules", "*.log", "a b", "-x", "ä/**"] {
        assert_eq!(decoded("excludes", json!([pattern])).excludes, [pattern]);
    }
}

#[test]
fn invalid_sandbox_id_directory_and_label_have_their_own_codes() {
    let codes = [("sandboxId", Code::InvalidSandboxId), ("dir", Code::InvalidDirectory), ("label", Code::InvalidLabel)];
    for (field, code) in codes {
        assert_eq!(expect_error(SnapshotRequest::decode(&arguments(field, json!("")))).code(), code, "{field}");
    }
}

/// An idempotency key is stored with the hash of this JSON, so a later release must write the same.
#[test]
fn json_for_the_comparison_of_idempotent_calls_is_stable() {
    let request = SnapshotRequest::decode(&json!({
        "sandboxId": "agent-42", "wake": true, "idempotencyKey": "k", "lineageScope": "agent-7",
    }));
    let expected = json!({
        "sandboxId": "agent-42", "dir": null, "label": null, "replace": false, "expirationSeconds": null, "excludes": [],
        "gitignore": null, "compression": null, "wake": true, "adopt": false, "fresh": false,
    });
    assert_eq!(json!(request.unwrap().without_caller()), expected);
    let selection = json!({ "sandboxId": "agent-42", "label": "before" });
    let expected =
        json!({ "sandboxId": "agent-42", "label": "before", "lineageScope": null, "allowCrossLineage": false });
    assert_eq!(json!(RestoreRequest::decode(&selection).unwrap().selection), expected);
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn expiration_is_accepted_exactly_within_its_bounds(seconds: u64) {
        let is_accepted = SnapshotRequest::decode(&arguments("expirationSeconds", json!(seconds))).is_ok();
        prop_assert_eq!(is_accepted, seconds == 0 || (60..=MAX_EXPIRATION).contains(&seconds));
    }
}
