//! The constraints of the JSON Schemas that the fields of the types do not express. Compiled only for the build
//! machine: feature `schema`.

use std::borrow::Cow;
use std::collections::BTreeSet;

use schemars::transform::Transform;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use super::background::CommandId;
use super::directory::ALLOWED_ROOTS;
use super::files::FilePath;
use super::{
    BackupHandle, BackupId, CheckpointDescription, CheckpointName, Code, Directory, Label, SandboxId, SnapshotId,
    Timestamp,
};

/// The pattern of a path component that is not `..` and contains no null byte and no character of `$no`.
macro_rules! path_part {
    ($no:literal) => {
        concat!(
            "(?:[^/.\\u0000",
            $no,
            "][^/\\u0000",
            $no,
            "]*",
            "|\\.(?:[^/.\\u0000",
            $no,
            "][^/\\u0000",
            $no,
            "]*|\\.[^/\\u0000",
            $no,
            "]+)?)?"
        )
    };
}

/// Control characters, for a character class.
macro_rules! controls {
    () => {
        "\\u0000-\\u001f\\u007f-\\u009f"
    };
}

/// Whitespace other than control characters, for a character class.
macro_rules! blanks {
    () => {
        " \\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000"
    };
}

/// Requires these fields and no others. An optional boolean defaults to `false`, unless it declares another default.
pub(crate) fn needs(fields: &'static [&'static str]) -> impl Transform {
    move |schema: &mut Schema| {
        if let Some(Value::Object(properties)) = schema.get_mut("properties") {
            let flags = properties.values_mut().filter_map(Value::as_object_mut);
            for flag in flags.filter(|property| property.get("type") == Some(&json!("boolean"))) {
                flag.entry("default").or_insert(json!(false));
            }
        }
        schema.remove("required");
        if !fields.is_empty() {
            schema.insert("required".into(), json!(fields));
        }
        nullable(schema);
    }
}

/// Requires these fields of an answer, even those that an answer of an earlier release lacks.
pub(crate) fn always(fields: &'static [&'static str]) -> impl Transform {
    move |schema: &mut Schema| {
        schema.insert("required".into(), json!(fields));
    }
}

/// Marks an option that may be `null`, which means the same as its absence. The document writes it as JSON Schema.
pub const NULLABLE: &str = "x-nullable";

/// Allows `null` for every optional field.
pub(crate) fn nullable(schema: &mut Schema) {
    let required = schema.get("required").cloned().unwrap_or_default();
    let is_required = |name: &str| required.as_array().is_some_and(|names| names.iter().any(|other| other == name));
    let Some(Value::Object(properties)) = schema.get_mut("properties") else { return };
    for (_, property) in properties.iter_mut().filter(|(name, _)| !is_required(name)) {
        if let Value::Object(property) = property {
            property.insert(NULLABLE.into(), json!(true));
        }
    }
}

/// Requires a label when `replace` is set.
pub(crate) fn replaces_label(schema: &mut Schema) {
    let replaces = json!({ "properties": { "replace": { "const": true } }, "required": ["replace"] });
    let labeled = json!({ "properties": { "label": { "type": "string" } }, "required": ["label"] });
    schema.insert("if".into(), replaces);
    schema.insert("then".into(), labeled);
}

/// Requires at least one of these fields, with a value other than `null`, or the field `or_null` with any value.
pub(crate) fn some_of(fields: &'static [&'static str], or_null: &'static str) -> impl Transform {
    move |schema: &mut Schema| {
        let is_given =
            |name: &&str| json!({ "properties": { *name: { "not": { "type": "null" } } }, "required": [name] });
        let or_null = json!({ "required": [or_null] });
        schema.insert("anyOf".into(), fields.iter().map(is_given).chain([or_null]).collect());
    }
}

/// Forbids a text with the form of the id or the short ref of a snapshot.
pub(crate) fn no_snapshot(schema: &mut Schema) {
    schema.insert("not".into(), json!({ "type": "string", "pattern": "^snap(?:-[a-z0-9]{16}$|_)" }));
}

