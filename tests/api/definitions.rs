//! The tools of a toolset, and their descriptions and schemas.

use serde_json::{Map, Value, json};

use super::support::{READ_ONLY_TOOLS, TOOL_NAMES, definitions, extended, named_toolset, names, sandbox_toolset};

fn flat_toolset() -> Value {
    extended(sandbox_toolset(), json!({ "style": "flat" }))
}

fn several_workspaces(style: &str) -> Value {
    json!({
        "style": style,
        "workspaces": [
            { "name": "front", "snapshot": true, "sandboxId": "agent-1" },
            { "name": "back", "snapshot": true, "checkpoint": false },
            { "name": "docs", "checkpoint": true, "workspace": "documents" },
        ],
    })
}

/// Toolsets of every kind.
fn all_toolsets() -> Vec<Value> {
    let read_only = |toolset| extended(toolset, json!({ "readOnly": true }));
    let all = [
        sandbox_toolset(),
        named_toolset(),
        flat_toolset(),
        several_workspaces("namespaced"),
        several_workspaces("flat"),
    ];
    all.iter().cloned().chain(all.iter().cloned().map(read_only)).collect()
}

fn tool_names(workspace: &str, ops: &[&str]) -> Vec<String> {
    ops.iter().map(|op| format!("workspace__{workspace}__{op}")).collect()
}

#[test]
fn tool_names_contain_the_workspace_name() {
    assert_eq!(names(&sandbox_toolset()), tool_names("work", &TOOL_NAMES));
    assert_eq!(names(&named_toolset()), tool_names("work", &TOOL_NAMES));
}

#[test]
fn flat_tool_names_omit_the_workspace_name() {
    assert_eq!(
        names(&flat_toolset()),
        [
            "workspace_snapshot",
            "workspace_restore",
            "workspace_branch",
            "workspace_list",
            "workspace_delete",
            "snapshot_create",
            "snapshot_list",
            "snapshot_restore",
            "snapshot_diff",
        ]
    );
}

#[test]
fn workspace_has_the_tools_that_it_declares() {
    let of = |declared: Value| {
        let declared = extended(json!({ "name": "work", "sandboxId": "agent-42" }), declared);
        names(&json!({ "workspaces": [declared, { "name": "other", "snapshot": true }] }))
            .into_iter()
            .filter(|name| name.contains("__work__"))
            .collect::<Vec<_>>()
    };
    let (snapshots, checkpoints) = TOOL_NAMES.split_at(5);
    assert_eq!(of(json!({ "snapshot": true })), tool_names("work", &TOOL_NAMES));
    assert_eq!(of(json!({ "snapshot": true, "checkpoint": true })), tool_names("work", &TOOL_NAMES));
    assert_eq!(of(json!({ "snapshot": true, "checkpoint": false })), tool_names("work", snapshots));
    assert_eq!(of(json!({ "snapshot": false, "checkpoint": true })), tool_names("work", checkpoints));
    assert_eq!(of(json!({ "checkpoint": true })), tool_names("work", checkpoints));
    let without_branch: Vec<_> = TOOL_NAMES.into_iter().filter(|op| *op != "branch").collect();
    assert_eq!(of(json!({ "snapshot": true, "branch": false })), tool_names("work", &without_branch));
    assert_eq!(of(json!({ "snapshot": true, "branch": true })), tool_names("work", &TOOL_NAMES));
    assert!(of(json!({ "branch": true })).is_empty());
    assert!(of(json!({ "snapshot": false })).is_empty());
    assert!(of(json!({})).is_empty());
}

#[test]
fn each_workspace_has_its_own_tools() {
    let (snapshots, checkpoints) = TOOL_NAMES.split_at(5);
    let all = [tool_names("front", &TOOL_NAMES), tool_names("back", snapshots), tool_names("docs", checkpoints)];
    assert_eq!(names(&several_workspaces("namespaced")), all.concat());
}

#[test]
fn flat_tool_of_several_workspaces_requires_a_workspace_name() {
    let tools = definitions(&several_workspaces("flat"));
    assert_eq!(tools.len(), TOOL_NAMES.len());
    for tool in tools {
        let expected = if tool.name.starts_with("workspace_") { ["front", "back"] } else { ["front", "docs"] };
        assert_eq!(tool.input_schema["properties"]["workspaceName"]["enum"], json!(expected), "{}", tool.name);
        let required = tool.input_schema["required"].as_array().unwrap();
        assert!(required.contains(&json!("workspaceName")), "{}", tool.name);
    }
}

#[test]
fn tool_of_one_workspace_takes_no_workspace_name() {
    for tool in [definitions(&flat_toolset()), definitions(&several_workspaces("namespaced"))].concat() {
        assert_eq!(tool.input_schema["properties"].get("workspaceName"), None, "{}", tool.name);
    }
}

