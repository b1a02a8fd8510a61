//! Changes of sandboxes that applications and the platform make, without the snapshotter.

use std::collections::{BTreeMap, BTreeSet};

use sandbox_snapshotter::model::named::ContainerMarker;
use sandbox_snapshotter::model::{
    ArchiveFormat, BackupHandle, BackupId, BackupMetadata, BackupOptions, Directory, Status,
};
use serde_json::Value;

use super::memory::{Backup, Container, Files, HookCall};
use super::planned::Planned;
use super::{World, sandbox};

/// The default time to live of a backup of the SDK, in seconds: 3 days.
const SDK_TTL: u64 = 3 * 24 * 3600;

/// Changes of sandboxes that applications and the platform make, without the snapshotter.
impl World {
    /// Writes a file as an application does. Starts a container if there is none.
    pub fn write_file(&self, id: &str, path: &str, content: &str) {
        self.with_container(&sandbox(id), |container, _| {
            container.write_files(Files::from([(path.into(), content.into())]));
        });
    }

    /// Removes a file as an application does.
    pub fn remove_file(&self, id: &str, path: &str) {
        self.with_container(&sandbox(id), |container, _| container.retain_files(|present| present != path));
    }

    /// Creates a symbolic link as an application does.
    pub fn create_symlink(&self, id: &str, path: &str) {
        self.with_container(&sandbox(id), |container, _| _ = container.symlinks.insert(path.into()));
    }

    /// Makes git ignore a path and everything below it, relative to the captured directory.
    pub fn git_ignore(&self, id: &str, path: &str) {
        self.with_container(&sandbox(id), |container, _| container.ignored.push(path.into()));
    }

    /// Removes a directory with its files as an application does.
    pub fn remove_directory(&self, id: &str, dir: &str) {
        self.with_container(&sandbox(id), |container, _| {
            container.retain_files(|path| !path.starts_with(&format!("{dir}/")));
            container.directories.remove(dir);
        });
    }

    /// Removes all files of the container. The container keeps running.
    pub fn remove_all_files(&self, id: &str) {
        self.with_container(&sandbox(id), |container, _| container.retain_files(|_| false));
    }

    /// Ends the container. The sandbox object records it.
    pub fn end_container(&self, id: &str) {
        self.with_sandbox(&sandbox(id), |sandbox, now| {
            sandbox.container = None;
            sandbox.set_status(Status::Down, now);
        });
    }

    /// Ends the container. The sandbox object does not record it.
    pub fn end_container_unnoticed(&self, id: &str) {
        self.with_sandbox(&sandbox(id), |sandbox, _| sandbox.container = None);
    }

    /// Replaces the container with a new one, which has only the files of the image.
    pub fn replace_container(&self, id: &str) {
        self.end_container(id);
        self.with_container(&sandbox(id), |_, _| ());
    }

    /// Starts the container, which does not answer yet.
    pub fn set_starting(&self, id: &str) {
        self.with_container(&sandbox(id), |_, _| ());
        self.with_sandbox(&sandbox(id), |sandbox, now| sandbox.set_status(Status::Starting, now));
    }

    /// Sets the status of the container to healthy.
    pub fn set_healthy(&self, id: &str) {
        self.with_sandbox(&sandbox(id), |sandbox, now| sandbox.set_status(Status::Healthy, now));
    }

    /// Reconnects the sandbox to the same container. Only the time of the status change differs.
    pub fn reconnect(&self, id: &str) {
        self.set_healthy(id);
    }

    /// Deploys a class of sandboxes with images that it can start by their names. The first one is its default.
    pub fn set_image_names(&self, names: &[&str]) {
        *self.image_names.borrow_mut() = Some(names.iter().map(ToString::to_string).collect());
    }

    /// Returns the name of the image of the container, if a container runs.
    pub fn image_name(&self, id: &str) -> Option<String> {
        self.with_sandbox(&sandbox(id), |sandbox, _| {
            let container = sandbox.container.as_ref()?;
            container.image.split(' ').nth(3).map(ToOwned::to_owned)
        })
    }

    /// Gives the class of the sandboxes platform snapshots.
    pub fn enable_platform_snapshots(&self) {
        self.has_platform.set(true);
    }

    /// Returns the number of stored platform snapshots.
    pub fn stored_disks(&self) -> usize {
        self.disks.borrow().len()
    }

    /// Makes a start from a platform snapshot that does not exist start an empty container.
    pub fn start_empty_without_disk(&self) {
        self.starts_empty.set(true);
    }

    /// Returns the files in the container; `None` without a container.
    pub fn files(&self, id: &str) -> Option<Files> {
        self.container_files(&sandbox(id))
    }

    /// Returns whether the container has the note that it replaced another one.
    pub fn has_replaced_note(&self, id: &str) -> bool {
        self.with_sandbox(&sandbox(id), |sandbox, _| {
            sandbox.container.as_ref().is_some_and(|container| container.is_replacement)
        })
    }

    /// Returns the container marker.
    pub fn marker_on(&self, id: &str) -> Option<ContainerMarker> {
        self.with_sandbox(&sandbox(id), |sandbox, _| {
            sandbox.container.as_ref().and_then(|container| container.marker.clone())
        })
    }

