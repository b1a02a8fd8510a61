//! The operations as JSON Schemas of their options and answers. Built only with the feature `schema`, on the build
//! machine.

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::operations::Operation;
use crate::model::error::ErrorBody;
use crate::model::files::{FileAttributes, FileLocation, FileTotals};
use crate::model::named::settings::StartSettings;
use crate::model::request::{
    CheckpointLocation, CheckpointSandbox, FileSource, LineageScope, SandboxFiles, SandboxTarget, SettingsUpdate,
};
use crate::model::schema::NULLABLE;
use crate::model::token::Permission;

/// The schemas of one operation.
pub(super) struct OperationSchema {
    pub operation: Operation,
    pub options: Schema,
    pub answer: Schema,
}

/// The schemas of all operations.
pub(super) struct Schemas {
    pub operations: Vec<OperationSchema>,
    /// The body of an error.
    pub error: Schema,
    /// The types that the schemas refer to.
    pub types: Map<String, Value>,
}

impl Schemas {
    pub(super) fn new() -> Self {
        let mut input_generator = SchemaSettings::draft2020_12().for_deserialize().into_generator();
        let mut output_generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
        let schema_of = |operation: &Operation| {
            let (mut options, answer) = operation.schemas(&mut input_generator, &mut output_generator);
            // Set here and not in the types, because some types extend others.
            options.insert("unevaluatedProperties".into(), json!(false));
            OperationSchema { operation: *operation, options, answer }
        };
        let operations = Operation::ALL.iter().map(schema_of).collect();
        let error = output_generator.subschema_for::<ErrorBody>();
        add_base_types(&mut input_generator);
        // Answers extend them, and none has them directly.
        output_generator.subschema_for::<FileAttributes>();
        output_generator.subschema_for::<FileLocation>();
        output_generator.subschema_for::<FileTotals>();
        // A type that occurs both as an option and in an answer has the schema of the option, with its optional
        // members.
        let mut types = output_generator.take_definitions(true);
        let mut options = input_generator.take_definitions(true);
        types.values_mut().filter_map(|schema| schema.try_into().ok()).for_each(|schema| normalize(schema, false));
        options.values_mut().filter_map(|schema| schema.try_into().ok()).for_each(|schema| normalize(schema, true));
        types.extend(options);
        Self { operations, error, types }
    }
}

/// Returns the document with the `options`, the `answer`, the permission and the effect of a second call of every operation,
/// the body of an `error`, and the types that they refer to. The document is itself a schema of draft 2020-12, with the
/// types in `$defs`.
pub fn document() -> Value {
    let Schemas { operations, error, types } = Schemas::new();
    let to_json = |OperationSchema { operation, options, answer }: &OperationSchema| {
        json!({
            "name": operation.name(),
            "description": operation.summary(),
            "permission": operation.permission().map_or("apiToken", Permission::as_str),
            "repeatability": operation.repeatability(),
            "options": options,
            "answer": answer,
        })
    };
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The operations of sandbox-snapshotter",
        "operations": operations.iter().map(to_json).collect::<Vec<_>>(),
        "error": error,
        "$defs": types,
    })
}

/// Adds the types that others extend and that no operation takes directly.
fn add_base_types(generator: &mut SchemaGenerator) {
    generator.subschema_for::<LineageScope>();
    generator.subschema_for::<FileSource>();
    generator.subschema_for::<SandboxFiles>();
    generator.subschema_for::<CheckpointLocation>();
    generator.subschema_for::<CheckpointSandbox>();
    generator.subschema_for::<SandboxTarget>();
    generator.subschema_for::<SettingsUpdate>();
    generator.subschema_for::<StartSettings>();
}

/// Normalizes a generated schema. An optional option may also be `null`; an optional member of an answer is present or
/// absent.
fn normalize(schema: &mut Schema, is_input: bool) {
    RecursiveTransform(|schema: &mut Schema| {
        let is_nullable = remove_null(schema);
        // The minimum already expresses that the number is not negative.
        if schema.get("format").and_then(Value::as_str).is_some_and(|format| format.starts_with("uint")) {
            schema.remove("format");
        }
        if let Some(Value::String(text)) = schema.get_mut("description") {
            *text = text.split("\n\n").map(|paragraph| paragraph.replace('\n', " ")).collect::<Vec<_>>().join("\n\n");
        }
        merge_constants(schema);
        if is_input && is_nullable {
            add_null(schema);
        }
    })
    .transform(schema);
}

/// Adds `null` to the values that a schema permits.
fn add_null(schema: &mut Schema) {
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.push(Value::Null);
    }
    match schema.get_mut("type") {
        Some(Value::Array(types)) => types.push(json!("null")),
        Some(name) => *name = json!([name.take(), "null"]),
        None => {
            let names = ["$ref", "properties", "unevaluatedProperties"];
            let schema_members: Map<_, _> =
                names.iter().filter_map(|name| Some(((*name).to_owned(), schema.remove(*name)?))).collect();
            if !schema_members.is_empty() {
                schema.insert("anyOf".into(), json!([schema_members, { "type": "null" }]));
            }
        }
    }
}

/// Removes `null` from the values that a schema permits. Returns whether it was permitted.
fn remove_null(schema: &mut Schema) -> bool {
    let null = json!("null");
    let mut was_nullable = schema.remove(NULLABLE).is_some();
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        was_nullable |= types.contains(&null);
        types.retain(|name| *name != null);
        if let [name] = types.as_slice() {
            let name = name.clone();
            schema.insert("type".into(), name);
        }
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if schema.get("default").is_some_and(Value::is_null) {
        schema.remove("default");
    }
    if let Some(Value::Array(forms)) = schema.get("anyOf")
        && let [Value::Object(form), other] = forms.as_slice()
        && other.get("type") == Some(&null)
    {
        let form = form.clone();
        was_nullable = true;
        schema.remove("anyOf");
        for (keyword, value) in form {
            schema.ensure_object().entry(keyword).or_insert(value);
        }
    }
    was_nullable
}

/// Converts a `oneOf` of constants to an `enum`, with the meaning of each constant in the description.
fn merge_constants(schema: &mut Schema) {
    let Some(Value::Array(forms)) = schema.get("oneOf") else { return };
    let Some(values) = forms.iter().map(|form| form.get("const").cloned()).collect::<Option<Vec<_>>>() else { return };
    let meaning = |form: &Value| {
        let (value, meaning) = (form.get("const")?.as_str()?, form.get("description")?.as_str()?);
        Some(format!("\n- `{value}`: {}", meaning.replace('\n', " ")))
    };
    let meanings: String = forms.iter().filter_map(meaning).collect();
    if values.len() > 1
        && let Some(Value::String(description)) = schema.get_mut("description")
    {
        description.push('\n');
        description.push_str(&meanings);
    }
    schema.remove("oneOf");
    schema.insert("type".into(), json!("string"));
    schema.insert("enum".into(), json!(values));
}
