//! Flattens the types of options and answers.
//!
//! Many generators of clients read only the `properties` of a type itself: they ignore or misread an `allOf` or `oneOf` beside
//! them. So each type lists all of its properties, and its alternatives are conditions (`if`, `else`), which validators check
//! and generators leave alone.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

/// The prefix of a reference to a type.
const TYPES: &str = "#/$defs/";

/// The keywords that say nothing about the types that extend a type.
const ANNOTATIONS: [&str; 4] = ["additionalProperties", "default", "description", "type"];

/// Returns the types with the properties of the types that they extend.
pub fn flatten(types: &Map<String, Value>) -> Map<String, Value> {
    types.iter().map(|(name, schema)| (name.clone(), flatten_type(schema, types))).collect()
}

/// Removes the types that neither the roots nor other types refer to.
pub fn retain_referenced(types: &mut Map<String, Value>, roots: &Value) {
    let mut names = BTreeSet::new();
    let mut pending = references(roots);
    while let Some(name) = pending.pop() {
        if let Some(schema) = types.get(&name)
            && names.insert(name)
        {
            pending.extend(references(schema));
        }
    }
    types.retain(|name, _| names.contains(name));
}

/// Returns the names of the types that a value refers to.
fn references(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => text
            .rsplit_once('/')
            .filter(|(path, _)| is_reference(path))
            .map(|(_, name)| name.to_owned())
            .into_iter()
            .collect(),
        Value::Array(items) => items.iter().flat_map(references).collect(),
        Value::Object(members) => members.values().flat_map(references).collect(),
        _ => Vec::new(),
    }
}

fn is_reference(path: &str) -> bool {
    path == "#/$defs" || path == "#/components/schemas"
}

fn flatten_type(schema: &Value, types: &Map<String, Value>) -> Value {
    let Value::Object(schema) = schema else { return schema.clone() };
    let mut schema = schema.clone();
    let mut flat = Flat::default();
    if let Some(bases) = schema.get("allOf").and_then(Value::as_array)
        && let Some(bases) = bases.iter().map(|base| base_of(base, types)).collect::<Option<Vec<_>>>()
    {
        for base in bases {
            flat.add_base(flatten_type(base, types));
        }
        schema.remove("allOf");
    }
    flat.add_properties(&mut schema);
    for keyword in ["oneOf", "anyOf"] {
        if let Some(Value::Array(alternatives)) = schema.get(keyword)
            && alternatives.iter().all(|form| form.get("required").is_some() || form.get("properties").is_some())
        {
            flat.add_alternatives(alternatives);
            schema.remove(keyword);
        }
    }
    flat.into_schema(schema)
}

/// Returns the type that a member of `allOf` refers to, if it is only a reference.
fn base_of<'a>(base: &Value, types: &'a Map<String, Value>) -> Option<&'a Value> {
    let members = base.as_object().filter(|members| members.len() == 1)?;
    types.get(members.get("$ref")?.as_str()?.strip_prefix(TYPES)?)
}

/// A type in the making.
#[derive(Default)]
struct Flat {
    properties: Map<String, Value>,
    required: Vec<Value>,
    conditions: Vec<Value>,
}

impl Flat {
    /// Adds a type that this one extends, with its constraints and without its annotations.
    fn add_base(&mut self, base: Value) {
        let Value::Object(mut base) = base else { return };
        self.add_properties(&mut base);
        base.retain(|keyword, _| !ANNOTATIONS.contains(&keyword.as_str()));
        if !base.is_empty() {
            self.conditions.push(Value::Object(base));
        }
    }

    /// Moves the properties of a schema here. They replace those of the same name.
    fn add_properties(&mut self, schema: &mut Map<String, Value>) {
        if let Some(Value::Object(properties)) = schema.remove("properties") {
            self.properties.extend(properties);
        }
        if let Some(Value::Array(required)) = schema.remove("required") {
            self.required.extend(required);
        }
    }

