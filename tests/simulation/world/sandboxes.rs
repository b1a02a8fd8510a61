//! Sandboxes whose containers come and go, with the habits of the SDK (0.12.10).

use std::collections::{BTreeMap, BTreeSet};

use futures_channel::oneshot;
use sandbox_snapshotter::model::named::ContainerMarker;
use sandbox_snapshotter::model::{Failure, SandboxId, SnapshotId, Status, Timestamp};
use sandbox_snapshotter::ports::Ledger;

use super::World;

/// How long the start of a container takes at least, in milliseconds: on the platform it is some hundred.
const MIN_START_MILLIS: i64 = 20;

/// How long a container may be idle where nothing else was said, in seconds.
const DEFAULT_IDLE_SECONDS: u64 = 600;

/// The one file that an image may bring.
pub const IMAGE_FILE: u8 = 200;

/// The files of a container: which, and what is in it. What was written later is the larger number.
pub type Files = BTreeMap<u8, u64>;

/// A snapshot that a container is filled from, with its files; `None` where there is none.
pub type SourceSnapshot = Option<(SnapshotId, Files)>;

/// How long a container may be idle, in seconds; `None` for ever.
pub type IdleTimeout = Option<u64>;

/// The container that a capture was of, or that a backup arrived in.
#[derive(Clone, Copy, PartialEq)]
pub struct OwnContainer {
    /// When it was started.
    pub started_at: i64,
    /// When the capture began.
    pub since: Timestamp,
}

/// A sandbox's Durable Object.
#[allow(clippy::struct_excessive_bools)] // Each is a fact of its own.
#[derive(Default)]
pub struct Sandbox {
    /// Its container.
    pub container: Option<Container>,
    /// While one is filled: what that might be from, and since when.
    pub source_snapshots: Vec<(i64, SourceSnapshot)>,
    /// When those of its containers were started that woke by themselves, and that a start was to keep.
    pub adopted: BTreeSet<i64>,
    /// Whether somebody works in it: then nothing but captures may touch it.
    pub is_in_use: bool,
    /// The container that holds its own files, as far as the service knows it.
    pub own_container: Option<OwnContainer>,
    /// How many of its containers died.
    pub deaths: u32,
    /// Whether a container of it was ever ready to be handed out as a workspace.
    pub was_ready: bool,
    /// Whether one was handed out, or worked in when it was ready.
    pub was_handed_out: bool,
    /// Whether its containers fall asleep.
    pub can_sleep: bool,
    /// How long its container may be idle, where that was said.
    pub idle_timeout: Option<IdleTimeout>,
    /// What it believes of its container, which may be wrong for a while.
    pub status: Option<Status>,
    /// In its own milliseconds, in which nothing is ever twice at the same time.
    pub last_change: i64,
    /// The operation that the next one stands behind.
    queue_tail: Option<oneshot::Receiver<()>>,
}

/// A container.
#[allow(clippy::struct_excessive_bools)] // Each is a thing by itself.
pub struct Container {
    /// Which of all containers it is.
    pub number: u64,
    /// When it was started.
    pub started_at: i64,
    /// What is in it.
    pub files: Files,
    /// Whether nobody but the service had anything to do with it.
    pub is_untouched: bool,
    /// The note.
    pub is_replacement: bool,
    /// The stamp.
    pub marker: Option<ContainerMarker>,
    /// When it got its first.
    pub marker_set_at: i64,
    /// Since when the call was under way that put it there, where it still was then; or when it got it.
    pub marker_call_at: i64,
    /// Whether it was ready when its workspace became active.
    pub is_handed_out: bool,
    /// What its image is.
    pub image: u64,
    /// When the application or a hook wrote what.
    pub write_times: BTreeMap<u8, i64>,
    /// When anything was last done in it.
    pub touched_at: i64,
    /// Whether something was changed since somebody looked for that.
    pub is_changed: bool,
    /// When somebody last looked for changes.
    pub watched_at: i64,
    /// When it was captured.
    pub captured_at: Vec<i64>,
    /// What it was filled from, once it was: there may be several with the same files.
    pub restored_from: Vec<SourceSnapshot>,
}

impl Sandbox {
    /// What it takes for true of its container from now on.
    pub fn set_status(&mut self, status: Status, now: i64) {
        self.status = Some(status);
        self.last_change = now.max(self.last_change + 1);
    }

    /// Starts a container where there is none.
    pub fn start(&mut self, number: u64, image: (u64, bool), now: i64) -> &mut Container {
        if self.container.is_none() {
            self.set_status(Status::Healthy, now);
        }
        let (image, has_files) = image;
        let files = if has_files && self.can_sleep { Files::from([(IMAGE_FILE, image)]) } else { Files::new() };
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

    /// The container is gone, if it has been idle for long enough. `is_noticed` says whether that is known.
    fn sleep_if_idle(&mut self, now: i64, is_noticed: bool) -> bool {
        let Some(seconds) = self.idle_timeout.unwrap_or(Some(DEFAULT_IDLE_SECONDS)) else { return false };
        let end = |container: &Container| container.touched_at + i64::try_from(seconds * 1000).unwrap();
        let Some(end) = self.container.as_ref().map(end).filter(|end| self.can_sleep && *end < now) else {
            return false;
        };
        self.container = None;
        self.deaths += 1;
        if is_noticed {
            self.set_status(Status::Down, end);
        }
        true
    }
}

impl World {
    /// An application writes a file, which starts a container where there is none.
    pub fn write_file(&self, id: &SandboxId, file: u8) {
        let content = self.next_serial();
        self.trace(&format_args!("{id} writes {file}: {content}"));
        self.access(id, Some((file, content)));
    }

