//! What the schemas say of options is what is taken and refused.

use std::collections::BTreeSet;

use sandbox_snapshotter::api::operations::{Operation, decode_target};
use sandbox_snapshotter::model::request::record_fields;
use serde_json::{Value, json};

use super::examples::{examples, with};
use super::schemas::Schemas;

/// Options that are asked for only to be refused.
const REFUSED_OPTIONS: [&str; 1] = ["memory"];

/// Makes sure that the schema and the operation agree on these options.
#[track_caller]
fn assert_agree(schemas: &mut Schemas, operation: Operation, options: &Value, expected: bool) {
    let (by_schema, taken) = (schemas.options(operation, options), decode_target(operation, options));
    let agreed = (by_schema.is_ok(), taken.is_ok());
    assert_eq!(agreed, (expected, expected), "{} with {options}: {by_schema:?}, {taken:?}", operation.name());
}

#[test]
fn an_operation_takes_the_options_that_are_described_and_no_others() {
    let schemas = Schemas::new();
    for operation in Operation::ALL {
        let taken = examples().into_iter().filter(|(of, _)| of == operation).map(|(_, mut options)| {
            // It has fields of its own.
            options.as_object_mut().unwrap().remove("sourceSnapshot");
            record_fields(|| _ = decode_target(*operation, &options))
        });
        let taken: BTreeSet<_> = taken.flatten().filter(|name| !REFUSED_OPTIONS.contains(&name.as_str())).collect();
        assert_eq!(taken, schemas.names(*operation), "{}", operation.name());
    }
}

#[test]
fn the_examples_have_every_option() {
    let schemas = Schemas::new();
    for operation in Operation::ALL {
        let given = examples().into_iter().filter(|(of, _)| of == operation);
        let names = given.flat_map(|(_, options)| options.as_object().unwrap().keys().cloned().collect::<Vec<_>>());
        assert_eq!(names.collect::<BTreeSet<_>>(), schemas.names(*operation), "{}", operation.name());
    }
}

#[test]
fn every_example_is_taken() {
    let mut schemas = Schemas::new();
    for (operation, options) in examples() {
        assert_agree(&mut schemas, operation, &options, true);
    }
}

#[test]
fn an_option_that_nobody_knows_is_refused() {
    let mut schemas = Schemas::new();
    for (operation, options) in examples() {
        for name in ["sandboxID", "ttl", ""] {
            assert_agree(&mut schemas, operation, &with(&[&options, &json!({ name: "x" })]), false);
        }
    }
}

#[test]
fn what_must_be_given_is_required() {
    let mut schemas = Schemas::new();
    for (operation, options) in examples() {
        for name in options.as_object().unwrap().keys() {
            let mut fewer = options.clone();
            fewer.as_object_mut().unwrap().remove(name);
            let by_schema = schemas.options(operation, &fewer).is_ok();
            // That a label is replaced by none is an error that is not one of form.
            if (operation, name.as_str()) != (Operation::Snapshot, "label")
                && (operation, name.as_str()) != (Operation::Import, "label")
            {
                assert_agree(&mut schemas, operation, &fewer, by_schema);
            }
        }
    }
}

#[test]
fn a_value_of_another_type_is_refused_at_any_depth() {
    let mut schemas = Schemas::new();
    for (operation, options) in examples() {
        for pointer in pointers(&options) {
            // A backup's handle is opaque, and what a model gives to a tool is for the tool to judge.
            if pointer == "/backup/localBucket" || pointer.starts_with("/arguments") {
                continue;
            }
            for value in [json!(-1), json!(1.5), json!([[]]), json!(false)] {
                let mut wrong = options.clone();
                let place = wrong.pointer_mut(&pointer).unwrap();
                if !(place.is_boolean() && value.is_boolean()) {
                    *place = value;
                    assert_agree(&mut schemas, operation, &wrong, false);
                }
            }
        }
    }
}

