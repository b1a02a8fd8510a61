//! Checks whether the dependencies of a snapshot still match the present state.

use std::collections::BTreeMap;
use std::fmt::Display;

use crate::model::named::Settings;
use crate::model::named::binding::Dependencies;
use crate::model::named::settings::{OnImageChange, StartSettings};
use crate::model::{Directory, Error, Result};

/// Compares the dependencies of a snapshot with the current ones, before anything is restored. Returns the differences.
///
/// # Errors
/// [`Code::SnapshotStale`] if there is a difference on which the settings require a failure, unless the caller accepts
/// it.
pub(in crate::service) fn check(
    snapshot_id: impl Display,
    then: &Dependencies,
    now: &Dependencies,
    settings: &Settings,
    start: &StartSettings,
) -> Result<Vec<String>> {
    let (stale, image) = then.compare(now, &start.expect);
    let fails = (settings.depends_on.on_mismatch.fails() && !stale.is_empty())
        || (settings.depends_on.on_image_change.fails() && !image.is_empty());
    let image = image.into_iter().filter(|_| settings.depends_on.on_image_change != OnImageChange::Allow);
    let all: Vec<String> = stale.into_iter().chain(image).collect();
    if fails && !start.accept_stale {
        return Err(Error::snapshot_stale(snapshot_id, &all));
    }
    Ok(all)
}

/// Returns the files that are outside of the directory. Files inside it are not compared, because the restore has yet
/// to write them.
pub(super) fn paths_outside(files: &[String], dir: &Directory) -> Vec<String> {
    let is_inside = |path: &&String| {
        let rest = path.strip_prefix(dir.as_str());
        !path.starts_with('/') || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    files.iter().filter(|path| !is_inside(path)).cloned().collect()
}

/// Returns the current dependencies.
pub(super) fn current_dependencies(files: BTreeMap<String, String>, settings: &Settings, image: &str) -> Dependencies {
    Dependencies { files, fingerprint: settings.depends_on.fingerprint.clone(), image: Some(image.to_owned()) }
}
