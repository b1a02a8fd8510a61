//! The schema document is complete and described.

use serde_json::{Value, json};

use super::schemas::Schemas;

/// Collects every object of a value, with its JSON pointer.
fn collect_objects(at: &str, value: &Value, found: &mut Vec<(String, Value)>) {
    if value.is_object() {
        found.push((at.to_owned(), value.clone()));
    }
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(name, part)| collect_objects(&format!("{at}/{name}"), part, found));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, part)| collect_objects(&format!("{at}/{index}"), part, found));
        }
        _ => {}
    }
}

fn all_objects() -> (Value, Vec<(String, Value)>) {
    let document = Schemas::new().document;
    let mut found = Vec::new();
    collect_objects("", &document, &mut found);
    (document, found)
}

#[test]
fn every_referenced_type_is_defined_and_every_defined_type_is_referenced() {
    let (document, all) = all_objects();
    let referenced: Vec<_> = all.iter().filter_map(|(_, object)| object["$ref"].as_str()).collect();
    for reference in &referenced {
        assert!(document.pointer(&reference[1..]).is_some(), "{reference}");
    }
    for name in document["$defs"].as_object().unwrap().keys() {
        assert!(referenced.contains(&format!("#/$defs/{name}").as_str()), "{name}");
    }
}

/// Whether a description is a text without rustdoc links.
fn is_for_callers(description: &Value) -> bool {
    description.as_str().is_some_and(|text| !text.is_empty() && !text.contains("[`"))
}

#[test]
fn every_type_and_field_has_a_description_for_callers() {
    let (document, all) = all_objects();
    for (name, schema) in document["$defs"].as_object().unwrap() {
        assert!(is_for_callers(&schema["description"]), "{name}: {}", schema["description"]);
    }
    // The properties under these keywords are rules about fields, not fields.
    let is_rule =
        |at: &str| at.split('/').any(|part| ["if", "then", "else", "not", "contains", "anyOf"].contains(&part));
    for (at, object) in all.into_iter().filter(|(at, _)| !is_rule(at)) {
        let fields = object["properties"].as_object().into_iter().flatten();
        // The forms of options say which fields are given.
        let is_form = |field: &Value| field["type"] == "null" || *field == json!({ "not": { "type": "null" } });
        for (name, field) in fields.filter(|(_, field)| !is_form(field)) {
            assert!(is_for_callers(&field["description"]), "{at}/properties/{name}: {}", field["description"]);
        }
    }
}

#[test]
fn null_is_only_an_alternative_to_another_type() {
    let (_, all) = all_objects();
    for (at, object) in all {
        assert!(!object.as_object().unwrap().values().any(Value::is_null), "{at}");
        if let Some(types) = object["type"].as_array() {
            assert!(types.len() == 2 && types.contains(&"null".into()), "{at}: {types:?}");
        }
    }
}

#[test]
fn document_is_deterministic() {
    assert_eq!(Schemas::new().document.to_string(), Schemas::new().document.to_string());
}
