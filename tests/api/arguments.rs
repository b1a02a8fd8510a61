//! What a model may give to a tool.

use sandbox_snapshotter::model::request::ToolArguments;
use sandbox_snapshotter::model::{Code, Error};
use serde_json::{Map, Value, json};

use super::support::{Noted, OPS, definitions, of_sandbox, refusal, snapshot_ref, workspace_ref};

/// The error of a tool that asks for nothing.
#[track_caller]
fn refused(op: &str, arguments: &Value) -> Error {
    let operations = Noted::default();
    let error = refusal(operations.call(&of_sandbox(), &format!("workspace__work__{op}"), arguments.clone()));
    assert!(operations.asked().is_empty());
    error
}

/// An argument of the form that its schema asks for.
fn fitting(argument: &str) -> Value {
    match argument {
        "ref" => snapshot_ref(),
        "workspace" => workspace_ref(),
        "limit" | "maxBytes" => json!(7),
        "workspaceName" => json!("work"),
        _ => json!("text"),
    }
}

#[test]
fn each_tool_takes_the_arguments_that_its_schema_has() {
    let all = ["label", "workspace", "ref", "limit", "name", "description", "maxBytes", "workspaceName"];
    for (op, tool) in OPS.iter().zip(definitions(&of_sandbox())) {
        let properties = tool.input_schema["properties"].as_object().unwrap();
        let given: Map<_, _> = properties.keys().map(|name| (name.clone(), fitting(name))).collect();
        let operations = Noted::answering([json!({})]);
        let outcome = operations.call(&of_sandbox(), &tool.name, Value::Object(given.clone()));
        outcome.unwrap_or_else(|error| panic!("{op}: {error}"));
        for other in all.iter().filter(|other| !properties.contains_key(**other)) {
            let mut given = given.clone();
            given.insert((*other).to_owned(), fitting(other));
            let error = refused(op, &Value::Object(given));
            assert_eq!(error.code(), Code::InvalidArgument, "{op}");
            assert!(error.message().contains(&format!("{other:?}")), "{op}: {error}");
        }
    }
}

#[test]
fn each_tool_needs_the_arguments_that_its_schema_requires() {
    for (op, tool) in OPS.iter().zip(definitions(&of_sandbox())) {
        for name in tool.input_schema["required"].as_array().unwrap() {
            let error = refused(op, &json!({}));
            let code = if name == "name" { Code::InvalidCheckpointName } else { Code::InvalidArgument };
            assert_eq!(error.code(), code, "{op}: {error}");
        }
    }
}

#[test]
fn no_argument_is_as_good_as_null() {
    let null = json!({ "label": null, "workspace": null });
    let operations = Noted::answering([snapshot_ref()]);
    assert!(operations.call(&of_sandbox(), "workspace__work__snapshot", null).is_ok());
    let operations = Noted::answering([snapshot_ref()]);
    assert!(operations.call(&of_sandbox(), "workspace__work__snapshot", Value::Null).is_ok());
}

#[test]
fn arguments_are_an_object_of_the_types_that_the_schema_has() {
    for arguments in [json!([]), json!("before"), json!(7)] {
        assert_eq!(refused("snapshot", &arguments).code(), Code::InvalidArgument);
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
        assert_eq!(refused(op, &arguments).code(), Code::InvalidArgument, "{op}: {arguments}");
    }
}

#[test]
fn the_name_of_a_checkpoint_is_one_that_it_can_have() {
    for name in ["", ".hidden", "-x", "a/b", "a b"] {
        for op in ["snapshot_create", "snapshot_restore", "snapshot_diff"] {
            assert_eq!(refused(op, &json!({ "name": name })).code(), Code::InvalidCheckpointName, "{op}: {name:?}");
        }
    }
}

#[test]
fn a_ref_may_be_written_as_text() {
    let operations = Noted::answering([workspace_ref()]);
    let arguments = json!({ "ref": snapshot_ref().to_string() });
    operations.call(&of_sandbox(), "workspace__work__restore", arguments).unwrap();
    assert_eq!(operations.asked()[0].1["ref"], snapshot_ref());

    let operations = Noted::answering([snapshot_ref()]);
    let arguments = json!({ "workspace": workspace_ref().to_string() });
    operations.call(&of_sandbox(), "workspace__work__snapshot", arguments).unwrap();
    assert_eq!(operations.asked()[0].1["sandboxId"], json!("agent-42-restored-abcd1234"));
}

#[test]
fn what_is_no_ref_is_refused() {
    for wrong in [json!("snap-abcdefghij012345"), json!(7), json!([]), json!("{}"), json!("\"text\"")] {
        assert_eq!(refused("restore", &json!({ "ref": wrong })).code(), Code::InvalidRef, "{wrong}");
    }
    let foreign = json!({ "ref": workspace_ref() });
    assert_eq!(refused("restore", &foreign).code(), Code::InvalidRef, "a workspace is no snapshot");
    for wrong in [json!("agent-42"), json!(7), json!({}), snapshot_ref()] {
        assert_eq!(refused("snapshot", &json!({ "workspace": wrong })).code(), Code::InvalidRef, "{wrong}");
    }
}

#[test]
fn only_the_arguments_that_are_taken_are_read() {
    let decoded = ToolArguments::decode(&json!({ "label": "before" }), &["label"]).unwrap();
    assert_eq!(decoded, ToolArguments { label: Some("before".into()), ..ToolArguments::default() });
    assert_eq!(refusal(ToolArguments::decode(&json!({ "label": "before" }), &[])).code(), Code::InvalidArgument);
}
