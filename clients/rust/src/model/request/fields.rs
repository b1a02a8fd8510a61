//! Decoding of the fields in an operation's arguments.

use std::collections::BTreeMap;
#[cfg(feature = "schema")]
use std::{cell::RefCell, collections::BTreeSet};

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::model::ids::quoted;
use crate::model::named::ImageChoice;
use crate::model::similar::most_similar;
use crate::model::{Error, Result, json};

/// The arguments of an operation. Each method removes one field and returns it; [`Fields::finish`] refuses the fields
/// that remain, because the operation does not take them. A field with the value `null` counts as absent, except an image.
pub(super) struct Fields {
    /// The fields that were not taken yet.
    given: Map<String, Value>,
    /// The names of the fields that the operation takes.
    accepted: Vec<String>,
    /// The first required field that is absent.
    missing: Option<String>,
    /// The option with the name of a workspace in place of `sandboxId`.
    workspace: Option<&'static str>,
}

impl Fields {
    /// Returns the fields of `value`, which must be an object.
    pub fn of(value: &Value) -> Result<Self> {
        match value {
            Value::Object(fields) => {
                Ok(Self { given: fields.clone(), accepted: Vec::new(), missing: None, workspace: None })
            }
            _ => Err(Error::invalid_argument(
                "The arguments must be an object",
                "Pass one object with the operation's options.",
            )),
        }
    }

    /// Names options that the Worker replaces before it decodes the others.
    pub fn offer(&mut self, names: &[&str]) {
        self.accepted.extend(names.iter().map(|name| (*name).to_owned()));
    }

    /// Names the option with the name of a workspace, which the Worker replaces by `sandboxId` before it decodes the others.
    pub fn offer_workspace(&mut self, workspace: &'static str) {
        self.offer(&[workspace, "tenant"]);
        self.workspace = Some(workspace);
    }

    /// Takes a field of any type.
    pub fn value(&mut self, name: &str) -> Option<Value> {
        self.accepted.push(name.to_owned());
        self.given.remove(name).filter(|value| !value.is_null())
    }

    /// Takes an optional string.
    pub fn string(&mut self, name: &str) -> Result<Option<String>> {
        match self.value(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(wrong_type(name, "a string")),
        }
    }

    /// Takes an optional choice of an image, where `null` is a choice.
    pub fn image(&mut self, name: &str) -> Result<Option<ImageChoice>> {
        let is_null = self.given.get(name).is_some_and(Value::is_null);
        let image = self.string(name)?;
        Ok((is_null || image.is_some()).then_some(ImageChoice(image)))
    }

    /// Takes a required string. If it is absent, [`finish`](Self::finish) fails: only then it is known whether another
    /// field is a misspelling of it.
    pub fn required(&mut self, name: &str) -> Result<String> {
        let text = self.string(name)?;
        if text.is_none() {
            self.missing.get_or_insert_with(|| name.to_owned());
        }
        Ok(text.unwrap_or_default())
    }

    /// Takes a list of strings; an empty list if absent.
    pub fn strings(&mut self, name: &str) -> Result<Vec<String>> {
        Ok(self.optional_strings(name)?.unwrap_or_default())
    }

    /// Takes an optional list of strings.
    pub fn optional_strings(&mut self, name: &str) -> Result<Option<Vec<String>>> {
        let values = match self.value(name) {
            None => return Ok(None),
            Some(Value::Array(values)) => values,
            Some(_) => return Err(wrong_type(name, "a list of strings")),
        };
        let to_string = |(index, value)| match value {
            Value::String(text) => Ok(text),
            _ => Err(wrong_type(&format!("{name}[{index}]"), "a string")),
        };
        values.into_iter().enumerate().map(to_string).collect::<Result<_>>().map(Some)
    }

    /// Takes an optional non-negative integer.
    pub fn number(&mut self, name: &str) -> Result<Option<u64>> {
        let value = self.value(name);
        let number =
            value.as_ref().map(|value| value.as_u64().ok_or_else(|| wrong_type(name, "a non-negative integer")));
        number.transpose()
    }

    /// Takes an optional boolean.
    pub fn optional_flag(&mut self, name: &str) -> Result<Option<bool>> {
        let value = self.value(name);
        let flag = value.as_ref().map(|value| value.as_bool().ok_or_else(|| wrong_type(name, "true or false")));
        flag.transpose()
    }

    /// Takes a boolean; false if absent.
    pub fn flag(&mut self, name: &str) -> Result<bool> {
        Ok(self.optional_flag(name)?.unwrap_or(false))
    }

    /// Takes a boolean that the operation refuses if it is true, and so does not name among its options.
    pub fn refused_flag(&mut self, name: &str) -> Result<bool> {
        let flag = self.flag(name);
        self.accepted.pop();
        flag
    }

    /// Takes an object whose values are strings. The values may be secrets, so errors do not contain them.
    pub fn map(&mut self, name: &str) -> Result<Option<BTreeMap<String, String>>> {
        let members = match self.value(name) {
            None => return Ok(None),
            Some(Value::Object(members)) => members,
            Some(_) => return Err(wrong_type(name, "an object")),
        };
        let to_member = |(key, value): (String, Value)| match value {
            Value::String(text) => Ok((key, text)),
            _ => Err(wrong_type(&format!("{name}[{}]", quoted(&key)), "a string")),
        };
        members.into_iter().map(to_member).collect::<Result<_>>().map(Some)
    }

