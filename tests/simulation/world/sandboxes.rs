//! What applications and the platform do with sandboxes, without the service.

use std::collections::{BTreeMap, BTreeSet};

use sandbox_snapshotter::model::named::ContainerMarker;
use sandbox_snapshotter::model::{FullReason, Runtime, SandboxId, SnapshotId, Status, Timestamp};
use sandbox_snapshotter::ports::Ledger;

use super::{Container, Simulation, World};
use crate::memory::{CommandResult, Image, Sandbox};
use crate::rules::loss;

pub use crate::memory::Files;

/// The captured directory.
pub const DIR: &str = "/workspace";

/// The names of the images of the class, which workspaces choose. The first one is its default.
pub const IMAGE_NAMES: [&str; 3] = ["base", "one", "two"];

/// The one file of the directory that an image may contain.
pub const IMAGE_FILE: &str = "/workspace/image";

/// The file that identifies the image.
const RELEASE_FILE: &str = "/etc/os-release";

/// The file that hooks write.
const HOOK_FILE: u8 = 5;

/// The shortest duration of a container start, in milliseconds. On the platform it is some hundred milliseconds.
const MIN_START_MILLIS: i64 = 20;

/// The default idle timeout of a container, in seconds.
const DEFAULT_IDLE_SECONDS: u64 = 600;

/// A snapshot that a container is restored from, with its files; `None` for an empty start. A platform snapshot without an
/// archive of the same files has no id.
pub type SourceSnapshot = Option<(Option<SnapshotId>, Files)>;

/// The container that was captured, or that a backup arrived in.
#[derive(Clone, Copy, PartialEq)]
pub struct OwnContainer {
    /// The time of its start.
    pub started_at: i64,
    /// The time at which the capture began.
    pub since: Timestamp,
}

/// What the rules need to know about a sandbox.
#[allow(clippy::struct_excessive_bools)] // They are independent of each other.
#[derive(Default)]
pub struct SandboxNotes {
    /// During a restore: the expected sources, and since when each is expected.
    pub source_snapshots: Vec<(i64, Vec<SourceSnapshot>)>,
    /// The start times of its containers that cold-started and that a start adopted.
    pub adopted: BTreeSet<i64>,
    /// Whether an application uses it. The service may then only capture it.
    pub is_in_use: bool,
    /// The container that holds its own files, according to the service's last capture or restore.
    pub own_container: Option<OwnContainer>,
    /// When that container ended; absent while it runs.
    pub own_ended_at: Option<i64>,
    /// The number of its containers that ended.
    pub ended_count: u32,
    /// Whether one of its containers was ever ready to be returned as a workspace.
    pub was_ready: bool,
    /// Whether one was returned, or used after it was ready.
    pub was_handed_out: bool,
    /// Whether its containers end when idle.
    pub ends_when_idle: bool,
    /// The contents that were ever in one of its snapshots.
    pub saved: BTreeSet<String>,
    /// When the files of one were last checked for an automatic save.
    pub checked_at: i64,
    /// When the service requested to destroy one, and since when a call had worked on the sandbox then.
    pub destroy_requests: BTreeMap<i64, i64>,
    /// When a destroy last took effect, also on a sandbox without a container.
    pub destroy_ended_at: i64,
    /// When the service last destroyed one.
    pub destroyed_at: i64,
    /// The files of its ended containers, until an answer reports that they may be lost.
    pub ended_with: Vec<EndedContainer>,
}

/// What the application wrote in a container that has ended.
pub struct EndedContainer {
    /// When it ended.
    pub at: i64,
    /// Whether it had the workspace's own files.
    pub is_own: bool,
    /// When its files were last checked for changes.
    pub checked_at: i64,
    /// The contents of the files that the application wrote, except during a start or an end, each with its time.
    pub written: BTreeMap<String, (String, i64)>,
}

/// What the rules need to know about a container.
#[derive(Clone, Default)]
pub struct ContainerNotes {
    /// Whether an application used it, or a restore was applied to it.
    pub is_used: bool,
    /// The time at which it got its first marker.
    pub marker_set_at: i64,
    /// The begin of the call that set the first marker, if that call was still in progress; otherwise the time of the marker.
    pub marker_call_at: i64,
    /// Whether it was ready when its workspace became active.
    pub is_handed_out: bool,
    /// The time of the last write of each file by the application or a hook.
    pub write_times: BTreeMap<String, i64>,
    /// The times at which it was captured.
    pub captured_at: Vec<i64>,
    /// When its files were frozen, and until when. In a capture: whether they were, from its begin to its end.
    pub frozen: Option<(i64, i64)>,
    /// The times at which the platform stored its disk.
    pub disk_stored_at: Vec<i64>,
    /// The sources that match its restored files. Several snapshots may have the same files.
    pub restored_from: Vec<SourceSnapshot>,
}

