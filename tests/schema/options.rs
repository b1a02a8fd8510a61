//! The schemas and the decoders accept the same options.

use std::collections::BTreeSet;

use sandbox_snapshotter::api::operations::{Operation, Request};
use sandbox_snapshotter::model::request::record_fields;
use serde_json::{Value, json};

use super::decoding::{decode, resolved};
use super::examples::{examples, with};
use super::schemas::Schemas;

/// Options that the decoders read only to reject them with a specific error.
const REFUSED_OPTIONS: [&str; 1] = ["memory"];

/// Returns the names of the members of an object.
fn names(options: &Value) -> BTreeSet<String> {
    options.as_object().unwrap().keys().cloned().collect()
}

/// Asserts that the schema and the decoder of an operation both accept or both reject these options. Returns whether they
/// accept them.
#[track_caller]
fn assert_agree(schemas: &mut Schemas, operation: Operation, options: &Value) -> bool {
    let (by_schema, by_decoder) = (schemas.options(operation, options), decode(operation, options));
    if by_schema.is_ok() != by_decoder.is_ok() {
        let by_schema = by_schema.map_err(|error| format!("{error:#}"));
        panic!("{} with {options}: {by_schema:?}, {by_decoder:?}", operation.name());
    }
    by_schema.is_ok()
}

/// Asserts that the schema and the decoder of an operation both accept these options, or both reject them.
#[track_caller]
fn assert_accepted(schemas: &mut Schemas, operation: Operation, options: &Value, expected: bool) {
    let decoded = || decode(operation, options).err();
    let accepted = assert_agree(schemas, operation, options);
    assert_eq!(accepted, expected, "{} with {options}: {:?}", operation.name(), decoded());
}

#[test]
fn operation_accepts_exactly_the_described_options() {
    let schemas = Schemas::new();
    for operation in Operation::ALL {
        let decoded = examples().into_iter().filter(|(of, _)| of == operation).map(|(_, mut options)| {
            // Nested selectors, whose fields are not options of the operation.
            options.as_object_mut().unwrap().retain(|name, value| match &name[..] {
                "sourceSnapshot" => false,
                "from" | "to" | "snapshot" => !value.is_object(),
                _ => true,
            });
            let resolved = resolved(*operation, &options).unwrap();
            let of_workspace = &names(&options) - &names(&resolved);
            &of_workspace | &record_fields(|| _ = Request::decode(*operation, &resolved))
        });
        let decoded: BTreeSet<_> = decoded.flatten().filter(|name| !REFUSED_OPTIONS.contains(&name.as_str())).collect();
        assert_eq!(decoded, schemas.names(*operation), "{}", operation.name());
    }
}

#[test]
fn examples_have_every_option() {
    let schemas = Schemas::new();
    for operation in Operation::ALL {
        let given = examples().into_iter().filter(|(of, _)| of == operation);
        let given = given.flat_map(|(_, options)| names(&options));
        assert_eq!(given.collect::<BTreeSet<_>>(), schemas.names(*operation), "{}", operation.name());
    }
}

#[test]
fn every_example_is_accepted() {
    let mut schemas = Schemas::new();
    for (operation, options) in examples() {
        assert_accepted(&mut schemas, operation, &options, true);
    }
}

#[test]
fn unknown_option_is_rejected() {
    let mut schemas = Schemas::new();
    for (operation, options) in examples() {
        for name in ["sandboxID", "ttl", ""] {
            assert_accepted(&mut schemas, operation, &with(&[&options, &json!({ name: "x" })]), false);
        }
    }
}

#[test]
fn required_options_are_required() {
    let mut schemas = Schemas::new();
    for (operation, options) in examples() {
        for name in options.as_object().unwrap().keys() {
            let mut fewer = options.clone();
            fewer.as_object_mut().unwrap().remove(name);
            // `replace` without `label` violates a rule about two options, not a requirement of one.
            if (operation, name.as_str()) != (Operation::Snapshot, "label")
                && (operation, name.as_str()) != (Operation::Import, "label")
            {
                assert_agree(&mut schemas, operation, &fewer);
            }
        }
    }
}

#[test]
fn value_of_another_type_is_rejected_at_any_depth() {
    let mut schemas = Schemas::new();
    for (operation, options) in examples() {
        for pointer in pointers(&options) {
            // A backup's handle is opaque, and a tool decodes its arguments itself.
            if pointer == "/backup/localBucket" || pointer.starts_with("/arguments") {
                continue;
            }
            for value in [json!(-1), json!(1.5), json!([[]]), json!(false)] {
                let mut wrong = options.clone();
                let field = wrong.pointer_mut(&pointer).unwrap();
                if !(field.is_boolean() && value.is_boolean()) {
                    *field = value;
                    assert_accepted(&mut schemas, operation, &wrong, false);
                }
            }
        }
    }
}