    /// Adds the properties of alternatives as optional ones, and a condition that requires one alternative.
    fn add_alternatives(&mut self, alternatives: &[Value]) {
        let forms = alternatives.iter().map(|form| self.condition_of(form)).collect::<Vec<_>>();
        for (name, property) in alternatives.iter().filter_map(|form| form.get("properties")?.as_object()).flatten() {
            if is_null(property) {
                continue;
            }
            match self.properties.get_mut(name) {
                None => drop(self.properties.insert(name.clone(), optional(property.clone()))),
                Some(own) => add_text_form(own, property),
            }
        }
        let nested = |rest: Option<Value>, form: Value| match rest {
            None => Some(form),
            Some(rest) => Some(json!({ "if": form, "else": rest })),
        };
        self.conditions.extend(forms.into_iter().rev().fold(None, nested));
    }

    /// Returns what distinguishes an alternative from the others.
    fn condition_of(&self, form: &Value) -> Value {
        let mut condition = Map::new();
        if let Some(required) = form.get("required") {
            condition.insert("required".to_owned(), required.clone());
        }
        if let Some(Value::Object(properties)) = form.get("properties") {
            let known = |name: &String, property: &Value| is_null(property) || self.properties.contains_key(name);
            let properties: Map<_, _> = properties
                .iter()
                .map(|(name, property)| {
                    let property =
                        if known(name, property) { property.clone() } else { json!({ "not": { "type": "null" } }) };
                    (name.clone(), property)
                })
                .collect();
            condition.insert("properties".to_owned(), Value::Object(properties));
        }
        Value::Object(condition)
    }

    /// Returns the type with these properties, and the other keywords of `schema`.
    fn into_schema(self, mut schema: Map<String, Value>) -> Value {
        let Self { properties, mut required, mut conditions } = self;
        if !properties.is_empty() {
            schema.insert("type".to_owned(), json!("object"));
            schema.insert("properties".to_owned(), Value::Object(properties));
        }
        if !required.is_empty() {
            let mut seen = BTreeSet::new();
            required.retain(|name| seen.insert(name.to_string()));
            schema.insert("required".to_owned(), Value::Array(required));
        }
        if let [Value::Object(condition)] = conditions.as_mut_slice()
            && condition.keys().all(|keyword| !schema.contains_key(keyword))
        {
            schema.append(condition);
        } else if !conditions.is_empty() {
            schema.insert("allOf".to_owned(), Value::Array(conditions));
        }
        Value::Object(schema)
    }
}

/// Adds the form of a text to a property that is an object in another alternative.
fn add_text_form(own: &mut Value, text: &Value) {
    let is_text = |form: &Value| form.get("type") == Some(&json!("string"));
    if let Some(Value::Array(forms)) = own.get_mut("anyOf")
        && is_text(text)
        && !forms.iter().any(is_text)
    {
        let mut text = text.clone();
        let more = text.as_object_mut().and_then(|members| members.remove("description"));
        forms.insert(0, text);
        if let (Some(Value::String(description)), Some(Value::String(more))) = (own.get_mut("description"), more) {
            description.push(' ');
            description.push_str(&more);
        }
    }
}

fn is_null(schema: &Value) -> bool {
    *schema == json!({ "type": "null" })
}

/// Returns a schema that also permits `null`.
fn optional(mut schema: Value) -> Value {
    let null = json!("null");
    match schema.get_mut("type") {
        Some(Value::Array(types)) if types.contains(&null) => schema,
        Some(Value::Array(types)) => {
            types.push(null);
            schema
        }
        Some(name) => {
            *name = json!([name.take(), "null"]);
            schema
        }
        None => {
            let description = schema.as_object_mut().and_then(|members| members.remove("description"));
            let mut form = json!({ "anyOf": [schema, { "type": "null" }] });
            if let (Some(members), Some(description)) = (form.as_object_mut(), description) {
                members.insert("description".to_owned(), description);
            }
            form
        }
    }
}
