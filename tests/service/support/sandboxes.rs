//! Sandboxes whose containers come and go, with the habits of the SDK (0.12.10).

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use sandbox_snapshotter::model::directory::ROOTS;
use sandbox_snapshotter::model::named::Stamp;
use sandbox_snapshotter::model::named::answer::HookRun;
use sandbox_snapshotter::model::named::settings::Hook;
use sandbox_snapshotter::model::named::standing::Survey;
use sandbox_snapshotter::model::{
    BackupHandle, BackupOptions, Directory, Failure, Place, Probe, SandboxId, SandboxState, Status,
};
use sandbox_snapshotter::ports::Sandboxes;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::bucket::Backup;
use super::{Method, World};

/// How long a restore takes, in milliseconds, from the start of the container on.
const RESTORE: i64 = 2000;

/// The time to live of a backup where the application says nothing, in seconds: three days.
const SDK_TTL: u64 = 3 * 24 * 3600;

/// The files of a container: path → content.
pub type Files = BTreeMap<String, String>;

/// What the SDK interrupts a call with whose container ended.
const INTERRUPTED: &str = "OPERATION_INTERRUPTED";

/// What every container begins with.
pub struct Image {
    version: String,
    files: Files,
}

impl Default for Image {
    fn default() -> Self {
        Self { version: "0.12.10 0123456789abcdef".into(), files: Files::new() }
    }
}

/// What commands do, by their text.
pub type Commands = BTreeMap<String, Rc<dyn Fn(&World, &HookCall) -> Ran>>;

/// A hook that was run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookCall {
    /// The sandbox.
    pub sandbox: String,
    /// What it was called.
    pub name: String,
    /// Where it ran.
    pub dir: String,
    /// The variables that it saw.
    pub env: BTreeMap<String, String>,
}

/// What a command comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    exit_code: Option<i32>,
    output: String,
}

impl Ran {
    /// It succeeds.
    pub fn well() -> Self {
        Self::exits(0, "")
    }

    /// It ends with that exit code, and has printed something.
    pub fn exits(code: i32, output: &str) -> Self {
        Self { exit_code: Some(code), output: output.into() }
    }

    /// It is killed when its time is over.
    pub fn for_ever() -> Self {
        Self { exit_code: None, output: String::new() }
    }
}

/// A sandbox's Durable Object.
#[derive(Default)]
pub struct Sandbox {
    name: Option<String>,
    /// How long its container may be idle; nothing where that was never said.
    #[allow(clippy::option_option)] // For ever is something that was said.
    sleeps_after: Option<Option<u64>>,
    env: BTreeMap<String, String>,
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
    /// Directories that were made.
    made: BTreeSet<String>,
    took_place: bool,
    stamp: Option<Stamp>,
    image: String,
    /// What was changed since somebody looked; `None` before anybody has.
    changed: Option<BTreeSet<String>>,
}

impl Container {
    fn new(started_at: i64, image: &Image) -> Self {
        Self {
            started_at,
            files: image.files.clone(),
            links: BTreeSet::new(),
            made: BTreeSet::new(),
            took_place: false,
            stamp: None,
            image: image.version.clone(),
            changed: None,
        }
    }

    /// Writes files, in the place of those that are there.
    fn write(&mut self, files: Files) {
        if let Some(changed) = &mut self.changed {
            changed.extend(files.keys().cloned());
        }
        self.files.extend(files);
    }

    /// Removes the files that are not to be kept.
    fn remove(&mut self, keep: impl Fn(&str) -> bool) {
        let gone: Vec<String> = self.files.keys().filter(|path| !keep(path)).cloned().collect();
        self.files.retain(|path, _| keep(path));
        if let Some(changed) = &mut self.changed {
            changed.extend(gone);
        }
    }

    fn place(&self, dir: &str) -> Place {
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
    fn believe(&mut self, status: Status, now: i64) {
        self.believed = Some(status);
        self.last_change = now.max(self.last_change + 1);
    }

    fn start(&mut self, now: i64, image: &Image) -> &mut Container {
        if self.container.is_none() {
            self.container = Some(Container::new(now, image));
            self.believe(Status::Healthy, now);
        }
        self.container.as_mut().unwrap()
    }
}

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

    fn stores(&self, id: &str, options: &BackupOptions) -> BackupHandle {
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

    fn with<T>(&self, id: &str, act: impl FnOnce(&mut Sandbox) -> T) -> T {
        act(self.sandboxes.borrow_mut().entry(id.into()).or_default())
    }

    /// As [`with`](Self::with), in the container, which is started where there is none.
    fn started<T>(&self, id: &str, act: impl FnOnce(&mut Container) -> T) -> T {
        let (now, image) = (self.millis(), self.shipped.borrow());
        self.with(id, |sandbox| act(sandbox.start(now, &image)))
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
            Ok(self.started(id.as_str(), |container| Probe {
                age_millis: now - container.started_at,
                place: container.place(dir.as_str()),
                took_place: container.took_place,
                stamp: container.stamp.clone(),
            }))
        };
        self.call(Method::Probe, id.as_str(), look).await
    }

