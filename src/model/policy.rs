//! Retention policies, and the decisions that follow from them.
//!
//! [`Policy::plan`] decides about each snapshot and gives the reasons. The rules apply in this order:
//!
//! 1. A snapshot stays if it is pinned, if another workspace depends on it, if a sandbox is being made from it, or if
//!    it is the newest restorable snapshot.
//! 2. A snapshot with its own expiration expires that many seconds after its last use.
//! 3. The newest snapshot of each of the last `keepDaily` days and `keepWeekly` weeks that have snapshots stays (UTC;
//!    weeks start on Monday).
//! 4. A snapshot that is not among the newest `keepLast.count` is evicted, unless `deleteEvicted` is false.
//! 5. Any other snapshot expires `expirationSeconds` after its last use; 0 is never. For the newest `keepLast.count`,
//!    the `expirationSeconds` of `keepLast` overrides that of the policy.

use std::num::NonZeroU32;

use chrono::{DateTime, Datelike, NaiveDate};
use serde::{Deserialize, Serialize};

use super::{Error, Label, Result, SandboxId, SnapshotId, Timestamp};

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

/// The properties of a snapshot on which retention decides.
#[derive(Clone, Debug, PartialEq)]
pub struct RetentionCandidate {
    /// The id of the snapshot.
    pub snapshot_id: SnapshotId,
    /// Its label.
    pub label: Label,
    /// When it was taken.
    pub created_at: Timestamp,
    /// When it was taken or last restored.
    pub last_used_at: Timestamp,
    /// The snapshot's own expiration, in seconds after its last use; 0 is never.
    pub expiration_seconds: Option<u64>,
    /// Whether it is pinned: the policy never removes it.
    pub pinned: bool,
    /// The time until which it is protected, because the next snapshot is much smaller.
    pub protected_until: Option<Timestamp>,
    /// Whether it can be restored, as far as is known.
    pub restorable: bool,
    /// The workspaces that depend on it.
    pub dependents: Vec<SandboxId>,
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

    /// Decides about every snapshot of a workspace. `candidates` are all of its snapshots, newest first.
    pub fn plan(&self, candidates: &[RetentionCandidate], now: Timestamp) -> Vec<Decision> {
        let newest_restorable = candidates.iter().position(|candidate| candidate.restorable);
        let mut days = Buckets::new(self.keep_daily);
        let mut weeks = Buckets::new(self.keep_weekly);
        // A snapshot that cannot be restored does not count among the newest.
        let mut newer = 0;
        let decide = |(index, candidate): (usize, &RetentionCandidate)| {
            let date = date(candidate.created_at);
            let is_daily = candidate.restorable && days.takes(date.num_days_from_ce());
            let is_weekly = candidate.restorable && weeks.takes((date.num_days_from_ce() - 1).div_euclid(7));
            let rank = Rank { newer, is_newest_restorable: newest_restorable == Some(index), is_daily, is_weekly };
            newer += usize::from(candidate.restorable);
            self.decide(candidate, &rank, now)
        };
        candidates.iter().enumerate().map(decide).collect()
    }

    /// Returns when a snapshot expires that was taken or used just now, if it is among the newest.
    pub fn expires_at(&self, candidate: &RetentionCandidate) -> Option<Timestamp> {
        expiry(candidate, self.expiration_for(candidate, true))
    }

    fn expiration_for(&self, candidate: &RetentionCandidate, is_last: bool) -> u64 {
        let of_newest = self.keep_last.filter(|_| is_last).and_then(|rule| rule.expiration_seconds);
        candidate.expiration_seconds.or(of_newest).unwrap_or(self.expiration_seconds)
    }

    fn decide(&self, candidate: &RetentionCandidate, rank: &Rank, now: Timestamp) -> Decision {
        let is_last = self.keep_last.is_none_or(|rule| rank.newer < rule.count.get() as usize);
        let seconds = self.expiration_for(candidate, is_last);
        let ends_at = expiry(candidate, seconds);
        let is_over = ends_at.is_some_and(|end| end <= now);
        let decision = |keep, reasons, expires_at| Decision {
            snapshot_id: candidate.snapshot_id.clone(),
            label: candidate.label.clone(),
            created_at: candidate.created_at,
            keep,
            reasons,
            expires_at,
        };

        let mut reasons = candidate.reasons_to_keep();
        if rank.is_newest_restorable {
            reasons.push("the newest snapshot that can be restored".to_owned());
        }
        if !reasons.is_empty() {
            return decision(true, reasons, None);
        }
        let expired = format!("{seconds} seconds have passed since its last use at {}", candidate.last_used_at);
        if candidate.expiration_seconds.is_some() && is_over {
            return decision(false, vec![expired], None);
        }
        if rank.is_daily {
            reasons.push(format!("the newest of its day, of the last {} days", self.keep_daily));
        }
        if rank.is_weekly {
            reasons.push(format!("the newest of its week, of the last {} weeks", self.keep_weekly));
        }
        if !reasons.is_empty() {
            return decision(true, reasons, ends_at.filter(|_| candidate.expiration_seconds.is_some()));
        }
        if let Some(rule) = self.keep_last.filter(|rule| rule.delete_evicted && !is_last) {
            return decision(false, vec![format!("not among the newest {}", rule.count)], None);
        }
        if is_over {
            return decision(false, vec![expired], None);
        }
        if let Some(rule) = self.keep_last.filter(|_| is_last) {
            reasons.push(format!("among the newest {}", rule.count));
        }
        match ends_at {
            Some(end) => reasons.push(format!("it expires at {end}")),
            None => reasons.push("it does not expire".to_owned()),
        }
        decision(true, reasons, ends_at)
    }
}

impl RetentionCandidate {
    fn reasons_to_keep(&self) -> Vec<String> {
        let pinned = self.pinned.then(|| "pinned".to_owned());
        let dependents = self.dependents.iter().map(|id| format!("needed by {:?}", id.as_str()));
        let protected =
            self.protected_until.map(|until| format!("the next snapshot is much smaller: kept until {until}"));
        pinned.into_iter().chain(protected).chain(dependents).collect()
    }
}

/// The position of a snapshot among the others.
struct Rank {
    /// The number of newer restorable snapshots.
    newer: usize,
    is_newest_restorable: bool,
    is_daily: bool,
    is_weekly: bool,
}

/// Counts the most recent days or weeks that have snapshots. Expects the snapshots newest first.
struct Buckets {
    left: u32,
    last: Option<i32>,
}

impl Buckets {
    const fn new(count: u32) -> Self {
        Self { left: count, last: None }
    }

    /// Whether this is the first snapshot of a day or week within the count.
    fn takes(&mut self, bucket: i32) -> bool {
        if self.left == 0 || self.last == Some(bucket) {
            return false;
        }
        self.last = Some(bucket);
        self.left -= 1;
        true
    }
}

fn expiry(candidate: &RetentionCandidate, seconds: u64) -> Option<Timestamp> {
    let millis = i64::try_from(seconds.saturating_mul(1000)).unwrap_or(i64::MAX);
    (seconds > 0).then(|| candidate.last_used_at.plus_millis(millis))
}

fn date(time: Timestamp) -> NaiveDate {
    DateTime::from_timestamp_millis(time.as_millis()).unwrap_or_default().date_naive()
}
