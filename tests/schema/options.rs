//! What the schemas say of options is what is taken and refused.

use std::collections::BTreeSet;

use sandbox_snapshotter::api::operations::{Operation, target_of};
use sandbox_snapshotter::model::request::asked;
use serde_json::{Value, json};

use super::examples::{examples, with};
use super::schemas::Schemas;

/// Options that are asked for only to be refused.
const REFUSED: [&str; 1] = ["memory"];

/// Makes sure that the schema and the operation agree on these options.
#[track_caller]
fn agree(schemas: &mut Schemas, operation: Operation, options: &Value, expected: bool) {
    let (by_schema, taken) = (schemas.options(operation, options), target_of(operation, options));
    let about = format!("{} with {options}: {by_schema:?}, {taken:?}", operation.name());
    assert_eq!((by_schema.is_ok(), taken.is_ok()), (expected, expected), "{about}");
}

#[test]
fn an_operation_takes_the_options_that_are_described_and_no_others() {
    let schemas = Schemas::new();
    for operation in Operation::ALL {
        let taken = examples().into_iter().filter(|(of, _)| of == operation).map(|(_, mut options)| {
            // It has fields of its own.
            options.as_object_mut().unwrap().remove("sourceSnapshot");
            asked(|| _ = target_of(*operation, &options))
        });
        let taken: BTreeSet<_> = taken.flatten().filter(|name| !REFUSED.contains(&name.as_str())).collect();
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
        agree(&mut schemas, operation, &options, true);
    }
}

#[test]
fn an_option_that_nobody_knows_is_refused() {
    let mut schemas = Schemas::new();
    for (operation, options) in examples() {
        for name in ["sandboxID", "ttl", ""] {
            agree(&mut schemas, operation, &with(&[&options, &json!({ name: "x" })]), false);
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
                agree(&mut schemas, operation, &fewer, by_schema);
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
                    agree(&mut schemas, operation, &wrong, false);
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
                agree(&mut schemas, operation, &with(&[&options, &json!({ &name: number })]), is_taken);
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
                agree(&mut schemas, operation, &other, by_schema);
            }
        }
    }
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
