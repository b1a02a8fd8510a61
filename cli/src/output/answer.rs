//! An answer: as it came, and as it is understood.

use sandbox_snapshotter::model::json;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::failure::{Failure, Result};

/// An answer of the server. What can't be understood is none.
#[derive(Debug)]
pub struct Answer<T> {
    /// As it came: also with what only a later server tells.
    pub raw: Value,
    /// As it is understood.
    pub value: T,
    /// The idempotency key of the call.
    pub key: Option<String>,
}

impl<T: DeserializeOwned> Answer<T> {
    /// Reads what came.
    pub fn of(raw: Value) -> Result<Self> {
        let read = json::from_value(&raw)
            .map_err(|why| Failure::foreign_answer(&format!("its answer can't be understood: {why}")))?;
        Ok(Self { raw, value: read, key: None })
    }
}
