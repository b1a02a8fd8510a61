//! What the JSON Schemas of these types say beyond their fields. On the build machine only: feature `schema`.

use std::borrow::Cow;

use schemars::transform::Transform;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use super::named::{Tenant, WorkspaceName};
use super::{
    BackupHandle, BackupId, CheckpointDescription, CheckpointName, Code, Directory, Label, SandboxId, SnapshotId,
    Timestamp,
};

/// That these fields must be there, and no others. A yes or no that may be left out is a no, unless it says otherwise.
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
    }
}

/// That the fields of the type `base` belong to it too. That one says nothing of unknown fields: the operation does.
pub(crate) fn extends(base: &'static str) -> impl Transform {
    move |schema: &mut Schema| {
        let bases = schema.ensure_object().entry("allOf").or_insert_with(|| json!([]));
        if let Value::Array(bases) = bases {
            bases.push(json!({ "$ref": format!("#/$defs/{base}") }));
        }
    }
}

/// That no other fields are taken, those of its bases included.
pub(crate) fn closed(schema: &mut Schema) {
    schema.insert("unevaluatedProperties".into(), json!(false));
}

/// That exactly one of its forms is given.
pub(crate) fn exclusive(schema: &mut Schema) {
    if let Some(forms) = schema.remove("anyOf") {
        schema.insert("oneOf".into(), forms);
    }
}

/// Declares how texts of a form of their own are written.
macro_rules! texts {
    ($($name:ident $rules:tt)+) => {$(
        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                let mut schema = json_schema!($rules);
                schema.insert("type".into(), json!("string"));
                schema
            }
        }
    )+};
}

texts! {
    SandboxId { "minLength": 1, "maxLength": 63 }
    SnapshotId { "pattern": "^snap-[a-z0-9]{16}$" }
    BackupId { "pattern": "^[A-Za-z0-9_-]{1,128}$" }
    Directory { "pattern": "^/" }
    Label { "minLength": 1, "maxLength": 128 }
    Timestamp { "format": "date-time" }
    WorkspaceName { "pattern": "^[A-Za-z0-9_][A-Za-z0-9_.-]{0,62}$" }
    Tenant { "pattern": "^[A-Za-z0-9_][A-Za-z0-9_.-]{0,62}$" }
    CheckpointName { "pattern": "^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$" }
    CheckpointDescription { "maxLength": 10_000 }
}

impl JsonSchema for BackupHandle {
    fn schema_name() -> Cow<'static, str> {
        "BackupHandle".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        /// The handle that `createBackup` answered: opaque, kept whole and given back whole.
        #[derive(JsonSchema)]
        #[allow(dead_code)]
        struct Known {
            /// The id that the SDK gave the backup.
            id: BackupId,
            /// The directory that the backup goes back into.
            dir: Directory,
        }
        Known::json_schema(generator)
    }
}

impl JsonSchema for Code {
    fn schema_name() -> Cow<'static, str> {
        "Code".into()
    }

    /// All codes; `x-kinds` says which kind each is of.
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
