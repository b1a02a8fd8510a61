//! Whether the world is still what a snapshot depends on.

use std::collections::BTreeMap;

use crate::model::named::Settings;
use crate::model::named::messages::Start;
use crate::model::named::standing::Dependencies;
use crate::model::{Code, Directory, Error, Result, SnapshotId};

/// Compares what a snapshot depends on with what is there now, before anything is restored. Answers in what it is stale.
///
/// # Errors
/// [`Code::SnapshotStale`] where that is not to be started.
pub(super) fn check(
    snapshot_id: &SnapshotId,
    then: &Dependencies,
    now: &Dependencies,
    settings: &Settings,
    start: &Start,
) -> Result<Vec<String>> {
    let (stale, image) = then.compare(now, &start.expect);
    let fails = (settings.depends_on.on_mismatch.fails() && !stale.is_empty())
        || (settings.depends_on.on_image_change.fails() && !image.is_empty());
    let all: Vec<String> = stale.into_iter().chain(image).collect();
    if fails && !start.accept_stale {
        return Err(Error::new(
            Code::SnapshotStale,
            format!("The snapshot {snapshot_id} is stale: {}.", all.join("; ")),
            "`acceptStale: true` starts it all the same; `currentSnapshotId` goes back to another one; a new workspace begins anew.",
        ));
    }
    Ok(all)
}

/// Those of the files that are not in the directory: what is there before a restore says nothing of those that are.
pub(super) fn outside(files: &[String], dir: &Directory) -> Vec<String> {
    let is_inside = |path: &&String| {
        let rest = path.strip_prefix(dir.as_str());
        !path.starts_with('/') || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    files.iter().filter(|path| !is_inside(path)).cloned().collect()
}

/// What is there now.
pub(super) fn now(files: BTreeMap<String, String>, settings: &Settings, image: &str) -> Dependencies {
    Dependencies { files, fingerprint: settings.depends_on.fingerprint.clone(), image: Some(image.to_owned()) }
}
