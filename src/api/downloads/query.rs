//! The options of a download in the query of a URL.

use serde_json::{Map, Value};

use crate::model::{Error, Result, ShortRef, json};

/// The options that are not text: `true` or `false`, and JSON or a short ref.
const FLAG: &str = "allowCrossLineage";
const REF: &str = "ref";

/// Converts the parameters of a query to the options of an operation.
///
/// # Errors
/// [`Code::InvalidArgument`](crate::model::Code::InvalidArgument) for a parameter that occurs twice, or whose text is not
/// valid.
pub fn to_options(parameters: impl IntoIterator<Item = (String, String)>) -> Result<Value> {
    let mut options = Map::new();
    for (name, text) in parameters {
        let value = match &name[..] {
            FLAG => Value::Bool(parse_flag(&text)?),
            REF if text.starts_with(ShortRef::PREFIX) => Value::String(text),
            REF => json::parse_untrusted(text.as_bytes()).map_err(|_| {
                Error::invalid_argument(
                    "The parameter `ref` is neither a short ref nor JSON",
                    "Pass the `shortRef` of the snapshot, or its `ref` as JSON, encoded for a URL.",
                )
            })?,
            _ => Value::String(text),
        };
        if options.insert(name.clone(), value).is_some() {
            return Err(Error::invalid_argument("A parameter of the query occurs twice", "Pass each parameter once."));
        }
    }
    Ok(Value::Object(options))
}

fn parse_flag(text: &str) -> Result<bool> {
    match text {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(Error::invalid_argument(
            format!("The parameter `{FLAG}` is neither `true` nor `false`"),
            "Pass one of them.",
        )),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::Code;

    fn options(parameters: &[(&str, &str)]) -> Result<Value> {
        to_options(parameters.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())))
    }

    #[test]
    fn parameters_are_options() {
        let parameters = [
            ("sandboxId", "agent-42"),
            ("label", "1"),
            ("allowCrossLineage", "true"),
            ("ref", "{\"a\":1}"),
            ("x", "true"),
        ];
        let short = [("ref", "snap_agent-42.abc")];
        assert_eq!(options(&short), Ok(json!({ "ref": "snap_agent-42.abc" })));
        let expected = json!({
            "sandboxId": "agent-42", "label": "1", "allowCrossLineage": true, "ref": { "a": 1 }, "x": "true",
        });
        assert_eq!(options(&parameters), Ok(expected));
        assert_eq!(options(&[]), Ok(json!({})));
    }

    #[test]
    fn invalid_parameters_are_refused() {
        for parameters in
            [&[("path", "a"), ("path", "b")][..], &[("allowCrossLineage", "1")], &[("ref", "{")], &[("ref", "")]]
        {
            assert_eq!(options(parameters).unwrap_err().code(), Code::InvalidArgument, "{parameters:?}");
        }
    }
}
