//! Validation of values against the schema document.

use std::collections::{BTreeMap, BTreeSet};

use boon::{Compiler, SchemaIndex};
use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::api::schema::document;
use serde_json::Value;

const SCHEMA_URL: &str = "https://snapshotter/schema.json";

/// The schemas of all operations.
pub struct Schemas {
    pub document: Value,
    compiler: Compiler,
    compiled: boon::Schemas,
}

impl Schemas {
    pub fn new() -> Self {
        let mut compiler = Compiler::new();
        compiler.enable_format_assertions();
        compiler.add_resource(SCHEMA_URL, document()).unwrap();
        Self { document: document(), compiler, compiled: boon::Schemas::new() }
    }

    /// Validates the options of an operation.
    pub fn options(&mut self, operation: Operation, value: &Value) -> Result<(), String> {
        self.check(operation, "options", value)
    }

    /// Validates an answer of an operation.
    pub fn answer(&mut self, operation: Operation, value: &Value) -> Result<(), String> {
        self.check(operation, "answer", value)
    }

    /// The names of all options of an operation, over all its forms.
    pub fn names(&self, operation: Operation) -> BTreeSet<String> {
        self.properties(operation).into_keys().collect()
    }

    /// The schemas of all options of an operation, by name.
    pub fn properties(&self, operation: Operation) -> BTreeMap<String, Value> {
        let mut properties = BTreeMap::new();
        self.collect(&self.document["operations"][operation_index(operation)]["options"], &mut properties);
        properties
    }

    fn collect(&self, schema: &Value, found: &mut BTreeMap<String, Value>) {
        found.extend(schema["properties"].as_object().cloned().into_iter().flatten());
        for part in ["allOf", "oneOf"].iter().filter_map(|keyword| schema[keyword].as_array()).flatten() {
            self.collect(part, found);
        }
        if let Some(reference) = schema["$ref"].as_str() {
            self.collect(self.document.pointer(&reference[1..]).unwrap(), found);
        }
    }

    /// Validates the body of an error.
    pub fn error(&mut self, value: &Value) -> Result<(), String> {
        let schema = self.compile("/error");
        self.compiled.validate(value, schema).map_err(|error| format!("{error:#}"))
    }

    fn check(&mut self, operation: Operation, part: &str, value: &Value) -> Result<(), String> {
        let schema = self.compile(&format!("/operations/{}/{part}", operation_index(operation)));
        self.compiled.validate(value, schema).map_err(|error| format!("{}: {error:#}", operation.name()))
    }

    fn compile(&mut self, pointer: &str) -> SchemaIndex {
        self.compiler.compile(&format!("{SCHEMA_URL}#{pointer}"), &mut self.compiled).unwrap()
    }
}

fn operation_index(operation: Operation) -> usize {
    Operation::ALL.iter().position(|other| *other == operation).unwrap()
}
