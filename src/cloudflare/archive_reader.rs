//! The reader of archives: a WebAssembly module of its own, which `src/archives.mjs` loads at its first use.

use std::cell::RefCell;

use js_sys::futures::JsFuture;
use js_sys::{Array, Function, Promise, Uint8Array};
use serde::Serialize;
use serde::de::DeserializeOwned;
use wasm_bindgen::prelude::*;
use worker::Bucket;

use super::backup_keys::archive_key;
use super::js_error::to_failure;
use crate::model::Failure;
use crate::model::archive::{ArchiveLocation, MissingArchive};

thread_local! {
    static READER: RefCell<Option<Function>> = const { RefCell::new(None) };
}

/// Sets the function `readArchives` of `src/archives.mjs`. A build of the Worker for tests has none.
#[wasm_bindgen(js_name = setArchiveReader)]
pub fn set_archive_reader(reader: Function) {
    READER.set(Some(reader));
}

/// The archives of snapshots, as `src/archives.mjs` gets them.
#[derive(Serialize)]
struct ArchiveKeys<'a> {
    /// The keys of the archives.
    keys: Vec<String>,
    /// The SHA-256 of the head of a carrier, which the second key names.
    #[serde(skip_serializing_if = "Option::is_none")]
    head: Option<&'a str>,
}

/// Returns the archives of snapshots, as `src/archives.mjs` gets them: as JSON.
pub(super) fn archive_keys(archives: &[&ArchiveLocation]) -> Result<JsValue, Failure> {
    let keys = |archive: &&ArchiveLocation| archive.backups().into_iter().map(archive_key).collect();
    let archives: Vec<_> =
        archives.iter().map(|archive| ArchiveKeys { keys: keys(archive), head: archive.head() }).collect();
    serde_json::to_string(&archives).map(JsValue::from).map_err(|error| unreadable(&error.to_string()))
}

/// Returns the backup whose archive has a key. `src/archives.mjs` returns the key of an archive that does not exist.
pub(super) fn find_missing(archives: &[&ArchiveLocation], key: &str) -> Result<MissingArchive, Failure> {
    let mut backups = archives.iter().flat_map(|archive| archive.backups());
    let found = backups.find(|backup| archive_key(backup) == key);
    found.map(|backup| MissingArchive(backup.id().clone())).ok_or_else(|| unreadable("it misses another archive"))
}

/// Returns the failure of a reader that does not answer as it must.
pub(super) fn unreadable(what: &str) -> Failure {
    Failure::protocol("the reader of archives", what.to_owned())
}

/// Sends a request about the archives of some snapshots, and the listing of a container. Returns the answer, and the bytes
/// of a file.
pub(super) async fn read_archives<T: DeserializeOwned>(
    bucket: &Bucket,
    archives: &[&ArchiveLocation],
    request: &impl Serialize,
    listing: Option<&[u8]>,
) -> Result<Result<(T, Vec<u8>), MissingArchive>, Failure> {
    let reader = READER.with_borrow(Clone::clone).ok_or_else(|| unreadable("it is not part of this build"))?;
    let request = serde_json::to_string(request).map_err(|error| unreadable(&error.to_string()))?;
    let keys = archive_keys(archives)?;
    let listing = listing.map_or(JsValue::UNDEFINED, |listing| Uint8Array::from(listing).into());
    let read = reader.call4(&JsValue::UNDEFINED, bucket.as_ref(), &keys, &request.into(), &listing);
    let read = JsFuture::from(Promise::resolve(&read.map_err(|thrown| to_failure(&thrown))?));
    let answer = read.await.map_err(|thrown| to_failure(&thrown))?;
    if let Some(key) = answer.as_string() {
        return find_missing(archives, &key).map(Err);
    }
    let answer: Array = answer.dyn_into().map_err(|_| unreadable("its answer is not an array"))?;
    let outcome = answer.get(0).as_string().and_then(|outcome| serde_json::from_str(&outcome).ok());
    let outcome = outcome.ok_or_else(|| unreadable("its answer can't be parsed"))?;
    Ok(Ok((outcome, Uint8Array::new(&answer.get(1)).to_vec())))
}