#[test]
fn number_is_accepted_within_its_bounds() {
    let mut schemas = Schemas::new();
    for (operation, options) in examples() {
        for (name, schema) in schemas.properties(operation) {
            let (Some(min), Some(max)) = (schema["minimum"].as_i64(), schema["maximum"].as_i64()) else { continue };
            for (number, is_accepted) in [(min - 1, false), (min, true), (max, true), (max + 1, false)] {
                assert_accepted(&mut schemas, operation, &with(&[&options, &json!({ &name: number })]), is_accepted);
            }
        }
    }
}

#[test]
fn numbers_out_of_bounds_are_rejected_at_any_depth() {
    let mut schemas = Schemas::new();
    for (operation, options) in examples() {
        let is_number = |pointer: &String| options.pointer(pointer).is_some_and(Value::is_number);
        for pointer in pointers(&options).into_iter().filter(is_number) {
            for number in [0, u32::MAX] {
                let mut other = options.clone();
                *other.pointer_mut(&pointer).unwrap() = json!(number);
                assert_agree(&mut schemas, operation, &other);
            }
        }
    }
}

/// Texts that some fields accept and others reject.
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
fn null_is_accepted_where_the_schema_allows_it_at_any_depth() {
    let mut schemas = Schemas::new();
    for (operation, options) in examples() {
        for pointer in pointers(&options).into_iter().filter(|pointer| is_decoded(pointer)) {
            let mut other = options.clone();
            *other.pointer_mut(&pointer).unwrap() = Value::Null;
            assert_agree(&mut schemas, operation, &other);
        }
        for name in schemas.names(operation) {
            let other = with(&[&options, &json!({ name: null })]);
            assert_agree(&mut schemas, operation, &other);
        }
    }
}

#[test]
fn text_is_accepted_by_pattern_and_length_at_any_depth() {
    let (mut schemas, texts) = (Schemas::new(), texts());
    for (operation, options) in examples() {
        let is_text = |pointer: &String| is_decoded(pointer) && options.pointer(pointer).is_some_and(Value::is_string);
        for pointer in pointers(&options).into_iter().filter(is_text) {
            // A whole ref has at most 16 kB.
            let max_length = if pointer.ends_with("/signature") { 8_192 } else { usize::MAX };
            for text in texts.iter().filter(|text| text.len() <= max_length) {
                let mut other = options.clone();
                *other.pointer_mut(&pointer).unwrap() = json!(text);
                assert_agree(&mut schemas, operation, &other);
            }
        }
    }
}

#[test]
fn environment_variable_is_accepted_by_its_name() {
    let mut schemas = Schemas::new();
    for name in ["", "A", "a_1", "_", "1A", "A-B", "A B", "Ä", "PATH", "path", "BASH_ENV", "A\n"] {
        let options = json!({ "name": "work", "env": { name: "x" } });
        let is_accepted = ["A", "a_1", "_", "path"].contains(&name);
        assert_accepted(&mut schemas, Operation::CreateWorkspace, &options, is_accepted);
    }
}

#[test]
fn rules_about_several_options_are_described() {
    let mut schemas = Schemas::new();
    let workspace = |members: Value| json!({ "workspaces": [with(&[&json!({ "name": "a" }), &members])] });
    let flat = |name: &str| json!({ "style": "flat", "workspaces": [{ "name": name, "snapshot": true }] });
    for (operation, options, is_accepted) in [
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
        assert_accepted(&mut schemas, operation, &options, is_accepted);
    }
}

/// Whether the decoder checks the value at a pointer. Cursors and backup handles are opaque, and a tool decodes its
/// arguments itself.
fn is_decoded(pointer: &str) -> bool {
    !["/cursor", "/backup/localBucket", "/arguments"].iter().any(|other| pointer.starts_with(other))
}

/// The JSON pointers of all values within a value.
fn pointers(value: &Value) -> Vec<String> {
    let parts: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(name, part)| (format!("/{name}"), part)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(index, part)| (format!("/{index}"), part)).collect(),
        _ => Vec::new(),
    };
    let with_nested = |(at, part): (String, &Value)| {
        let nested: Vec<_> = pointers(part).into_iter().map(|rest| format!("{at}{rest}")).collect();
        [vec![at], nested].concat()
    };
    parts.into_iter().flat_map(with_nested).collect()
}
