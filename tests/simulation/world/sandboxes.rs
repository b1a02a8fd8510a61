//! Sandboxes whose containers come and go, with the habits of the SDK (0.12.10).

use std::collections::{BTreeMap, BTreeSet};

use futures_channel::oneshot;
use sandbox_snapshotter::model::named::Stamp;
use sandbox_snapshotter::model::{Failure, SandboxId, SnapshotId, Status, Timestamp};
use sandbox_snapshotter::ports::Ledger;

use super::World;

/// How long the start of a container takes at least, in milliseconds: on the platform it is some hundred.
const FASTEST_START: i64 = 20;

/// How long a container may be idle where nothing else was said, in seconds.
const IDLE: u64 = 600;

/// The one file that an image may bring.
pub const OF_IMAGE: u8 = 200;

/// The files of a container: which, and what is in it. What was written later is the larger number.
pub type Files = BTreeMap<u8, u64>;

/// A snapshot that a container is filled from, with its files; `None` where there is none.
pub type Source = Option<(SnapshotId, Files)>;

/// How long a container may be idle, in seconds; `None` for ever.
pub type Awake = Option<u64>;

/// The container that a capture was of, or that a backup arrived in.
#[derive(Clone, Copy, PartialEq)]
pub struct Own {
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
    pub sources: Vec<(i64, Source)>,
    /// When those of its containers were started that woke by themselves, and that a start was to keep.
    pub kept: BTreeSet<i64>,
    /// Whether somebody works in it: then nothing but captures may touch it.
    pub is_somebodys: bool,
    /// The container that holds its own files, as far as the service knows it.
    pub own: Option<Own>,
    /// How many of its containers died.
    pub deaths: u32,
    /// Whether a container of it was ever ready to be handed out as a workspace.
    pub was_ready: bool,
    /// Whether one was handed out, or worked in when it was ready.
    pub was_opened: bool,
    /// Whether its containers fall asleep.
    pub sleeps: bool,
    /// How long its container may be idle, where that was said.
    pub awake: Option<Awake>,
    /// What it believes of its container, which may be wrong for a while.
    pub believed: Option<Status>,
    /// In its own milliseconds, in which nothing is ever twice at the same time.
    pub last_change: i64,
    /// The operation that the next one stands behind.
    last: Option<oneshot::Receiver<()>>,
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
    pub is_accident: bool,
    /// The note.
    pub took_place: bool,
    /// The stamp.
    pub stamp: Option<Stamp>,
    /// When it got its first.
    pub stamped_at: i64,
    /// Since when the call was under way that put it there, where it still was then; or when it got it.
    pub begun_at: i64,
    /// Whether it was ready when its workspace became active.
    pub is_handed_out: bool,
    /// What its image is.
    pub image: u64,
    /// When the application or a hook wrote what.
    pub writes: BTreeMap<u8, i64>,
    /// When anything was last done in it.
    pub touched_at: i64,
    /// Whether something was changed since somebody looked for that.
    pub is_stirred: bool,
    /// When somebody last looked for changes.
    pub looked_at: i64,
    /// When it was captured.
    pub captures: Vec<i64>,
    /// What it was filled from, once it was: there may be several with the same files.
    pub filled_from: Vec<Source>,
}

impl Sandbox {
    /// What it takes for true of its container from now on.
    pub fn believe(&mut self, status: Status, now: i64) {
        self.believed = Some(status);
        self.last_change = now.max(self.last_change + 1);
    }

    /// Starts a container where there is none.
    pub fn start(&mut self, number: u64, image: (u64, bool), now: i64) -> &mut Container {
        if self.container.is_none() {
            self.believe(Status::Healthy, now);
        }
        let (image, has_files) = image;
        let files = if has_files && self.sleeps { Files::from([(OF_IMAGE, image)]) } else { Files::new() };
        let new = || Container {
            number,
            started_at: now,
            files,
            is_accident: true,
            took_place: false,
            stamp: None,
            stamped_at: now,
            begun_at: now,
            is_handed_out: false,
            image,
            writes: BTreeMap::new(),
            touched_at: now,
            is_stirred: true,
            looked_at: 0,
            captures: Vec::new(),
            filled_from: Vec::new(),
        };
        let container = self.container.get_or_insert_with(new);
        container.touched_at = now;
        container
    }

    /// The container is gone, if it has been idle for long enough. `is_noticed` says whether that is known.
    fn may_sleep(&mut self, now: i64, is_noticed: bool) -> bool {
        let Some(seconds) = self.awake.unwrap_or(Some(IDLE)) else { return false };
        let end = |container: &Container| container.touched_at + i64::try_from(seconds * 1000).unwrap();
        let Some(end) = self.container.as_ref().map(end).filter(|end| self.sleeps && *end < now) else { return false };
        self.container = None;
        self.deaths += 1;
        if is_noticed {
            self.believe(Status::Down, end);
        }
        true
    }
}

impl World {
    /// An application writes a file, which starts a container where there is none.
    pub fn writes(&self, id: &SandboxId, file: u8) {
        let content = self.serial();
        self.trace(&format_args!("{id} writes {file}: {content}"));
        self.touches(id, Some((file, content)));
    }

