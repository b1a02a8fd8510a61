//! The fields of a call's arguments.

use std::collections::BTreeMap;
#[cfg(feature = "schema")]
use std::{cell::RefCell, collections::BTreeSet};

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::invalid;
use crate::model::ids::quoted;
use crate::model::{Result, json};

/// The arguments of an operation, of which each field is taken once. What is left in the end was not asked for, and is
/// refused. `null` is as good as nothing.
pub(super) struct Fields(Map<String, Value>);

impl Fields {
    /// Those of `value`, which must be an object.
    pub fn of(value: &Value) -> Result<Self> {
        match value {
            Value::Object(fields) => Ok(Self(fields.clone())),
            _ => Err(invalid("The arguments are not an object", "Give one object with the operation's options.")),
        }
    }

    /// Takes any value.
    pub fn value(&mut self, name: &str) -> Option<Value> {
        #[cfg(feature = "schema")]
        ASKED.with_borrow_mut(|asked| asked.insert(name.to_owned()));
        self.0.remove(name).filter(|value| !value.is_null())
    }

    /// Takes a text.
    pub fn text(&mut self, name: &str) -> Result<Option<String>> {
        match self.value(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(mistyped(name, "a text")),
        }
    }

    /// Takes a text that must be there.
    pub fn required(&mut self, name: &str) -> Result<String> {
        self.text(name)?
            .ok_or_else(|| invalid(&format!("`{name}` is missing"), "Give one object with the operation's options."))
    }

    /// Takes a list of texts; an empty one where it is absent.
    pub fn texts(&mut self, name: &str) -> Result<Vec<String>> {
        let values = match self.value(name) {
            None => return Ok(Vec::new()),
            Some(Value::Array(values)) => values,
            Some(_) => return Err(mistyped(name, "a list of texts")),
        };
        let text = |(index, value)| match value {
            Value::String(text) => Ok(text),
            _ => Err(mistyped(&format!("{name}[{index}]"), "a text")),
        };
        values.into_iter().enumerate().map(text).collect()
    }

    /// Takes a whole number, not below zero.
    pub fn number(&mut self, name: &str) -> Result<Option<u64>> {
        let value = self.value(name);
        let number = value.as_ref().map(|value| value.as_u64().ok_or_else(|| mistyped(name, "a whole number")));
        number.transpose()
    }

    /// Takes a yes or no, where that is said.
    pub fn choice(&mut self, name: &str) -> Result<Option<bool>> {
        let value = self.value(name);
        let choice = value.as_ref().map(|value| value.as_bool().ok_or_else(|| mistyped(name, "true or false")));
        choice.transpose()
    }

    /// Takes a yes or no; no where it is absent.
    pub fn flag(&mut self, name: &str) -> Result<bool> {
        Ok(self.choice(name)?.unwrap_or(false))
    }

    /// Takes an object of texts. Those may be secrets, so what they are is not told.
    pub fn map(&mut self, name: &str) -> Result<Option<BTreeMap<String, String>>> {
        let members = match self.value(name) {
            None => return Ok(None),
            Some(Value::Object(members)) => members,
            Some(_) => return Err(mistyped(name, "an object")),
        };
        let text = |(key, value): (String, Value)| match value {
            Value::String(text) => Ok((key, text)),
            _ => Err(mistyped(&format!("{name}[{}]", quoted(&key)), "a text")),
        };
        members.into_iter().map(text).collect::<Result<_>>().map(Some)
    }

    /// Takes an object of its own form.
    pub fn object<T: DeserializeOwned>(&mut self, name: &str) -> Result<Option<T>> {
        let Some(value) = self.value(name) else { return Ok(None) };
        if !value.is_object() {
            return Err(mistyped(name, "an object"));
        }
        let read = json::read(&value).map(Some);
        read.map_err(|why| invalid(&format!("`{name}` can't be read: {why}"), COMPARE))
    }

    /// Makes sure that nothing is left.
    pub fn end(self) -> Result<()> {
        match self.0.keys().next() {
            None => Ok(()),
            Some(name) => Err(invalid(&format!("There is no option {}", quoted(name)), COMPARE)),
        }
    }
}

#[cfg(feature = "schema")]
thread_local! {
    static ASKED: RefCell<BTreeSet<String>> = const { RefCell::new(BTreeSet::new()) };
}

/// The names of all fields that somebody asks for while arguments are decoded: what an operation takes, as it is.
#[cfg(feature = "schema")]
pub fn asked(decode: impl FnOnce()) -> BTreeSet<String> {
    ASKED.take();
    decode();
    ASKED.take()
}

const COMPARE: &str = "Compare the arguments with the documentation or the schema of what is called.";

fn mistyped(name: &str, what: &str) -> crate::model::Error {
    invalid(&format!("`{name}` is not {what}"), COMPARE)
}
