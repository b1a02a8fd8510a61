//! The sandboxes and the contents of their containers.

use std::collections::{BTreeMap, BTreeSet};

use futures_channel::oneshot;
use sandbox_snapshotter::model::change_cursor::SAVED_AT_START;
use sandbox_snapshotter::model::delta::is_carrier;
use sandbox_snapshotter::model::directory::ALLOWED_ROOTS;
use sandbox_snapshotter::model::named::ContainerMarker;
use sandbox_snapshotter::model::named::binding::DirectoryListing;
use sandbox_snapshotter::model::{
    ArchiveFormat, BackupHandle, BackupId, ChangeCursor, Directory, DirectoryContent, Failure, Probe, Runtime,
    SandboxId, Status,
};
use sha2::{Digest, Sha256};

use super::Scheduler;
use super::background::MemoryBackgroundCommand;
use super::checkpoints::StoredCheckpoint;
use super::deltas::DeltaState;
use super::freeze::FrozenFiles;

/// The resolution of the clock in a container, in milliseconds.
const TICK_MILLIS: i64 = 10;

/// The prefix of the keys of saved states.
const STATE: &str = "state ";

fn state_key(state: &str) -> String {
    format!("{STATE}{state}")
}

/// The files of a container: path → content.
pub type Files = BTreeMap<String, String>;

/// The image of new containers.
#[derive(Clone)]
pub struct Image {
    /// Its version.
    pub version: String,
    /// Its files.
    pub files: Files,
    /// The format of the archives that its programs can make.
    pub archive_format: ArchiveFormat,
}

impl Default for Image {
    fn default() -> Self {
        Self {
            version: "0.12.10 0123456789abcdef".into(),
            files: Files::new(),
            archive_format: ArchiveFormat::Squashfs,
        }
    }
}

/// The Durable Object of a sandbox.
pub struct Sandbox<S: Scheduler> {
    /// Its name; the first one stays.
    pub name: Option<String>,
    /// The idle timeout of the container, in seconds: `Some(None)` is unlimited, and `None` was never set.
    #[allow(clippy::option_option)] // Unlimited and never set are different.
    pub sleeps_after: Option<Option<u64>>,
    /// The environment variables.
    pub env: BTreeMap<String, String>,
    /// The name of the image from which its next containers start; `None` is the default of its class.
    pub image: Option<String>,
    /// Its container.
    pub container: Option<Container<S>>,
    /// The status that the object has recorded for its container. It can be outdated.
    pub status: Option<Status>,
    /// The time of the last status change, in milliseconds of the sandbox. Each change has a different time.
    pub last_change: i64,
    /// What the test notes about it.
    pub notes: S::SandboxNotes,
    /// The backup or restore that the next one waits for.
    queue_tail: Option<oneshot::Receiver<()>>,
}

/// A container. The root directories of backups exist from its start.
pub struct Container<S: Scheduler> {
    /// A number that no other container has.
    pub number: u64,
    /// The time of its start, in milliseconds since 1970.
    pub started_at: i64,
    /// The time of its last use, in milliseconds since 1970.
    pub used_at: i64,
    /// Its files.
    pub files: Files,
    /// Its symbolic links.
    pub symlinks: BTreeSet<String>,
    /// The last list of all files.
    pub list_of_files: Vec<u8>,
    /// The number of bytes of a part of the list.
    pub listing_part: usize,
    /// The paths that git ignores, relative to the captured directory.
    pub ignored: Vec<String>,
    /// The directories that were created.
    pub directories: BTreeSet<String>,
    /// Whether it carries the note that it replaced another container.
    pub is_replacement: bool,
    /// Its marker.
    pub marker: Option<ContainerMarker>,
    /// The token in the file on its disk.
    pub disk_token: Option<String>,
    /// The version of its image.
    pub image: String,
    /// See [`Image::archive_format`].
    pub archive_format: ArchiveFormat,
    /// The number of commands of callers that run.
    pub commands: usize,
    /// The background commands, newest first.
    pub(super) background: Vec<MemoryBackgroundCommand>,
    /// The files that are frozen.
    pub(super) frozen: Option<FrozenFiles>,
    /// The ids of the commands that callers cancelled before they started.
    pub cancelled: BTreeSet<String>,
    /// The backup that is mounted, in production mode.
    pub mounted: Option<BackupId>,
    /// The marker that it had when a file system was mounted over its files.
    pub marker_below_mount: Option<ContainerMarker>,
    /// A process that uses the directory below the restored files.
    pub process_below: Option<String>,
    /// The paths that changed since the last watch of each cursor, and since each saved state.
    pub changed_since: BTreeMap<String, BTreeSet<String>>,
    /// When its marker last became ready, in milliseconds since 1970: files that were written before may not count as changed.
    pub ready_at: i64,
    /// The time of the last watch that decides whether the container ends, in milliseconds since 1970.
    pub watched_at: i64,
    /// What it has for incremental snapshots.
    pub deltas: DeltaState,
    /// The number of writes of files, and the number of the last write of each file.
    writes: u64,
    versions: BTreeMap<String, u64>,
    /// Its checkpoints.
    pub(super) checkpoints: Vec<StoredCheckpoint>,
    /// The incomplete files by their names.
    pub(super) incomplete_files: BTreeMap<String, String>,
    /// What the test notes about it.
    pub notes: S::ContainerNotes,
}

