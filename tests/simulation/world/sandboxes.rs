//! Sandboxes and their containers, with the behavior of the SDK (0.12.10).

use std::collections::{BTreeMap, BTreeSet};

use futures_channel::oneshot;
use sandbox_snapshotter::model::named::ContainerMarker;
use sandbox_snapshotter::model::{Failure, SandboxId, SnapshotId, Status, Timestamp};
use sandbox_snapshotter::ports::Ledger;

use super::World;

/// The shortest duration of a container start, in milliseconds. On the platform it is some hundred milliseconds.
const MIN_START_MILLIS: i64 = 20;

/// The default idle timeout of a container, in seconds.
const DEFAULT_IDLE_SECONDS: u64 = 600;

/// The one file that an image may contain.
pub const IMAGE_FILE: u8 = 200;

/// The files of a container, with their content. Content that was written later is a larger number.
pub type Files = BTreeMap<u8, u64>;

/// A snapshot that a container is restored from, with its files; `None` for an empty start.
pub type SourceSnapshot = Option<(SnapshotId, Files)>;

/// An idle timeout in seconds; `None` for no timeout.
pub type IdleTimeout = Option<u64>;

/// The container that was captured, or that a backup arrived in.
#[derive(Clone, Copy, PartialEq)]
pub struct OwnContainer {
    /// The time of its start.
    pub started_at: i64,
    /// The time at which the capture began.
    pub since: Timestamp,
}

/// A sandbox's Durable Object.
#[allow(clippy::struct_excessive_bools)] // They are independent of each other.
#[derive(Default)]
pub struct Sandbox {
    /// Its container.
    pub container: Option<Container>,
    /// During a restore: the expected sources, and since when each is expected.
    pub source_snapshots: Vec<(i64, SourceSnapshot)>,
    /// The start times of its containers that cold-started and that a start adopted.
    pub adopted: BTreeSet<i64>,
    /// Whether an application uses it. The service may then only capture it.
    pub is_in_use: bool,
    /// The container that holds its own files, according to the service's last capture or restore.
    pub own_container: Option<OwnContainer>,
    /// The number of its containers that ended.
    pub ended_count: u32,
    /// Whether one of its containers was ever ready to be returned as a workspace.
    pub was_ready: bool,
    /// Whether one was returned, or used after it was ready.
    pub was_handed_out: bool,
    /// Whether its containers end when idle.
    pub ends_when_idle: bool,
    /// The configured idle timeout, if any.
    pub idle_timeout: Option<IdleTimeout>,
    /// The status that it reports for its container, which may be outdated.
    pub status: Option<Status>,
    /// The time of the last change of the status, in milliseconds. No two changes have the same time.
    pub last_change: i64,
    /// The operation that the next one waits for.
    queue_tail: Option<oneshot::Receiver<()>>,
}

/// A container.
#[allow(clippy::struct_excessive_bools)] // They are independent of each other.
pub struct Container {
    /// A number that no other container has.
    pub number: u64,
    /// The time of its start.
    pub started_at: i64,
    /// Its files.
    pub files: Files,
    /// Whether only the service used it so far.
    pub is_untouched: bool,
    /// Whether it carries the note that it replaced another container.
    pub is_replacement: bool,
    /// Its marker.
    pub marker: Option<ContainerMarker>,
    /// The time at which it got its first marker.
    pub marker_set_at: i64,
    /// The begin of the call that set the first marker, if that call was still in progress; otherwise the time of the marker.
    pub marker_call_at: i64,
    /// Whether it was ready when its workspace became active.
    pub is_handed_out: bool,
    /// The version of its image.
    pub image: u64,
    /// The time of the last write of each file by the application or a hook.
    pub write_times: BTreeMap<u8, i64>,
    /// The time of the last activity in it.
    pub touched_at: i64,
    /// Whether a file changed since the last check for changes.
    pub is_changed: bool,
    /// The time of the last check for changes.
    pub watched_at: i64,
    /// The times at which it was captured.
    pub captured_at: Vec<i64>,
    /// The sources that match its restored files. Several snapshots may have the same files.
    pub restored_from: Vec<SourceSnapshot>,
}

impl Sandbox {
    /// Sets the status that it reports.
    pub fn set_status(&mut self, status: Status, now: i64) {
        self.status = Some(status);
        self.last_change = now.max(self.last_change + 1);
    }

    /// Starts a container if none runs.
    pub fn start(&mut self, number: u64, image: (u64, bool), now: i64) -> &mut Container {
        if self.container.is_none() {
            self.set_status(Status::Healthy, now);
        }
        let (image, has_files) = image;
        let files = if has_files && self.ends_when_idle { Files::from([(IMAGE_FILE, image)]) } else { Files::new() };
        let new = || Container {
            number,
            started_at: now,
            files,
            is_untouched: true,
            is_replacement: false,
            marker: None,
            marker_set_at: now,
            marker_call_at: now,
            is_handed_out: false,
            image,
            write_times: BTreeMap::new(),
            touched_at: now,
            is_changed: true,
            watched_at: 0,
            captured_at: Vec::new(),
            restored_from: Vec::new(),
        };
        let container = self.container.get_or_insert_with(new);
        container.touched_at = now;
        container
    }

    /// Ends the container if its idle timeout is over. With `is_noticed`, the sandbox reports it. Returns whether it ended.
    fn end_if_idle(&mut self, now: i64, is_noticed: bool) -> bool {
        let Some(seconds) = self.idle_timeout.unwrap_or(Some(DEFAULT_IDLE_SECONDS)) else { return false };
        let end = |container: &Container| container.touched_at + i64::try_from(seconds * 1000).unwrap();
        let Some(end) = self.container.as_ref().map(end).filter(|end| self.ends_when_idle && *end < now) else {
            return false;
        };
        self.container = None;
        self.ended_count += 1;
        if is_noticed {
            self.set_status(Status::Down, end);
        }
        true
    }
}

