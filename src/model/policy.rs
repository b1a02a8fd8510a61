//! How long the snapshots of a workspace are kept, and the decisions that follow.
//!
//! [`Policy::plan`] decides about each snapshot, and says why. In this order:
//!
//! 1. What is pinned, what another workspace holds or is being made from, and the newest snapshot that can be restored,
//!    stay.
//! 2. A snapshot's own expiration, where it was given one, ends it: from its last use on.
//! 3. The newest of each of the last `keepDaily` days and `keepWeekly` weeks that have any stay (UTC, weeks from Monday).
//! 4. What is not among the newest `keepLast.count` goes, unless `deleteEvicted` is false.
//! 5. The others go `expirationSeconds` after their last use; 0 is never. For those that `keepLast` counts, its own
//!    `expirationSeconds` takes the place of the policy's.

use std::num::NonZeroU32;

use chrono::{DateTime, Datelike, NaiveDate};
use serde::{Deserialize, Serialize};

use super::{Code, Error, Label, Result, SandboxId, SnapshotId, Timestamp};

/// 30 days, in seconds.
pub const DEFAULT_EXPIRATION: u64 = 30 * 24 * 3600;

/// The longest expiration, in seconds: 100 years of 365 days.
pub const MAX_EXPIRATION: u64 = 100 * 365 * 24 * 3600;

/// The most snapshots, days or weeks that a rule counts.
const MAX_COUNT: u32 = 10_000;

/// How long snapshots are kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Policy {
    /// Bounds how many there are; no bound where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_last: Option<KeepLast>,
    /// Seconds from the last use of a snapshot to its end; 0 is never.
    #[cfg_attr(feature = "schema", schemars(range(max = MAX_EXPIRATION)))]
    pub expiration_seconds: u64,
    /// The newest of each of so many days stay.
    #[cfg_attr(feature = "schema", schemars(range(max = MAX_COUNT)))]
    pub keep_daily: u32,
    /// The newest of each of so many weeks stay.
    #[cfg_attr(feature = "schema", schemars(range(max = MAX_COUNT)))]
    pub keep_weekly: u32,
}

/// The rule that bounds how many snapshots there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KeepLast {
    /// How many of the newest stay.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = MAX_COUNT)))]
    pub count: NonZeroU32,
    /// Seconds from the last use of these to their end, in place of the policy's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(max = MAX_EXPIRATION)))]
    pub expiration_seconds: Option<u64>,
    /// Whether the others go at once; otherwise they go when they expire.
    #[serde(default = "yes")]
    pub delete_evicted: bool,
}

const fn yes() -> bool {
    true
}

impl Default for Policy {
    fn default() -> Self {
        Self { keep_last: None, expiration_seconds: DEFAULT_EXPIRATION, keep_daily: 0, keep_weekly: 0 }
    }
}

/// What retention looks at of one snapshot.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The snapshot.
    pub snapshot_id: SnapshotId,
    /// Its label.
    pub label: Label,
    /// When it was taken.
    pub created_at: Timestamp,
    /// When it was taken or last restored.
    pub last_used_at: Timestamp,
    /// Its own expiration, in seconds after its last use; 0 is never.
    pub expiration_seconds: Option<u64>,
    /// Whether somebody wants it kept whatever the policy says.
    pub pinned: bool,
    /// Until when it stays since the next snapshot was much smaller.
    pub spared_until: Option<Timestamp>,
    /// Whether it can be restored, as far as is known.
    pub good: bool,
    /// The workspaces that need it.
    pub holders: Vec<SandboxId>,
}

/// What becomes of a snapshot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Decision {
    /// The snapshot.
    pub snapshot_id: SnapshotId,
    /// Its label.
    pub label: Label,
    /// When it was taken.
    pub created_at: Timestamp,
    /// Whether it stays.
    pub keep: bool,
    /// Why, for people.
    pub reasons: Vec<String>,
    /// When it goes, if nothing changes; absent where that is never, or not a matter of time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

impl Policy {
    /// Checks what the types leave open ([`Code::InvalidArgument`]).
    pub fn check(&self) -> Result<()> {
        let count = self.keep_last.map_or(0, |rule| rule.count.get());
        let seconds = self.keep_last.and_then(|rule| rule.expiration_seconds).unwrap_or(0);
        let (what, limit) = if count.max(self.keep_daily).max(self.keep_weekly) > MAX_COUNT {
            ("counts more", u64::from(MAX_COUNT))
        } else if seconds.max(self.expiration_seconds) > MAX_EXPIRATION {
            ("lasts longer", MAX_EXPIRATION)
        } else {
            return Ok(());
        };
        Err(Error::new(
            Code::InvalidArgument,
            format!("The retention policy {what} than {limit}."),
            format!("Give counts up to {MAX_COUNT}, and seconds up to {MAX_EXPIRATION}; 0 seconds are for ever."),
        ))
    }

