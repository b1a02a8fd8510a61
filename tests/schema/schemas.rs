//! Validation of values against the schema document.

use std::collections::{BTreeMap, BTreeSet, HashMap};

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
    /// The compiled schemas by their JSON pointers.
    indexes: HashMap<String, SchemaIndex>,
}

impl Schemas {
    pub fn new() -> Self {
        let mut compiler = Compiler::new();
        compiler.enable_format_assertions();
        compiler.add_resource(SCHEMA_URL, document()).unwrap();
        Self { document: document(), compiler, compiled: boon::Schemas::new(), indexes: HashMap::new() }
    }

    /// Validates the options of an operation. The error takes much longer to print than to find.
    pub fn options<'a>(
        &'a mut self,
        operation: Operation,
        value: &'a Value,
    ) -> Result<(), boon::ValidationError<'a, 'a>> {
        let schema = self.compile(&format!("/operations/{}/options", operation_index(operation)));
        self.compiled.validate(value, schema)
    }

    /// Validates an answer of an operation.
    pub fn answer(&mut self, operation: Operation, value: &Value) -> Result<(), String> {
        let schema = self.compile(&format!("/operations/{}/answer", operation_index(operation)));
        self.compiled.validate(value, schema).map_err(|error| format!("{}: {error:#}", operation.name()))
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

    fn compile(&mut self, pointer: &str) -> SchemaIndex {
        if let Some(index) = self.indexes.get(pointer) {
            return *index;
        }
        let index = self.compiler.compile(&format!("{SCHEMA_URL}#{pointer}"), &mut self.compiled).unwrap();
        self.indexes.insert(pointer.to_owned(), index);
        index
    }
}

fn operation_index(operation: Operation) -> usize {
    Operation::ALL.iter().position(|other| *other == operation).unwrap()
}
