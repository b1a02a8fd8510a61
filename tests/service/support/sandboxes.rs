//! Sandboxes whose containers come and go, with the habits of the SDK (0.12.10).

use std::collections::{BTreeMap, BTreeSet};

use sandbox_snapshotter::model::directory::ROOTS;
use sandbox_snapshotter::model::{
    BackupHandle, BackupOptions, Directory, Failure, Place, Probe, SandboxId, SandboxState, Status,
};
use sandbox_snapshotter::ports::Sandboxes;
use serde_json::{Value, json};

use super::bucket::Backup;
use super::{Method, World};

/// How long a restore takes, in milliseconds, from the start of the container on.
const RESTORE: i64 = 2000;

/// The time to live of a backup where the application says nothing, in seconds: three days.
const SDK_TTL: u64 = 3 * 24 * 3600;

/// The files of a container: path → content.
pub type Files = BTreeMap<String, String>;

/// A sandbox's Durable Object.
#[derive(Default)]
pub struct Sandbox {
    name: Option<String>,
    container: Option<Container>,
    /// What it believes of its container, which may be wrong for a while.
    believed: Option<Status>,
    /// In its own milliseconds, in which nothing is ever twice at the same time.
    last_change: i64,
}

/// A container, in which the roots of all backups are there from the beginning.
struct Container {
    started_at: i64,
    files: Files,
    links: BTreeSet<String>,
    took_place: bool,
}

impl Container {
    fn new(started_at: i64) -> Self {
        Self { started_at, files: Files::new(), links: BTreeSet::new(), took_place: false }
    }

    fn place(&self, dir: &str) -> Place {
        if self.links.iter().any(|link| dir == link || is_under(dir, link)) {
            Place::Link
        } else if self.files.contains_key(dir) {
            Place::NotDirectory
        } else if self.files.keys().any(|path| is_under(path, dir)) {
            Place::Full
        } else if ROOTS.contains(&dir) {
            Place::Empty
        } else {
            Place::Missing
        }
    }
}

impl Sandbox {
    fn believe(&mut self, status: Status, now: i64) {
        self.believed = Some(status);
        self.last_change = now.max(self.last_change + 1);
    }

    fn start(&mut self, now: i64) -> &mut Container {
        if self.container.is_none() {
            self.container = Some(Container::new(now));
            self.believe(Status::Healthy, now);
        }
        self.container.as_mut().unwrap()
    }
}

/// What happens to sandboxes without the snapshotter.
impl World {
    /// An application starts a container, where there is none, and writes a file.
    pub fn writes(&self, id: &str, path: &str, content: &str) {
        let now = self.millis();
        self.with(id, |sandbox| sandbox.start(now).files.insert(path.into(), content.into()));
    }

    /// An application puts a symbolic link into the container.
    pub fn links(&self, id: &str, path: &str) {
        let now = self.millis();
        self.with(id, |sandbox| sandbox.start(now).links.insert(path.into()));
    }

    /// The files of the container go away, and the container stays.
    pub fn loses_files(&self, id: &str) {
        let now = self.millis();
        self.with(id, |sandbox| sandbox.start(now).files.clear());
    }

    /// The container ends, and the sandbox knows.
    pub fn stops(&self, id: &str) {
        let now = self.millis();
        self.with(id, |sandbox| {
            sandbox.container = None;
            sandbox.believe(Status::Down, now);
        });
    }

    /// The container ends, and the sandbox still believes it up.
    pub fn dies_unnoticed(&self, id: &str) {
        self.with(id, |sandbox| sandbox.container = None);
    }

    /// The container ends, and a new, empty one is up.
    pub fn is_replaced(&self, id: &str) {
        self.stops(id);
        let now = self.millis();
        self.with(id, |sandbox| _ = sandbox.start(now));
    }

    /// The container is started, and does not answer yet.
    pub fn is_starting(&self, id: &str) {
        let now = self.millis();
        self.with(id, |sandbox| {
            sandbox.start(now);
            sandbox.believe(Status::Starting, now);
        });
    }

    /// The container that was starting answers.
    pub fn is_up(&self, id: &str) {
        let now = self.millis();
        self.with(id, |sandbox| sandbox.believe(Status::Healthy, now));
    }

    /// The sandbox connects to its container again: the same one, but the state's time changes.
    pub fn reconnects(&self, id: &str) {
        self.is_up(id);
    }

    /// The files in the container; `None` without one.
    pub fn files(&self, id: &str) -> Option<Files> {
        self.with(id, |sandbox| sandbox.container.as_ref().map(|container| container.files.clone()))
    }

    /// Whether the note is in the container that it took the place of another one.
    pub fn carries_note(&self, id: &str) -> bool {
        self.with(id, |sandbox| sandbox.container.as_ref().is_some_and(|container| container.took_place))
    }

    /// The name that a sandbox was told.
    pub fn told_name(&self, id: &str) -> Option<String> {
        self.with(id, |sandbox| sandbox.name.clone())
    }

