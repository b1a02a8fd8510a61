//! JSON, read and written in one way only.
//!
//! Everything passes through [`Value`]: so each type is compiled for one reader and one writer, which halves the
//! WebAssembly.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Reads a value.
pub fn read<T: DeserializeOwned>(value: &Value) -> Result<T, String> {
    T::deserialize(value).map_err(|error| error.to_string())
}

/// Reads a text.
pub fn parse<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    read(&value)
}

/// Writes a value.
pub fn write(value: &impl Serialize) -> Result<Value, String> {
    serde_json::to_value(value).map_err(|error| error.to_string())
}

/// Writes a text, its keys in order and without blanks.
pub fn print(value: &impl Serialize) -> Result<String, String> {
    write(value).map(|value| value.to_string())
}