    async fn note_took_place(&self, id: &SandboxId, note: bool) -> Result<(), Failure> {
        let change = || {
            self.started(id.as_str(), |container| container.took_place = note);
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
            self.started(id.as_str(), |container| container.write(files));
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

    async fn keep_awake(&self, id: &SandboxId, seconds: Option<u64>) -> Result<(), Failure> {
        let tell = || {
            self.with(id.as_str(), |sandbox| sandbox.sleeps_after = Some(seconds));
            Ok(())
        };
        self.call(Method::KeepAwake, id.as_str(), tell).await
    }

    async fn set_env(&self, id: &SandboxId, env: &BTreeMap<String, Option<String>>) -> Result<(), Failure> {
        let tell = || {
            self.with(id.as_str(), |sandbox| {
                for (name, value) in env {
                    match value {
                        Some(value) => sandbox.env.insert(name.clone(), value.clone()),
                        None => sandbox.env.remove(name),
                    };
                }
            });
            Ok(())
        };
        self.call(Method::SetEnv, id.as_str(), tell).await
    }

    async fn stamp(&self, id: &SandboxId, from: Option<&Stamp>, to: &Stamp) -> Result<bool, Failure> {
        let change = || {
            Ok(self.started(id.as_str(), |container| {
                let is_meant = container.stamp.as_ref() == from;
                if is_meant {
                    container.stamp = Some(to.clone());
                    container.changed = Some(BTreeSet::new());
                }
                is_meant
            }))
        };
        self.call(Method::Stamp, id.as_str(), change).await
    }

    async fn survey(&self, id: &SandboxId, dir: &Directory) -> Result<Survey, Failure> {
        let look = || {
            Ok(self.started(id.as_str(), |container| {
                container.made.insert(dir.to_string());
                let within = container.files.iter().filter(|(path, _)| is_under(path, dir.as_str()));
                let lines: Vec<_> = within.map(|(path, content)| format!("{path:?} {content:?}")).collect();
                let listing = lines.join("\n");
                let listing = Some(listing).filter(|listing| !listing.is_empty()).map(|listing| sha256(&listing));
                Survey { image: container.image.clone(), listing }
            }))
        };
        self.call(Method::Survey, id.as_str(), look).await
    }

    async fn hashes(
        &self,
        id: &SandboxId,
        dir: &Directory,
        files: &[String],
    ) -> Result<BTreeMap<String, String>, Failure> {
        if files.is_empty() {
            return Ok(BTreeMap::new());
        }
        let look = || {
            let path = |file: &String| if file.starts_with('/') { file.clone() } else { format!("{dir}/{file}") };
            Ok(self.started(id.as_str(), |container| {
                let hash = |file| container.files.get(&path(file)).map(|content| sha256(content)).unwrap_or_default();
                files.iter().map(|file| (file.clone(), hash(file))).collect()
            }))
        };
        self.call(Method::Hashes, id.as_str(), look).await
    }

    async fn stirred(&self, id: &SandboxId, dir: &Directory) -> Result<bool, Failure> {
        let look = || {
            let changed = self.started(id.as_str(), |container| container.changed.replace(BTreeSet::new()));
            Ok(changed.is_none_or(|changed| changed.iter().any(|path| is_under(path, dir.as_str()))))
        };
        self.call(Method::Stirred, id.as_str(), look).await
    }

    async fn run_hook(
        &self,
        id: &SandboxId,
        stamp: &Stamp,
        dir: &Directory,
        name: &str,
        hook: &Hook,
    ) -> Result<Option<HookRun>, Failure> {
        let run = || {
            let is_meant = || self.started(id.as_str(), |container| container.stamp.as_ref() == Some(stamp));
            if !is_meant() {
                return Ok(None);
            }
            let (sandbox, env) = (id.to_string(), self.env_of(id.as_str()));
            let call = HookCall { sandbox, name: name.into(), dir: dir.to_string(), env };
            self.hooks.borrow_mut().push(call.clone());
            let planned = self.commands.borrow().get(&hook.command).cloned();
            let ran = planned.map_or_else(|| simple(&hook.command), |does| does(self, &call));
            if !self.running().contains(id.as_str()) || !is_meant() {
                return Err(Failure::new("Error", "The container ended.").with_code(INTERRUPTED));
            }
            if ran.exit_code.is_none() {
                self.pass(i64::from(hook.timeout_seconds) * 1000);
            }
            Ok(Some(HookRun {
                hook: name.into(),
                ok: ran.exit_code == Some(0),
                exit_code: ran.exit_code,
                timed_out: ran.exit_code.is_none(),
                output: ran.output,
            }))
        };
        self.call(Method::RunHook, id.as_str(), run).await
    }
}

/// What a command comes to of which nothing is planned.
fn simple(command: &str) -> Ran {
    let code = command.strip_prefix("exit ").and_then(|code| code.parse().ok());
    Ran::exits(code.unwrap_or_default(), "")
}

fn sha256(text: &str) -> String {
    let digest = Sha256::digest(text);
    digest.iter().flat_map(|byte| [byte >> 4, byte & 15]).filter_map(|half| char::from_digit(half.into(), 16)).collect()
}

fn is_under(path: &str, dir: &str) -> bool {
    path.strip_prefix(dir).is_some_and(|rest| rest.starts_with('/'))
}
