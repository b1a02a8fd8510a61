//! Backup handles of other origin: every accepted handle can be stored, returned and decoded again.

use sandbox_snapshotter::model::request::ImportRequest;
use sandbox_snapshotter::model::{BackupHandle, Code, Result, json};
use serde_json::{Value, json};

use super::support::expect_error;

/// Decodes an import whose handle has `more` in it.
fn decode_import(more: &Value) -> Result<ImportRequest> {
    let backup = json!({ "id": "b1", "dir": "/workspace", "more": more });
    ImportRequest::decode(&json!({ "sandboxId": "agent-42", "backup": backup }))
}

/// Returns nested lists and nested objects of a depth.
fn nested(depth: usize) -> [Value; 2] {
    let nest = |wrap: fn(Value) -> Value, first| (1..depth).fold(first, |inner, _| wrap(inner));
    [nest(|inner| json!([inner]), json!([])), nest(|inner| json!({ "in": inner }), json!({}))]
}

#[test]
fn handle_deeper_than_16_levels_is_refused() {
    let handle = |more| json::from_value::<BackupHandle>(&json!({ "id": "b1", "dir": "/workspace", "more": more }));
    for deepest in nested(15) {
        assert!(handle(deepest).is_ok());
    }
    for deeper in nested(16).into_iter().chain(nested(100)) {
        assert!(handle(deeper).unwrap_err().contains("deeper than 16"));
    }
}

#[test]
fn fraction_in_a_handle_is_kept_to_the_last_digit() {
    for number in ["12.300000000745058", "0.30000000000000004", "9.844674407370957e19", "-1.0001e304"] {
        let read: Value = json::from_str(number).unwrap();
        assert_eq!(json::from_str(&read.to_string()).as_ref(), Ok(&read), "{number}");
        assert_eq!(read.as_f64(), number.parse().ok(), "{number}");
    }
}

#[test]
fn import_refuses_a_handle_that_javascript_would_change() {
    let same = [json!(0), json!(-2.5), json!(9_007_199_254_740_991_i64), json!([{ "a": null, "b": [true, "x"] }])];
    for more in same {
        assert!(decode_import(&more).is_ok(), "{more}");
    }
    for text in ["1.0", "-0.0", "9007199254740992", "18446744073709551615", "1e21", r#"{"a":[{"__proto__":1}]}"#] {
        let error = expect_error(decode_import(&json::from_str::<Value>(text).unwrap()));
        assert_eq!(error.code(), Code::InvalidArgument, "{text}");
        assert!(error.message().contains("JavaScript"), "{error}");
    }
}
