//! The settings of a workspace, and their valid ranges.

use sandbox_snapshotter::model::request::{CreateRequest, UpdateRequest};
use sandbox_snapshotter::model::{Code, Result};
use serde_json::{Value, json};

use crate::support::expect_error;

fn decode_with(settings: &Value) -> Result<CreateRequest> {
    let mut arguments = json!({ "name": "work" });
    arguments.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
    let changed = UpdateRequest::decode(&arguments).map(drop);
    let created = CreateRequest::decode(&arguments);
    assert_eq!(changed.is_ok(), created.is_ok(), "create and update refuse the same");
    created
}

#[track_caller]
fn assert_all_invalid(settings: &[Value]) {
    for settings in settings {
        assert_eq!(expect_error(decode_with(settings)).code(), Code::InvalidArgument, "{settings}");
    }
}

fn hook(hook: &Value) -> Value {
    json!({ "hooks": { "beforeStop": hook } })
}

#[test]
fn hook_has_a_command_of_up_to_8_kib() {
    decode_with(&hook(&json!({ "command": "x".repeat(8192) }))).unwrap();
    let invalid = ["", " \n", "a\0", &"x".repeat(8193)];
    assert_all_invalid(&invalid.map(|command| hook(&json!({ "command": command }))));
    assert_all_invalid(&[hook(&json!({})), hook(&json!("ls")), hook(&json!({ "command": 1 }))]);
}

#[test]
fn hook_timeout_is_1_to_600_seconds_and_60_by_default() {
    for seconds in [1, 600] {
        decode_with(&hook(&json!({ "command": "a", "timeoutSeconds": seconds }))).unwrap();
    }
    let limits = [json!(0), json!(601), json!(-1), json!(1.5), json!("60")];
    assert_all_invalid(&limits.map(|seconds| hook(&json!({ "command": "a", "timeoutSeconds": seconds }))));
    let changes = decode_with(&hook(&json!({ "command": "a" }))).unwrap().settings;
    assert_eq!(changes.hooks.unwrap().before_stop.unwrap().timeout_seconds, 60);
}

#[test]
fn unknown_settings_are_refused() {
    assert_all_invalid(&[
        hook(&json!({ "command": "a", "cwd": "/" })),
        hook(&json!({ "command": "a", "onFailure": "ignore" })),
        json!({ "hooks": { "onStop": { "command": "a" } } }),
        json!({ "expiry": { "idle": 1 } }),
        json!({ "dependsOn": { "file": "a" } }),
        json!({ "dependsOn": { "onMismatch": "warn" } }),
        json!({ "retention": { "keep": 1 } }),
    ]);
}

#[test]
fn time_limits_are_at_most_a_year() {
    let year = 365 * 24 * 3600;
    for seconds in [0, year] {
        decode_with(&json!({ "expiry": { "idleSeconds": seconds, "maxSeconds": seconds } })).unwrap();
    }
    assert_all_invalid(&[
        json!({ "expiry": { "idleSeconds": year + 1 } }),
        json!({ "expiry": { "maxSeconds": u64::MAX } }),
    ]);
}

#[test]
fn time_limit_of_another_type_is_answered_without_types_of_rust() {
    let error = decode_with(&json!({ "expiry": { "idleSeconds": -5 } })).unwrap_err();
    assert!(error.message().ends_with("`-5`, expected a non-negative integer."), "{error}");
}

#[test]
fn omitted_time_limit_has_its_default() {
    let expiry = decode_with(&json!({ "expiry": { "maxSeconds": 60 } })).unwrap().settings.expiry.unwrap();
    assert_eq!((expiry.idle_seconds, expiry.max_seconds), (600, 60));
}

#[test]
fn dependencies_have_at_most_32_paths() {
    let files = |count: usize| json!({ "dependsOn": { "files": vec!["a"; count] } });
    decode_with(&files(32)).unwrap();
    assert_all_invalid(&[files(33)]);
    let invalid = ["", "a\n", "a\0", &"x".repeat(1025)];
    assert_all_invalid(&invalid.map(|path| json!({ "dependsOn": { "files": [path] } })));
}

#[test]
fn fingerprint_has_1_to_256_characters() {
    let fingerprint = |text: &str| json!({ "dependsOn": { "fingerprint": text } });
    decode_with(&fingerprint(&"x".repeat(256))).unwrap();
    assert_all_invalid(&[fingerprint(""), fingerprint(&"x".repeat(257))]);
}

#[test]
fn names_of_variables_have_letters_digits_and_underscores() {
    decode_with(&json!({ "env": { "A": "1", "_b": "", "C3": "ä\n" } })).unwrap();
    let invalid = ["", "1A", "A-B", "A B", "Ä", "A=B"];
    assert_all_invalid(&invalid.map(|name| json!({ "env": { name: "1" } })));
    assert_all_invalid(&[json!({ "env": { "A": "\0" } }), json!({ "env": { "A": 1 } }), json!({ "env": ["A"] })]);
}

#[test]
fn variables_that_the_sandbox_depends_on_are_refused() {
    let reserved = ["PATH", "IFS", "ENV", "BASH_ENV", "LD_PRELOAD", "PPID", "UID", "EUID", "BASHOPTS", "SHELLOPTS"];
    assert_all_invalid(&reserved.map(|name| json!({ "env": { name: "1" } })));
}

#[test]
fn path_with_two_dots_is_refused() {
    assert_all_invalid(&["/etc/../workspace/f", "../f", ".."].map(|path| json!({ "dependsOn": { "files": [path] } })));
}

#[test]
fn workspace_has_at_most_100_variables() {
    let env = |count: usize| {
        let env: serde_json::Map<_, _> = (0..count).map(|number| (format!("A{number}"), json!("1"))).collect();
        json!({ "env": env })
    };
    decode_with(&env(100)).unwrap();
    assert_all_invalid(&[env(101)]);
}

#[test]
fn invalid_policy_is_refused() {
    assert_all_invalid(&[
        json!({ "retention": { "expirationSeconds": u64::MAX } }),
        json!({ "retention": { "keepLast": { "count": 0 } } }),
    ]);
}

#[test]
fn storage_is_archive_both_or_with_consent_platform() {
    for settings in [
        json!({ "storage": "archive" }),
        json!({ "storage": "both" }),
        json!({ "storage": "platform", "durable": false }),
    ] {
        decode_with(&settings).unwrap();
    }
    assert_all_invalid(&[
        json!({ "storage": "platform" }),
        json!({ "storage": "platform", "durable": true }),
        json!({ "storage": "disk" }),
        json!({ "storage": 1 }),
        json!({ "durable": "no" }),
    ]);
}
