//! The search for files with secrets in containers in memory.

use sandbox_snapshotter::model::secret_search::{FoundSecrets, SecretSearch};
use snapshot_archive::secrets::is_named_like_secret;

use super::{Container, Scheduler};

/// The content that the search recognizes.
pub const SECRET: &str = "-----BEGIN PRIVATE KEY-----";

impl<S: Scheduler> Container<S> {
    pub(super) fn find_secrets(&self, search: &SecretSearch) -> FoundSecrets {
        let prefix = format!("{}/", search.dir);
        let relative = |path: &String| path.strip_prefix(&prefix).map(str::to_owned);
        let is_omitted =
            |path: &String| path.split('/').any(|part| search.omitted.excludes.iter().any(|pattern| pattern == part));
        let all: Vec<String> = self.files.keys().filter_map(relative).filter(|path| !is_omitted(path)).collect();
        let is_secret = |path: &String| {
            is_named_like_secret(path.as_bytes()) || self.files[&format!("{prefix}{path}")].contains(SECRET)
        };
        let (files, rest): (Vec<String>, Vec<String>) = all.into_iter().partition(is_secret);
        let name = |path: &str| path.rsplit('/').next().unwrap().to_owned();
        let is_namesake = |path: &String| search.lists_namesakes && files.iter().any(|file| name(file) == name(path));
        let bytes = |paths: Vec<String>| paths.into_iter().map(String::into_bytes).collect();
        let links = self.symlinks.iter().filter_map(relative).filter(is_namesake).collect();
        let others = rest.into_iter().filter(is_namesake).collect();
        let (links, others) = (bytes(links), bytes(others));
        FoundSecrets { count: files.len() as u64, files: bytes(files), links, others, is_complete: true }
    }
}