impl SandboxNotes {
    /// Returns since when a call works on the sandbox, which is `since` now, or worked on it when a request was made that takes
    /// effect now.
    pub fn busy_since(&self, since: i64, requested_at: i64) -> i64 {
        self.destroy_requests.get(&requested_at).map_or(since, |then| since.min(*then))
    }

    /// Notes the container that has the files of the sandbox, since a time, and whether it runs at the time `now`.
    pub fn set_own(&mut self, own: OwnContainer, runs: bool, now: i64) {
        if self.own_container.is_none_or(|known| known.started_at != own.started_at) {
            self.own_ended_at = (!runs).then_some(now);
        }
        self.own_container = Some(own);
    }
}

impl Simulation {
    /// Returns the image of a sandbox's next container. Only an image of named workspaces may have a file in the directory.
    pub(super) fn image_of(&self, sandbox: &Sandbox<Self>) -> Image {
        let version = self.image_version.get();
        let mut files = Files::from([(RELEASE_FILE.to_owned(), version.to_string())]);
        if self.profile.image_has_files && sandbox.notes.ends_when_idle {
            files.insert(IMAGE_FILE.to_owned(), content(version));
        }
        let name = sandbox.image.as_deref().unwrap_or(IMAGE_NAMES[0]);
        let class = if self.profile.has_platform { format!(" class {name}:{version}") } else { String::new() };
        let version = format!("image {version}{class}");
        Image { version, files, archive_format: self.profile.archive_format }
    }

    /// Returns whether an image has the version that is deployed. Its name may be another one than that of the next container.
    pub fn is_deployed(&self, image: &str) -> bool {
        image.ends_with(&format!(":{}", self.image_version.get()))
    }

    /// Ends the container if its idle timeout is over.
    pub(super) fn end_idle_container(&self, id: &SandboxId, sandbox: &mut Sandbox<Self>) {
        let now = self.now();
        let timeout =
            sandbox.sleeps_after.unwrap_or(Some(DEFAULT_IDLE_SECONDS)).filter(|_| sandbox.notes.ends_when_idle);
        let (Some(seconds), Some(container)) = (timeout, &sandbox.container) else { return };
        let end = container.used_at + i64::try_from(seconds * 1000).unwrap();
        if end >= now {
            return;
        }
        loss::note_end(self, id, sandbox, None);
        sandbox.container = None;
        sandbox.notes.ended_count += 1;
        let is_noticed = now % 2 == 0;
        if is_noticed {
            sandbox.set_status(Status::Down, end);
        }
        self.count("idle containers ended");
        self.trace(&format_args!("the idle container of {id} has ended"));
    }
}

impl World {
    /// Writes a file as the application does. Starts a container if none runs.
    pub fn write_file(&self, id: &SandboxId, file: u8) {
        let serial = self.next_serial();
        self.trace(&format_args!("{id} writes {file}: {serial}"));
        let refusal = self.rng.one_in(8).then_some(FullReason::Changing);
        self.access(id, |container, now| {
            container.write(file, serial, now);
            container.deltas.refusal = refusal;
        });
    }

    /// Uses a sandbox as the application does. Starts a container if none runs.
    pub fn access(&self, id: &SandboxId, act: impl FnOnce(&mut Container, i64)) {
        let is_handed_out = self.with_container(id, |container, now| {
            container.notes.is_used = true;
            act(container, now);
            container.notes.is_handed_out
        });
        self.with_sandbox(id, |sandbox, _| {
            sandbox.notes.is_in_use = true;
            sandbox.notes.was_handed_out |= is_handed_out;
        });
    }

    /// Records that the application inspected the sandbox and accepts its files.
    pub fn acknowledge_files(&self, id: &SandboxId) {
        self.with_sandbox(id, |sandbox, _| {
            if let Some(container) = &mut sandbox.container {
                container.notes.is_used = true;
            }
        });
    }

    /// Ends the container. With `is_noticed`, the sandbox reports it.
    pub fn end_container(&self, id: &SandboxId, is_noticed: bool) {
        self.with_sandbox(id, |sandbox, now| {
            loss::note_end(self, id, sandbox, None);
            if sandbox.container.take().is_some() {
                sandbox.notes.ended_count += 1;
                self.count("containers ended");
                self.trace(&format_args!("the container of {id} ends"));
            }
            if is_noticed {
                sandbox.set_status(Status::Down, now);
            }
        });
    }

