//! The documents that commands read: refs, handles, settings.

use std::path::Path;

use sandbox_snapshotter_client::model::SnapshotRef;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::failure::{Failure, INPUT_INVALID, Result};
use crate::input;

/// Reads the text of a file; `-` is the standard input.
pub fn text(path: &Path) -> Result<String> {
    input::read_text(path, |error| {
        let message = format!("{} can't be read: {error}.", display_path(path));
        Failure::invalid(
            "INPUT_UNREADABLE",
            message,
            "Pass the path of an existing file, or `-` for the standard input.",
        )
    })
}

/// Reads the JSON of a file.
pub fn json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let not_json = |error: serde_json::Error| {
        let message = format!("{} does not contain the expected JSON: {error}.", display_path(path));
        Failure::invalid(INPUT_INVALID, message, "Pass one JSON document in the format of the API.")
    };
    serde_json::from_str(&text(path)?).map_err(not_json)
}

/// Reads the snapshot ref in a file: the ref itself, or a document that contains it in `ref`.
pub fn snapshot_ref(path: &Path) -> Result<SnapshotRef> {
    let document: Value = json(path)?;
    let inner = document.get("ref").filter(|inner| inner.get("providerId").is_some());
    Ok(SnapshotRef::decode(inner.unwrap_or(&document))?)
}

fn display_path(path: &Path) -> String {
    if input::is_stdin(path) { "The standard input".into() } else { format!("The file {}", path.display()) }
}
