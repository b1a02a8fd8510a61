//! The conversion of a caller's arguments, compared with the one by JSON text.

use base64ct::{Base64, Encoding};
use js_sys::{Array, JSON, Object, Reflect};
use sandbox_snapshotter::cloudflare::value::{from_caller, from_js, to_js};
use serde_json::json;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::suite::Case;

#[wasm_bindgen]
extern "C" {
    /// Returns an argument that only JavaScript can make: see `arguments.mjs`.
    #[wasm_bindgen(js_namespace = globalThis)]
    fn argument(name: &str) -> JsValue;
}

const MAX_VALUES: usize = 65_536;

const NOT_JSON: &str = "they contain a value that JSON cannot represent";

/// The corpus of the fuzz targets whose inputs contain JSON.
const CORPUS: [&str; 4] = [
    include_str!("../../fuzz/corpus/arguments.txt"),
    include_str!("../../fuzz/corpus/json.txt"),
    include_str!("../../fuzz/corpus/mcp.txt"),
    include_str!("../../fuzz/corpus/refs.txt"),
];

pub fn cases() -> Vec<Case<()>> {
    vec![
        case!(async from_caller_agrees_with_json_text_on_the_fuzz_corpus),
        case!(async from_caller_agrees_with_json_text_on_numbers_and_names),
        case!(async from_caller_leaves_out_undefined_members),
        case!(async from_caller_refuses_values_without_a_form_in_json),
        case!(async from_caller_refuses_cycles_and_more_than_64_levels),
        case!(async from_caller_refuses_too_many_values_of_a_shared_object),
    ]
}

async fn from_caller_agrees_with_json_text_on_the_fuzz_corpus(_: &()) {
    let mut compared = 0;
    for line in CORPUS.iter().flat_map(|corpus| corpus.lines()) {
        let input = Base64::decode_vec(line).unwrap();
        let text = String::from_utf8_lossy(&input);
        // In some targets, a line with the name of an operation precedes the JSON.
        for text in [&*text, text.split_once('\n').map_or("", |(_, rest)| rest)] {
            compared += JSON::parse(text).is_ok_and(|value| agrees(&value)) as usize;
        }
    }
    assert!(compared > 100, "only {compared} inputs are JSON");
}

async fn from_caller_agrees_with_json_text_on_numbers_and_names(_: &()) {
    for number in [
        "0",
        "-0",
        "1.5",
        "5.0",
        "9007199254740993",
        "9223372036854775808",
        "-9223372036854775808",
        "1e19",
        "1e21",
        "-1e300",
    ] {
        assert!(agrees(&parse(number)));
    }
    for text in
        [r#"{"__proto__": 1, "constructor": {}, "length": 2, "": null}"#, r#"[[], {}, "\ud83d\ude00", "\u0000"]"#]
    {
        assert!(agrees(&parse(text)));
    }
}

async fn from_caller_leaves_out_undefined_members(_: &()) {
    let value = argument("undefined members");
    assert_eq!(from_caller(&value, MAX_VALUES), Ok(json!({ "b": [null, null], "c": {} })));
}

async fn from_caller_refuses_values_without_a_form_in_json(_: &()) {
    let values: Array = argument("not JSON").into();
    assert!(values.length() > 10);
    for value in values {
        for place in [Array::of1(&value).into(), object_of("a", &value), value] {
            let refused = from_caller(&place, MAX_VALUES);
            assert_eq!(refused, Err(NOT_JSON.to_owned()), "{place:?}");
        }
    }
}

async fn from_caller_refuses_cycles_and_more_than_64_levels(_: &()) {
    for name in ["cyclic object", "cyclic list", "65 levels"] {
        assert!(from_caller(&argument(name), MAX_VALUES).unwrap_err().contains("64 levels"), "{name}");
    }
    assert!(agrees(&argument("64 levels")));
}

async fn from_caller_refuses_too_many_values_of_a_shared_object(_: &()) {
    assert!(from_caller(&argument("shared"), MAX_VALUES).unwrap_err().contains("too many values"));
}

fn object_of(name: &str, value: &JsValue) -> JsValue {
    let object = Object::new();
    Reflect::set(&object, &name.into(), value).unwrap();
    object.into()
}

/// Asserts that both conversions refuse the value, or that JavaScript sees no difference between their results.
fn agrees(value: &JsValue) -> bool {
    let is_lossy = JSON::stringify_with_replacer(value, &argument("refuse infinite numbers")).is_err();
    let through_text = if is_lossy { Err(NOT_JSON.to_owned()) } else { Ok(from_js(value).unwrap()) };
    let converted = from_caller(value, MAX_VALUES).map(|value| from_js(&to_js(&value).unwrap()).unwrap());
    assert_eq!(converted, through_text);
    true
}

fn parse(text: &str) -> JsValue {
    JSON::parse(text).unwrap()
}
