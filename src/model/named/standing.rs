//! What the workspace of one sandbox knows and does when the sandbox stands for a name.
//!
//! The container itself carries a [`Stamp`], outside of everything that is captured: it says whose files are in it, and goes
//! with it. So a container that started by itself, empty, can never be taken for somebody's place of work.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::Address;
use super::answer::HookRun;
use super::settings::{Hook, OnImageChange, OnMismatch, Settings};
use crate::model::record::LooseEnd;
#[cfg(feature = "schema")]
use crate::model::schema::nullable;
use crate::model::{Directory, Lineage, SandboxId, SnapshotId, Timestamp};

/// How far a container is that is being made somebody's place of work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stamp {
    /// Files are being put into it.
    Filling(String),
    /// They are in place, and the hook has still to run.
    Filled(String),
    /// It woke by itself, and the files that somebody wrote since are not to be lost: nobody may fill it any more. Where they
    /// are to be the workspace's, the hook has still to run.
    Kept(String),
    /// It was handed out.
    Ready(String),
}

impl Stamp {
    /// Reads what [`Display`](fmt::Display) writes.
    pub fn parse(text: &str) -> Option<Self> {
        let (word, nonce) = text.trim().split_once(' ')?;
        let nonce = nonce.to_owned();
        match word {
            "filling" => Some(Self::Filling(nonce)),
            "filled" => Some(Self::Filled(nonce)),
            "kept" => Some(Self::Kept(nonce)),
            "ready" => Some(Self::Ready(nonce)),
            _ => None,
        }
    }

    /// Whether it is the one of an identity: each attempt to fill a container has a number of its own behind it.
    pub fn is_of(&self, identity: &str) -> bool {
        let Self::Ready(nonce) = self else { return false };
        nonce == identity || nonce.strip_prefix(identity).is_some_and(|rest| rest.starts_with('.'))
    }

    /// Whether somebody's files are in place.
    pub const fn is_ready(&self) -> bool {
        matches!(self, Self::Ready(_))
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, nonce) = match self {
            Self::Filling(nonce) => ("filling", nonce),
            Self::Filled(nonce) => ("filled", nonce),
            Self::Kept(nonce) => ("kept", nonce),
            Self::Ready(nonce) => ("ready", nonce),
        };
        write!(f, "{word} {nonce}")
    }
}

/// What is kept with a sandbox that stands for a name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Standing {
    /// For which.
    pub address: Address,
    /// The directory that persists.
    pub dir: Directory,
    /// Somebody is at work on its container, or was when they died: it is looked after, and until that is settled nothing is
    /// captured but what is put aside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filling: Option<LooseEnd>,
    /// A backup was being applied to it, and nobody saw the end of that: it may go on in another container.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub restoring: bool,
    /// The end of its container was asked for and not answered in time: it may come whenever it will, also to a container that is
    /// started after that. So none is handed out any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub end_unanswered: bool,
    /// When it was first handed out. What was handed out once is never begun anew unasked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opened_at: Option<Timestamp>,
    /// What the image of its container is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// A hash of what the image has in the directory; absent where that is nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// Files whose hashes are taken with each snapshot.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// What each snapshot is marked with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// The version of the workspace's record for which it was last started or ended. What was asked for before comes too late.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub version: u64,
    /// The names of the environment variables that may be set.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<String>,
}

/// What a snapshot depends on, as it was when it was taken.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Dependencies {
    /// SHA-256 of each file, in hexadecimal, by its path as it was named; empty where there was none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    /// What the world was like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// What the sandbox's image was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
}

/// What is found in a container before anything is put into it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// What its image is: the version of the SDK's server, and a hash of what is installed.
    pub image: String,
    /// A hash of what is in the directory; `None` where that is nothing.
    pub listing: Option<String>,
}

/// The listing of a directory that could not be listed in time: it is like no other, and not like itself.
pub const UNKNOWN_LISTING: &str = "unknown";

impl Survey {
    /// Whether the directory is as an image has it, of which this is the listing.
    pub fn is_as(&self, baseline: Option<&String>) -> bool {
        self.listing.as_ref() == baseline && self.listing.as_deref() != Some(UNKNOWN_LISTING)
    }
}

/// What is found in a container when it is begun to fill it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Begun {
    /// What is in it.
    pub survey: Survey,
    /// SHA-256 of files, as they were asked for.
    pub hashes: BTreeMap<String, String>,
}

/// A sandbox to be made, or to be given its files again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResumeRequest {
    /// The workspace that it stands for.
    pub address: Address,
    /// How it is to be kept.
    pub settings: Settings,
    /// How the caller wants it.
    pub start: Start,
    /// The version of the workspace's record.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub version: u64,
}

/// How a caller wants a workspace to be started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "StartSettings", transform = nullable))]
pub struct Start {
    /// What becomes of files that were written since the sandbox woke by itself.
    #[serde(default)]
    pub on_diverged: OnDiverged,
    /// Whether it is started empty where there is nothing to restore.
    #[serde(default)]
    pub allow_empty: bool,
    /// Whether it is started although its snapshot is stale.
    #[serde(default)]
    pub accept_stale: bool,
    /// What files must have been at the snapshot: SHA-256 in hexadecimal, by the paths of `dependsOn.files`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub expect: BTreeMap<String, String>,
}

/// What becomes of files that were written since the sandbox woke by itself, without those of the workspace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub enum OnDiverged {
    /// The start fails, and nothing is touched.
    #[default]
    Fail,
    /// They are the workspace's from now on.
    Keep,
    /// They are kept as a snapshot of their own, and the newest one before is restored.
    Save,
    /// They go, and the newest snapshot is restored.
    Discard,
}

