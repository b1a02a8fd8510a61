//! Automatic saves of a named workspace.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use super::State;
#[cfg(feature = "schema")]
use crate::model::schema::zero_or;
use crate::model::{Error, Result, Timestamp};

/// The minimum time between two automatic saves, in seconds.
pub const MIN_SECONDS: u64 = 60;

/// The maximum time between two automatic saves, in seconds: one week.
const MAX_SECONDS: u64 = 7 * 24 * 3600;

/// The default and the maximum number of automatic snapshots that stay.
const DEFAULT_KEPT: NonZeroU32 = NonZeroU32::new(5).unwrap();
const MAX_KEPT: u32 = 1000;

/// When the Worker saves the files of a running workspace by itself: after a time, after an agent's turns, or both. Off by
/// default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Autosave {
    /// Seconds from one save to the next. 0 means that time alone saves nothing.
    #[cfg_attr(feature = "schema", schemars(transform = zero_or(MIN_SECONDS, MAX_SECONDS)))]
    pub every_seconds: u64,
    /// Whether to save only if files have changed since the last automatic save.
    pub only_if_changed: bool,
    /// Whether to save after `workspaces/turnEnded`, at most once a minute.
    pub after_turn: bool,
    /// The number of newest automatic snapshots that stay. Automatic snapshots count only among themselves: they evict
    /// no other snapshot, and no other snapshot evicts them.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = MAX_KEPT)))]
    pub keep_last: NonZeroU32,
}

impl Default for Autosave {
    fn default() -> Self {
        Self { every_seconds: 0, only_if_changed: true, after_turn: false, keep_last: DEFAULT_KEPT }
    }
}

impl Autosave {
    /// Returns whether anything is saved automatically.
    pub const fn is_on(&self) -> bool {
        self.every_seconds > 0 || self.after_turn
    }

    /// Returns whether this is the default, which saves nothing.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Verifies the limits that the types do not express.
    pub(super) fn check(&self) -> Result<()> {
        if self.every_seconds != 0 && !(MIN_SECONDS..=MAX_SECONDS).contains(&self.every_seconds) {
            return Err(Error::invalid_argument(
                format!("`autosave.everySeconds` must be 0 or {MIN_SECONDS}–{MAX_SECONDS}, got {}", self.every_seconds),
                format!("Pass {MIN_SECONDS} to {MAX_SECONDS} seconds, or 0 to save only after turns, or not at all."),
            ));
        }
        if self.keep_last.get() > MAX_KEPT {
            return Err(Error::invalid_argument(
                format!("`autosave.keepLast` must be 1–{MAX_KEPT}, got {}", self.keep_last),
                format!("Pass 1 to {MAX_KEPT} snapshots."),
            ));
        }
        Ok(())
    }
}

/// The answer to the end of a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "TurnEnded"))]
pub struct TurnEnded {
    /// The state of the workspace.
    pub state: State,
    /// Whether the container has ended by itself: what is in no snapshot may be lost, and nothing can be saved.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub container_ended: bool,
    /// When the Worker checks whether files have changed, and saves them; absent if the workspace is not active, if its
    /// container has ended, or if it does not save after turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub save_due_at: Option<Timestamp>,
    /// When the newest snapshot of the workspace's files was taken, as far as the workspace knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_saved_at: Option<Timestamp>,
    /// Since when changes may be unsaved, because an automatic save failed; absent once a save succeeds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsaved_since: Option<Timestamp>,
}
