//! The declaration of a toolset.

use sandbox_snapshotter::model::request::{GrantRequest, Toolset};
use sandbox_snapshotter::model::{Code, Error, Result};
use serde_json::{Value, json};

use super::support::{expect_error, extended, named_toolset, sandbox_toolset};

fn decode_workspace(workspace: Value) -> Result<Toolset> {
    Toolset::decode(&json!({ "workspaces": Value::Array(vec![workspace]) }))
}

fn decode_named(name: &str, style: &str) -> Result<Toolset> {
    Toolset::decode(&json!({
        "style": style, "workspaces": [{ "name": name, "snapshot": true, "sandboxId": "agent-42" }],
    }))
}

#[track_caller]
fn expect_invalid(outcome: Result<Toolset>) -> Error {
    let error = expect_error(outcome);
    assert_eq!(error.code(), Code::InvalidArgument, "{error}");
    error
}

#[test]
fn workspace_name_has_the_characters_of_tool_names() {
    for style in ["namespaced", "flat"] {
        for name in ["w", "Work", "my_work-2", "-", "__"] {
            assert!(decode_named(name, style).is_ok(), "{name:?}");
        }
        for name in ["", "my work", "a.b", "a/b", "ä", "a\n"] {
            let error = expect_invalid(decode_named(name, style));
            assert!(error.message().contains("workspaces[0].name"), "{error}");
        }
    }
}

#[test]
fn length_of_a_workspace_name_is_limited_by_the_style() {
    for (style, max) in [("namespaced", 35), ("flat", 64)] {
        assert!(decode_named(&"w".repeat(max), style).is_ok());
        let error = expect_invalid(decode_named(&"w".repeat(max + 1), style));
        assert!(error.remediation().contains(&format!("1 to {max} ")), "{error}");
    }
}

#[test]
fn workspace_names_are_unique() {
    let twice = json!({ "workspaces": [
        { "name": "work", "snapshot": true, "sandboxId": "agent-1" },
        { "name": "work", "snapshot": true, "sandboxId": "agent-2" },
    ] });
    assert!(expect_invalid(Toolset::decode(&twice)).message().contains("workspaces[1].name"));
}

#[test]
fn toolset_has_1_to_16_workspaces() {
    let of = |count: usize| {
        let each = |index| json!({ "name": format!("w{index}"), "snapshot": true });
        Toolset::decode(&json!({ "workspaces": (0..count).map(each).collect::<Vec<_>>() }))
    };
    assert!(of(1).is_ok() && of(16).is_ok());
    expect_invalid(of(0));
    expect_invalid(of(17));
}

#[test]
fn toolset_has_at_least_one_tool() {
    expect_invalid(decode_workspace(json!({ "name": "work" })));
    expect_invalid(decode_workspace(json!({ "name": "work", "checkpoint": false })));
    let error = expect_invalid(decode_workspace(json!({ "name": "work", "snapshot": false })));
    assert!(error.remediation().contains("`snapshot: true`"), "{error}");
    let one_with_tools = json!({ "workspaces": [{ "name": "a" }, { "name": "b", "checkpoint": true }] });
    assert!(Toolset::decode(&one_with_tools).is_ok());
}

#[test]
fn workspace_is_either_a_sandbox_or_a_named_workspace() {
    let with = |further| decode_workspace(extended(json!({ "name": "work", "snapshot": true }), further));
    for valid in [
        json!({}),
        json!({ "workspace": "project" }),
        json!({ "tenant": "acme" }),
        json!({ "sandboxId": "agent-42" }),
        json!({ "sandboxId": "agent-42", "dir": "/workspace/app" }),
    ] {
        assert!(with(valid.clone()).is_ok(), "{valid}");
    }
    for invalid in [
        json!({ "sandboxId": "agent-42", "workspace": "project" }),
        json!({ "sandboxId": "agent-42", "tenant": "acme" }),
        json!({ "dir": "/workspace/app" }),
        json!({ "workspace": "project", "dir": "/workspace/app" }),
        json!({ "sandboxId": "" }),
        json!({ "sandboxId": "agent-42", "dir": "../app" }),
        json!({ "workspace": "a/b" }),
        json!({ "tenant": " " }),
    ] {
        expect_invalid(with(invalid));
    }
}

#[test]
fn default_workspace_name_must_be_valid() {
    let error = expect_error(decode_workspace(json!({ "name": "-work", "snapshot": true })));
    assert_eq!(error.code(), Code::InvalidWorkspaceName);
}

#[test]
fn unknown_fields_and_values_are_rejected() {
    for further in [json!({ "styles": "flat" }), json!({ "style": "Flat" }), json!({ "readOnly": "true" })] {
        expect_invalid(Toolset::decode(&extended(sandbox_toolset(), further)));
    }
    for invalid in [json!({ "name": "w", "snapshots": true }), json!({ "name": "w", "snapshot": 1 }), json!("w")] {
        expect_invalid(decode_workspace(invalid));
    }
    for invalid in [json!({}), json!({ "workspaces": {} }), json!([])] {
        expect_invalid(Toolset::decode(&invalid));
    }
}

#[test]
fn bucket_is_needed_for_snapshots_only() {
    let needs = |toolset: &Value| Toolset::decode(toolset).unwrap().needs_bucket();
    assert!(needs(&sandbox_toolset()) && needs(&named_toolset()));
    assert!(!needs(&json!({ "workspaces": [{ "name": "work", "checkpoint": true }] })));
}

#[test]
fn grant_lasts_a_day_by_default_and_30_days_at_most() {
    let seconds = |given: Value| {
        let request = GrantRequest::decode(&extended(sandbox_toolset(), json!({ "expirationSeconds": given })));
        request.map(|request| request.expiration_seconds)
    };
    assert_eq!(seconds(json!(null)).unwrap(), 86_400);
    assert_eq!(seconds(json!(1)).unwrap(), 1);
    assert_eq!(seconds(json!(30 * 86_400)).unwrap(), 30 * 86_400);
    for invalid in [json!(0), json!(30 * 86_400 + 1), json!(-1), json!(1.5), json!("3600")] {
        assert_eq!(expect_error(seconds(invalid)).code(), Code::InvalidArgument);
    }
}
