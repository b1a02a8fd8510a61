//! The messages about refused arguments. They name the argument, and quote its value only in part or not at all.

use sandbox_snapshotter::model::request::{
    CallToolRequest, CreateRequest, ExecRequest, HealthRequest, ListRequest, ReviveRequest, SnapshotRequest,
    StartRequest, Toolset,
};
use sandbox_snapshotter::model::{Error, Failure, Result};
use serde_json::{Value, json};

use super::support::expect_error;

fn long() -> String {
    "\u{200b}x".repeat(10_000)
}

#[test]
fn error_never_contains_the_value_of_a_variable() {
    for value in [json!(13_579_086), json!(["hush-hush"]), json!({ "hush": "hush" }), json!(null), json!(true)] {
        let error = expect_error(CreateRequest::decode(&json!({ "name": "work", "env": { "PIN": value } })));
        assert!(error.message().starts_with("`env[\"PIN\"]` must be a string"), "{error}");
    }
    let error = expect_error(CreateRequest::decode(&json!({ "name": "work", "env": ["hush-hush"] })));
    assert_eq!(error.message(), "`env` must be an object.");
}

#[test]
fn expected_hash_must_be_a_string() {
    let error = expect_error(StartRequest::decode(&json!({ "name": "work", "expect": { "a": 1 } })));
    assert!(error.message().starts_with("`expect[\"a\"]` must be a string"), "{error}");
}

#[test]
fn error_message_truncates_quoted_arguments() {
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
fn failure_is_truncated_and_loses_the_queries_of_urls() {
    let text = format!("https://x.example/a?token=hush {}", long());
    let failure = Failure::new(text.as_str(), &text).with_code(text.as_str());
    for text in [Some(failure.name), Some(failure.message), failure.code] {
        let text = text.unwrap();
        assert_eq!(text.chars().count(), 501);
        assert!(!text.contains("hush"));
    }
}

#[test]
fn unknown_option_is_named() {
    let error = expect_error(HealthRequest::decode(&Value::from_iter([("verbose", true)])));
    assert_eq!(error.message(), "There is no option \"verbose\".");
    assert_eq!(error.remediation(), "Pass an empty object: there are no options.");
}

#[test]
fn missing_option_and_the_misspelled_one_are_both_named() {
    let error = expect_error(SnapshotRequest::decode(&json!({ "sandboxID": "agent-42" })));
    assert_eq!(error.message(), "No workspace or sandbox is selected, and there is no option \"sandboxID\".");
    assert_eq!(error.remediation(), "Did you mean `sandboxId`?");
}

#[test]
fn similar_operation_is_suggested_for_unknown_route() {
    let remediation = |path: &str| Error::route_not_found(path).remediation().to_owned();
    assert!(remediation("/v1/workspace/start").starts_with("Did you mean POST /v1/workspaces/start?"));
    assert!(remediation("/v1/snapshots").starts_with("Did you mean POST /v1/snapshot?"));
    assert!(remediation("/v1/nonsense").contains("GET /docs lists all operations."));
    for (path, expected) in [
        ("/v1/workspaces", "/v1/workspaces/list"),
        ("/v1/workspaces/", "/v1/workspaces/list"),
        ("/v1/tokens", "/v1/tokens/list"),
        ("/v1/workspaces/strat", "/v1/workspaces/start"),
        ("/v1/workspaces/get", "/v1/workspaces/getByName"),
        ("/v1/workspaces/rollback", "/v1/workspaces/update"),
        ("/v1/rollback", "/v1/workspaces/update"),
        ("/v1/snapshots/list", "/v1/list"),
        ("/v1/snapshots/create", "/v1/snapshot"),
    ] {
        assert!(remediation(path).starts_with(&format!("Did you mean POST {expected}?")), "{}", remediation(path));
    }
    assert!(
        remediation("/v1/workspaces/m3").starts_with("Use POST /v1/<operation>"),
        "{}",
        remediation("/v1/workspaces/m3")
    );
}

#[test]
fn similar_option_is_suggested() {
    let suggested = |name: &str| {
        let options = Value::from_iter([("sandboxId", json!("agent-42")), (name, json!("before"))]);
        expect_error(ListRequest::decode(&options)).remediation().to_owned()
    };
    for (misspelled, option) in [("labelPrefx", "labelPrefix"), ("LABEL_PREFIX", "labelPrefix"), ("limits", "limit")] {
        assert_eq!(suggested(misspelled), format!("Did you mean `{option}`?"));
    }
    let listed = suggested("ttl");
    assert!(listed.starts_with("The options are `") && listed.contains(", `labelPrefix`"), "{listed}");
}

#[test]
fn option_of_the_same_meaning_is_suggested() {
    let suggested = |name: &str| {
        let options = Value::from_iter([("name", json!("notebook")), (name, json!("ls"))]);
        expect_error(ExecRequest::decode(&options)).remediation().to_owned()
    };
    for (unknown, option) in [
        ("cmd", "command"),
        ("args", "argv"),
        ("timeout", "timeoutSeconds"),
        ("input", "stdin"),
        ("workdir", "cwd"),
        ("environment", "env"),
    ] {
        assert_eq!(suggested(unknown), format!("Did you mean `{option}`?"));
    }
}

#[test]
fn name_of_a_workspace_in_place_of_a_sandbox_gets_a_hint() {
    for options in [json!({ "name": "notebook" }), json!({ "sandboxId": "agent-42", "name": "notebook", "more": 1 })] {
        let error = expect_error(ReviveRequest::decode(&options));
        assert!(
            error.remediation().starts_with("For a named workspace, pass the `sandboxId`"),
            "{}",
            error.remediation()
        );
    }
}

#[test]
fn missing_option_alone_has_no_suggestion() {
    let error = expect_error(ReviveRequest::decode(&json!({})));
    assert_eq!(error.message(), "`sandboxId` is missing.");
    assert_eq!(error.remediation(), "Pass `sandboxId`.");
}