    /// Removes the container marker.
    pub fn remove_marker(&self, id: &str) {
        self.with_sandbox(&sandbox(id), |sandbox, _| {
            if let Some(container) = &mut sandbox.container {
                container.marker = None;
            }
        });
    }

    /// Applies the `nth` marker update late: the container gets the new marker if it carries the expected one.
    pub fn apply_marker_late(&self, id: &str, nth: usize) {
        let (from, to) = self.marker_calls.borrow()[nth - 1].clone();
        self.with_sandbox(&sandbox(id), |sandbox, _| {
            let container = sandbox.container.as_mut().unwrap();
            if container.marker == from {
                container.marker = Some(to);
            }
        });
    }

    /// Returns the idle timeout of the container, in seconds: `Some(None)` is unlimited, and `None` was never set.
    #[allow(clippy::option_option)] // Unlimited and never set are different.
    pub fn sleeps_after(&self, id: &str) -> Option<Option<u64>> {
        self.with_sandbox(&sandbox(id), |sandbox, _| sandbox.sleeps_after)
    }

    /// Returns the environment variables of the sandbox.
    pub fn env_of(&self, id: &str) -> BTreeMap<String, String> {
        self.with_sandbox(&sandbox(id), |sandbox, _| sandbox.env.clone())
    }

    /// Restarts the Durable Object, as a deployment does. It loses its environment variables.
    pub fn clear_env(&self, id: &str) {
        self.with_sandbox(&sandbox(id), |sandbox, _| sandbox.env.clear());
    }

    /// Sets the image version of new containers.
    pub fn set_image_version(&self, version: &str) {
        self.image.borrow_mut().version = version.into();
    }

    /// Sets the format of the archives that new containers can make.
    pub fn set_archive_format(&self, format: ArchiveFormat) {
        self.image.borrow_mut().archive_format = format;
    }

    /// Adds a file to the image of new containers.
    pub fn add_image_file(&self, path: &str, content: &str) {
        self.image.borrow_mut().files.insert(path.into(), content.into());
    }

    /// Returns all hook runs, in order.
    pub fn hook_calls(&self) -> Vec<HookCall> {
        self.hook_calls.borrow().clone()
    }

    /// Returns the name that a sandbox was given.
    pub fn assigned_name(&self, id: &str) -> Option<String> {
        self.with_sandbox(&sandbox(id), |sandbox, _| sandbox.name.clone())
    }

    /// Returns the ids of the sandboxes that have a container.
    pub fn running_sandboxes(&self) -> BTreeSet<String> {
        let sandboxes = self.sandboxes.borrow();
        sandboxes.iter().filter(|(_, sandbox)| sandbox.container.is_some()).map(|(id, _)| id.to_string()).collect()
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
        let Value::Object(fields) = fields else { panic!("the fields are an object") };
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
            expected_last_change: None,
        };
        let capture = self.capture(&sandbox(id), &options);
        self.store_backup(capture, &options)
    }

    /// Starts a process that uses the directory below the restored files.
    pub fn run_process_below(&self, id: &str, process: &str) {
        self.with_container(&sandbox(id), |container, _| container.process_below = Some(process.to_owned()));
    }

    /// Returns the number of checkpoints in a container; 0 without a container.
    pub fn checkpoint_count(&self, id: &str) -> usize {
        let count = |container: &Container<Planned>| container.checkpoint_count();
        self.with_sandbox(&sandbox(id), |sandbox, _| sandbox.container.as_ref().map_or(0, count))
    }

    /// Returns the ids of all backups that have an object.
    pub fn backup_ids(&self) -> Vec<String> {
        self.bucket.borrow().keys().map(BackupId::to_string).collect()
    }

    /// Returns the metadata of a backup, which must exist.
    pub fn metadata_of(&self, id: &str) -> BackupMetadata {
        self.bucket.borrow()[&BackupId::parse(id).unwrap()].metadata.clone().unwrap()
    }

    /// Returns the name of a backup, if it has one.
    pub fn name_of(&self, id: &str) -> Option<String> {
        let bucket = self.bucket.borrow();
        bucket[&BackupId::parse(id).unwrap()].metadata.as_ref().and_then(|metadata| metadata.name.clone())
    }

    /// Changes every backup.
    pub fn edit_backups(&self, change: impl Fn(&mut Backup<Planned>)) {
        self.bucket.borrow_mut().values_mut().for_each(change);
    }

    /// Changes the archive of every backup.
    pub fn edit_archives(&self, change: impl Fn(&mut Vec<u8>)) {
        self.edit_backups(|backup| change(backup.archive.as_mut().unwrap()));
    }

    /// Changes the metadata of every backup.
    pub fn edit_metadata(&self, change: impl Fn(&mut BackupMetadata)) {
        self.edit_backups(|backup| change(backup.metadata.as_mut().unwrap()));
    }

    /// Deletes every backup.
    pub fn clear_bucket(&self) {
        self.bucket.borrow_mut().clear();
    }
}
