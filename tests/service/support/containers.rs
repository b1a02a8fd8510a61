//! Containers and the state of their sandbox objects.

use std::collections::{BTreeMap, BTreeSet};

use sandbox_snapshotter::model::directory::ALLOWED_ROOTS;
use sandbox_snapshotter::model::named::ContainerMarker;
use sandbox_snapshotter::model::named::binding::DirectoryListing;
use sandbox_snapshotter::model::{Directory, DirectoryContent, Status};

use super::checkpoints::StoredCheckpoint;
use super::sandboxes::sha256;

/// The files of a container: path → content.
pub type Files = BTreeMap<String, String>;

/// The image of new containers.
pub struct Image {
    pub(super) version: String,
    pub(super) files: Files,
}

impl Default for Image {
    fn default() -> Self {
        Self { version: "0.12.10 0123456789abcdef".into(), files: Files::new() }
    }
}

/// The Durable Object of a sandbox.
#[derive(Default)]
pub struct Sandbox {
    pub(super) name: Option<String>,
    /// The idle timeout of the container, in seconds: `Some(None)` is unlimited, and `None` was never set.
    #[allow(clippy::option_option)] // Unlimited and never set are different.
    pub(super) sleeps_after: Option<Option<u64>>,
    pub(super) env: BTreeMap<String, String>,
    pub(super) container: Option<Container>,
    /// The status that the object has recorded for its container. It can be outdated.
    pub(super) status: Option<Status>,
    /// The time of the last status change, in milliseconds of the sandbox. Each change has a different time.
    pub(super) last_change: i64,
}

/// A container. The root directories of backups exist from its start.
pub struct Container {
    pub(super) started_at: i64,
    pub(super) files: Files,
    pub(super) symlinks: BTreeSet<String>,
    /// The paths that git ignores, relative to the captured directory.
    pub(super) ignored: Vec<String>,
    /// The directories that were created.
    pub(super) directories: BTreeSet<String>,
    pub(super) is_replacement: bool,
    pub(super) marker: Option<ContainerMarker>,
    pub(super) image: String,
    /// A process that uses the directory below the restored files.
    pub(super) process_below: Option<String>,
    /// The paths that changed since the last watch; `None` before the first watch.
    pub(super) changed_since_watch: Option<BTreeSet<String>>,
    pub(super) checkpoints: Vec<StoredCheckpoint>,
}

impl Container {
    pub(super) fn new(started_at: i64, image: &Image) -> Self {
        Self {
            started_at,
            files: image.files.clone(),
            symlinks: BTreeSet::new(),
            ignored: Vec::new(),
            directories: BTreeSet::new(),
            is_replacement: false,
            marker: None,
            image: image.version.clone(),
            process_below: None,
            changed_since_watch: None,
            checkpoints: Vec::new(),
        }
    }

    /// Writes files, and replaces existing ones.
    pub(super) fn write_files(&mut self, files: Files) {
        if let Some(changed) = &mut self.changed_since_watch {
            changed.extend(files.keys().cloned());
        }
        self.files.extend(files);
    }

    /// Removes the files for which `keep` returns false.
    pub(super) fn retain_files(&mut self, keep: impl Fn(&str) -> bool) {
        let removed: Vec<String> = self.files.keys().filter(|path| !keep(path)).cloned().collect();
        self.files.retain(|path, _| keep(path));
        if let Some(changed) = &mut self.changed_since_watch {
            changed.extend(removed);
        }
    }

    /// Sets the container marker.
    pub(super) fn set_marker(&mut self, to: &ContainerMarker) {
        self.marker = Some(to.clone());
        self.changed_since_watch = Some(BTreeSet::new());
    }

    /// Returns the image and the hash of the contents of `dir`. Creates `dir` if it is missing.
    pub(super) fn list_directory(&mut self, dir: &Directory) -> DirectoryListing {
        self.directories.insert(dir.to_string());
        let entries = self.files.iter().filter(|(path, _)| is_under(path, dir.as_str()));
        let lines: Vec<_> = entries.map(|(path, content)| format!("{path:?} {content:?}")).collect();
        let listing = lines.join("\n");
        let listing = Some(listing).filter(|listing| !listing.is_empty()).map(|listing| sha256(&listing));
        DirectoryListing { image: self.image.clone(), content_hash: listing }
    }

    /// Returns the SHA-256 of each file; empty for a missing file.
    pub(super) fn hashes(&self, dir: &Directory, files: &[String]) -> BTreeMap<String, String> {
        let path = |file: &String| if file.starts_with('/') { file.clone() } else { format!("{dir}/{file}") };
        let hash = |file| self.files.get(&path(file)).map(|content| sha256(content)).unwrap_or_default();
        files.iter().map(|file| (file.clone(), hash(file))).collect()
    }

    pub(super) fn directory_content(&self, dir: &str) -> DirectoryContent {
        if self.symlinks.iter().any(|link| dir == link || is_under(dir, link)) {
            DirectoryContent::Symlink
        } else if self.files.contains_key(dir) {
            DirectoryContent::NotDirectory
        } else if self.files.keys().any(|path| is_under(path, dir)) {
            DirectoryContent::NonEmpty
        } else if ALLOWED_ROOTS.contains(&dir) || self.directories.contains(dir) {
            DirectoryContent::Empty
        } else {
            DirectoryContent::Missing
        }
    }
}

impl Sandbox {
    pub(super) fn set_status(&mut self, status: Status, now: i64) {
        self.status = Some(status);
        self.last_change = now.max(self.last_change + 1);
    }

    pub(super) fn start(&mut self, now: i64, image: &Image) -> &mut Container {
        if self.container.is_none() {
            self.container = Some(Container::new(now, image));
            self.set_status(Status::Healthy, now);
        }
        self.container.as_mut().unwrap()
    }
}

pub(super) fn is_under(path: &str, dir: &str) -> bool {
    path.strip_prefix(dir).is_some_and(|rest| rest.starts_with('/'))
}