    /// Reconnects the sandbox to the same container, which changes the time of the status.
    pub fn reconnect(&self, id: &SandboxId) {
        self.with_sandbox(id, |sandbox, now| {
            // Only the SDK 0.12 connects to its containers.
            if sandbox.container.is_some() && self.profile.runtime == Runtime::Sdk012 {
                sandbox.set_status(Status::Healthy, now);
            }
        });
    }

    /// Returns the files in the directory; `None` without a container.
    pub fn files(&self, id: &SandboxId) -> Option<Files> {
        self.with_sandbox(id, |sandbox, _| sandbox.container.as_ref().map(|container| container.files_in(DIR)))
    }

    /// Returns the ids of all sandboxes that have a container.
    pub fn running_sandboxes(&self) -> Vec<SandboxId> {
        let all: Vec<SandboxId> = self.sandboxes.borrow().keys().cloned().collect();
        all.into_iter().filter(|id| self.with_sandbox(id, |sandbox, _| sandbox.container.is_some())).collect()
    }

    /// Returns whether the service starts a sandbox: it belongs to a named workspace, or is being revived.
    pub fn is_started_by_service(&self, id: &SandboxId) -> bool {
        self.has_binding(id) || self.is_revived(id)
    }

    /// Returns whether a sandbox without a named workspace is being revived.
    pub fn is_revived(&self, id: &SandboxId) -> bool {
        let ledger = self.ledgers.borrow().get(id).cloned();
        ledger.is_some_and(|ledger| {
            ledger.sandbox().unwrap().is_some_and(|known| known.binding.is_none() && known.is_restoring())
        })
    }

    /// Returns whether a sandbox belongs to a named workspace.
    pub fn has_binding(&self, id: &SandboxId) -> bool {
        let ledger = self.ledgers.borrow().get(id).cloned();
        ledger.is_some_and(|ledger| ledger.sandbox().unwrap().is_some_and(|known| known.binding.is_some()))
    }

    /// Waits as long as the start of a container takes, if none runs. The running container may end before its use.
    pub(super) async fn prepare_start(&self, id: &SandboxId) {
        if self.with_sandbox(id, |sandbox, _| sandbox.container.is_none()) {
            self.executor.sleep(MIN_START_MILLIS + self.rng.millis(500)).await;
        }
        self.end_before_use(id);
        let has_binding = self.has_binding(id);
        self.with_sandbox(id, |sandbox, _| {
            if sandbox.container.is_none() {
                self.trace(&format_args!("the service starts a container of {id}"));
            }
            sandbox.notes.ends_when_idle |= has_binding;
        });
    }

    /// Ends a container before its use, at the rate of the schedule.
    pub(super) fn end_before_use(&self, id: &SandboxId) {
        if self.inject_fault(self.profile.container_end_rate) {
            self.end_container(id, self.rng.one_in(2));
        }
    }
}

impl Container {
    /// Writes a file, as the application or a hook does.
    pub fn write(&mut self, file: u8, serial: u64, now: i64) {
        let path = path(file);
        self.notes.write_times.insert(path.clone(), now);
        self.write_files(Files::from([(path, content(serial))]));
    }

    /// Returns the files of the directory that came from the image or a restore and were not written since.
    pub fn restored_files(&self) -> Files {
        let mut files = self.files_in(DIR);
        files.retain(|path, _| !self.notes.write_times.contains_key(path));
        files
    }
}

/// Returns the path of a file.
pub fn path(file: u8) -> String {
    format!("{DIR}/{file}")
}

/// Returns the content of a file. Content that was written later is larger.
fn content(serial: u64) -> String {
    format!("{serial:09}")
}

/// Plans the effects of the hooks and the freezes that the callers set.
pub(super) fn plan_hooks(world: &World) {
    for command in ["true", "write", "fail", "write, and fail", "hang"] {
        world.plan_command(command, move |world: &World, call| {
            run_hook(world, command, &SandboxId::parse(&call.sandbox).unwrap())
        });
    }
}

fn run_hook(world: &World, command: &str, id: &SandboxId) -> CommandResult {
    world.count("hooks");
    if command.contains("write") {
        let (serial, is_named) = (world.next_serial(), world.has_binding(id));
        world.with_container(id, |container, now| {
            container.write(HOOK_FILE, serial, now);
            // A file that a hook wrote before the workspace was ready is written again by the next run of the hook.
            if !container.marker.as_ref().is_some_and(ContainerMarker::is_ready) {
                container.notes.write_times.remove(&path(HOOK_FILE));
            }
            // Without a named workspace, it is the freeze of a caller, who uses the container with it.
            container.notes.is_used |= !is_named;
        });
    }
    if command.contains("fail") && world.inject_fault(5000) {
        CommandResult::exit(1, "")
    } else if command.contains("hang") && world.inject_fault(5000) {
        CommandResult::timeout()
    } else {
        CommandResult::success()
    }
}
