//! The decisions of a retention policy.
//!
//! [`plan`] decides about each snapshot and gives the reasons. The rules apply in this order:
//!
//! 1. A snapshot stays if it is pinned, if another sandbox depends on it, if a sandbox is being made from it, or if
//!    it is the newest restorable snapshot. The newest one of a superseded sandbox is no exception: its workspace
//!    continues in another sandbox, which depends on the snapshot that it was made from until it has its own.
//! 2. A snapshot with its own expiration expires that many seconds after its last use.
//! 3. The newest snapshot of each of the last `keepDaily` days and `keepWeekly` weeks that have snapshots stays (UTC;
//!    weeks start on Monday).
//! 4. A snapshot that is not among the newest `keepLast.count` is evicted, unless `deleteEvicted` is false.
//!    Only snapshots of callers and stops count.
//! 5. Any other snapshot expires `expirationSeconds` after its last use; 0 is never. For the newest `keepLast.count`,
//!    the `expirationSeconds` of `keepLast` overrides that of the policy.
//!
//! Automatic snapshots are a class of their own. Rules 1, 2 and 5 apply to them, with the `expirationSeconds` of the policy,
//! and one that is not among the newest `autosave.keepLast` of them is evicted. They do not change the decisions about the
//! other snapshots: of those, the newest restorable one stays, too.

use std::num::NonZeroU32;

use chrono::{DateTime, Datelike, NaiveDate};

use super::policy::Decision;
use super::{Label, Policy, SandboxId, SnapshotId, Timestamp, counted};

/// The reason for which the newest snapshot stays.
const NEWEST: &str = "the newest snapshot that can be restored";

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
    /// Whether an automatic save took it.
    pub autosave: bool,
    /// The sandboxes that depend on it.
    pub dependents: Vec<SandboxId>,
}

/// The properties of a sandbox on which retention decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RetentionScope {
    /// The number of newest automatic snapshots that stay.
    pub keep_autosaves: Option<NonZeroU32>,
    /// Whether the workspace of the sandbox continues in another one.
    pub superseded: bool,
}

/// Decides about every snapshot of a sandbox. `candidates` are all of them, newest first.
pub fn plan(
    policy: &Policy,
    scope: RetentionScope,
    candidates: &[RetentionCandidate],
    now: Timestamp,
) -> Vec<Decision> {
    let RetentionScope { keep_autosaves, superseded } = scope;
    let newest_where = |is_counted: fn(&RetentionCandidate) -> bool| {
        candidates.iter().position(|candidate| !superseded && candidate.restorable && is_counted(candidate))
    };
    let (newest, newest_made) = (newest_where(|_| true), newest_where(|candidate| !candidate.autosave));
    let mut days = Buckets::new(policy.keep_daily);
    let mut weeks = Buckets::new(policy.keep_weekly);
    // A snapshot that cannot be restored does not count among the newest.
    let (mut newer, mut newer_autosaves) = (0, 0);
    let decide_ranked = |(index, candidate): (usize, &RetentionCandidate)| {
        if candidate.autosave {
            let is_newest = newest == Some(index);
            let is_last = keep_autosaves.is_none_or(|keep| newer_autosaves < keep.get());
            newer_autosaves += u32::from(candidate.restorable);
            return decide_autosave(policy, candidate, is_newest, is_last, now);
        }
        let date = date(candidate.created_at);
        let is_daily = candidate.restorable && days.takes(date.num_days_from_ce());
        let is_weekly = candidate.restorable && weeks.takes((date.num_days_from_ce() - 1).div_euclid(7));
        let rank = Rank { newer, is_newest_restorable: newest_made == Some(index), is_daily, is_weekly };
        newer += usize::from(candidate.restorable);
        decide(policy, candidate, &rank, now)
    };
    candidates.iter().enumerate().map(decide_ranked).collect()
}

