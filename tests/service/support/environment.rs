//! Changes of sandboxes that applications and the platform make, without the snapshotter.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use sandbox_snapshotter::model::named::ContainerMarker;
use sandbox_snapshotter::model::{BackupHandle, BackupOptions, Directory, SandboxId, Status};
use serde_json::{Value, json};

use super::World;
use super::bucket::Backup;
use super::commands::{CommandResult, HookCall};
use super::containers::{Container, Files, Sandbox, is_under};

/// The default time to live of a backup of the SDK, in seconds: 3 days.
const SDK_TTL: u64 = 3 * 24 * 3600;

/// Changes of sandboxes that applications and the platform make, without the snapshotter.
impl World {
    /// Writes a file as an application does. Starts a container if there is none.
    pub fn write_file(&self, id: &str, path: &str, content: &str) {
        self.with_container(id, |container| container.write_files(Files::from([(path.into(), content.into())])));
    }

    /// Removes a file as an application does.
    pub fn remove_file(&self, id: &str, path: &str) {
        self.with_container(id, |container| container.retain_files(|present| present != path));
    }

    /// Creates a symbolic link as an application does.
    pub fn create_symlink(&self, id: &str, path: &str) {
        self.with_container(id, |container| _ = container.symlinks.insert(path.into()));
    }

    /// Makes git ignore a path and everything below it, relative to the captured directory.
    pub fn git_ignore(&self, id: &str, path: &str) {
        self.with_container(id, |container| container.ignored.push(path.into()));
    }

    /// Removes all files of the container. The container keeps running.
    pub fn remove_all_files(&self, id: &str) {
        self.with_container(id, |container| container.retain_files(|_| false));
    }

    /// Ends the container. The sandbox object records it.
    pub fn end_container(&self, id: &str) {
        let now = self.now_millis();
        self.with_sandbox(id, |sandbox| {
            sandbox.container = None;
            sandbox.set_status(Status::Down, now);
        });
    }

    /// Ends the container. The sandbox object does not record it.
    pub fn end_container_unnoticed(&self, id: &str) {
        self.with_sandbox(id, |sandbox| sandbox.container = None);
    }

    /// Replaces the container with a new one, which has only the files of the image.
    pub fn replace_container(&self, id: &str) {
        self.end_container(id);
        self.with_container(id, |_| ());
    }

    /// Starts the container, which does not answer yet.
    pub fn set_starting(&self, id: &str) {
        self.with_container(id, |_| ());
        let now = self.now_millis();
        self.with_sandbox(id, |sandbox| sandbox.set_status(Status::Starting, now));
    }

    /// Sets the status of the container to healthy.
    pub fn set_healthy(&self, id: &str) {
        let now = self.now_millis();
        self.with_sandbox(id, |sandbox| sandbox.set_status(Status::Healthy, now));
    }

    /// Reconnects the sandbox to the same container. Only the time of the status change differs.
    pub fn reconnect(&self, id: &str) {
        self.set_healthy(id);
    }

    /// Returns the files in the container; `None` without a container.
    pub fn files(&self, id: &str) -> Option<Files> {
        self.with_sandbox(id, |sandbox| sandbox.container.as_ref().map(|container| container.files.clone()))
    }

    /// Returns whether the container has the note that it replaced another one.
    pub fn has_replaced_note(&self, id: &str) -> bool {
        self.with_sandbox(id, |sandbox| sandbox.container.as_ref().is_some_and(|container| container.is_replacement))
    }

    /// Returns the container marker.
    pub fn marker_on(&self, id: &str) -> Option<ContainerMarker> {
        self.with_sandbox(id, |sandbox| sandbox.container.as_ref().and_then(|container| container.marker.clone()))
    }

    /// Removes the container marker.
    pub fn remove_marker(&self, id: &str) {
        self.with_sandbox(id, |sandbox| {
            if let Some(container) = &mut sandbox.container {
                container.marker = None;
            }
        });
    }

    /// Applies the `nth` marker update late: the container gets the new marker if it carries the expected one.
    pub fn apply_marker_late(&self, id: &str, nth: usize) {
        let (from, to) = self.marker_calls.borrow()[nth - 1].clone();
        self.with_sandbox(id, |sandbox| {
            let container = sandbox.container.as_mut().unwrap();
            if container.marker == from {
                container.marker = Some(to);
            }
        });
    }

    /// Returns the idle timeout of the container, in seconds: `Some(None)` is unlimited, and `None` was never set.
    #[allow(clippy::option_option)] // Unlimited and never set are different.
    pub fn sleeps_after(&self, id: &str) -> Option<Option<u64>> {
        self.with_sandbox(id, |sandbox| sandbox.sleeps_after)
    }