/// What a look at a sandbox found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Condition {
    /// It runs, with its files in place.
    Alive,
    /// It does not run.
    Asleep,
    /// It runs without its files.
    Woken,
    /// It runs without its files, and others were written since it woke.
    Diverged,
}

/// How a sandbox got its files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resumed {
    /// How.
    pub how: How,
    /// The snapshot that was restored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_id: Option<SnapshotId>,
    /// The snapshot that the files were saved in which were there instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved: Option<SnapshotId>,
    /// The first sandbox of its lineage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_id: Option<SandboxId>,
    /// In what the snapshot is stale.
    #[serde(default)]
    pub stale: Vec<String>,
    /// What hooks came to.
    #[serde(default)]
    pub hooks: Vec<HookRun>,
}

/// How a workspace got its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub enum How {
    /// They were in place.
    Alive,
    /// They were restored from a snapshot.
    Restored,
    /// It has none yet: it is new, or begins anew because that was asked for.
    Empty,
    /// Those are kept that were written since it woke by itself.
    Kept,
}

/// A sandbox to be ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HaltRequest {
    /// The workspace that it stands for: one that stands for another, or for none, is left as it is.
    pub address: Address,
    /// Whether a snapshot is taken before.
    pub snapshot: bool,
    /// What runs in it before that, in this order, by the names of the hooks.
    #[serde(default)]
    pub hooks: Vec<(String, Hook)>,
    /// The variables that these see.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// The version of the workspace's record.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub version: u64,
}

/// What the end of a sandbox came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Halted {
    /// The snapshot that was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<LastSnapshot>,
    /// The snapshot that files were saved in which were written since it woke by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved: Option<SnapshotId>,
    /// Whether it had ended before, with whatever was not in a snapshot.
    #[serde(default)]
    pub was_asleep: bool,
    /// Whether the end of its container was not answered in time: it may still come.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub end_unanswered: bool,
    /// Whether files were still being changed while the last snapshot was taken: they may be in it as they were before.
    #[serde(default)]
    pub unsettled: bool,
    /// What hooks came to.
    #[serde(default)]
    pub hooks: Vec<HookRun>,
}

/// A snapshot, as a workspace remembers it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LastSnapshot {
    /// The snapshot.
    pub id: SnapshotId,
    /// The sandbox that it was taken of.
    pub origin_id: SandboxId,
    /// The directory that it holds.
    pub dir: Directory,
    /// The size of its archive, in bytes.
    pub size_bytes: u64,
    /// When it was taken.
    pub created_at: Timestamp,
}

/// A sandbox that is going to be made from a snapshot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReserveRequest {
    /// Its id, which was minted by the caller.
    pub sandbox_id: SandboxId,
    /// The snapshot.
    pub snapshot_id: SnapshotId,
    /// Whether it is restored or branched.
    pub lineage: Lineage,
    /// What it stands for.
    pub standing: Standing,
}

/// What is left of a sandbox's snapshots that are not needed by their workspace any more.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Retired {
    /// How many snapshots go.
    pub removed: usize,
    /// Those that stay until nobody needs them.
    pub kept: Vec<Kept>,
}

/// A snapshot that others need.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "KeptSnapshot"))]
pub struct Kept {
    /// The snapshot.
    pub snapshot_id: SnapshotId,
    /// The sandbox that it was taken of.
    pub origin_id: SandboxId,
    /// The sandboxes that need it.
    pub holders: Vec<SandboxId>,
    /// Whether it is pinned.
    pub pinned: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde passes it so.
const fn is_zero(version: &u64) -> bool {
    *version == 0
}

impl Standing {
    /// Of a sandbox that has not been made yet.
    pub fn of(address: Address, dir: Directory) -> Self {
        Self {
            address,
            dir,
            filling: None,
            restoring: false,
            end_unanswered: false,
            opened_at: None,
            image: None,
            baseline: None,
            files: Vec::new(),
            fingerprint: None,
            version: 0,
            variables: Vec::new(),
        }
    }
}

impl Dependencies {
    /// In what the world differs from what it was at the snapshot: `files`, `fingerprint` and `image` as they are now, and
    /// as `expect` wants them to have been. The second list is about the image.
    pub fn compare(&self, now: &Self, expect: &BTreeMap<String, String>) -> (Vec<String>, Vec<String>) {
        let mut stale = Vec::new();
        for (path, expected) in expect {
            let then = self.files.get(path).map_or("", String::as_str);
            if !then.eq_ignore_ascii_case(expected) {
                stale.push(format!("{path:?} is not what was expected at the snapshot"));
            }
        }
        for (path, hash) in &now.files {
            if self.files.get(path).is_some_and(|then| then != hash) {
                stale.push(format!("{path:?} has changed since the snapshot"));
            }
        }
        if let (Some(then), Some(now)) = (&self.fingerprint, &now.fingerprint)
            && then != now
        {
            stale.push(format!("the fingerprint is {now:?}, and was {then:?} at the snapshot"));
        }
        let image = match (&self.image, &now.image) {
            (Some(then), Some(now)) if then != now => {
                vec![format!("the sandbox's image is {now:?}, and was {then:?} at the snapshot")]
            }
            _ => Vec::new(),
        };
        (stale, image)
    }
}

impl OnMismatch {
    /// Whether a start fails by it.
    pub fn fails(self) -> bool {
        self == Self::Fail
    }
}

impl OnImageChange {
    /// Whether a start fails by it.
    pub fn fails(self) -> bool {
        self == Self::Fail
    }
}