    /// The ids of the sandboxes that have a container.
    pub fn running(&self) -> BTreeSet<String> {
        let sandboxes = self.sandboxes.borrow();
        sandboxes.iter().filter(|(_, sandbox)| sandbox.container.is_some()).map(|(id, _)| id.clone()).collect()
    }

    /// The options of every `createBackup` so far.
    pub fn options_asked(&self) -> Vec<BackupOptions> {
        self.asked.borrow().clone()
    }

    /// The handles of every `restoreBackup` so far, as JSON.
    pub fn handles_given(&self) -> Vec<Value> {
        self.given.borrow().clone()
    }

    /// Further fields of every handle that `createBackup` answers from now on.
    pub fn adds_to_handles(&self, fields: Value) {
        *self.handle_fields.borrow_mut() = fields;
    }

    /// An application has the SDK back its sandbox up, under a name or none.
    pub fn backs_up(&self, id: &str, name: Option<&str>) -> BackupHandle {
        let dir = Directory::parse("/workspace").unwrap();
        let options = BackupOptions {
            dir,
            name: name.unwrap_or_default().to_owned(),
            ttl: SDK_TTL,
            gitignore: None,
            excludes: Vec::new(),
            compression: None,
            local_bucket: false,
        };
        self.stores(id, &options)
    }

    fn stores(&self, id: &str, options: &BackupOptions) -> BackupHandle {
        self.asked.borrow_mut().push(options.clone());
        let now = self.millis();
        let files = self.with(id, |sandbox| {
            let all = &sandbox.start(now).files;
            let kept = all.iter().filter(|(path, _)| is_under(path, options.dir.as_str()));
            kept.map(|(path, content)| (path.clone(), content.clone())).collect()
        });
        let backup = Backup::of(files, options, self.asked.borrow().len(), now);
        let mut handle = json!({ "id": backup.id(), "dir": options.dir });
        if options.local_bucket {
            handle["localBucket"] = json!(true);
        }
        if let Value::Object(further) = self.handle_fields.borrow().clone() {
            handle.as_object_mut().unwrap().extend(further);
        }
        self.bucket.borrow_mut().insert(backup.id().to_string(), backup);
        serde_json::from_value(handle).unwrap()
    }

    fn with<T>(&self, id: &str, act: impl FnOnce(&mut Sandbox) -> T) -> T {
        act(self.sandboxes.borrow_mut().entry(id.into()).or_default())
    }
}

impl Sandboxes for World {
    async fn state(&self, id: &SandboxId) -> Result<SandboxState, Failure> {
        let look = || {
            #[allow(clippy::cast_precision_loss)] // Milliseconds of our age are exact.
            let seen = self.with(id.as_str(), |sandbox| SandboxState {
                status: sandbox.believed.unwrap_or(Status::Down),
                last_change: sandbox.last_change as f64,
            });
            Ok(seen)
        };
        self.call(Method::State, id.as_str(), look).await
    }

    async fn name(&self, id: &SandboxId) -> Result<(), Failure> {
        let tell = || {
            self.with(id.as_str(), |sandbox| {
                sandbox.name.get_or_insert_with(|| id.to_string());
            });
            Ok(())
        };
        self.call(Method::Name, id.as_str(), tell).await
    }

    async fn probe(&self, id: &SandboxId, dir: &Directory) -> Result<Probe, Failure> {
        let look = || {
            let now = self.millis();
            let probe = self.with(id.as_str(), |sandbox| {
                let container = sandbox.start(now);
                Probe {
                    age_millis: now - container.started_at,
                    place: container.place(dir.as_str()),
                    took_place: container.took_place,
                }
            });
            Ok(probe)
        };
        self.call(Method::Probe, id.as_str(), look).await
    }

    async fn note_took_place(&self, id: &SandboxId, note: bool) -> Result<(), Failure> {
        let change = || {
            let now = self.millis();
            self.with(id.as_str(), |sandbox| sandbox.start(now).took_place = note);
            Ok(())
        };
        self.call(if note { Method::LeaveNote } else { Method::RemoveNote }, id.as_str(), change).await
    }

    async fn create_backup(&self, id: &SandboxId, options: &BackupOptions) -> Result<BackupHandle, Failure> {
        let store = || Ok(self.stores(id.as_str(), options));
        self.call(Method::CreateBackup, id.as_str(), store).await
    }

    async fn restore_backup(&self, id: &SandboxId, backup: &BackupHandle) -> Result<(), Failure> {
        let apply = || {
            self.given.borrow_mut().push(serde_json::to_value(backup).unwrap());
            let files = self.unpack(backup.id())?;
            let now = self.millis();
            self.with(id.as_str(), |sandbox| sandbox.start(now).files.extend(files));
            self.pass(RESTORE);
            Ok(())
        };
        self.call(Method::RestoreBackup, id.as_str(), apply).await
    }

    async fn destroy(&self, id: &SandboxId) -> Result<(), Failure> {
        let end = || {
            self.stops(id.as_str());
            Ok(())
        };
        self.call(Method::Destroy, id.as_str(), end).await
    }
}

fn is_under(path: &str, dir: &str) -> bool {
    path.strip_prefix(dir).is_some_and(|rest| rest.starts_with('/'))
}