/// Forbids two fields together.
pub(crate) fn not_both(one: &'static str, other: &'static str) -> impl Transform {
    move |schema: &mut Schema| {
        let given = json!({ "not": { "type": "null" } });
        let both = json!({ "properties": { one: given, other: given }, "required": [one, other] });
        schema.insert("not".into(), both);
    }
}

/// Forbids a source of a new workspace when `from` is set.
pub(crate) fn from_excludes_sources(schema: &mut Schema) {
    let has_from = json!({ "properties": { "from": { "type": "string" } }, "required": ["from"] });
    schema.insert("if".into(), has_from);
    schema.insert(
        "then".into(),
        json!({ "properties": { "sourceWorkspace": { "type": "null" }, "sourceSnapshot": { "type": "null" } } }),
    );
}

/// Requires exactly one field of each pair, with a value other than `null`.
pub(crate) fn exactly_one_of_each(pairs: &'static [[&'static str; 2]]) -> impl Transform {
    move |schema: &mut Schema| {
        let mut forms = vec![(Map::new(), Vec::new())];
        for [one, other] in pairs {
            let add = |(properties, required): &(Map<String, Value>, Vec<&'static str>),
                       given: &'static str,
                       absent: &str| {
                let (mut properties, mut required) = (properties.clone(), required.clone());
                properties.insert(given.to_owned(), json!({ "not": { "type": "null" } }));
                properties.insert(absent.to_owned(), json!({ "type": "null" }));
                required.push(given);
                (properties, required)
            };
            forms = forms.iter().flat_map(|form| [add(form, one, other), add(form, other, one)]).collect();
        }
        let form = |(properties, required)| json!({ "properties": Value::Object(properties), "required": required });
        schema.insert("oneOf".into(), forms.into_iter().map(form).collect());
    }
}

/// Allows 0, or a number within these bounds.
pub(crate) fn zero_or(least: u64, most: u64) -> impl Transform {
    move |schema: &mut Schema| {
        schema.insert("anyOf".into(), json!([{ "const": 0 }, { "type": "null" }, { "minimum": least }]));
        schema.insert("maximum".into(), json!(most));
    }
}

/// Adds the fields of the type `base`. The base must allow unknown fields: the operation forbids them.
pub(crate) fn extends(base: &'static str) -> impl Transform {
    move |schema: &mut Schema| {
        let bases = schema.ensure_object().entry("allOf").or_insert_with(|| json!([]));
        if let Value::Array(bases) = bases {
            bases.push(json!({ "$ref": format!("#/$defs/{base}") }));
        }
    }
}

/// Forbids all fields other than those of the type and its bases.
pub(crate) fn closed(schema: &mut Schema) {
    schema.insert("unevaluatedProperties".into(), json!(false));
}

/// Requires exactly one of the forms. The fields of the other forms may be `null`.
pub(crate) fn exclusive(schema: &mut Schema) {
    let Some(Value::Array(mut forms)) = schema.remove("anyOf") else { return };
    let fields = |form: &Value| form.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    let names: BTreeSet<String> =
        forms.iter().flat_map(|form| fields(form).into_iter().map(|(name, _)| name)).collect();
    for form in &mut forms {
        if let Some(Value::Object(own)) = form.get_mut("properties") {
            for name in &names {
                own.entry(name.clone()).or_insert(json!({ "type": "null" }));
            }
        }
    }
    schema.insert("oneOf".into(), Value::Array(forms));
}

/// Requires a snapshot's ref as it was returned, and allows the details that a snapshot call returns beside it.
pub(crate) fn whole_ref(schema: &mut Schema) {
    let beside = |what: &str| json!({ "description": format!("{what} that the snapshot call returned beside the ref. Ignored.") });
    let beside = json!({ "capture": beside("The details"), "snapshotId": beside("The id"), "shortRef": beside("The short form") });
    schema.insert("properties".into(), beside);
    closed(schema);
}

/// The pattern of text without null bytes.
pub(crate) const NO_NULL: &str = "^[^\\u0000]*$";

/// The pattern of text without control characters.
pub(crate) const NO_CONTROL: &str = "^[^\\u0000-\\u001f\\u007f-\\u009f]*$";

/// The pattern of a label.
pub(crate) const A_LABEL: &str =
    concat!("^[^", controls!(), blanks!(), "](?:[^", controls!(), "]*[^", controls!(), blanks!(), "])?$");

/// The pattern of a command: not blank, and without null bytes.
pub(crate) const A_COMMAND: &str = concat!("^[^\\u0000]*[^\\u0000\\u0009-\\u000d\\u0085", blanks!(), "][^\\u0000]*$");

/// The pattern of a path: no component is `..`.
pub(crate) const PATH: &str = concat!("^", path_part!("\\u000a"), "(?:/", path_part!("\\u000a"), ")*$");

/// Declares the schemas of string types with a form of their own.
macro_rules! string_schemas {
    ($($name:ident $rules:tt)+) => {$(
        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let mut schema = schemars::json_schema!($rules);
                schema.insert("type".into(), "string".into());
                schema
            }
        }
    )+};
}