impl<S: Scheduler> Container<S> {
    fn new(number: u64, image: Image, now: i64) -> Self {
        Self {
            number,
            started_at: now,
            used_at: now,
            files: image.files,
            symlinks: BTreeSet::new(),
            list_of_files: Vec::new(),
            listing_part: 4 << 20,
            ignored: Vec::new(),
            directories: BTreeSet::new(),
            is_replacement: false,
            marker: None,
            disk_token: None,
            image: image.version,
            archive_format: image.archive_format,
            commands: 0,
            background: Vec::new(),
            frozen: None,
            cancelled: BTreeSet::new(),
            mounted: None,
            marker_below_mount: None,
            process_below: None,
            changed_since: BTreeMap::new(),
            ready_at: 0,
            watched_at: 0,
            deltas: DeltaState::default(),
            writes: 0,
            versions: BTreeMap::new(),
            checkpoints: Vec::new(),
            incomplete_files: BTreeMap::new(),
            notes: S::ContainerNotes::default(),
        }
    }

    /// Returns its age in milliseconds, as a script in it measures the age.
    pub(super) fn age_millis(&self, now: i64) -> i64 {
        (now - self.started_at) / TICK_MILLIS * TICK_MILLIS
    }

    /// Returns what a probe finds.
    pub(super) fn probe(&self, dir: &Directory, now: i64) -> Probe {
        Probe {
            age_millis: self.age_millis(now),
            elapsed_millis: 0,
            directory_content: self.directory_content(dir.as_str()),
            is_replacement: self.is_replacement,
            marker: self.marker.clone(),
        }
    }

    /// Writes files, and replaces existing ones.
    pub fn write_files(&mut self, files: Files) {
        for changed in self.changed_since.values_mut() {
            changed.extend(files.keys().cloned());
        }
        self.writes += 1;
        self.versions.extend(files.keys().map(|path| (path.clone(), self.writes)));
        self.files.extend(files);
    }

    /// Returns the number of the last write of a file; 0 for a file of the image.
    pub(super) fn version_of(&self, path: &str) -> u64 {
        self.versions.get(path).copied().unwrap_or_default()
    }

    /// Removes the files for which `keep` returns false.
    pub fn retain_files(&mut self, keep: impl Fn(&str) -> bool) {
        let removed: Vec<String> = self.files.keys().filter(|path| !keep(path)).cloned().collect();
        self.files.retain(|path, _| keep(path));
        for changed in self.changed_since.values_mut() {
            changed.extend(removed.iter().cloned());
        }
    }

    /// Unpacks a backup. The class for containers replaces the directory. The files that exist stay in the local mode of the
    /// SDK 0.12; in production mode, the mount hides them.
    pub(super) fn unpack(&mut self, backup: &BackupHandle, files: Files, runtime: Runtime) {
        if runtime == Runtime::Container || !backup.is_extracted() {
            self.retain_files(|path| !is_under(path, backup.dir().as_str()));
        }
        self.write_files(files);
        if !backup.is_extracted() && !is_carrier(backup.dir()) {
            self.mounted = Some(backup.id().clone());
            self.note_lower(backup.dir().as_str());
        }
    }

    /// Sets the container marker.
    pub(super) fn set_marker(&mut self, to: &ContainerMarker, now: i64) {
        self.marker = Some(to.clone());
        if to.is_ready() {
            self.ready_at = now;
        }
        self.watch(&ChangeCursor::Idle, now);
        self.changed_since.insert(state_key(SAVED_AT_START), BTreeSet::new());
    }

    /// Starts to watch for changes. Returns the paths that changed since the last watch of the cursor.
    pub(super) fn watch(&mut self, cursor: &ChangeCursor, now: i64) -> Option<BTreeSet<String>> {
        if !matches!(cursor, ChangeCursor::Capture(_)) {
            self.watched_at = now;
        }
        self.changed_since.insert(format!("{cursor:?}"), BTreeSet::new())
    }

    /// Ends the watches of other stops, or of other captures.
    pub(super) fn end_other_watches(&mut self, cursor: &ChangeCursor) {
        let own = format!("{cursor:?}");
        if let Some((kind, _)) = own.split_once('(') {
            self.changed_since.retain(|key, _| *key == own || !key.starts_with(kind));
        }
    }

    /// Fails where the directory does not show its files.
    pub(super) fn check_mounts(&self, dir: &Directory) -> Result<(), Failure> {
        match self.directory_content(dir.as_str()) {
            DirectoryContent::Unmounted => Err(Failure::unmounted()),
            _ => Ok(()),
        }
    }

