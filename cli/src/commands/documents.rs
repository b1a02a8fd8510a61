//! Documents that commands are given: refs, handles, settings.

use std::path::Path;

use sandbox_snapshotter::model::SnapshotRef;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::failure::{Failure, Result};
use crate::input;

/// The text of a file; `-` is the standard input.
pub fn text(path: &Path) -> Result<String> {
    input::read_text(path, |error| {
        let message = format!("{} can't be read: {error}.", display_path(path));
        Failure::invalid("INPUT_UNREADABLE", message, "Give a file that is there, or - for the standard input.")
    })
}

/// The JSON of a file.
pub fn json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let not_json = |error: serde_json::Error| {
        let message = format!("{} is not the JSON that is needed: {error}.", display_path(path));
        Failure::invalid("INPUT_INVALID", message, "Give one JSON document, as the API answers or takes it.")
    };
    serde_json::from_str(&text(path)?).map_err(not_json)
}

/// The snapshot ref of a file: as it is, or in what shows a snapshot.
pub fn snapshot_ref(path: &Path) -> Result<SnapshotRef> {
    let document: Value = json(path)?;
    let inner = document.get("ref").filter(|inner| inner.get("providerId").is_some());
    Ok(SnapshotRef::decode(inner.unwrap_or(&document))?)
}

fn display_path(path: &Path) -> String {
    if input::is_stdin(path) { "The standard input".into() } else { format!("The file {}", path.display()) }
}