pub(crate) use string_schemas;

string_schemas! {
    SandboxId {
        "minLength": 1,
        "maxLength": 63,
        "pattern": concat!("^[^\\-", controls!(), "](?:[^", controls!(), "]*[^\\-", controls!(), "])?$"),
        "not": { "type": "string", "pattern": "^(?:[wW]{3}|[aA][pP][iI]|[aA][dD][mM][iI][nN]|[rR][oO]{2}[tT]|[sS][yY][sS][tT][eE][mM]|[cC][lL][oO][uU][dD][fF][lL][aA][rR][eE]|[wW][oO][rR][kK][eE][rR][sS])$" },
    }
    CommandId { "pattern": "^[a-z0-9]{1,32}$" }
    SnapshotId { "pattern": "^snap-[a-z0-9]{16}$" }
    BackupId { "pattern": "^[A-Za-z0-9_-]{1,128}$" }
    Label {
        "minLength": 1,
        "maxLength": 128,
        "pattern": A_LABEL,
    }
    Timestamp { "format": "date-time", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z$" }
    CheckpointName {
        "pattern": "^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$",
        "not": { "type": "string", "pattern": "\\.\\.|\\.$|\\.[lL][oO][cC][kK]$" },
    }
    CheckpointDescription { "maxLength": 10_000, "pattern": NO_NULL }
}

/// The schema of a snapshot id, a short ref or a label, and of the name of a workspace, which has the form of a label.
pub(crate) struct SnapshotOrLabel;

string_schemas! {
    SnapshotOrLabel {
        "minLength": 1,
        "maxLength": 512,
        "anyOf": [
            { "pattern": "^snap_[A-Za-z0-9_-]+\\.[a-z0-9]{16}\\.[A-Za-z0-9._-]+$" },
            { "maxLength": 128, "pattern": A_LABEL, "not": { "type": "string", "pattern": "^snap_" } },
        ],
    }
}

impl JsonSchema for Directory {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Directory".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let pattern = format!("^(?:{})(?:/{})*$", ALLOWED_ROOTS.join("|"), path_part!(""));
        json_schema!({ "type": "string", "maxLength": 4096, "pattern": pattern })
    }
}

impl JsonSchema for FilePath {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "FilePath".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let pattern = format!("^{part}(?:/{part})*$", part = path_part!(""));
        json_schema!({ "type": "string", "maxLength": Self::MAX, "pattern": pattern })
    }
}

impl JsonSchema for BackupHandle {
    fn schema_name() -> Cow<'static, str> {
        "BackupHandle".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        /// The handle that `createBackup` returned. It is opaque: stored and passed back without changes.
        #[derive(JsonSchema)]
        #[allow(dead_code)]
        struct KnownFields {
            /// The id that the SDK gave the backup.
            id: BackupId,
            /// The directory that the backup is restored into.
            dir: Directory,
        }
        KnownFields::json_schema(generator)
    }
}

impl JsonSchema for Code {
    fn schema_name() -> Cow<'static, str> {
        "Code".into()
    }

    /// Returns all codes; `x-kinds` maps each code to its kind.
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let kinds: Map<String, Value> =
            Self::ALL.iter().map(|code| (code.as_str().to_owned(), json!(code.kind()))).collect();
        json_schema!({
            "type": "string",
            "description": "The stable code of a failure, for programs.",
            "enum": Self::ALL,
            "x-kinds": kinds,
        })
    }
}