#[test]
fn a_number_is_taken_within_its_bounds() {
    let mut schemas = Schemas::new();
    for (operation, options) in examples() {
        for (name, schema) in schemas.properties(operation) {
            let (Some(least), Some(most)) = (schema["minimum"].as_i64(), schema["maximum"].as_i64()) else { continue };
            for (number, is_taken) in [(least - 1, false), (least, true), (most, true), (most + 1, false)] {
                assert_agree(&mut schemas, operation, &with(&[&options, &json!({ &name: number })]), is_taken);
            }
        }
    }
}

#[test]
fn a_number_that_is_too_small_or_too_large_is_so_at_any_depth() {
    let mut schemas = Schemas::new();
    for (operation, options) in examples() {
        let is_number = |pointer: &String| options.pointer(pointer).is_some_and(Value::is_number);
        for pointer in pointers(&options).into_iter().filter(is_number) {
            for number in [0, u32::MAX] {
                let mut other = options.clone();
                *other.pointer_mut(&pointer).unwrap() = json!(number);
                let by_schema = schemas.options(operation, &other).is_ok();
                assert_agree(&mut schemas, operation, &other, by_schema);
            }
        }
    }
}

/// Texts that some field takes and others don't.
fn texts() -> Vec<String> {
    let odd = [
        "",
        " ",
        " x",
        "x ",
        "\u{a0}x",
        "x\u{3000}",
        "-x",
        "x-",
        "-",
        "www",
        "WwW",
        "roots",
        "a\nb",
        "a\u{0}b",
        "a\u{85}b",
        "\u{9f}",
        "a\u{2028}b",
        "\u{2028}a",
        "\u{feff}a",
        "\u{200b}",
        "é",
        "..",
        "a..b",
        "a.",
        "a.lock",
        "a.LoCk",
        ".a",
        "a.b",
        "_",
        "~",
        "1",
        "9A",
        "A_1",
        "/",
        "/workspace",
        "/workspace/",
        "/workspace//a",
        "/workspace/../x",
        "/workspace/..",
        "/workspace/..x/...",
        "/workspacex",
        "/home/.",
        "/home/.a",
        "/var",
        "/var/tmp/a",
        "a/b",
        "../a",
        "a/..",
        "a/../b",
        "a/..b",
        "/..",
        "fail",
        "flat",
        "2026-11-20T05:00:00Z",
        "2026-11-20T05:00:00.000Z",
        "snap-abcdefghij012345",
        "snap-abcdefghij01234A",
        "cloudflare-sandbox",
    ];
    let long = [35, 36, 63, 64, 100, 101, 128, 129, 256, 257, 1024, 1025, 8192, 8193, 10_000, 10_001];
    let of_two_bytes = [63, 64, 128, 129, 256, 1024];
    let long = long.map(|length| "x".repeat(length)).into_iter().chain(of_two_bytes.map(|length| "é".repeat(length)));
    odd.map(str::to_owned).into_iter().chain(long).collect()
}

#[test]
fn null_is_taken_where_the_schema_offers_it_at_any_depth() {
    let mut schemas = Schemas::new();
    for (operation, options) in examples() {
        for pointer in pointers(&options).into_iter().filter(|pointer| is_decoded(pointer)) {
            let mut other = options.clone();
            *other.pointer_mut(&pointer).unwrap() = Value::Null;
            let by_schema = schemas.options(operation, &other).is_ok();
            assert_agree(&mut schemas, operation, &other, by_schema);
        }
        for name in schemas.names(operation) {
            let other = with(&[&options, &json!({ name: null })]);
            let by_schema = schemas.options(operation, &other).is_ok();
            assert_agree(&mut schemas, operation, &other, by_schema);
        }
    }
}

#[test]
fn a_text_is_taken_where_its_pattern_and_length_say_so_at_any_depth() {
    let (mut schemas, texts) = (Schemas::new(), texts());
    for (operation, options) in examples() {
        let is_text = |pointer: &String| is_decoded(pointer) && options.pointer(pointer).is_some_and(Value::is_string);
        for pointer in pointers(&options).into_iter().filter(is_text) {
            // A whole ref has 16 kB at most.
            let longest = if pointer.ends_with("/signature") { 8_192 } else { usize::MAX };
            for text in texts.iter().filter(|text| text.len() <= longest) {
                let mut other = options.clone();
                *other.pointer_mut(&pointer).unwrap() = json!(text);
                let by_schema = schemas.options(operation, &other).is_ok();
                assert_agree(&mut schemas, operation, &other, by_schema);
            }
        }
    }
}

