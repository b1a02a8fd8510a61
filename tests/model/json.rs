//! The parser for JSON from callers.

use proptest::prelude::*;
use sandbox_snapshotter::model::json::parse_untrusted;
use serde_json::{Value, json};

fn refusal_message(text: &str) -> String {
    parse_untrusted(text.as_bytes()).expect_err(text)
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1e9..1e9).prop_map(Value::from),
        ".*".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        let list = prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from);
        let object = prop::collection::btree_map(".*", inner, 0..4);
        prop_oneof![list, object.prop_map(|members| Value::Object(members.into_iter().collect()))]
    })
}

proptest! {
    #[test]
    fn unambiguous_json_is_read_as_by_serde(value in any_json()) {
        let text = value.to_string();
        prop_assert_eq!(parse_untrusted(text.as_bytes()), serde_json::from_str(&text).map_err(|error| error.to_string()));
    }
}

#[test]
fn duplicate_key_is_named() {
    for text in [
        r#"{"label": "a", "label": "b"}"#,
        r#"{"label": 1, "dir": null, "label": 1}"#,
        r#"{"ref": {"label": {}, "l\u0061bel": []}}"#,
        r#"[{}, {"label": 1, "label": 2}]"#,
    ] {
        let message = refusal_message(text);
        assert!(message.starts_with("the key \"label\" occurs twice"), "{message}");
    }
}

#[test]
fn same_key_in_several_objects_is_accepted() {
    let text = r#"{"a": {"a": 1}, "b": [{"a": 2}, {"a": 3}]}"#;
    assert_eq!(parse_untrusted(text.as_bytes()), Ok(json!({ "a": { "a": 1 }, "b": [{ "a": 2 }, { "a": 3 }] })));
}

#[test]
fn long_duplicate_key_is_truncated() {
    let key = "k".repeat(1000);
    assert!(refusal_message(&format!("{{\"{key}\": 1, \"{key}\": 2}}")).len() < 200);
}

#[test]
fn invalid_json_is_refused() {
    for text in ["", "{", "{} {}", "{'a': 1}", "[1,]", "nul", r#"{"a": "\ud83d"}"#] {
        refusal_message(text);
    }
    assert!(parse_untrusted(b"\xff").is_err());
    refusal_message(&"[".repeat(1000));
}

#[test]
fn whole_number_is_an_integer_in_every_notation() {
    let read = |text: &str| parse_untrusted(text.as_bytes()).unwrap();
    assert_eq!(read(r#"{"a": [5.0, 1e3, -2.0, 0.0]}"#), json!({ "a": [5, 1000, -2, 0] }));
    assert_eq!(read("[0.5, 1e300, 5]"), json!([0.5, 1e300, 5]));
}