#[test]
fn read_only_toolset_has_only_reading_tools() {
    for toolset in all_toolsets() {
        let read_only = extended(toolset.clone(), json!({ "readOnly": true }));
        let reading: Vec<_> =
            definitions(&toolset).into_iter().filter(|tool| tool.annotations.read_only_hint).collect();
        assert_eq!(definitions(&read_only), reading);
    }
    assert_eq!(names(&extended(sandbox_toolset(), json!({ "readOnly": true }))), tool_names("work", &READ_ONLY_TOOLS));
}

#[test]
fn annotations_mark_destructive_tools() {
    for (op, tool) in TOOL_NAMES.iter().zip(definitions(&sandbox_toolset())) {
        assert_eq!(tool.annotations.read_only_hint, READ_ONLY_TOOLS.contains(op), "{op}");
        assert_eq!(tool.annotations.destructive_hint, ["delete", "snapshot_restore"].contains(op), "{op}");
        let creates = ["snapshot", "restore", "branch", "snapshot_create"].contains(op);
        assert_eq!(tool.annotations.idempotent_hint, !creates, "{op}");
        assert!(!tool.annotations.open_world_hint, "{op}");
    }
}

#[test]
fn longest_tool_names_are_valid() {
    let namespaced = json!({ "workspaces": [{ "name": "w".repeat(35), "snapshot": true, "sandboxId": "agent-42" }] });
    let flat =
        json!({ "style": "flat", "workspaces": [{ "name": "w".repeat(64), "snapshot": true, "sandboxId": "a" }] });
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    for name in all_toolsets().into_iter().chain([namespaced, flat]).flat_map(|toolset| names(&toolset)) {
        assert!((1..=64).contains(&name.len()) && name.chars().all(is_allowed), "{name}");
    }
}

#[test]
fn tool_names_are_unique() {
    for toolset in all_toolsets() {
        let mut names = names(&toolset);
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}

#[test]
fn description_names_only_existing_tools() {
    for toolset in all_toolsets() {
        let names = names(&toolset);
        for tool in definitions(&toolset) {
            assert!(!tool.description.contains(['{', '}']), "{}", tool.description);
            let words = tool.description.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-');
            for word in words.filter(|word| word.contains('_')) {
                assert!(names.iter().any(|name| name == word), "{} names {word}", tool.name);
            }
        }
    }
}

#[test]
fn description_names_its_workspace() {
    for toolset in [several_workspaces("namespaced"), named_toolset()] {
        for tool in definitions(&toolset) {
            let workspace = tool.name.split("__").nth(1).unwrap();
            let acts_on_it = ["restore", "branch", "delete"].iter().all(|op| !tool.name.ends_with(&format!("__{op}")));
            let named = format!("the workspace {workspace:?}");
            assert_eq!(tool.description.contains(&named), acts_on_it, "{}: {}", tool.name, tool.description);
        }
    }
}

#[test]
fn descriptions_of_restore_and_branch_mention_the_new_workspace() {
    for tool in definitions(&sandbox_toolset()) {
        let creates = ["__restore", "__branch"].iter().any(|op| tool.name.ends_with(op));
        assert_eq!(tool.description.contains("NEW workspace"), creates, "{}", tool.name);
    }
}

#[test]
fn schema_allows_no_additional_arguments() {
    for tool in all_toolsets().iter().flat_map(definitions) {
        assert_eq!(tool.input_schema["additionalProperties"], json!(false), "{}", tool.name);
    }
}

#[test]
fn schemas_are_objects_and_define_what_they_require() {
    for tool in all_toolsets().iter().flat_map(definitions) {
        for schema in [&tool.input_schema, &tool.output_schema] {
            assert_eq!(schema["type"], json!("object"));
            check_schema(&tool.name, schema);
        }
    }
}

/// Checks a schema and its nested schemas.
fn check_schema(tool: &str, schema: &Map<String, Value>) {
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        assert_eq!(schema["type"], json!("object"), "{tool}: {schema:?}");
        for required in schema["required"].as_array().unwrap() {
            assert!(properties.contains_key(required.as_str().unwrap()), "{tool}: {required}");
        }
        for property in properties.values() {
            check_schema(tool, property.as_object().expect("an inlined schema"));
        }
    }
    if let Some(items) = schema.get("items") {
        check_schema(tool, items.as_object().expect("an inlined schema"));
    }
}

#[test]
fn no_description_names_a_tool_that_is_withheld() {
    for style in ["namespaced", "flat"] {
        let declared = json!({ "name": "work", "snapshot": true, "branch": false });
        for tool in definitions(&json!({ "style": style, "workspaces": [declared] })) {
            assert!(!json!(tool).to_string().replace("branches", "").contains("branch"), "{}", tool.name);
        }
    }
}
