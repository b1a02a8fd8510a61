//! What checkpoints are called, and how they are asked for.

use proptest::prelude::*;
use sandbox_snapshotter::model::checkpoint::CheckpointCursor;
use sandbox_snapshotter::model::request::{
    CheckpointLocation, CreateCheckpointRequest, DiffCheckpointRequest, ListCheckpointsRequest,
    RestoreCheckpointRequest,
};
use sandbox_snapshotter::model::{CheckpointDescription, CheckpointName, Code};
use serde_json::{Value, json};

use crate::support::{assert_all_refused, cases, expect_error};

/// Decodes the arguments of an operation, and answers the code of its refusal.
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
fn a_name_is_kept_exactly_as_it_is_spelt() {
    for text in ["a", "A", "0", "_", "s1", "my.work_2", "a-", "_.-", "HEAD", "a.locked", "lock"] {
        assert_eq!(CheckpointName::parse(text).unwrap().as_str(), text);
    }
}

#[test]
fn a_name_has_1_to_100_characters() {
    assert!(CheckpointName::parse(&"x".repeat(100)).is_ok());
    assert_all_refused(CheckpointName::parse, Code::InvalidCheckpointName, &["", &"x".repeat(101)]);
    assert!(expect_error(CheckpointName::parse("")).message().contains("name is required"));
}

#[test]
fn a_name_has_no_other_characters_and_begins_with_neither_a_dot_nor_a_dash() {
    let odd = [".a", "-a", "a b", "a/b", "ä", "a\n", "a\0", "a:b", " a", "a'b", "a~1", "a^", "a@{0}", "*"];
    assert_all_refused(CheckpointName::parse, Code::InvalidCheckpointName, &odd);
}

#[test]
fn a_name_that_git_refuses_in_refs_is_refused() {
    assert_all_refused(CheckpointName::parse, Code::InvalidCheckpointName, &["a..b", "a.", "a.lock", "a.LOCK"]);
}

#[test]
fn a_description_has_at_most_10_000_characters_and_no_null_byte() {
    assert!(CheckpointDescription::parse(&"ä".repeat(10_000)).is_ok());
    let odd = ["a\0b", &"ä".repeat(10_001)];
    assert_all_refused(CheckpointDescription::parse, Code::InvalidArgument, &odd);
}

#[test]
fn an_empty_description_is_none() {
    let create =
        |description| CreateCheckpointRequest::decode(&with_field("description", description)).unwrap().description;
    assert_eq!(create(json!("")), None);
    assert_eq!(create(json!("x")).unwrap().as_str(), "x");
}

#[test]
fn a_name_is_asked_for() {
    assert_eq!(refusal_codes(&json!({ "sandboxId": "agent-42" })), [Code::InvalidCheckpointName; 3]);
    assert_eq!(refusal_codes(&with_field("name", json!("-"))), [Code::InvalidCheckpointName; 3]);
}

#[test]
fn what_is_wrong_with_the_place_is_told_first() {
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
fn a_diff_is_of_256_kib_where_nothing_else_is_asked_for_and_of_4_mib_at_most() {
    let decode = |max_bytes| DiffCheckpointRequest::decode(&with_field("maxBytes", max_bytes));
    assert_eq!(decode(json!(null)).unwrap().max_bytes, 256 * 1024);
    for bytes in [1, 4 * 1024 * 1024] {
        assert_eq!(decode(json!(bytes)).unwrap().max_bytes, bytes);
    }
    for odd in [json!(0), json!(4 * 1024 * 1024 + 1), json!(-1), json!(1.5), json!("1"), json!(u64::MAX)] {
        assert_eq!(expect_error(decode(odd)).code(), Code::InvalidArgument);
    }
}

#[test]
fn a_page_has_100_checkpoints_where_nothing_else_is_asked_for_and_1000_at_most() {
    let decode = |limit| ListCheckpointsRequest::decode(&json!({ "sandboxId": "agent-42", "limit": limit }));
    assert_eq!(decode(json!(null)).unwrap().limit, 100);
    for limit in [1, 1000] {
        assert_eq!(decode(json!(limit)).unwrap().limit, limit);
    }
    for odd in [json!(0), json!(1001), json!(-1), json!(1.5), json!("1"), json!(u64::MAX)] {
        assert_eq!(expect_error(decode(odd)).code(), Code::InvalidArgument);
    }
}

#[test]
fn a_page_begins_after_a_cursor_that_a_list_answered() {
    let decode = |cursor: &str| ListCheckpointsRequest::decode(&json!({ "sandboxId": "agent-42", "cursor": cursor }));
    let cursor = CheckpointCursor { micros: 1_795_150_800_123_456, name: CheckpointName::parse("s1").unwrap() };
    let text = cursor.to_string();
    assert_eq!(decode(&text).unwrap().cursor, Some(cursor));
    for odd in ["", "s1", "0", &text[1..], &format!("{text}=")] {
        assert_eq!(expect_error(decode(odd)).code(), Code::InvalidArgument, "{odd}");
    }
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn a_cursor_is_read_as_it_was_written(micros: i64, name in "[A-Za-z0-9_][A-Za-z0-9_-]{0,99}") {
        let cursor = CheckpointCursor { micros, name: CheckpointName::parse(&name).unwrap() };
        prop_assert_eq!(CheckpointCursor::parse(&cursor.to_string()).unwrap(), cursor);
    }

    #[test]
    fn a_name_is_accepted_when_the_rule_says_so(text in "[A-Za-z0-9_.-]{1,12}(\\.lock)?") {
        let first_is_right = !text.starts_with(['.', '-']);
        let git_takes_it = !text.contains("..") && !text.ends_with('.') && !text.to_lowercase().ends_with(".lock");
        prop_assert_eq!(CheckpointName::parse(&text).is_ok(), first_is_right && git_takes_it);
    }
}
