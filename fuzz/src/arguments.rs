//! The arguments of every operation, over RPC and HTTP. The input has two parts: a line with the name of an operation,
//! and JSON.

use sandbox_snapshotter::api::operations::{Operation, Request};
use sandbox_snapshotter::model::json;
use sandbox_snapshotter_client::Options;
use serde_json::Value;

use super::input;
use super::rules::assert_legible;

/// See the module.
pub fn read(data: &[u8]) {
    let Some((name, rest)) = input::line(data) else { return };
    let (Some(operation), Some(arguments)) = (Operation::by_name(name), input::json(rest)) else { return };
    match Request::decode(operation, &arguments) {
        Ok(request) => check_round_trip(operation, &request, &arguments),
        Err(error) => {
            assert_legible(&error);
            check_secrets(operation, error.message(), &arguments);
        }
    }
}

/// Asserts that accepted arguments can be written back with the same meaning.
fn check_round_trip(operation: Operation, request: &Request, arguments: &Value) {
    let written = request.to_json();
    assert_eq!(Request::decode(operation, &written).as_ref(), Ok(request), "{written}");
    // The objects of this Worker pass arguments to each other as text.
    assert_eq!(json::from_str(&arguments.to_string()).as_ref(), Ok(arguments));
}

/// Asserts that the message does not depend on the values of environment variables, which may be secrets.
fn check_secrets(operation: Operation, message: &str, arguments: &Value) {
    let mut others = arguments.clone();
    let Some(env) = others.get_mut("env").and_then(Value::as_object_mut) else { return };
    for value in env.values_mut() {
        *value = match value.take() {
            Value::String(text) => text.chars().map(|c| if c == '\0' { c } else { 'x' }).collect::<String>().into(),
            Value::Number(_) => 7.into(),
            Value::Bool(_) => true.into(),
            Value::Array(_) => Value::Array(Vec::new()),
            other => other,
        };
    }
    let outcome = Request::decode(operation, &others);
    assert_eq!(outcome.map_err(|error| error.message().to_owned()), Err(message.to_owned()));
}
