//! The answers of the server.

use sandbox_snapshotter_client::model::json;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::failure::{Failure, Result};

/// An answer of the server that this program can decode.
#[derive(Debug)]
pub struct Answer<T> {
    /// The JSON of the answer, including fields that only a later server has.
    pub raw: Value,
    /// The decoded answer.
    pub value: T,
    /// The idempotency key of the call.
    pub key: Option<String>,
}

impl<T: DeserializeOwned> Answer<T> {
    /// Decodes the JSON of an answer.
    pub fn of(raw: Value) -> Result<Self> {
        let value = json::from_value(&raw)
            .map_err(|why| Failure::foreign_answer(&format!("the answer can't be decoded: {why}")))?;
        Ok(Self { raw, value, key: None })
    }
}
