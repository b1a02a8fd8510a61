//! Checkpoint names, and the requests of checkpoint operations.

use proptest::prelude::*;
use sandbox_snapshotter::model::checkpoint::CheckpointCursor;
use sandbox_snapshotter::model::request::{
    CheckpointLocation, CreateCheckpointRequest, DiffCheckpointRequest, ListCheckpointsRequest,
    RestoreCheckpointRequest,
};
use sandbox_snapshotter::model::{CheckpointDescription, CheckpointName, Code};
use serde_json::{Value, json};

use crate::support::{assert_all_refused, cases, expect_error};

/// Decodes arguments as three requests, and returns the codes of the refusals.
fn refusal_codes(arguments: &Value) -> [Code; 3] {
    [
        expect_error(CreateCheckpointRequest::decode(arguments)).code(),
        expect_error(RestoreCheckpointRequest::decode(arguments)).code(),
        expect_error(DiffCheckpointRequest::decode(arguments)).code(),
    ]
}

fn with_field(field: &str, value: Value) -> Value {
    let mut arguments = json!({ "sandboxId": "agent-42", "name": "s1" });
    arguments[field] = value;
    arguments
}

#[test]
fn name_is_kept_as_it_is_spelled() {
    for text in ["a", "A", "0", "_", "s1", "my.work_2", "a-", "_.-", "HEAD", "a.locked", "lock"] {
        assert_eq!(CheckpointName::parse(text).unwrap().as_str(), text);
    }
}

#[test]
fn name_has_1_to_100_characters() {
    assert!(CheckpointName::parse(&"x".repeat(100)).is_ok());
    assert_all_refused(CheckpointName::parse, Code::InvalidCheckpointName, &["", &"x".repeat(101)]);
    assert!(expect_error(CheckpointName::parse("")).message().contains("name is required"));
}

#[test]
fn name_with_other_characters_or_a_leading_dot_or_dash_is_refused() {
    let invalid = [".a", "-a", "a b", "a/b", "ä", "a\n", "a\0", "a:b", " a", "a'b", "a~1", "a^", "a@{0}", "*"];
    assert_all_refused(CheckpointName::parse, Code::InvalidCheckpointName, &invalid);
}

#[test]
fn name_that_git_refuses_in_refs_is_refused() {
    assert_all_refused(CheckpointName::parse, Code::InvalidCheckpointName, &["a..b", "a.", "a.lock", "a.LOCK"]);
}

#[test]
fn description_has_at_most_10_000_characters_and_no_null_byte() {
    assert!(CheckpointDescription::parse(&"ä".repeat(10_000)).is_ok());
    let invalid = ["a\0b", &"ä".repeat(10_001)];
    assert_all_refused(CheckpointDescription::parse, Code::InvalidArgument, &invalid);
}

#[test]
fn empty_description_counts_as_absent() {
    let create =
        |description| CreateCheckpointRequest::decode(&with_field("description", description)).unwrap().description;
    assert_eq!(create(json!("")), None);
    assert_eq!(create(json!("x")).unwrap().as_str(), "x");
}

#[test]
fn requests_without_a_valid_name_are_refused() {
    assert_eq!(refusal_codes(&json!({ "sandboxId": "agent-42" })), [Code::InvalidCheckpointName; 3]);
    assert_eq!(refusal_codes(&with_field("name", json!("-"))), [Code::InvalidCheckpointName; 3]);
}

#[test]
fn invalid_location_is_reported_before_an_invalid_name() {
    for (field, value, code) in [
        ("sandboxId", json!("-"), Code::InvalidSandboxId),
        ("dir", json!("/etc"), Code::InvalidDirectory),
        ("lineageScope", json!("-"), Code::InvalidSandboxId),
        ("odd", json!(1), Code::InvalidArgument),
        ("dir", json!(1), Code::InvalidArgument),
    ] {
        let mut arguments = with_field(field, value);
        if arguments["odd"].is_null() {
            arguments["name"] = json!("-");
        }
        assert_eq!(refusal_codes(&arguments), [code; 3], "{field}");
        arguments.as_object_mut().unwrap().remove("name");
        assert_eq!(expect_error(CheckpointLocation::decode(&arguments)).code(), code, "{field}");
        assert_eq!(expect_error(ListCheckpointsRequest::decode(&arguments)).code(), code, "{field}");
    }
}

#[test]
fn diff_has_256_kib_by_default_and_4_mib_at_most() {
    let decode = |max_bytes| DiffCheckpointRequest::decode(&with_field("maxBytes", max_bytes));
    assert_eq!(decode(json!(null)).unwrap().max_bytes, 256 * 1024);
    for bytes in [1, 4 * 1024 * 1024] {
        assert_eq!(decode(json!(bytes)).unwrap().max_bytes, bytes);
    }
    for invalid in [json!(0), json!(4 * 1024 * 1024 + 1), json!(-1), json!(1.5), json!("1"), json!(u64::MAX)] {
        assert_eq!(expect_error(decode(invalid)).code(), Code::InvalidArgument);
    }
}

#[test]
fn page_has_100_checkpoints_by_default_and_1000_at_most() {
    let decode = |limit| ListCheckpointsRequest::decode(&json!({ "sandboxId": "agent-42", "limit": limit }));
    assert_eq!(decode(json!(null)).unwrap().limit, 100);
    for limit in [1, 1000] {
        assert_eq!(decode(json!(limit)).unwrap().limit, limit);
    }
    for invalid in [json!(0), json!(1001), json!(-1), json!(1.5), json!("1"), json!(u64::MAX)] {
        assert_eq!(expect_error(decode(invalid)).code(), Code::InvalidArgument);
    }
}

#[test]
fn page_begins_after_the_cursor_of_a_list() {
    let decode = |cursor: &str| ListCheckpointsRequest::decode(&json!({ "sandboxId": "agent-42", "cursor": cursor }));
    let cursor = CheckpointCursor { micros: 1_795_150_800_123_456, name: CheckpointName::parse("s1").unwrap() };
    let text = cursor.to_string();
    assert_eq!(decode(&text).unwrap().cursor, Some(cursor));
    for invalid in ["", "s1", "0", &text[1..], &format!("{text}=")] {
        assert_eq!(expect_error(decode(invalid)).code(), Code::InvalidArgument, "{invalid}");
    }
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn cursor_round_trips(micros: i64, name in "[A-Za-z0-9_][A-Za-z0-9_-]{0,99}") {
        let cursor = CheckpointCursor { micros, name: CheckpointName::parse(&name).unwrap() };
        prop_assert_eq!(CheckpointCursor::parse(&cursor.to_string()).unwrap(), cursor);
    }

    #[test]
    fn name_is_accepted_exactly_when_the_rule_allows_it(text in "[A-Za-z0-9_.-]{1,12}(\\.lock)?") {
        let has_valid_start = !text.starts_with(['.', '-']);
        let is_valid_for_git = !text.contains("..") && !text.ends_with('.') && !text.to_lowercase().ends_with(".lock");
        prop_assert_eq!(CheckpointName::parse(&text).is_ok(), has_valid_start && is_valid_for_git);
    }
}
