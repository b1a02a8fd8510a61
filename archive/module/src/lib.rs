//! The reader of archives as a WebAssembly module. `src/archives.mjs` of the Worker loads it at its first use.

use std::panic::AssertUnwindSafe;

use bytes::Bytes;
use js_sys::futures::{JsFuture, future_to_promise};
use js_sys::{Array, Promise, Uint8Array};
use snapshot_archive::protocol::{Outcome, Request, answer};
use snapshot_archive::{Error, Result, Source};
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// An archive in R2.
    pub type ArchiveObject;

    #[wasm_bindgen(method, getter)]
    fn size(this: &ArchiveObject) -> f64;
    #[wasm_bindgen(method)]
    fn read(this: &ArchiveObject, offset: f64, length: u32) -> Promise;
}

/// Answers a request about an archive. Takes JSON; returns JSON, and the bytes of a file beside it.
#[wasm_bindgen]
pub fn call(archive: ArchiveObject, request: String) -> Promise {
    future_to_promise(AssertUnwindSafe(async move {
        let request: Request = serde_json::from_str(&request).map_err(to_exception)?;
        let (outcome, bytes) = match answer(archive, request).await {
            Ok((answer, bytes)) => (Outcome::Answer(answer), bytes),
            Err(error) => (Outcome::from(error), Vec::new()),
        };
        let outcome = serde_json::to_string(&outcome).map_err(to_exception)?;
        Ok(Array::of2(&outcome.into(), &Uint8Array::from(&bytes[..]).into()).into())
    }))
}

impl Source for ArchiveObject {
    #[allow(clippy::cast_precision_loss)] // R2 stores no object of 2^53 bytes.
    async fn read(&self, offset: u64, length: usize) -> Result<Bytes> {
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        let read = JsFuture::from(ArchiveObject::read(self, offset as f64, length)).await;
        let bytes = read.map_err(|thrown| Error::Source(message(&thrown)))?;
        let bytes = bytes.dyn_into::<Uint8Array>().map_err(|_| Error::Source("R2 returned no bytes".to_owned()))?;
        Ok(bytes.to_vec().into())
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // The conversion saturates.
    fn size(&self) -> u64 {
        ArchiveObject::size(self) as u64
    }
}

/// Returns the message of an exception.
fn message(thrown: &JsValue) -> String {
    thrown.dyn_ref::<js_sys::Error>().map_or_else(|| "R2 did not answer".to_owned(), |error| error.message().into())
}

#[allow(clippy::needless_pass_by_value)] // `map_err` passes the error by value.
fn to_exception(error: serde_json::Error) -> JsValue {
    js_sys::Error::new(&error.to_string()).into()
}
