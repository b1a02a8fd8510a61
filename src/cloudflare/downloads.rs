//! Downloads: files and directories of archives as streams, which `src/archives.mjs` makes.

use std::cell::RefCell;
use std::ops::Range;

use js_sys::futures::JsFuture;
use js_sys::{Function, Promise};
use wasm_bindgen::prelude::*;
use web_sys::ReadableStream;

use super::archive_reader::{archive_keys, find_missing, unreadable};
use super::backups::R2Backups;
use super::js_error::to_failure;
use crate::model::Failure;
use crate::model::archive::{ArchiveLocation, DownloadRequest, MissingArchive, Outcome};

#[wasm_bindgen]
extern "C" {
    /// A download, which reserves memory until it was read or closed.
    pub type OpenedDownload;

    #[wasm_bindgen(method, getter)]
    fn outcome(this: &OpenedDownload) -> String;
    /// Returns the version of the archives in R2.
    #[wasm_bindgen(method, getter)]
    pub fn etag(this: &OpenedDownload) -> String;
    #[wasm_bindgen(method, catch)]
    fn stream(
        this: &OpenedDownload,
        ctx: &JsValue,
        signal: &JsValue,
        start: Option<f64>,
        end: Option<f64>,
    ) -> Result<ReadableStream, JsValue>;
    /// Closes a download that is not read.
    #[wasm_bindgen(method)]
    pub fn close(this: &OpenedDownload);
}

impl OpenedDownload {
    /// Returns the bytes of a range of a file; `None` for the tar of a directory. `ctx` is the context of the event, and
    /// `signal` an `AbortSignal` that closes the download, or undefined.
    #[allow(clippy::cast_precision_loss)] // No file has 2^53 bytes.
    pub fn bytes(&self, range: Option<Range<u64>>, ctx: &JsValue, signal: &JsValue) -> Result<ReadableStream, JsValue> {
        let (start, end) = range.map_or((None, None), |range| (Some(range.start as f64), Some(range.end as f64)));
        self.stream(ctx, signal, start, end)
    }
}

thread_local! {
    static OPENER: RefCell<Option<Function>> = const { RefCell::new(None) };
}

/// Sets the function `openDownload` of `src/archives.mjs`.
#[wasm_bindgen(js_name = setDownloadOpener)]
pub fn set_download_opener(opener: Function) {
    OPENER.set(Some(opener));
}

impl R2Backups {
    /// Opens a download from the archives of a snapshot.
    pub async fn open_download(
        &self,
        archive: &ArchiveLocation,
        request: &DownloadRequest,
    ) -> Result<Result<(Outcome, OpenedDownload), MissingArchive>, Failure> {
        let open = OPENER.with_borrow(Clone::clone).ok_or_else(|| unreadable("it is not part of this build"))?;
        let request = serde_json::to_string(request).map_err(|error| unreadable(&error.to_string()))?;
        let keys = archive_keys(&[archive])?;
        let opened = open.call3(&JsValue::UNDEFINED, self.bucket(), &keys, &request.into());
        let opened = JsFuture::from(Promise::resolve(&opened.map_err(|thrown| to_failure(&thrown))?));
        let opened = opened.await.map_err(|thrown| to_failure(&thrown))?;
        if let Some(key) = opened.as_string() {
            return find_missing(&[archive], &key).map(Err);
        }
        let opened: OpenedDownload = opened.unchecked_into();
        let outcome = serde_json::from_str(&opened.outcome()).map_err(|error| unreadable(&error.to_string()))?;
        Ok(Ok((outcome, opened)))
    }
}
