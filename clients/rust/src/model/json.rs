//! Reads and writes JSON through one type.
//!
//! All JSON passes through [`Value`], so each type is compiled for only one reader and one writer. This halves the size
//! of the WebAssembly.

use std::fmt;

use serde::de::{DeserializeOwned, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::ids::quoted;

/// The maximum length of an error's text, in characters: it quotes the input.
const MAX_REASON_CHARS: usize = 200;

/// The largest number up to which an `f64` represents every integer exactly: 2^53.
const MAX_EXACT_INTEGER: f64 = 9_007_199_254_740_992.0;

/// Reads a type from a value.
pub fn from_value<T: DeserializeOwned>(value: &Value) -> Result<T, String> {
    T::deserialize(value).map_err(reason)
}

/// Reads a type from text.
pub fn from_str<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let value: Value = serde_json::from_str(text).map_err(reason)?;
    from_value(&value)
}

/// Reads JSON from a caller. Refuses an object that has a key twice, because one of the two values would be lost.
pub fn parse_untrusted(text: &[u8]) -> Result<Value, String> {
    let UniqueKeys(value) = serde_json::from_slice(text).map_err(reason)?;
    Ok(value)
}

/// Reads JSON from a caller, from any source. Refuses an object that has a key twice.
pub fn read_untrusted<'de, D: Deserializer<'de>>(source: D) -> Result<Value, D::Error> {
    UniqueKeys::deserialize(source).map(|UniqueKeys(value)| value)
}

/// Writes a type as a value.
pub fn to_value(value: &impl Serialize) -> Result<Value, String> {
    serde_json::to_value(value).map_err(reason)
}

/// Writes a type as text, with sorted keys and no whitespace.
pub fn to_string(value: &impl Serialize) -> Result<String, String> {
    to_value(value).map(|value| value_to_string(&value))
}

/// Writes a value as text, with sorted keys and no whitespace. `Value::to_string` is slower, because it uses the
/// formatter.
pub fn value_to_string(value: &Value) -> String {
    serde_json::to_string(value).unwrap_or_default() // It cannot fail for a `Value`.
}

/// JSON text that is passed on without parsing it, because a page of a list is long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawJson(String);

impl RawJson {
    /// Writes a value.
    pub fn from_value(value: &Value) -> Self {
        Self(value_to_string(value))
    }

    /// Wraps text that another part of this Worker wrote.
    pub fn from_text(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Parses the text.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, String> {
        from_str(&self.0)
    }
}

impl From<RawJson> for String {
    fn from(json: RawJson) -> Self {
        json.0
    }
}

/// Returns why something could not be read or written.
#[allow(clippy::needless_pass_by_value)] // The shape of `map_err`.
fn reason(error: serde_json::Error) -> String {
    let mut reason = error.to_string();
    if let Some((cut, _)) = reason.char_indices().nth(MAX_REASON_CHARS) {
        reason.truncate(cut);
        reason.push('…');
    }
    reason
}

/// A value in which every object has each key only once.
struct UniqueKeys(Value);

impl<'de> Deserialize<'de> for UniqueKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor).map(Self)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    /// JSON has only one number type: `5.0` is the integer 5.
    #[allow(clippy::cast_possible_truncation)] // It is an integer within the exact range.
    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        let is_whole = value.fract() == 0.0 && value.abs() <= MAX_EXACT_INTEGER;
        Ok(if is_whole { (value as i64).into() } else { value.into() })
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(UniqueKeys(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some((name, UniqueKeys(member))) = members.next_entry::<String, _>()? {
            if object.contains_key(&name) {
                return Err(A::Error::custom(format!("the key {} occurs twice", quoted(&name))));
            }
            object.insert(name, member);
        }
        Ok(Value::Object(object))
    }
}
