//! Retention policies, and the decisions that follow from them.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use super::{Error, Label, Result, SnapshotId, Timestamp};

/// The default expiration, in seconds: 30 days.
pub const DEFAULT_EXPIRATION: u64 = 30 * 24 * 3600;

/// The longest expiration, in seconds: 100 years of 365 days.
pub const MAX_EXPIRATION: u64 = 100 * 365 * 24 * 3600;

/// The maximum number of snapshots, days or weeks in a rule.
const MAX_COUNT: u32 = 10_000;

/// How long snapshots are kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Policy {
    /// Limits the number of snapshots; no limit if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_last: Option<KeepLast>,
    /// A snapshot expires this many seconds after its last use; 0 is never.
    #[cfg_attr(feature = "schema", schemars(range(max = MAX_EXPIRATION)))]
    pub expiration_seconds: u64,
    /// The number of days, among those with snapshots, whose newest snapshot stays.
    #[cfg_attr(feature = "schema", schemars(range(max = MAX_COUNT)))]
    pub keep_daily: u32,
    /// The number of weeks, among those with snapshots, whose newest snapshot stays.
    #[cfg_attr(feature = "schema", schemars(range(max = MAX_COUNT)))]
    pub keep_weekly: u32,
}

/// The rule that limits the number of snapshots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KeepLast {
    /// The number of newest snapshots that stay.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = MAX_COUNT)))]
    pub count: NonZeroU32,
    /// These snapshots expire this many seconds after their last use, instead of the policy's; 0 is never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(max = MAX_EXPIRATION)))]
    pub expiration_seconds: Option<u64>,
    /// Whether all other snapshots are deleted at once; otherwise they stay until they expire.
    #[serde(default = "default_true")]
    pub delete_evicted: bool,
}

const fn default_true() -> bool {
    true
}

impl Default for Policy {
    fn default() -> Self {
        Self { keep_last: None, expiration_seconds: DEFAULT_EXPIRATION, keep_daily: 0, keep_weekly: 0 }
    }
}

/// The policy's decision about one snapshot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Decision {
    /// The id of the snapshot.
    pub snapshot_id: SnapshotId,
    /// Its label.
    pub label: Label,
    /// When it was taken.
    pub created_at: Timestamp,
    /// Whether it stays.
    pub keep: bool,
    /// The reasons, for people.
    pub reasons: Vec<String>,
    /// When the snapshot expires if nothing changes; absent if it has no expiration time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

impl Policy {
    /// Verifies the limits that the types do not express ([`Code::InvalidArgument`]).
    pub fn check(&self) -> Result<()> {
        let count = self.keep_last.map_or(0, |rule| rule.count.get());
        let seconds = self.keep_last.and_then(|rule| rule.expiration_seconds).unwrap_or(0);
        let (what, limit) = if count.max(self.keep_daily).max(self.keep_weekly) > MAX_COUNT {
            ("has a count above", u64::from(MAX_COUNT))
        } else if seconds.max(self.expiration_seconds) > MAX_EXPIRATION {
            ("has an expiration, in seconds, above", MAX_EXPIRATION)
        } else {
            return Ok(());
        };
        Err(Error::invalid_argument(
            format!("The retention policy {what} the maximum of {limit}."),
            format!("Pass counts up to {MAX_COUNT}, and seconds up to {MAX_EXPIRATION}; 0 seconds means never."),
        ))
    }

    /// Whether every decision depends on one snapshot alone: only expirations are set.
    pub fn is_time_only(&self) -> bool {
        self.keep_last.is_none() && self.keep_daily == 0 && self.keep_weekly == 0
    }
}
