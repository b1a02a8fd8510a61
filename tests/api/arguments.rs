//! The arguments of tools.

use sandbox_snapshotter::model::request::ToolArguments;
use sandbox_snapshotter::model::{Code, Error};
use serde_json::{Map, Value, json};

use super::support::{
    FakeOperations, TOOL_NAMES, definitions, expect_error, sandbox_toolset, snapshot_ref, workspace_ref,
};

/// Calls a tool with invalid arguments, and returns its error. Asserts that no operation was called.
#[track_caller]
fn call_error(op: &str, arguments: &Value) -> Error {
    let operations = FakeOperations::default();
    let error = expect_error(operations.call(&sandbox_toolset(), &format!("workspace__work__{op}"), arguments.clone()));
    assert!(operations.calls().is_empty());
    error
}

/// A valid value of an argument.
fn valid_argument(argument: &str) -> Value {
    match argument {
        "ref" => snapshot_ref(),
        "workspace" => workspace_ref(),
        "limit" | "maxBytes" => json!(7),
        "workspaceName" => json!("work"),
        _ => json!("text"),
    }
}

#[test]
fn tool_accepts_exactly_the_arguments_of_its_schema() {
    let all = ["label", "workspace", "ref", "limit", "name", "description", "maxBytes", "workspaceName"];
    for (op, tool) in TOOL_NAMES.iter().zip(definitions(&sandbox_toolset())) {
        let properties = tool.input_schema["properties"].as_object().unwrap();
        let given: Map<_, _> = properties.keys().map(|name| (name.clone(), valid_argument(name))).collect();
        let operations = FakeOperations::with_answers([json!({})]);
        let outcome = operations.call(&sandbox_toolset(), &tool.name, Value::Object(given.clone()));
        outcome.unwrap_or_else(|error| panic!("{op}: {error}"));
        for other in all.iter().filter(|other| !properties.contains_key(**other)) {
            let mut given = given.clone();
            given.insert((*other).to_owned(), valid_argument(other));
            let error = call_error(op, &Value::Object(given));
            assert_eq!(error.code(), Code::InvalidArgument, "{op}");
            assert!(error.message().contains(&format!("{other:?}")), "{op}: {error}");
        }
    }
}

#[test]
fn tool_requires_the_required_arguments_of_its_schema() {
    for (op, tool) in TOOL_NAMES.iter().zip(definitions(&sandbox_toolset())) {
        for name in tool.input_schema["required"].as_array().unwrap() {
            let error = call_error(op, &json!({}));
            let code = if name == "name" { Code::InvalidCheckpointName } else { Code::InvalidArgument };
            assert_eq!(error.code(), code, "{op}: {error}");
        }
    }
}

#[test]
fn null_equals_an_absent_argument() {
    let null = json!({ "label": null, "workspace": null });
    let operations = FakeOperations::with_answers([snapshot_ref()]);
    assert!(operations.call(&sandbox_toolset(), "workspace__work__snapshot", null).is_ok());
    let operations = FakeOperations::with_answers([snapshot_ref()]);
    assert!(operations.call(&sandbox_toolset(), "workspace__work__snapshot", Value::Null).is_ok());
}

#[test]
fn arguments_of_another_type_are_rejected() {
    for arguments in [json!([]), json!("before"), json!(7)] {
        assert_eq!(call_error("snapshot", &arguments).code(), Code::InvalidArgument);
    }
    for (op, arguments) in [
        ("snapshot", json!({ "label": 7 })),
        ("list", json!({ "limit": "7" })),
        ("list", json!({ "limit": 0 })),
        ("list", json!({ "limit": 101 })),
        ("snapshot_create", json!({ "name": ["s1"] })),
        ("snapshot_diff", json!({ "name": "s1", "maxBytes": 0 })),
        ("snapshot_diff", json!({ "name": "s1", "maxBytes": 4_194_305 })),
    ] {
        assert_eq!(call_error(op, &arguments).code(), Code::InvalidArgument, "{op}: {arguments}");
    }
}

#[test]
fn invalid_checkpoint_name_is_rejected() {
    for name in ["", ".hidden", "-x", "a/b", "a b"] {
        for op in ["snapshot_create", "snapshot_restore", "snapshot_diff"] {
            assert_eq!(call_error(op, &json!({ "name": name })).code(), Code::InvalidCheckpointName, "{op}: {name:?}");
        }
    }
}

#[test]
fn ref_is_accepted_as_text() {
    let operations = FakeOperations::with_answers([workspace_ref()]);
    let arguments = json!({ "ref": snapshot_ref().to_string() });
    operations.call(&sandbox_toolset(), "workspace__work__restore", arguments).unwrap();
    assert_eq!(operations.calls()[0].1["ref"], snapshot_ref());

    let operations = FakeOperations::with_answers([snapshot_ref()]);
    let arguments = json!({ "workspace": workspace_ref().to_string() });
    operations.call(&sandbox_toolset(), "workspace__work__snapshot", arguments).unwrap();
    assert_eq!(operations.calls()[0].1["sandboxId"], json!("agent-42-restored-abcd1234"));
}

#[test]
fn value_that_is_not_a_ref_is_rejected() {
    for wrong in [json!("snap_abc"), json!(7), json!([]), json!("{}")] {
        assert_eq!(call_error("restore", &json!({ "ref": wrong })).code(), Code::InvalidRef, "{wrong}");
    }
    let foreign = json!({ "ref": workspace_ref() });
    assert_eq!(call_error("restore", &foreign).code(), Code::InvalidRef, "a workspace is not a snapshot");
    for wrong in [json!("agent-42"), json!(7), json!({}), snapshot_ref()] {
        assert_eq!(call_error("snapshot", &json!({ "workspace": wrong })).code(), Code::InvalidRef, "{wrong}");
    }
}

#[test]
fn decode_accepts_only_the_listed_arguments() {
    let decoded = ToolArguments::decode(&json!({ "label": "before" }), &["label"]).unwrap();
    assert_eq!(decoded, ToolArguments { label: Some("before".into()), ..ToolArguments::default() });
    assert_eq!(expect_error(ToolArguments::decode(&json!({ "label": "before" }), &[])).code(), Code::InvalidArgument);
}
