//! What is in a container, and what its sandbox believes of it.

use std::collections::{BTreeMap, BTreeSet};

use sandbox_snapshotter::model::directory::ROOTS;
use sandbox_snapshotter::model::named::Stamp;
use sandbox_snapshotter::model::named::standing::Survey;
use sandbox_snapshotter::model::{Directory, Place, Status};

use super::checkpoints::Kept;
use super::sandboxes::sha256;

/// The files of a container: path → content.
pub type Files = BTreeMap<String, String>;

/// What every container begins with.
pub struct Image {
    pub(super) version: String,
    pub(super) files: Files,
}

impl Default for Image {
    fn default() -> Self {
        Self { version: "0.12.10 0123456789abcdef".into(), files: Files::new() }
    }
}

/// A sandbox's Durable Object.
#[derive(Default)]
pub struct Sandbox {
    pub(super) name: Option<String>,
    /// How long its container may be idle; nothing where that was never said.
    #[allow(clippy::option_option)] // For ever is something that was said.
    pub(super) sleeps_after: Option<Option<u64>>,
    pub(super) env: BTreeMap<String, String>,
    pub(super) container: Option<Container>,
    /// What it believes of its container, which may be wrong for a while.
    pub(super) believed: Option<Status>,
    /// In its own milliseconds, in which nothing is ever twice at the same time.
    pub(super) last_change: i64,
}

/// A container, in which the roots of all backups are there from the beginning.
pub struct Container {
    pub(super) started_at: i64,
    pub(super) files: Files,
    pub(super) links: BTreeSet<String>,
    /// What git ignores, relative to the directory that is asked about.
    pub(super) ignored: Vec<String>,
    /// Directories that were made.
    pub(super) made: BTreeSet<String>,
    pub(super) took_place: bool,
    pub(super) stamp: Option<Stamp>,
    pub(super) image: String,
    /// A process that works below the files that are restored.
    pub(super) below: Option<String>,
    /// What was changed since somebody looked; `None` before anybody has.
    pub(super) changed: Option<BTreeSet<String>>,
    pub(super) checkpoints: Vec<Kept>,
}

impl Container {
    pub(super) fn new(started_at: i64, image: &Image) -> Self {
        Self {
            started_at,
            files: image.files.clone(),
            links: BTreeSet::new(),
            ignored: Vec::new(),
            made: BTreeSet::new(),
            took_place: false,
            stamp: None,
            image: image.version.clone(),
            below: None,
            changed: None,
            checkpoints: Vec::new(),
        }
    }

    /// Writes files, in the place of those that are there.
    pub(super) fn write(&mut self, files: Files) {
        if let Some(changed) = &mut self.changed {
            changed.extend(files.keys().cloned());
        }
        self.files.extend(files);
    }

    /// Removes the files that are not to be kept.
    pub(super) fn remove(&mut self, keep: impl Fn(&str) -> bool) {
        let gone: Vec<String> = self.files.keys().filter(|path| !keep(path)).cloned().collect();
        self.files.retain(|path, _| keep(path));
        if let Some(changed) = &mut self.changed {
            changed.extend(gone);
        }
    }

    /// It carries another stamp from now on.
    pub(super) fn stamps(&mut self, to: &Stamp) {
        self.stamp = Some(to.clone());
        self.changed = Some(BTreeSet::new());
    }

    /// What is in it.
    pub(super) fn survey(&mut self, dir: &Directory) -> Survey {
        self.made.insert(dir.to_string());
        let within = self.files.iter().filter(|(path, _)| is_under(path, dir.as_str()));
        let lines: Vec<_> = within.map(|(path, content)| format!("{path:?} {content:?}")).collect();
        let listing = lines.join("\n");
        let listing = Some(listing).filter(|listing| !listing.is_empty()).map(|listing| sha256(&listing));
        Survey { image: self.image.clone(), listing }
    }

    /// The hashes of files.
    pub(super) fn hashes(&self, dir: &Directory, files: &[String]) -> BTreeMap<String, String> {
        let path = |file: &String| if file.starts_with('/') { file.clone() } else { format!("{dir}/{file}") };
        let hash = |file| self.files.get(&path(file)).map(|content| sha256(content)).unwrap_or_default();
        files.iter().map(|file| (file.clone(), hash(file))).collect()
    }

    pub(super) fn place(&self, dir: &str) -> Place {
        if self.links.iter().any(|link| dir == link || is_under(dir, link)) {
            Place::Link
        } else if self.files.contains_key(dir) {
            Place::NotDirectory
        } else if self.files.keys().any(|path| is_under(path, dir)) {
            Place::Full
        } else if ROOTS.contains(&dir) || self.made.contains(dir) {
            Place::Empty
        } else {
            Place::Missing
        }
    }
}

impl Sandbox {
    pub(super) fn believe(&mut self, status: Status, now: i64) {
        self.believed = Some(status);
        self.last_change = now.max(self.last_change + 1);
    }

    pub(super) fn start(&mut self, now: i64, image: &Image) -> &mut Container {
        if self.container.is_none() {
            self.container = Some(Container::new(now, image));
            self.believe(Status::Healthy, now);
        }
        self.container.as_mut().unwrap()
    }
}

pub(super) fn is_under(path: &str, dir: &str) -> bool {
    path.strip_prefix(dir).is_some_and(|rest| rest.starts_with('/'))
}
