//! What happens to sandboxes without the snapshotter.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use sandbox_snapshotter::model::named::Stamp;
use sandbox_snapshotter::model::{BackupHandle, BackupOptions, Directory, SandboxId, Status};
use serde_json::{Value, json};

use super::World;
use super::bucket::Backup;
use super::commands::{HookCall, Ran};
use super::containers::{Container, Files, Sandbox, is_under};

/// The time to live of a backup where the application says nothing, in seconds: three days.
const SDK_TTL: u64 = 3 * 24 * 3600;

/// What happens to sandboxes without the snapshotter.
impl World {
    /// An application starts a container, where there is none, and writes a file.
    pub fn writes(&self, id: &str, path: &str, content: &str) {
        self.started(id, |container| container.write(Files::from([(path.into(), content.into())])));
    }

    /// An application removes a file.
    pub fn removes(&self, id: &str, path: &str) {
        self.started(id, |container| container.remove(|kept| kept != path));
    }

    /// An application puts a symbolic link into the container.
    pub fn links(&self, id: &str, path: &str) {
        self.started(id, |container| _ = container.links.insert(path.into()));
    }

    /// An application has git ignore a path in the directories that are captured, and all that is below it.
    pub fn ignores(&self, id: &str, path: &str) {
        self.started(id, |container| container.ignored.push(path.into()));
    }

    /// The files of the container go away, and the container stays.
    pub fn loses_files(&self, id: &str) {
        self.started(id, |container| container.remove(|_| false));
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
        self.started(id, |_| ());
    }

    /// The container is started, and does not answer yet.
    pub fn is_starting(&self, id: &str) {
        self.started(id, |_| ());
        let now = self.millis();
        self.with(id, |sandbox| sandbox.believe(Status::Starting, now));
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

    /// The stamp on the container.
    pub fn stamp_on(&self, id: &str) -> Option<Stamp> {
        self.with(id, |sandbox| sandbox.container.as_ref().and_then(|container| container.stamp.clone()))
    }

    /// The container carries nothing any more.
    pub fn loses_stamp(&self, id: &str) {
        self.with(id, |sandbox| {
            if let Some(container) = &mut sandbox.container {
                container.stamp = None;
            }
        });
    }

    /// A stamp that was asked for, the first or a later one, comes only now: a container that carries what it replaces gets it.
    pub fn is_stamped_late(&self, id: &str, nth: usize) {
        let (from, to) = self.stamps.borrow()[nth - 1].clone();
        self.with(id, |sandbox| {
            let container = sandbox.container.as_mut().unwrap();
            if container.stamp == from {
                container.stamp = Some(to);
            }
        });
    }

    /// How long the container may be idle, in seconds; `Some(None)` is for ever, and `None` where that was never said.
    #[allow(clippy::option_option)] // For ever is something that was said.
    pub fn sleeps_after(&self, id: &str) -> Option<Option<u64>> {
        self.with(id, |sandbox| sandbox.sleeps_after)
    }

    /// The variables that were set.
    pub fn env_of(&self, id: &str) -> BTreeMap<String, String> {
        self.with(id, |sandbox| sandbox.env.clone())
    }

    /// The Durable Object is started again, as after a deployment: it has forgotten the variables.
    pub fn forgets_env(&self, id: &str) {
        self.with(id, |sandbox| sandbox.env.clear());
    }

    /// Containers that are started from now on have this image.
    pub fn has_image(&self, version: &str) {
        self.shipped.borrow_mut().version = version.into();
    }

    /// Containers that are started from now on have a file from their image.
    pub fn ships(&self, path: &str, content: &str) {
        self.shipped.borrow_mut().files.insert(path.into(), content.into());
    }

    /// Plans what a command does when a hook runs it; those of which nothing is planned succeed, but for `exit <code>`.
    pub fn command(&self, command: &str, does: impl Fn(&World, &HookCall) -> Ran + 'static) {
        self.commands.borrow_mut().insert(command.into(), Rc::new(does));
    }

    /// Every hook that was run so far, in order.
    pub fn hooks_run(&self) -> Vec<HookCall> {
        self.hooks.borrow().clone()
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

    pub(super) fn stores(&self, id: &str, options: &BackupOptions) -> BackupHandle {
        self.asked.borrow_mut().push(options.clone());
        let now = self.millis();
        let files = self.started(id, |container| {
            let kept = container.files.iter().filter(|(path, _)| is_under(path, options.dir.as_str()));
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

    pub(super) fn with<T>(&self, id: &str, act: impl FnOnce(&mut Sandbox) -> T) -> T {
        act(self.sandboxes.borrow_mut().entry(id.into()).or_default())
    }

    /// A process goes on in the sandbox below the files that are restored.
    pub fn works_below(&self, id: &str, process: &str) {
        self.started(id, |container| container.below = Some(process.to_owned()));
    }

    /// A sandbox was told its name: the first one stays.
    pub(super) fn named(&self, id: &SandboxId) {
        self.with(id.as_str(), |sandbox| {
            sandbox.name.get_or_insert_with(|| id.to_string());
        });
    }

    /// As [`with`](Self::with), in the container, which is started where there is none.
    pub(super) fn started<T>(&self, id: &str, act: impl FnOnce(&mut Container) -> T) -> T {
        let (now, image) = (self.millis(), self.shipped.borrow());
        self.with(id, |sandbox| act(sandbox.start(now, &image)))
    }
}
