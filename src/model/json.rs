//! JSON, read and written in one way only.
//!
//! Everything passes through [`Value`]: so each type is compiled for one reader and one writer, which halves the
//! WebAssembly.

use std::fmt;

use serde::de::{DeserializeOwned, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::ids::quoted;

/// The longest reason that is told, in characters: it quotes what was read.
const MAX_REASON: usize = 200;

/// The largest number up to which every whole one is told from its neighbours: 2^53.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

/// Reads a value.
pub fn read<T: DeserializeOwned>(value: &Value) -> Result<T, String> {
    T::deserialize(value).map_err(why)
}

/// Reads a text.
pub fn parse<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let value: Value = serde_json::from_str(text).map_err(why)?;
    read(&value)
}

/// Reads what a caller has written. No key may be given twice: one of the two values would be lost without a word.
pub fn receive(text: &[u8]) -> Result<Value, String> {
    let Unambiguous(value) = serde_json::from_slice(text).map_err(why)?;
    Ok(value)
}

/// Writes a value.
pub fn write(value: &impl Serialize) -> Result<Value, String> {
    serde_json::to_value(value).map_err(why)
}

/// Writes a text, its keys in order and without blanks.
pub fn print(value: &impl Serialize) -> Result<String, String> {
    write(value).map(|value| text(&value))
}

/// The text of a value, its keys in order and without blanks. `to_string` takes longer: it goes through the
/// formatter.
pub fn text(value: &Value) -> String {
    serde_json::to_string(value).unwrap_or_default() // It fails for no value.
}

/// JSON that passes on as it is, and is read only by who wants something in it: a page of a list is long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Printed(String);

impl Printed {
    /// That of a value.
    pub fn of(value: &Value) -> Self {
        Self(text(value))
    }

    /// What was printed elsewhere in this Worker.
    pub fn received(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What it says.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, String> {
        parse(&self.0)
    }
}

impl From<Printed> for String {
    fn from(printed: Printed) -> Self {
        printed.0
    }
}

/// Why something was not read, or not written.
#[allow(clippy::needless_pass_by_value)] // The shape of `map_err`.
fn why(error: serde_json::Error) -> String {
    let mut reason = error.to_string();
    if let Some((cut, _)) = reason.char_indices().nth(MAX_REASON) {
        reason.truncate(cut);
        reason.push('…');
    }
    reason
}

/// A value in which every key of an object is there once.
struct Unambiguous(Value);

impl<'de> Deserialize<'de> for Unambiguous {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Builder).map(Self)
    }
}

struct Builder;

impl<'de> Visitor<'de> for Builder {
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

    /// JSON has one kind of number: `5.0` is the whole number 5.
    #[allow(clippy::cast_possible_truncation)] // It is whole, and small enough.
    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        let is_whole = value.fract() == 0.0 && value.abs() <= MAX_EXACT;
        Ok(if is_whole { (value as i64).into() } else { value.into() })
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Unambiguous(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some((name, Unambiguous(member))) = members.next_entry::<String, _>()? {
            if object.contains_key(&name) {
                return Err(A::Error::custom(format!("the key {} is given twice", quoted(&name))));
            }
            object.insert(name, member);
        }
        Ok(Value::Object(object))
    }
}
