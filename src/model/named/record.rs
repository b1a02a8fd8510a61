//! What is kept of a named workspace. It is stored as JSON, so a field is only ever added, and with a default.

use serde::{Deserialize, Serialize};

use super::answer::Problem;
use super::messages::LastSnapshot;
use super::{Address, Settings, State};
use crate::model::{SandboxId, SnapshotId, Timestamp};

/// How many transitions are remembered.
const HISTORY: usize = 20;

/// A named workspace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NamedRecord {
    /// Whose it is, and what it is called.
    pub address: Address,
    /// How often it has changed, over all workspaces that ever had the name: who hears of changes in another order knows
    /// which came last.
    pub version: u64,
    /// The version that the Directory knows.
    #[serde(default)]
    pub listed: u64,
    /// What it is doing.
    pub state: State,
    /// How it got there: the last transitions, the newest first.
    pub history: Vec<Transition>,
    /// How it is to be kept.
    pub settings: Settings,
    /// When it was made.
    pub created_at: Timestamp,
    /// Its sandbox.
    pub sandbox_id: SandboxId,
    /// Whether the id of its sandbox is surely nobody else's.
    #[serde(default)]
    pub claimed: bool,
    /// The sandboxes that it had before, the newest first: they are its snapshots' origins.
    #[serde(default)]
    pub former: Vec<SandboxId>,
    /// The first sandbox of the lineage of its sandboxes, as far as that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_id: Option<SandboxId>,
    /// The snapshot that its first sandbox was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Origin>,
    /// When it was last started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When something was last seen to happen with it.
    pub active_at: Timestamp,
    /// The snapshot of its last stop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_snapshot: Option<LastSnapshot>,
    /// What went wrong last, until it goes well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
    /// The call that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub creation: Option<Creation>,
    /// The calls with a key that took it as the source of others, the newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forks: Vec<Forking>,
    /// What is left to be done for it.
    #[serde(default)]
    pub chores: Vec<Chore>,
    /// When chores are tried next, and the time limits are looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again_at: Option<Timestamp>,
}

/// A snapshot, by the ledger that it is in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Origin {
    /// The sandbox that it was taken of.
    pub origin_id: SandboxId,
    /// The snapshot.
    pub snapshot_id: SnapshotId,
}

/// The call that made a workspace: made again with the same key, it is answered and not refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Creation {
    /// Its idempotency key.
    pub key: String,
    /// A hash of its arguments, base64url.
    pub payload: String,
}

/// A call that took a workspace as the source of others: made again with the same key, it gets the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Forking {
    /// The call.
    pub call: Creation,
    /// The snapshot that the others are made from.
    pub origin: Origin,
    /// How the workspace was to be kept then.
    pub settings: Settings,
    /// When that was.
    pub at: Timestamp,
}

/// Something that is done later, and again until it succeeds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Chore {
    /// This sandbox is not needed any more, and neither are its snapshots.
    Retire(SandboxId),
    /// This sandbox must not run any more. What is in it is kept as a snapshot, where it is somebody's work.
    Quiet(SandboxId),
}

impl Chore {
    /// The sandbox that it is about.
    pub const fn sandbox_id(&self) -> &SandboxId {
        match self {
            Self::Retire(id) | Self::Quiet(id) => id,
        }
    }
}

/// A step from one state to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Transition {
    /// The state before; absent for a new workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<State>,
    /// The state from then on.
    pub to: State,
    /// When.
    pub at: Timestamp,
    /// Why, for people.
    pub cause: String,
}

impl NamedRecord {
    /// Whether there is a workspace of the name.
    pub fn exists(&self) -> bool {
        self.state != State::Deleted
    }

    /// Steps to another state; `None` where there is no way to it.
    #[must_use]
    pub fn step(&mut self, to: State, at: Timestamp, cause: &str) -> Option<Transition> {
        if !self.state.may_become(to) {
            return None;
        }
        let transition = Transition { from: Some(self.state), to, at, cause: cause.to_owned() };
        self.state = to;
        self.remember(transition.clone());
        Some(transition)
    }

    /// Remembers a transition, and that there is news.
    pub fn remember(&mut self, transition: Transition) {
        self.version += 1;
        self.history.insert(0, transition);
        self.history.truncate(HISTORY);
    }

    /// Every sandbox that is or was this workspace's, the newest first.
    pub fn sandboxes(&self) -> impl Iterator<Item = &SandboxId> {
        std::iter::once(&self.sandbox_id).chain(&self.former)
    }

    /// Adds a chore, in the place of another one about the same sandbox.
    pub fn add_chore(&mut self, chore: Chore) {
        self.chores.retain(|other| other.sandbox_id() != chore.sandbox_id());
        self.chores.push(chore);
    }

    /// When it is stopped by itself, as things are: for idleness, and for its age.
    pub fn ends(&self) -> (Option<Timestamp>, Option<Timestamp>) {
        let after = |from: Timestamp, seconds: u64| {
            let millis = i64::try_from(seconds.saturating_mul(1000)).unwrap_or(i64::MAX);
            (seconds > 0).then(|| from.plus_millis(millis))
        };
        let expiry = &self.settings.expiry;
        let started_at = self.started_at.unwrap_or(self.created_at);
        (after(self.active_at, expiry.idle_seconds), after(started_at, expiry.max_seconds))
    }
}
