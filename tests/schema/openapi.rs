//! The API document is complete, and its examples match its schemas.

use std::collections::{BTreeMap, BTreeSet};

use boon::{Compiler, Draft, Schemas};
use sandbox_snapshotter::api::openapi::{document, error_codes};
use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::Code;
use serde_json::{Value, json};

use super::decoding::decode;
use super::example_session::example_session;
use super::support::{ExpectError, Fixture};

const DOCUMENT_URL: &str = "https://snapshotter/openapi.json";

/// Collects every example of the document, with the JSON pointer of its schema.
fn collect_examples(at: &str, part: &Value, found: &mut Vec<(String, Value)>) {
    if let (Some(_), Some(example)) = (part.get("schema"), part.get("example")) {
        found.push((format!("{at}/schema"), example.clone()));
    }
    let parts: Vec<(String, &Value)> = match part {
        Value::Object(members) => members.iter().map(|(name, member)| (name.replace('/', "~1"), member)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(index, item)| (index.to_string(), item)).collect(),
        _ => Vec::new(),
    };
    parts
        .iter()
        .filter(|(name, _)| name != "example")
        .for_each(|(name, part)| collect_examples(&format!("{at}/{name}"), part, found));
}

/// The documented error codes of an operation, by HTTP status.
fn documented_codes(document: &Value, operation: Operation) -> BTreeMap<String, Vec<Value>> {
    let path = format!("/v1/{}", operation.name());
    let responses = document["paths"][path]["post"]["responses"].as_object().unwrap();
    let refused = responses.iter().filter_map(|(status, response)| Some((status, response["$ref"].as_str()?)));
    let codes = |reference: &str| {
        let schema = &document.pointer(&reference[1..]).unwrap()["content"]["application/problem+json"]["schema"];
        schema["properties"]["code"]["enum"].as_array().unwrap().clone()
    };
    refused.map(|(status, reference)| (status.clone(), codes(reference))).collect()
}

#[test]
fn every_example_matches_its_schema() {
    let document = document(&example_session());
    let (mut compiler, mut schemas) = (Compiler::new(), Schemas::new());
    compiler.set_default_draft(Draft::V2020_12);
    compiler.enable_format_assertions();
    compiler.add_resource(DOCUMENT_URL, document.clone()).unwrap();
    let mut all = Vec::new();
    collect_examples("", &document, &mut all);
    assert!(all.len() > 2 * Operation::ALL.len());
    for (at, example) in all {
        let schema = compiler.compile(&format!("{DOCUMENT_URL}#{at}"), &mut schemas).unwrap();
        schemas.validate(&example, schema).unwrap_or_else(|error| panic!("{at}: {error:#}\n{example:#}"));
    }
}

#[test]
fn every_operation_has_an_accepted_example() {
    for operation in Operation::ALL {
        let examples: Vec<_> =
            example_session().into_iter().filter(|example| example.operation == *operation).collect();
        assert!(!examples.is_empty(), "{} has no example of its request", operation.name());
        for example in examples {
            decode(*operation, &example.options).unwrap();
        }
    }
}

#[test]
fn every_code_is_documented_and_every_error_has_an_example() {
    let document = document(&example_session());
    let mut documented = BTreeSet::new();
    for operation in Operation::ALL {
        documented.extend(documented_codes(&document, *operation).into_values().flatten().map(|code| code.to_string()));
    }
    // A missing route has no operation.
    documented.insert(json!(Code::RouteNotFound).to_string());
    assert_eq!(documented, Code::ALL.iter().map(|code| json!(code).to_string()).collect());
    for (name, response) in document["components"]["responses"].as_object().unwrap() {
        assert!(response["content"]["application/problem+json"]["example"].is_object(), "{name}");
    }
}

#[test]
fn codes_of_an_operation_are_those_of_its_responses() {
    let document = document(&example_session());
    for operation in Operation::ALL {
        let documented: BTreeSet<_> =
            documented_codes(&document, *operation).into_values().flatten().map(|code| code.to_string()).collect();
        let expected: BTreeSet<_> = error_codes(*operation).iter().map(|code| json!(code).to_string()).collect();
        assert_eq!(documented, expected, "the responses of {} and its row in error_codes.rs", operation.name());
    }
}

#[test]
fn common_failures_are_documented() {
    let fixture = Fixture::with_sandbox();
    fixture.snapshot_labelled("agent-42", "before");
    let label = json!({ "sandboxId": "agent-42", "label": "before" });
    let missing = json!({ "sandboxId": "agent-42", "label": "missing" });
    for (operation, options, code) in [
        (Operation::Snapshot, &label, Code::LabelTaken),
        (Operation::Snapshot, &json!({ "sandboxId": "never-ran" }), Code::SandboxNotRunning),
        (Operation::Restore, &missing, Code::SnapshotNotFound),
        (Operation::List, &json!({ "sandboxId": "agent-42", "lineageScope": "agent-7" }), Code::CrossLineage),
        (Operation::DiffCheckpoint, &json!({ "sandboxId": "agent-42", "name": "s1" }), Code::CheckpointNotFound),
        (Operation::GetWorkspaceByName, &json!({ "name": "work" }), Code::WorkspaceNotFound),
    ] {
        fixture.run(operation, options).expect_code(code);
        let name = operation.name();
        assert!(error_codes(operation).contains(&code), "{name} returned {code}, which error_codes.rs does not list");
    }
}

#[test]
fn every_referenced_schema_exists() {
    let document = document(&example_session());
    let text = document.to_string();
    for reference in text.split("\"$ref\":\"#").skip(1).filter_map(|rest| rest.split('"').next()) {
        assert!(document.pointer(reference).is_some(), "{reference}");
    }
}

#[test]
fn document_is_deterministic() {
    assert_eq!(document(&example_session()).to_string(), document(&example_session()).to_string());
}