    /// An application looks into its sandbox, which starts a container where there is none, and writes something or not.
    pub fn touches(&self, id: &SandboxId, write: Option<(u8, u64)>) {
        let (number, image) = (self.chance.next(), self.image());
        self.with(id, |sandbox, now| {
            sandbox.is_somebodys = true;
            let container = sandbox.start(number, image, now);
            container.is_accident = false;
            if let Some((file, content)) = write {
                container.write(file, content, now);
            }
            sandbox.was_opened |= container.is_handed_out;
        });
    }

    /// An application looks what its sandbox holds, and takes that as it is.
    pub fn looks(&self, id: &SandboxId) {
        self.with(id, |sandbox, _| {
            if let Some(container) = &mut sandbox.container {
                container.is_accident = false;
            }
        });
    }

    /// The container ends; the sandbox may not notice.
    pub fn dies(&self, id: &SandboxId, is_noticed: bool) {
        self.with(id, |sandbox, now| {
            if sandbox.container.take().is_some() {
                sandbox.deaths += 1;
                self.count("containers died");
                self.trace(&format_args!("{id} dies"));
            }
            if is_noticed {
                sandbox.believe(Status::Down, now);
            }
        });
    }

    /// The sandbox connects to its container again: the same one, but the state's time changes.
    pub fn reconnects(&self, id: &SandboxId) {
        self.with(id, |sandbox, now| {
            if sandbox.container.is_some() {
                sandbox.believe(Status::Healthy, now);
            }
        });
    }

    /// The files in the container; `None` without one.
    pub fn files(&self, id: &SandboxId) -> Option<Files> {
        self.with(id, |sandbox, _| sandbox.container.as_ref().map(|container| container.files.clone()))
    }

    /// Does something with a sandbox, which may have fallen asleep.
    pub fn with<T>(&self, id: &SandboxId, act: impl FnOnce(&mut Sandbox, i64) -> T) -> T {
        let now = self.now();
        let mut sandboxes = self.sandboxes.borrow_mut();
        let sandbox = sandboxes.entry(id.clone()).or_default();
        let is_noticed = now % 2 == 0;
        if sandbox.may_sleep(now, is_noticed) {
            self.count("containers fallen asleep");
            self.trace(&format_args!("{id} has fallen asleep"));
        }
        act(sandbox, now)
    }

    /// The ids of all sandboxes that have a container.
    pub fn running(&self) -> Vec<SandboxId> {
        let all: Vec<SandboxId> = self.sandboxes.borrow().keys().cloned().collect();
        all.into_iter().filter(|id| self.with(id, |sandbox, _| sandbox.container.is_some())).collect()
    }

    /// Whether a sandbox stands for a name.
    pub fn stands(&self, id: &SandboxId) -> bool {
        let ledger = self.ledgers.borrow().get(id).cloned();
        ledger.is_some_and(|ledger| ledger.workspace().unwrap().is_some_and(|known| known.standing.is_some()))
    }

    /// Starts a container where there is none, for the service; answers its number.
    pub(super) async fn started(&self, id: &SandboxId) -> u64 {
        let number = self.chance.next();
        if self.with(id, |sandbox, _| sandbox.container.is_none()) {
            self.sleep(FASTEST_START + self.chance.millis(500)).await;
        }
        if self.strikes(self.weather.dies) {
            self.dies(id, self.chance.one_in(2));
        }
        let (image, sleeps) = (self.image(), self.stands(id));
        self.with(id, |sandbox, now| {
            if sandbox.container.is_none() {
                self.trace(&format_args!("{id} starts for the service"));
            }
            sandbox.sleeps |= sleeps;
            sandbox.start(number, image, now).number
        })
    }

    /// Operations on one sandbox wait for each other, in the order of their arrival.
    pub(super) fn stand_in_line(&self, id: &SandboxId) -> (Option<oneshot::Receiver<()>>, oneshot::Sender<()>) {
        let (done, is_done) = oneshot::channel();
        (self.with(id, |sandbox, _| sandbox.last.replace(is_done)), done)
    }

    /// Whether the container is still the one with the number.
    pub(super) fn goes_on(&self, id: &SandboxId, number: u64) -> Result<(), Failure> {
        let is_same = self.with(id, |sandbox, _| sandbox.container.as_ref().is_some_and(|own| own.number == number));
        let interrupted = Failure::new("OperationInterruptedError", "The container ended");
        if is_same { Ok(()) } else { Err(interrupted.with_code("OPERATION_INTERRUPTED")) }
    }

    /// Does something in the container, which is there.
    pub(super) fn inside<T>(&self, id: &SandboxId, act: impl FnOnce(&mut Container, i64) -> T) -> T {
        self.with(id, |sandbox, now| act(sandbox.container.as_mut().unwrap(), now))
    }
}

impl Container {
    /// Something is written by the application, or by a hook.
    pub fn write(&mut self, file: u8, content: u64, now: i64) {
        self.files.insert(file, content);
        self.writes.insert(file, now);
        self.is_stirred = true;
    }

    /// The files that nobody but images and restores brought.
    pub fn unwritten(&self) -> Files {
        self.files.iter().filter(|(file, _)| !self.writes.contains_key(file)).map(|(k, v)| (*k, *v)).collect()
    }
}
