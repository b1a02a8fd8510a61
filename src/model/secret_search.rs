//! The search for files with secrets in a container, and how an archive leaves them out.
//!
//! The SDK 0.12 leaves files out only by name: a pattern of a name excludes everything of that name, at any depth. So a file is
//! left out only if everything of its name may be. The class for containers also leaves out single paths with a slash.

use std::collections::BTreeSet;

use super::file_call::Omitted;
use super::{Directory, Error, Result};

/// The characters that names in patterns may have beside letters and digits.
const PLAIN: &str = "._-+@=,/ ";

/// A search in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretSearch {
    /// The directory.
    pub dir: Directory,
    /// What is not searched, because the archive leaves it out.
    pub omitted: Omitted,
    /// Whether to list what else has the name of a file that was found.
    pub lists_namesakes: bool,
}

/// The outcome of a search. Paths are relative to the directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundSecrets {
    /// The number of files with secrets.
    pub count: u64,
    /// The first of these files.
    pub files: Vec<Vec<u8>>,
    /// The symbolic links that have the name of one.
    pub links: Vec<Vec<u8>>,
    /// Other files and directories that have the name of one.
    pub others: Vec<Vec<u8>>,
    /// Whether all of them are listed.
    pub is_complete: bool,
}

impl FoundSecrets {
    /// The maximum size of the list, in bytes.
    pub const MAX_LIST_BYTES: usize = 64 * 1024;

    /// Returns the patterns with which an archive leaves out the files, and the links of the same names.
    ///
    /// # Errors
    /// [`Code::ExcludeUnsupported`](super::Code::ExcludeUnsupported) if that would leave out other files, or if a pattern
    /// can't name a file.
    pub fn exclusions(&self, takes_paths: bool) -> Result<Vec<String>> {
        let refuse = |why: &str, paths: &[&[u8]]| {
            let paths: Vec<String> = paths.iter().map(|path| String::from_utf8_lossy(path).into_owned()).collect();
            Err(Error::secrets_not_excludable(why, &paths))
        };
        if !self.is_complete {
            return refuse("there are too many", &[]);
        }
        let mut patterns = BTreeSet::new();
        for path in &self.files {
            let Some(pattern) = plain(path) else {
                return refuse("a pattern can't name them", &[path]);
            };
            let name = name_of(pattern);
            let is_nested = name.len() < pattern.len();
            patterns.insert(if takes_paths && is_nested { pattern } else { name });
        }
        let is_left_out = |path: &&Vec<u8>| plain(path).is_none_or(|path| patterns.contains(name_of(path)));
        let innocent: Vec<&[u8]> = self.others.iter().filter(is_left_out).map(Vec::as_slice).collect();
        if !innocent.is_empty() {
            return refuse("their names are also those of other files, which would be left out with them", &innocent);
        }
        Ok(patterns.into_iter().map(str::to_owned).collect())
    }

    /// Returns the links that patterns leave out with the files.
    pub fn excluded_links(&self, patterns: &[String]) -> Vec<&[u8]> {
        let is_left_out =
            |path: &&Vec<u8>| plain(path).is_some_and(|path| patterns.iter().any(|pattern| pattern == name_of(path)));
        self.links.iter().filter(is_left_out).map(Vec::as_slice).collect()
    }
}

/// Returns a path that is its own pattern.
fn plain(path: &[u8]) -> Option<&str> {
    let path = std::str::from_utf8(path).ok()?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || PLAIN.contains(c) || (!c.is_ascii() && c.is_alphanumeric());
    let is_odd = |part: &str| part.starts_with([' ', '-']) || part.starts_with("... ") || part.ends_with(' ');
    (path.chars().all(is_plain) && !path.split('/').any(is_odd)).then_some(path)
}

fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