/// Decides about an automatic snapshot.
fn decide_autosave(
    policy: &Policy,
    candidate: &RetentionCandidate,
    is_newest: bool,
    is_last: bool,
    now: Timestamp,
) -> Decision {
    let seconds = expiration_for(policy, candidate, is_last);
    let ends_at = expiry(candidate, seconds);
    let mut reasons = candidate.reasons_to_keep();
    reasons.extend(is_newest.then(|| NEWEST.to_owned()));
    if !reasons.is_empty() {
        return candidate.decision(true, reasons, None);
    }
    if !is_last {
        return candidate.decision(false, vec!["not among the newest automatic snapshots".to_owned()], None);
    }
    if ends_at.is_some_and(|end| end <= now) {
        return candidate.decision(false, vec![candidate.expired(seconds)], None);
    }
    candidate.decision(true, vec!["among the newest automatic snapshots".to_owned(), expires(ends_at)], ends_at)
}

/// Returns when a snapshot expires that was taken or used just now, if it is among the newest.
pub fn expires_at(policy: &Policy, candidate: &RetentionCandidate) -> Option<Timestamp> {
    expiry(candidate, expiration_for(policy, candidate, true))
}

fn expiration_for(policy: &Policy, candidate: &RetentionCandidate, is_last: bool) -> u64 {
    let of_newest =
        policy.keep_last.filter(|_| is_last && !candidate.autosave).and_then(|rule| rule.expiration_seconds);
    candidate.expiration_seconds.or(of_newest).unwrap_or(policy.expiration_seconds)
}

fn decide(policy: &Policy, candidate: &RetentionCandidate, rank: &Rank, now: Timestamp) -> Decision {
    let is_last = policy.keep_last.is_none_or(|rule| rank.newer < rule.count.get() as usize);
    let seconds = expiration_for(policy, candidate, is_last);
    let ends_at = expiry(candidate, seconds);
    let is_over = ends_at.is_some_and(|end| end <= now);
    let decision = |keep, reasons, expires_at| candidate.decision(keep, reasons, expires_at);

    let mut reasons = candidate.reasons_to_keep();
    if rank.is_newest_restorable {
        reasons.push(NEWEST.to_owned());
    }
    if !reasons.is_empty() {
        return decision(true, reasons, None);
    }
    let expired = candidate.expired(seconds);
    if candidate.expiration_seconds.is_some() && is_over {
        return decision(false, vec![expired], None);
    }
    if rank.is_daily {
        reasons.push(format!("the newest of its day, of the last {}", counted(policy.keep_daily.into(), "day")));
    }
    if rank.is_weekly {
        reasons.push(format!("the newest of its week, of the last {}", counted(policy.keep_weekly.into(), "week")));
    }
    if !reasons.is_empty() {
        return decision(true, reasons, ends_at.filter(|_| candidate.expiration_seconds.is_some()));
    }
    if let Some(rule) = policy.keep_last.filter(|rule| rule.delete_evicted && !is_last) {
        return decision(false, vec![format!("not among the newest {} of its sandbox", rule.count)], None);
    }
    if is_over {
        return decision(false, vec![expired], None);
    }
    if let Some(rule) = policy.keep_last.filter(|_| is_last) {
        reasons.push(format!("among the newest {} of its sandbox", rule.count));
    }
    reasons.push(expires(ends_at));
    decision(true, reasons, ends_at)
}

impl RetentionCandidate {
    fn decision(&self, keep: bool, reasons: Vec<String>, expires_at: Option<Timestamp>) -> Decision {
        let (snapshot_id, label) = (self.snapshot_id.clone(), self.label.clone());
        Decision { snapshot_id, label, created_at: self.created_at, keep, reasons, expires_at }
    }

    fn expired(&self, seconds: u64) -> String {
        format!("{seconds} seconds have passed since its last use at {}", self.last_used_at)
    }

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

fn expires(at: Option<Timestamp>) -> String {
    at.map_or_else(|| "it does not expire".to_owned(), |end| format!("it expires at {end}"))
}

fn date(time: Timestamp) -> NaiveDate {
    DateTime::from_timestamp_millis(time.as_millis()).unwrap_or_default().date_naive()
}
