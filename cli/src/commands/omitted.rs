//! The failure of a path that a snapshot does not contain because it was taken without it.

use sandbox_snapshotter_client::model::answer::Manifest;
use sandbox_snapshotter_client::model::files::FilePath;
use sandbox_snapshotter_client::model::{Code, SecretsMode, SecretsReport, Selection};

use super::context::Context;
use crate::failure::Failure;

/// The remediation for a file that a snapshot was taken without.
const REMEDIATION: &str = "Select another snapshot, or write the file again.";

/// The remediation for a file with secrets that a snapshot was taken without.
const SECRETS_REMEDIATION: &str = "Select another snapshot, or write the file again. `snapshotter snapshot create --secrets keep` takes a snapshot \
                                   with such files.";

/// Why a snapshot was taken without a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Omission {
    /// A search found secrets in the file.
    Secrets,
    /// The name or the path of the file was excluded.
    Excluded,
}

impl Context {
    /// Adds to the failure of one of `paths` that the snapshot was taken without it.
    pub(super) fn explain_omitted(&self, failure: Failure, selection: &Selection, paths: &[FilePath]) -> Failure {
        if failure.code() != Some(Code::FileNotFound.as_str()) {
            return failure;
        }
        let Some(path) = paths.iter().find(|path| failure.is_about(&format!("{:?}", path.as_str()))) else {
            return failure;
        };
        let Ok(answer) = self.call_without_suggestions::<Manifest>("manifest", selection) else { return failure };
        let Manifest { excludes, secrets, .. } = &answer.value;
        match omission(excludes, secrets.as_ref(), path) {
            Some(Omission::Secrets) => failure
                .with_sentence("The snapshot was taken without it, because a search found secrets in it.")
                .with_remediation(SECRETS_REMEDIATION.to_owned()),
            Some(Omission::Excluded) => failure
                .with_sentence("The snapshot was taken without it, because `--exclude` or `--gitignore` left it out.")
                .with_remediation(REMEDIATION.to_owned()),
            None => failure,
        }
    }
}

/// Returns why a snapshot was taken without a path; `None` if it is not known to be left out.
fn omission(excludes: &[String], secrets: Option<&SecretsReport>, path: &FilePath) -> Option<Omission> {
    let path = path.normalized();
    let path = path.as_str();
    let secrets = secrets.filter(|report| report.mode == SecretsMode::Exclude);
    if secrets.is_some_and(|report| report.paths.iter().any(|secret| secret == path)) {
        return Some(Omission::Secrets);
    }
    let is_excluded = |pattern: &String| {
        pattern.trim_matches('/') == path
            || path.split('/').any(|name| matches(pattern.trim_start_matches("**/").as_bytes(), name.as_bytes()))
    };
    excludes.iter().any(is_excluded).then_some(Omission::Excluded)
}

/// Returns whether a name has the form of a pattern, in which `*` is any text and `?` any character.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern.split_first(), name.split_first()) {
        (None, None) => true,
        (Some((b'*', rest)), _) => {
            matches(rest, name) || name.split_first().is_some_and(|(_, name)| matches(pattern, name))
        }
        (Some((b'?', pattern)), Some((_, name))) => matches(pattern, name),
        (Some((expected, pattern)), Some((byte, name))) => expected == byte && matches(pattern, name),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_a_snapshot_leaves_out_are_known_by_their_paths_and_patterns() {
        let excludes = ["cache", "*.log", "docs/private"].map(str::to_owned);
        let secrets =
            SecretsReport { mode: SecretsMode::Exclude, count: 1, paths: vec!["app/.env".to_owned()], excluded: 1 };
        for (path, expected) in [
            ("app/.env", Some(Omission::Secrets)),
            ("./app/.env", Some(Omission::Secrets)),
            (".env", None),
            ("cache/a", Some(Omission::Excluded)),
            ("src/error.log", Some(Omission::Excluded)),
            ("docs/private", Some(Omission::Excluded)),
            ("src/cached", None),
        ] {
            assert_eq!(omission(&excludes, Some(&secrets), &FilePath::parse(path).unwrap()), expected, "{path}");
        }
    }
}