    /// Returns the environment variables of the sandbox.
    pub fn env_of(&self, id: &str) -> BTreeMap<String, String> {
        self.with_sandbox(id, |sandbox| sandbox.env.clone())
    }

    /// Restarts the Durable Object, as a deployment does. It loses its environment variables.
    pub fn clear_env(&self, id: &str) {
        self.with_sandbox(id, |sandbox| sandbox.env.clear());
    }

    /// Sets the image version of new containers.
    pub fn set_image_version(&self, version: &str) {
        self.image.borrow_mut().version = version.into();
    }

    /// Adds a file to the image of new containers.
    pub fn add_image_file(&self, path: &str, content: &str) {
        self.image.borrow_mut().files.insert(path.into(), content.into());
    }

    /// Plans the effect of a command that a hook runs. Other commands succeed, except `exit <code>`.
    pub fn plan_command(&self, command: &str, effect: impl Fn(&World, &HookCall) -> CommandResult + 'static) {
        self.commands.borrow_mut().insert(command.into(), Rc::new(effect));
    }

    /// Returns all hook runs, in order.
    pub fn hook_calls(&self) -> Vec<HookCall> {
        self.hook_calls.borrow().clone()
    }

    /// Returns the name that a sandbox was given.
    pub fn assigned_name(&self, id: &str) -> Option<String> {
        self.with_sandbox(id, |sandbox| sandbox.name.clone())
    }

    /// Returns the ids of the sandboxes that have a container.
    pub fn running_sandboxes(&self) -> BTreeSet<String> {
        let sandboxes = self.sandboxes.borrow();
        sandboxes.iter().filter(|(_, sandbox)| sandbox.container.is_some()).map(|(id, _)| id.clone()).collect()
    }

    /// Returns the options of all `createBackup` calls, in order.
    pub fn backup_options(&self) -> Vec<BackupOptions> {
        self.backup_requests.borrow().clone()
    }

    /// Returns the handles of all `restoreBackup` calls as JSON, in order.
    pub fn restored_handles(&self) -> Vec<Value> {
        self.restore_requests.borrow().clone()
    }

    /// Adds fields to the handles that `createBackup` returns from now on.
    pub fn extend_handles(&self, fields: Value) {
        *self.handle_fields.borrow_mut() = fields;
    }

    /// Creates a backup as an application does with the SDK, with or without a name.
    pub fn create_app_backup(&self, id: &str, name: Option<&str>) -> BackupHandle {
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
        self.store_backup(id, &options)
    }

    pub(super) fn store_backup(&self, id: &str, options: &BackupOptions) -> BackupHandle {
        self.backup_requests.borrow_mut().push(options.clone());
        let now = self.now_millis();
        let files = self.with_container(id, |container| {
            let captured = container.files.iter().filter(|(path, _)| is_under(path, options.dir.as_str()));
            captured.map(|(path, content)| (path.clone(), content.clone())).collect()
        });
        let backup = Backup::new(files, options, self.backup_requests.borrow().len(), now);
        let mut handle = json!({ "id": backup.id(), "dir": options.dir });
        if options.local_bucket {
            handle["localBucket"] = json!(true);
        }
        if let Value::Object(fields) = self.handle_fields.borrow().clone() {
            handle.as_object_mut().unwrap().extend(fields);
        }
        self.bucket.borrow_mut().insert(backup.id().to_string(), backup);
        serde_json::from_value(handle).unwrap()
    }

    pub(super) fn with_sandbox<T>(&self, id: &str, act: impl FnOnce(&mut Sandbox) -> T) -> T {
        act(self.sandboxes.borrow_mut().entry(id.into()).or_default())
    }

    /// Starts a process that uses the directory below the restored files.
    pub fn run_process_below(&self, id: &str, process: &str) {
        self.with_container(id, |container| container.process_below = Some(process.to_owned()));
    }

    /// Sets the name of a sandbox, if it has none.
    pub(super) fn assign_name(&self, id: &SandboxId) {
        self.with_sandbox(id.as_str(), |sandbox| {
            sandbox.name.get_or_insert_with(|| id.to_string());
        });
    }

    /// As [`with_sandbox`](Self::with_sandbox), on the container. Starts a container if there is none.
    pub(super) fn with_container<T>(&self, id: &str, act: impl FnOnce(&mut Container) -> T) -> T {
        let (now, image) = (self.now_millis(), self.image.borrow());
        self.with_sandbox(id, |sandbox| act(sandbox.start(now, &image)))
    }
}
