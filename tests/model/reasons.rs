//! What is said of arguments that are not taken: enough to mend them, and no more of what they hold.

use sandbox_snapshotter::model::request::{
    CallToolRequest, CreateRequest, HealthRequest, SnapshotRequest, StartRequest, Toolset,
};
use sandbox_snapshotter::model::{Failure, Result};
use serde_json::{Value, json};

use super::support::expect_error;

fn long() -> String {
    "\u{200b}x".repeat(10_000)
}

#[test]
fn the_value_of_a_variable_is_never_told() {
    for value in [json!(13_579_086), json!(["hush-hush"]), json!({ "hush": "hush" }), json!(null), json!(true)] {
        let error = expect_error(CreateRequest::decode(&json!({ "name": "work", "env": { "PIN": value } })));
        assert!(error.message().starts_with("`env[\"PIN\"]` is not a text"), "{error}");
    }
    let error = expect_error(CreateRequest::decode(&json!({ "name": "work", "env": ["hush-hush"] })));
    assert_eq!(error.message(), "`env` is not an object.");
}

#[test]
fn what_a_file_is_expected_to_be_is_a_text() {
    let error = expect_error(StartRequest::decode(&json!({ "name": "work", "expect": { "a": 1 } })));
    assert!(error.message().starts_with("`expect[\"a\"]` is not a text"), "{error}");
}

#[test]
fn no_message_quotes_arguments_at_length() {
    let toolset = |name: &str| json!({ "workspaces": [{ "name": name, "snapshot": true, "sandboxId": "agent-42" }] });
    let outcomes: [Result<()>; 7] = [
        HealthRequest::decode(&json!({ long(): 1 })).map(drop),
        SnapshotRequest::decode(&json!({ "sandboxId": "a", "compression": { "format": long() } })).map(drop),
        SnapshotRequest::decode(&json!({ "sandboxId": "a", "compression": { long(): 1 } })).map(drop),
        CreateRequest::decode(&json!({ "name": "work", "env": { long(): 1 } })).map(drop),
        CreateRequest::decode(&json!({ "name": "work", "hooks": { "afterStart": long() } })).map(drop),
        Toolset::decode(&toolset(&long())).map(drop),
        CallToolRequest::decode(&json!({ "workspaces": long(), "name": "x" })).map(drop),
    ];
    for outcome in outcomes {
        let error = expect_error(outcome);
        assert!(error.message().len() < 2048, "{} bytes: {:.100}", error.message().len(), error.message());
    }
}

#[test]
fn nothing_that_was_thrown_is_kept_at_length_or_with_the_query_of_a_url() {
    let text = format!("https://x.example/a?token=hush {}", long());
    let failure = Failure::new(text.as_str(), &text).with_code(text.as_str());
    for kept in [Some(failure.name), Some(failure.message), failure.code] {
        let kept = kept.unwrap();
        assert_eq!(kept.chars().count(), 501);
        assert!(!kept.contains("hush"));
    }
}

#[test]
fn an_option_that_there_is_not_is_named() {
    let error = expect_error(HealthRequest::decode(&Value::from_iter([("verbose", true)])));
    assert_eq!(error.message(), "There is no option \"verbose\".");
}