    /// Takes an object and deserializes it as `T`.
    pub fn object<T: DeserializeOwned>(&mut self, name: &str) -> Result<Option<T>> {
        let Some(value) = self.value(name) else { return Ok(None) };
        if !value.is_object() {
            return Err(wrong_type(name, "an object"));
        }
        let decoded = json::from_value(&value).map(Some);
        decoded.map_err(|why| {
            Error::invalid_argument(format!("`{name}` cannot be read: {}", without_types(&why)), correction(name, &why))
        })
    }

    /// Takes a required object. If it is absent, [`finish`](Self::finish) fails, as for [`required`](Self::required).
    pub fn required_object(&mut self, name: &str) -> Result<Value> {
        let value = self.value(name);
        if value.is_none() {
            self.missing.get_or_insert_with(|| name.to_owned());
        }
        match value {
            None | Some(Value::Object(_)) => Ok(value.unwrap_or_default()),
            Some(_) => Err(wrong_type(name, "an object")),
        }
    }

    /// Verifies that no field remains, and that no required one is absent.
    pub fn finish(self) -> Result<()> {
        #[cfg(feature = "schema")]
        ACCEPTED_FIELDS.with_borrow_mut(|accepted| accepted.extend(self.accepted.iter().cloned()));
        let unknown = self.given.keys().next();
        let offered = self.workspace.filter(|_| self.missing.as_deref() == Some("sandboxId"));
        let missing = self.missing.as_ref().map(|missing| match offered {
            Some(_) => "No workspace or sandbox is selected".to_owned(),
            None => format!("`{missing}` is missing"),
        });
        let problem = match (missing, unknown) {
            (None, None) => return Ok(()),
            (Some(missing), None) => missing,
            (None, Some(unknown)) => format!("There is no option {}", quoted(unknown)),
            (Some(missing), Some(unknown)) => format!("{missing}, and there is no option {}", quoted(unknown)),
        };
        let takes = |name: &str| self.accepted.iter().any(|accepted| accepted == name);
        let accepted = self.accepted.iter().map(String::as_str);
        if self.given.contains_key("name") && takes("sandboxId") && !takes("name") {
            return Err(Error::sandbox_of_workspace_needed(problem, self.workspace));
        }
        let meant = |unknown| synonym(unknown).filter(|name| takes(name)).or_else(|| most_similar(unknown, accepted));
        let remediation = match (unknown.map(|unknown| meant(unknown)), &self.missing) {
            (Some(Some(similar)), _) => format!("Did you mean `{similar}`?"),
            (Some(None), _) if self.accepted.is_empty() => "Pass an empty object: there are no options.".to_owned(),
            (Some(None), _) => format!("The options are {}.", self.accepted_names()),
            (None, Some(missing)) => match offered {
                Some(workspace) => Error::no_target(workspace).remediation().to_owned(),
                None => format!("Pass `{missing}`."),
            },
            (None, None) => "Pass one object with the operation's options.".to_owned(),
        };
        Err(Error::invalid_argument(problem, remediation))
    }
}

/// The options that other APIs name differently, and their names here.
const SYNONYMS: [(&str, &str); 10] = [
    ("workspace", "name"),
    ("id", "snapshotId"),
    ("cmd", "command"),
    ("script", "command"),
    ("args", "argv"),
    ("input", "stdin"),
    ("timeout", "timeoutSeconds"),
    ("workdir", "cwd"),
    ("environment", "env"),
    ("envVars", "env"),
];

/// Returns the option that means the same.
fn synonym(unknown: &str) -> Option<&'static str> {
    SYNONYMS.iter().find(|(other, _)| *other == unknown).map(|(_, name)| *name)
}

/// Returns the reason for which an object can't be decoded, without the names of types in Rust.
fn without_types(why: &str) -> String {
    const EXPECTED: &str = "expected struct ";
    let why = ["u16", "u32", "u64", "NonZeroU32"].iter().fold(why.to_owned(), |why, number| {
        let expected = format!("expected {number}");
        if why.ends_with(&expected) { why.replace(&expected, "expected a non-negative integer") } else { why }
    });
    let Some((before, after)) = why.split_once(EXPECTED) else { return why };
    let rest = after.trim_start_matches(|character: char| character.is_alphanumeric() || character == '_');
    format!("{before}expected an object{rest}")
}

/// Returns what to do about an object that can't be decoded: for an unknown field, the name that is similar to it.
fn correction(name: &str, why: &str) -> String {
    let mut names = why.split('`').skip(1).step_by(2);
    let unknown = names.next().filter(|_| why.starts_with("unknown field"));
    match unknown.and_then(|unknown| most_similar(unknown, names)) {
        Some(similar) => format!("Did you mean `{similar}`?"),
        None => format!("Correct `{name}`, or omit it."),
    }
}

impl Fields {
    /// Returns the names of the fields that the operation takes, as part of a sentence.
    fn accepted_names(&self) -> String {
        let names: Vec<_> = self.accepted.iter().map(|name| format!("`{name}`")).collect();
        names.join(", ")
    }
}

#[cfg(feature = "schema")]
thread_local! {
    static ACCEPTED_FIELDS: RefCell<BTreeSet<String>> = const { RefCell::new(BTreeSet::new()) };
}

/// Returns the names of all fields that `decode` takes without an error, which are the fields that the operation accepts.
#[cfg(feature = "schema")]
pub fn record_fields(decode: impl FnOnce()) -> BTreeSet<String> {
    ACCEPTED_FIELDS.take();
    decode();
    ACCEPTED_FIELDS.take()
}

fn wrong_type(name: &str, what: &str) -> Error {
    Error::invalid_argument(format!("`{name}` must be {what}"), format!("Pass {what}."))
}
