//! The reader of archives as a WebAssembly module. `src/archives.mjs` of the Worker loads it at its first use.

use std::cell::RefCell;
use std::panic::AssertUnwindSafe;
use std::rc::Rc;

use bytes::Bytes;
use js_sys::futures::{JsFuture, future_to_promise};
use js_sys::{Array, Promise, Uint8Array};
use snapshot_archive::protocol::{
    self, DiffRequest, DownloadRequest, Outcome, Request, answer, answer_diff, answer_listing_diff,
};
use snapshot_archive::{Archives, Download, Error, Result, Source};
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

/// Answers a request about one snapshot, or about two, or about one and the listing of a container. `heads` has a text for each of them: for a delta, the hash of the head
/// of its carrier, whose archive follows that of its base; otherwise an empty one. Takes JSON; returns JSON, and the bytes of
/// a file beside it.
#[wasm_bindgen]
pub fn call(archives: Vec<ArchiveObject>, heads: Vec<String>, request: String, listing: Option<Vec<u8>>) -> Promise {
    future_to_promise(AssertUnwindSafe(async move {
        let mut snapshots = group(archives, heads)?.into_iter();
        let (outcome, bytes) = match (snapshots.next(), snapshots.next(), listing) {
            (Some(snapshot), None, None) => answer_one(snapshot, &request).await,
            (Some(snapshot), None, Some(listing)) => compare_listing(snapshot, listing, &request).await,
            (Some(from), Some(to), _) => answer_two(from, to, &request).await,
            (None, _, _) => Ok((String::new(), Vec::new())),
        }
        .map_err(to_exception)?;
        Ok(Array::of2(&outcome.into(), &Uint8Array::from(&bytes[..]).into()).into())
    }))
}

/// Returns the archives of each snapshot.
fn group(archives: Vec<ArchiveObject>, heads: Vec<String>) -> Result<Vec<Archives<ArchiveObject>>, JsValue> {
    let mut archives = archives.into_iter();
    let mut next = || archives.next().ok_or_else(|| to_error("an archive is missing"));
    let snapshots = heads.into_iter().map(|head| {
        let first = next()?;
        Ok(if head.is_empty() {
            Archives::Full(first)
        } else {
            Archives::Delta { base: first, carrier: next()?, head }
        })
    });
    snapshots.collect()
}

async fn answer_one(snapshot: Archives<ArchiveObject>, request: &str) -> serde_json::Result<(String, Vec<u8>)> {
    let request: Request = serde_json::from_str(request)?;
    let (outcome, bytes) = match answer(snapshot, request).await {
        Ok((answer, bytes)) => (Outcome::Answer(answer), bytes),
        Err(error) => (Outcome::from(error), Vec::new()),
    };
    Ok((serde_json::to_string(&outcome)?, bytes))
}

async fn answer_two(
    from: Archives<ArchiveObject>,
    to: Archives<ArchiveObject>,
    request: &str,
) -> serde_json::Result<(String, Vec<u8>)> {
    let request: DiffRequest = serde_json::from_str(request)?;
    Ok((serde_json::to_string(&answer_diff(from, to, request).await)?, Vec::new()))
}

async fn compare_listing(
    snapshot: Archives<ArchiveObject>,
    listing: Vec<u8>,
    request: &str,
) -> serde_json::Result<(String, Vec<u8>)> {
    let request: DiffRequest = serde_json::from_str(request)?;
    let Some(part) = request.listing else { return Ok((String::new(), Vec::new())) };
    let outcome = answer_listing_diff(snapshot, listing, part, request).await;
    Ok((serde_json::to_string(&outcome)?, Vec::new()))
}

/// A download, which is read piece by piece.
#[wasm_bindgen]
pub struct ArchiveDownload(AssertUnwindSafe<Rc<RefCell<Option<Download<ArchiveObject>>>>>);

/// Opens a download from a snapshot, which is given as to [`call`]. Takes JSON; returns JSON, and the download if there is
/// one.
#[wasm_bindgen(js_name = openDownload)]
pub fn open_download(archives: Vec<ArchiveObject>, heads: Vec<String>, request: String) -> Promise {
    future_to_promise(AssertUnwindSafe(async move {
        let snapshot = group(archives, heads)?.pop().ok_or_else(|| to_error("there is no snapshot"))?;
        let request: DownloadRequest = serde_json::from_str(&request).map_err(to_exception)?;
        let (outcome, download) = match protocol::open_download(snapshot, request).await {
            Ok(download) => {
                let outcome = Outcome::Answer(protocol::describe(&download));
                let shared = Rc::new(RefCell::new(Some(download)));
                (outcome, ArchiveDownload(AssertUnwindSafe(shared)).into())
            }
            Err(error) => (Outcome::from(error), JsValue::UNDEFINED),
        };
        let outcome = serde_json::to_string(&outcome).map_err(to_exception)?;
        Ok(Array::of2(&outcome.into(), &download).into())
    }))
}

#[wasm_bindgen]
impl ArchiveDownload {
    /// Sets the range of a file.
    #[wasm_bindgen(js_name = setRange)]
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // The conversion saturates.
    pub fn set_range(&self, start: f64, end: f64) {
        if let Some(download) = self.0.borrow_mut().as_mut() {
            download.set_range(start as u64..end as u64);
        }
    }

    /// Returns the next bytes, or undefined at the end. The calls must follow one another.
    pub fn next(&self) -> Promise {
        let shared = Rc::clone(&self.0);
        future_to_promise(AssertUnwindSafe(async move {
            let taken = shared.borrow_mut().take();
            let mut download = taken.ok_or_else(|| to_error("the download is being read, or failed"))?;
            let next = download.next().await.map_err(|error| to_error(&error.to_string()))?;
            *shared.borrow_mut() = Some(download);
            Ok(next.map_or(JsValue::UNDEFINED, |bytes| Uint8Array::from(&bytes[..]).into()))
        }))
    }
}

impl Source for ArchiveObject {
    #[allow(clippy::cast_precision_loss)] // R2 stores no object of 2^53 bytes.
    async fn read(&mut self, offset: u64, length: usize) -> Result<Bytes> {
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
    to_error(&error.to_string())
}

fn to_error(message: &str) -> JsValue {
    js_sys::Error::new(message).into()
}
