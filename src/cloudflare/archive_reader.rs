//! The reader of archives: a WebAssembly module of its own, which `src/archives.mjs` loads at its first use.

use std::cell::RefCell;

use js_sys::futures::JsFuture;
use js_sys::{Array, Function, Promise, Uint8Array};
use serde::Serialize;
use serde::de::DeserializeOwned;
use wasm_bindgen::prelude::*;
use worker::Bucket;

use super::js_error::to_failure;
use crate::model::Failure;

thread_local! {
    static READER: RefCell<Option<Function>> = const { RefCell::new(None) };
}

/// Sets the function `readArchives` of `src/archives.mjs`. A build of the Worker for tests has none.
#[wasm_bindgen(js_name = setArchiveReader)]
pub fn set_archive_reader(reader: Function) {
    READER.set(Some(reader));
}

/// What the reader returned.
pub(super) enum Read<T> {
    /// The answer, and the bytes of a file.
    Answer(T, Vec<u8>),
    /// The index of a key without an object.
    Missing(usize),
}

/// Sends a request about the archives at some keys.
pub(super) async fn read_archives<T: DeserializeOwned>(
    bucket: &Bucket,
    keys: &[String],
    request: &impl Serialize,
) -> Result<Read<T>, Failure> {
    let unreadable = |what: &str| Failure::protocol("the reader of archives", what.to_owned());
    let reader = READER.with_borrow(Clone::clone).ok_or_else(|| unreadable("it is not part of this build"))?;
    let request = serde_json::to_string(request).map_err(|error| unreadable(&error.to_string()))?;
    let keys: Array = keys.iter().map(JsValue::from).collect();
    let read = reader.call3(&JsValue::UNDEFINED, bucket.as_ref(), &keys, &request.into());
    let read = JsFuture::from(Promise::resolve(&read.map_err(|thrown| to_failure(&thrown))?));
    let answer = read.await.map_err(|thrown| to_failure(&thrown))?;
    if let Some(missing) = answer.as_f64() {
        return Ok(Read::Missing(usize::from(missing != 0.0)));
    }
    let answer: Array = answer.dyn_into().map_err(|_| unreadable("its answer is not an array"))?;
    let outcome = answer.get(0).as_string().and_then(|outcome| serde_json::from_str(&outcome).ok());
    let outcome = outcome.ok_or_else(|| unreadable("its answer can't be parsed"))?;
    Ok(Read::Answer(outcome, Uint8Array::new(&answer.get(1)).to_vec()))
}