    /// An application looks into its sandbox, which starts a container where there is none, and writes something or not.
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

    /// An application looks what its sandbox holds, and takes that as it is.
    pub fn acknowledge_files(&self, id: &SandboxId) {
        self.with_sandbox(id, |sandbox, _| {
            if let Some(container) = &mut sandbox.container {
                container.is_untouched = false;
            }
        });
    }

    /// The container ends; the sandbox may not notice.
    pub fn end_container(&self, id: &SandboxId, is_noticed: bool) {
        self.with_sandbox(id, |sandbox, now| {
            if sandbox.container.take().is_some() {
                sandbox.deaths += 1;
                self.count("containers died");
                self.trace(&format_args!("{id} dies"));
            }
            if is_noticed {
                sandbox.set_status(Status::Down, now);
            }
        });
    }

    /// The sandbox connects to its container again: the same one, but the state's time changes.
    pub fn reconnect(&self, id: &SandboxId) {
        self.with_sandbox(id, |sandbox, now| {
            if sandbox.container.is_some() {
                sandbox.set_status(Status::Healthy, now);
            }
        });
    }

    /// The files in the container; `None` without one.
    pub fn files(&self, id: &SandboxId) -> Option<Files> {
        self.with_sandbox(id, |sandbox, _| sandbox.container.as_ref().map(|container| container.files.clone()))
    }

    /// Does something with a sandbox, which may have fallen asleep.
    pub fn with_sandbox<T>(&self, id: &SandboxId, act: impl FnOnce(&mut Sandbox, i64) -> T) -> T {
        let now = self.now();
        let mut sandboxes = self.sandboxes.borrow_mut();
        let sandbox = sandboxes.entry(id.clone()).or_default();
        let is_noticed = now % 2 == 0;
        if sandbox.sleep_if_idle(now, is_noticed) {
            self.count("containers fallen asleep");
            self.trace(&format_args!("{id} has fallen asleep"));
        }
        act(sandbox, now)
    }

    /// The ids of all sandboxes that have a container.
    pub fn running_sandboxes(&self) -> Vec<SandboxId> {
        let all: Vec<SandboxId> = self.sandboxes.borrow().keys().cloned().collect();
        all.into_iter().filter(|id| self.with_sandbox(id, |sandbox, _| sandbox.container.is_some())).collect()
    }

    /// Whether a sandbox stands for a name.
    pub fn has_binding(&self, id: &SandboxId) -> bool {
        let ledger = self.ledgers.borrow().get(id).cloned();
        ledger.is_some_and(|ledger| ledger.workspace().unwrap().is_some_and(|known| known.binding.is_some()))
    }

    /// Starts a container where there is none, for the service; answers its number.
    pub(super) async fn start_container(&self, id: &SandboxId) -> u64 {
        let number = self.rng.next_u64();
        if self.with_sandbox(id, |sandbox, _| sandbox.container.is_none()) {
            self.sleep(MIN_START_MILLIS + self.rng.millis(500)).await;
        }
        if self.inject_fault(self.profile.container_death_rate) {
            self.end_container(id, self.rng.one_in(2));
        }
        let (image, sleeps) = (self.image(), self.has_binding(id));
        self.with_sandbox(id, |sandbox, now| {
            if sandbox.container.is_none() {
                self.trace(&format_args!("{id} starts for the service"));
            }
            sandbox.can_sleep |= sleeps;
            sandbox.start(number, image, now).number
        })
    }

    /// Operations on one sandbox wait for each other, in the order of their arrival.
    pub(super) fn enqueue(&self, id: &SandboxId) -> (Option<oneshot::Receiver<()>>, oneshot::Sender<()>) {
        let (done, is_done) = oneshot::channel();
        (self.with_sandbox(id, |sandbox, _| sandbox.queue_tail.replace(is_done)), done)
    }

    /// Whether the container is still the one with the number.
    pub(super) fn check_same_container(&self, id: &SandboxId, number: u64) -> Result<(), Failure> {
        let is_same =
            self.with_sandbox(id, |sandbox, _| sandbox.container.as_ref().is_some_and(|own| own.number == number));
        let interrupted = Failure::new("OperationInterruptedError", "The container ended");
        if is_same { Ok(()) } else { Err(interrupted.with_code("OPERATION_INTERRUPTED")) }
    }

    /// Does something in the container, which is there.
    pub(super) fn with_container<T>(&self, id: &SandboxId, act: impl FnOnce(&mut Container, i64) -> T) -> T {
        self.with_sandbox(id, |sandbox, now| act(sandbox.container.as_mut().unwrap(), now))
    }
}

impl Container {
    /// Something is written by the application, or by a hook.
    pub fn write(&mut self, file: u8, content: u64, now: i64) {
        self.files.insert(file, content);
        self.write_times.insert(file, now);
        self.is_changed = true;
    }

    /// The files that nobody but images and restores brought.
    pub fn restored_files(&self) -> Files {
        self.files.iter().filter(|(file, _)| !self.write_times.contains_key(file)).map(|(k, v)| (*k, *v)).collect()
    }
}
