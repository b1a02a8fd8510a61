//! The text output of files with secrets.

use sandbox_snapshotter_client::model::{SecretsMode, SecretsReport, SnapshotId};

/// The maximum number of paths in a text.
const MAX_SHOWN: usize = 10;

/// Returns what happened to files with secrets, and their paths; empty where none were found or searched for.
pub fn secrets_text(report: Option<&SecretsReport>) -> String {
    let Some(report) = report.filter(|report| report.count > 0) else { return String::new() };
    let (count, what) = match report.mode {
        SecretsMode::Exclude => (report.excluded, "left out"),
        SecretsMode::Keep | SecretsMode::Refuse => (report.count, "contained"),
    };
    format!("{what}: {}", first_paths(&report.paths, count))
}

/// Returns the files with secrets that a snapshot left out; empty where there are none.
pub fn missing_text(paths: &[String]) -> String {
    if paths.is_empty() {
        String::new()
    } else {
        format!("files with secrets: {}", first_paths(paths, paths.len() as u64))
    }
}

/// Returns the note about the files that a tar leaves out; `None` if there are none.
pub fn left_out_note(report: &SecretsReport) -> Option<String> {
    let what = first_paths(&report.paths, report.excluded);
    (report.excluded > 0)
        .then(|| format!("Files with secrets are left out: {what}. Pass --secrets keep to include them."))
}

/// Returns the note about the files that are missing after a restore of a snapshot that left them out; `None` if it left out none.
pub fn left_out_of_snapshot(id: &SnapshotId, report: &SecretsReport) -> Option<String> {
    let is_without = report.mode == SecretsMode::Exclude && report.excluded > 0;
    let files = || first_paths(&report.paths, report.excluded);
    is_without.then(|| format!("files with secrets are missing, because {id} was taken without them: {}", files()))
}

/// Returns the number of paths, and the first of them.
fn first_paths(paths: &[String], count: u64) -> String {
    let shown = paths.get(..MAX_SHOWN.min(paths.len())).unwrap_or_default();
    let more = if count > shown.len() as u64 { ", …" } else { "" };
    format!("{count} ({}{more})", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_has_the_number_of_files_and_the_first_paths() {
        let report = |mode, count: u64, paths: usize| {
            let paths = (0..paths).map(|number| format!("{number}.pem")).collect();
            secrets_text(Some(&SecretsReport { mode, count, paths, excluded: count }))
        };
        let id = SnapshotId::parse("snap-aaaaaaaaaaaaaaaa").unwrap();
        let missing = |mode| {
            left_out_of_snapshot(&id, &SecretsReport { mode, count: 1, paths: vec![".env".into()], excluded: 1 })
        };
        let note = "files with secrets are missing, because snap-aaaaaaaaaaaaaaaa was taken without them: 1 (.env)";
        assert_eq!((missing(SecretsMode::Exclude).as_deref(), missing(SecretsMode::Keep)), (Some(note), None));
        assert_eq!(secrets_text(None), "");
        assert_eq!(report(SecretsMode::Exclude, 0, 0), "");
        assert_eq!(report(SecretsMode::Keep, 2, 2), "contained: 2 (0.pem, 1.pem)");
        assert!(report(SecretsMode::Exclude, 200, 100).starts_with("left out: 200 (0.pem, "));
        assert!(report(SecretsMode::Exclude, 200, 100).ends_with("9.pem, …)"));
    }
}