#[test]
fn a_variable_is_taken_where_its_name_may_be_one() {
    let mut schemas = Schemas::new();
    for name in ["", "A", "a_1", "_", "1A", "A-B", "A B", "Ä", "PATH", "path", "BASH_ENV", "A\n"] {
        let options = json!({ "name": "work", "env": { name: "x" } });
        let by_schema = schemas.options(Operation::CreateWorkspace, &options).is_ok();
        assert_agree(&mut schemas, Operation::CreateWorkspace, &options, by_schema);
        assert_eq!(by_schema, ["A", "a_1", "_", "path"].contains(&name), "{name:?}");
    }
}

#[test]
fn what_goes_together_is_described() {
    let mut schemas = Schemas::new();
    let workspace = |members: Value| json!({ "workspaces": [with(&[&json!({ "name": "a" }), &members])] });
    let flat = |name: &str| json!({ "style": "flat", "workspaces": [{ "name": name, "snapshot": true }] });
    for (operation, options, is_taken) in [
        (Operation::Snapshot, json!({ "sandboxId": "a", "replace": true }), false),
        (Operation::Snapshot, json!({ "sandboxId": "a", "replace": true, "label": null }), false),
        (Operation::Snapshot, json!({ "sandboxId": "a", "replace": false }), true),
        (Operation::Snapshot, json!({ "sandboxId": "a", "expirationSeconds": 0 }), true),
        (Operation::Snapshot, json!({ "sandboxId": "a", "expirationSeconds": 59 }), false),
        (Operation::Snapshot, json!({ "sandboxId": "a", "expirationSeconds": 60 }), true),
        (Operation::UpdateWorkspace, json!({ "name": "a" }), false),
        (Operation::UpdateWorkspace, json!({ "name": "a", "hooks": null }), false),
        (Operation::UpdateWorkspace, json!({ "name": "a", "hooks": {} }), true),
        (Operation::Get, json!({ "sandboxId": "a", "label": "b", "snapshotId": null, "ref": null }), true),
        (Operation::Get, json!({ "sandboxId": "a", "label": null }), false),
        (Operation::ListTools, workspace(json!({ "snapshot": true })), true),
        (Operation::ListTools, workspace(json!({ "checkpoint": true })), true),
        (Operation::ListTools, workspace(json!({ "snapshot": false })), false),
        (Operation::ListTools, workspace(json!({ "snapshot": true, "sandboxId": "b", "dir": "/app" })), true),
        (Operation::ListTools, workspace(json!({ "snapshot": true, "dir": "/app" })), false),
        (Operation::ListTools, workspace(json!({ "snapshot": true, "sandboxId": "b", "tenant": "c" })), false),
        (Operation::ListTools, workspace(json!({ "snapshot": true, "workspace": "b", "tenant": "c" })), true),
        (Operation::ListTools, json!({ "workspaces": [] }), false),
        (Operation::ListTools, flat(&"a".repeat(36)), true),
        (Operation::ListTools, with(&[&flat(&"a".repeat(36)), &json!({ "style": null })]), false),
        (Operation::ListTools, flat("-a"), false),
    ] {
        assert_agree(&mut schemas, operation, &options, is_taken);
    }
}

/// Whether a place is read: a cursor is a text that only a list answers, a backup's handle is opaque, and what a model gives to a
/// tool is for the tool to judge.
fn is_decoded(pointer: &str) -> bool {
    !["/cursor", "/backup/localBucket", "/arguments"].iter().any(|other| pointer.starts_with(other))
}

/// Where every value is that is part of another one.
fn pointers(value: &Value) -> Vec<String> {
    let parts: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(name, part)| (format!("/{name}"), part)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(index, part)| (format!("/{index}"), part)).collect(),
        _ => Vec::new(),
    };
    let further = |(at, part): (String, &Value)| {
        let deeper: Vec<_> = pointers(part).into_iter().map(|rest| format!("{at}{rest}")).collect();
        [vec![at], deeper].concat()
    };
    parts.into_iter().flat_map(further).collect()
}