    /// Returns whether the directory changed since the saved state, and if so, records the present state as `next`.
    pub(super) fn check_for_save(&mut self, dir: &Directory, saved: Option<&str>, next: &str) -> Option<bool> {
        if !self.marker.as_ref().is_some_and(ContainerMarker::is_ready) {
            return None;
        }
        let saved = saved.map(state_key);
        let changed = saved.as_ref().and_then(|saved| self.changed_since.get(saved));
        let is_changed = changed.is_none_or(|changed| changed.iter().any(|path| is_under(path, dir.as_str())));
        if is_changed {
            self.changed_since.retain(|key, _| !key.starts_with(STATE) || Some(key) == saved.as_ref());
            self.changed_since.insert(state_key(next), BTreeSet::new());
        }
        Some(is_changed)
    }

    /// Returns the files in `dir`.
    pub fn files_in(&self, dir: &str) -> Files {
        self.files
            .iter()
            .filter(|(path, _)| is_under(path, dir))
            .map(|(path, file)| (path.clone(), file.clone()))
            .collect()
    }

    /// Returns the hash of the contents of `dir`; `None` if it is empty.
    pub fn content_hash(&self, dir: &str) -> Option<String> {
        let lines: Vec<_> = self.files_in(dir).iter().map(|(path, content)| format!("{path:?} {content:?}")).collect();
        (!lines.is_empty()).then(|| sha256(lines.join("\n")))
    }

    /// Returns the image and the hash of the contents of `dir`. Creates `dir` if it is missing.
    pub(super) fn list_directory(&mut self, dir: &Directory) -> DirectoryListing {
        self.directories.insert(dir.to_string());
        DirectoryListing { image: self.image.clone(), content_hash: self.content_hash(dir.as_str()) }
    }

    /// Returns the SHA-256 of each file; empty for a missing file.
    pub(super) fn hashes(&self, dir: &Directory, files: &[String]) -> BTreeMap<String, String> {
        let path = |file: &String| if file.starts_with('/') { file.clone() } else { format!("{dir}/{file}") };
        let hash = |file| self.files.get(&path(file)).map(sha256).unwrap_or_default();
        files.iter().map(|file| (file.clone(), hash(file))).collect()
    }

    pub(super) fn directory_content(&self, dir: &str) -> DirectoryContent {
        if self.marker.as_ref().is_some_and(ContainerMarker::is_ready) && self.marker_below_mount == self.marker {
            DirectoryContent::Unmounted
        } else if self.symlinks.iter().any(|link| dir == link || is_under(dir, link)) {
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

impl<S: Scheduler> Default for Sandbox<S> {
    fn default() -> Self {
        Self {
            name: None,
            sleeps_after: None,
            env: BTreeMap::new(),
            image: None,
            container: None,
            status: None,
            last_change: 0,
            notes: S::SandboxNotes::default(),
            queue_tail: None,
        }
    }
}

impl<S: Scheduler> Sandbox<S> {
    /// Sets the status that it reports.
    pub fn set_status(&mut self, status: Status, now: i64) {
        self.status = Some(status);
        self.last_change = now.max(self.last_change + 1);
    }

    /// Uses the container. Starts one from `image`, with a new `number`, if none runs.
    pub(super) fn use_container(&mut self, number: u64, image: Image, now: i64) -> &mut Container<S> {
        if self.container.is_none() {
            self.set_status(Status::Healthy, now);
        }
        // Containers of one sandbox start at different times.
        let started_at = self.last_change;
        let container = self.container.get_or_insert_with(|| Container::new(number, image, started_at));
        container.used_at = now;
        container
    }

    /// Sets the name, if it has none.
    pub(super) fn assign_name(&mut self, id: &SandboxId) {
        self.name.get_or_insert_with(|| id.to_string());
    }

    /// Enters the queue of backups and restores, which run one after the other.
    pub(super) fn enqueue(&mut self) -> Turn {
        let (done, is_done) = oneshot::channel();
        Turn { before: self.queue_tail.replace(is_done), _done: done }
    }
}

/// A place in the queue of a sandbox. It ends when it is dropped.
pub struct Turn {
    before: Option<oneshot::Receiver<()>>,
    _done: oneshot::Sender<()>,
}

impl Turn {
    /// Waits for the operation before.
    pub(super) async fn wait(&mut self) {
        if let Some(before) = self.before.take() {
            before.await.ok();
        }
    }
}

/// Returns whether a path is below `dir`.
pub fn is_under(path: &str, dir: &str) -> bool {
    path.strip_prefix(dir).is_some_and(|rest| rest.starts_with('/'))
}

/// Returns the SHA-256 of a content, in hexadecimal.
pub(super) fn sha256(content: impl AsRef<[u8]>) -> String {
    let digest = Sha256::digest(content);
    digest
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .filter_map(|nibble| char::from_digit(nibble.into(), 16))
        .collect()
}