    /// Whether every decision can be made from one snapshot alone: its expiration.
    pub fn is_about_time_only(&self) -> bool {
        self.keep_last.is_none() && self.keep_daily == 0 && self.keep_weekly == 0
    }

    /// Decides about every snapshot of a workspace. `candidates` are all of them, the newest first.
    pub fn plan(&self, candidates: &[Candidate], now: Timestamp) -> Vec<Decision> {
        let newest_good = candidates.iter().position(|candidate| candidate.good);
        let mut days = Buckets::new(self.keep_daily);
        let mut weeks = Buckets::new(self.keep_weekly);
        // Those that can't be restored take nobody's place among the newest.
        let mut newer = 0;
        let decide = |(index, candidate): (usize, &Candidate)| {
            let date = date(candidate.created_at);
            let is_daily = candidate.good && days.takes(date.num_days_from_ce());
            let is_weekly = candidate.good && weeks.takes((date.num_days_from_ce() - 1).div_euclid(7));
            let rank = Rank { newer, is_newest_good: newest_good == Some(index), is_daily, is_weekly };
            newer += usize::from(candidate.good);
            self.decide(candidate, &rank, now)
        };
        candidates.iter().enumerate().map(decide).collect()
    }

    /// When a snapshot that was just taken or used expires, if it is among the newest.
    pub fn expires_at(&self, candidate: &Candidate) -> Option<Timestamp> {
        end(candidate, self.seconds_for(candidate, true))
    }

    fn seconds_for(&self, candidate: &Candidate, is_last: bool) -> u64 {
        let kept = self.keep_last.filter(|_| is_last).and_then(|rule| rule.expiration_seconds);
        candidate.expiration_seconds.or(kept).unwrap_or(self.expiration_seconds)
    }

    fn decide(&self, candidate: &Candidate, rank: &Rank, now: Timestamp) -> Decision {
        let is_last = self.keep_last.is_none_or(|rule| rank.newer < rule.count.get() as usize);
        let seconds = self.seconds_for(candidate, is_last);
        let ends_at = end(candidate, seconds);
        let is_over = ends_at.is_some_and(|end| end <= now);
        let decision = |keep, reasons, expires_at| Decision {
            snapshot_id: candidate.snapshot_id.clone(),
            label: candidate.label.clone(),
            created_at: candidate.created_at,
            keep,
            reasons,
            expires_at,
        };

        let mut reasons = candidate.stays_anyway();
        if rank.is_newest_good {
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

impl Candidate {
    fn stays_anyway(&self) -> Vec<String> {
        let pinned = self.pinned.then(|| "pinned".to_owned());
        let held = self.holders.iter().map(|holder| format!("held by {:?}", holder.as_str()));
        let spared = self.spared_until.map(|until| format!("the next snapshot is much smaller: kept until {until}"));
        pinned.into_iter().chain(spared).chain(held).collect()
    }
}

/// Where a snapshot stands among the others.
struct Rank {
    /// How many newer ones can be restored.
    newer: usize,
    is_newest_good: bool,
    is_daily: bool,
    is_weekly: bool,
}

/// The last so many days or weeks that have a snapshot; those of one come together, the newest first.
struct Buckets {
    left: u32,
    last: Option<i32>,
}

impl Buckets {
    const fn new(count: u32) -> Self {
        Self { left: count, last: None }
    }

    /// Whether this is the first of a day or week that is counted.
    fn takes(&mut self, bucket: i32) -> bool {
        if self.left == 0 || self.last == Some(bucket) {
            return false;
        }
        self.last = Some(bucket);
        self.left -= 1;
        true
    }
}

fn end(candidate: &Candidate, seconds: u64) -> Option<Timestamp> {
    let millis = i64::try_from(seconds.saturating_mul(1000)).unwrap_or(i64::MAX);
    (seconds > 0).then(|| candidate.last_used_at.plus_millis(millis))
}

fn date(time: Timestamp) -> NaiveDate {
    DateTime::from_timestamp_millis(time.as_millis()).unwrap_or_default().date_naive()
}