impl World {
    /// Writes a file as the application does. Starts a container if none runs.
    pub fn write_file(&self, id: &SandboxId, file: u8) {
        let content = self.next_serial();
        self.trace(&format_args!("{id} writes {file}: {content}"));
        self.access(id, Some((file, content)));
    }

    /// Uses a sandbox as the application does, and may write a file. Starts a container if none runs.
    pub fn access(&self, id: &SandboxId, write: Option<(u8, u64)>) {
        let (number, image) = (self.rng.next_u64(), self.image());
        self.with_sandbox(id, |sandbox, now| {
            sandbox.is_in_use = true;
            let container = sandbox.start(number, image, now);
            container.is_untouched = false;
            if let Some((file, content)) = write {
                container.write(file, content, now);
            }
            sandbox.was_handed_out |= container.is_handed_out;
        });
    }

    /// Records that the application inspected the sandbox and accepts its files.
    pub fn acknowledge_files(&self, id: &SandboxId) {
        self.with_sandbox(id, |sandbox, _| {
            if let Some(container) = &mut sandbox.container {
                container.is_untouched = false;
            }
        });
    }

    /// Ends the container. With `is_noticed`, the sandbox reports it.
    pub fn end_container(&self, id: &SandboxId, is_noticed: bool) {
        self.with_sandbox(id, |sandbox, now| {
            if sandbox.container.take().is_some() {
                sandbox.ended_count += 1;
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
            if sandbox.container.is_some() {
                sandbox.set_status(Status::Healthy, now);
            }
        });
    }

    /// Returns the files in the container; `None` without a container.
    pub fn files(&self, id: &SandboxId) -> Option<Files> {
        self.with_sandbox(id, |sandbox, _| sandbox.container.as_ref().map(|container| container.files.clone()))
    }

    /// Runs `act` on a sandbox. Ends its container before, if the idle timeout is over.
    pub fn with_sandbox<T>(&self, id: &SandboxId, act: impl FnOnce(&mut Sandbox, i64) -> T) -> T {
        let now = self.now();
        let mut sandboxes = self.sandboxes.borrow_mut();
        let sandbox = sandboxes.entry(id.clone()).or_default();
        let is_noticed = now % 2 == 0;
        if sandbox.end_if_idle(now, is_noticed) {
            self.count("idle containers ended");
            self.trace(&format_args!("the idle container of {id} has ended"));
        }
        act(sandbox, now)
    }

    /// Returns the ids of all sandboxes that have a container.
    pub fn running_sandboxes(&self) -> Vec<SandboxId> {
        let all: Vec<SandboxId> = self.sandboxes.borrow().keys().cloned().collect();
        all.into_iter().filter(|id| self.with_sandbox(id, |sandbox, _| sandbox.container.is_some())).collect()
    }

    /// Returns whether a sandbox belongs to a named workspace.
    pub fn has_binding(&self, id: &SandboxId) -> bool {
        let ledger = self.ledgers.borrow().get(id).cloned();
        ledger.is_some_and(|ledger| ledger.workspace().unwrap().is_some_and(|known| known.binding.is_some()))
    }

    /// Starts a container for the service if none runs. Returns its number.
    pub(super) async fn start_container(&self, id: &SandboxId) -> u64 {
        let number = self.rng.next_u64();
        if self.with_sandbox(id, |sandbox, _| sandbox.container.is_none()) {
            self.sleep(MIN_START_MILLIS + self.rng.millis(500)).await;
        }
        if self.inject_fault(self.profile.container_end_rate) {
            self.end_container(id, self.rng.one_in(2));
        }
        let (image, ends_when_idle) = (self.image(), self.has_binding(id));
        self.with_sandbox(id, |sandbox, now| {
            if sandbox.container.is_none() {
                self.trace(&format_args!("the service starts a container of {id}"));
            }
            sandbox.ends_when_idle |= ends_when_idle;
            sandbox.start(number, image, now).number
        })
    }

    /// Enters the queue of a sandbox. Operations on one sandbox run in the order of their arrival.
    pub(super) fn enqueue(&self, id: &SandboxId) -> (Option<oneshot::Receiver<()>>, oneshot::Sender<()>) {
        let (done, is_done) = oneshot::channel();
        (self.with_sandbox(id, |sandbox, _| sandbox.queue_tail.replace(is_done)), done)
    }

    /// Fails if the container is no longer the one with `number`.
    pub(super) fn check_same_container(&self, id: &SandboxId, number: u64) -> Result<(), Failure> {
        let is_same =
            self.with_sandbox(id, |sandbox, _| sandbox.container.as_ref().is_some_and(|own| own.number == number));
        let interrupted = Failure::new("OperationInterruptedError", "The container ended");
        if is_same { Ok(()) } else { Err(interrupted.with_code("OPERATION_INTERRUPTED")) }
    }

    /// Runs `act` on the container, which must exist.
    pub(super) fn with_container<T>(&self, id: &SandboxId, act: impl FnOnce(&mut Container, i64) -> T) -> T {
        self.with_sandbox(id, |sandbox, now| act(sandbox.container.as_mut().unwrap(), now))
    }
}

impl Container {
    /// Writes a file, as the application or a hook does.
    pub fn write(&mut self, file: u8, content: u64, now: i64) {
        self.files.insert(file, content);
        self.write_times.insert(file, now);
        self.is_changed = true;
    }

    /// Returns the files that came from the image or a restore and were not written since.
    pub fn restored_files(&self) -> Files {
        self.files.iter().filter(|(file, _)| !self.write_times.contains_key(file)).map(|(k, v)| (*k, *v)).collect()
    }
}
