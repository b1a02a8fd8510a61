//! Which workspaces there can be tools for.

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
fn a_workspace_is_called_as_tools_can_be() {
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
fn the_longer_the_rest_of_a_tools_name_the_shorter_is_the_workspaces() {
    for (style, longest) in [("namespaced", 35), ("flat", 64)] {
        assert!(decode_named(&"w".repeat(longest), style).is_ok());
        let error = expect_invalid(decode_named(&"w".repeat(longest + 1), style));
        assert!(error.remediation().contains(&format!("1 to {longest} ")), "{error}");
    }
}

#[test]
fn no_two_workspaces_have_one_name() {
    let twice = json!({ "workspaces": [
        { "name": "work", "snapshot": true, "sandboxId": "agent-1" },
        { "name": "work", "snapshot": true, "sandboxId": "agent-2" },
    ] });
    assert!(expect_invalid(Toolset::decode(&twice)).message().contains("workspaces[1].name"));
}

#[test]
fn there_are_1_to_16_workspaces() {
    let of = |count: usize| {
        let each = |index| json!({ "name": format!("w{index}"), "snapshot": true });
        Toolset::decode(&json!({ "workspaces": (0..count).map(each).collect::<Vec<_>>() }))
    };
    assert!(of(1).is_ok() && of(16).is_ok());
    expect_invalid(of(0));
    expect_invalid(of(17));
}

#[test]
fn at_least_one_of_them_has_tools() {
    expect_invalid(decode_workspace(json!({ "name": "work" })));
    expect_invalid(decode_workspace(json!({ "name": "work", "checkpoint": false })));
    let error = expect_invalid(decode_workspace(json!({ "name": "work", "snapshot": false })));
    assert!(error.remediation().contains("`snapshot: true`"), "{error}");
    let beside = json!({ "workspaces": [{ "name": "a" }, { "name": "b", "checkpoint": true }] });
    assert!(Toolset::decode(&beside).is_ok());
}

#[test]
fn a_workspace_is_either_a_sandbox_or_persists_by_a_name() {
    let with = |further| decode_workspace(extended(json!({ "name": "work", "snapshot": true }), further));
    for right in [
        json!({}),
        json!({ "workspace": "project" }),
        json!({ "tenant": "acme" }),
        json!({ "sandboxId": "agent-42" }),
        json!({ "sandboxId": "agent-42", "dir": "/workspace/app" }),
    ] {
        assert!(with(right.clone()).is_ok(), "{right}");
    }
    for wrong in [
        json!({ "sandboxId": "agent-42", "workspace": "project" }),
        json!({ "sandboxId": "agent-42", "tenant": "acme" }),
        json!({ "dir": "/workspace/app" }),
        json!({ "workspace": "project", "dir": "/workspace/app" }),
        json!({ "sandboxId": "" }),
        json!({ "sandboxId": "agent-42", "dir": "../app" }),
        json!({ "workspace": "a/b" }),
        json!({ "tenant": " " }),
    ] {
        expect_invalid(with(wrong));
    }
}

#[test]
fn a_name_that_is_the_workspaces_own_is_one_that_it_can_have() {
    let error = expect_error(decode_workspace(json!({ "name": "-work", "snapshot": true })));
    assert_eq!(error.code(), Code::InvalidWorkspaceName);
}

#[test]
fn what_nobody_knows_is_refused() {
    for further in [json!({ "styles": "flat" }), json!({ "style": "Flat" }), json!({ "readOnly": "true" })] {
        expect_invalid(Toolset::decode(&extended(sandbox_toolset(), further)));
    }
    for wrong in [json!({ "name": "w", "snapshots": true }), json!({ "name": "w", "snapshot": 1 }), json!("w")] {
        expect_invalid(decode_workspace(wrong));
    }
    for wrong in [json!({}), json!({ "workspaces": {} }), json!([])] {
        expect_invalid(Toolset::decode(&wrong));
    }
}

#[test]
fn the_bucket_is_needed_for_snapshots_alone() {
    let needs = |toolset: &Value| Toolset::decode(toolset).unwrap().needs_bucket();
    assert!(needs(&sandbox_toolset()) && needs(&named_toolset()));
    assert!(!needs(&json!({ "workspaces": [{ "name": "work", "checkpoint": true }] })));
}

#[test]
fn a_grant_is_for_a_day_and_for_30_days_at_most() {
    let seconds = |given: Value| {
        let request = GrantRequest::decode(&extended(sandbox_toolset(), json!({ "expirationSeconds": given })));
        request.map(|request| request.expiration_seconds)
    };
    assert_eq!(seconds(json!(null)).unwrap(), 86_400);
    assert_eq!(seconds(json!(1)).unwrap(), 1);
    assert_eq!(seconds(json!(30 * 86_400)).unwrap(), 30 * 86_400);
    for wrong in [json!(0), json!(30 * 86_400 + 1), json!(-1), json!(1.5), json!("3600")] {
        assert_eq!(expect_error(seconds(wrong)).code(), Code::InvalidArgument);
    }
}
