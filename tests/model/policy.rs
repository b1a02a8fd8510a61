//! Retention: the rules of a policy and their order.

use std::num::NonZeroU32;

use sandbox_snapshotter::model::policy::{DEFAULT_EXPIRATION, Decision, KeepLast, MAX_EXPIRATION, Policy};
use sandbox_snapshotter::model::retention::{self, RetentionCandidate, RetentionScope, expires_at};
use sandbox_snapshotter::model::{Code, Label, SnapshotId, Timestamp};
use serde_json::{Value, json};

use super::support::{expect_error, sandbox};

const SECOND: i64 = 1000;
const HOUR: i64 = 3600 * SECOND;
pub const DAY: i64 = 24 * HOUR;

/// Friday, 2026-11-20, 12:00 UTC.
const NOON: i64 = 1_795_176_000_000;

pub fn now() -> Timestamp {
    Timestamp::from_millis(NOON)
}

/// Returns a restorable snapshot that was taken `millis_ago`.
pub fn restorable_candidate(label: &str, millis_ago: i64) -> RetentionCandidate {
    let mut random = [0; 32];
    random.iter_mut().zip(label.bytes()).for_each(|(place, byte)| *place = byte);
    RetentionCandidate {
        autosave: false,
        snapshot_id: SnapshotId::draw(&random).unwrap(),
        label: Label::parse(label).unwrap(),
        created_at: now().plus_millis(-millis_ago),
        last_used_at: now().plus_millis(-millis_ago),
        expiration_seconds: None,
        pinned: false,
        protected_until: None,
        restorable: true,
        dependents: Vec::new(),
    }
}

pub fn policy(value: Value) -> Policy {
    let policy: Policy = serde_json::from_value(value).unwrap();
    policy.check().unwrap();
    policy
}

/// Returns the labels of the snapshots that a policy keeps.
fn kept_labels(value: Value, candidates: &[RetentionCandidate]) -> Vec<String> {
    let plan = retention::plan(&policy(value), RetentionScope::default(), candidates, now());
    plan.into_iter().filter(|decision| decision.keep).map(|decision| decision.label.to_string()).collect()
}

/// Returns the decision of a policy about the last of the candidates.
fn decide_last(value: Value, candidates: &[RetentionCandidate]) -> Decision {
    retention::plan(&policy(value), RetentionScope::default(), candidates, now()).pop().unwrap()
}

fn newest_candidate() -> RetentionCandidate {
    restorable_candidate("newest", 0)
}

#[test]
fn default_policy_keeps_snapshots_for_30_days_from_their_last_use() {
    assert_eq!(policy(json!({})), Policy::default());
    assert_eq!(DEFAULT_EXPIRATION, 30 * 24 * 3600);
    let mut used = restorable_candidate("used", 40 * DAY);
    used.last_used_at = now().plus_millis(-29 * DAY);
    let candidates =
        [newest_candidate(), restorable_candidate("young", 30 * DAY - 1), restorable_candidate("old", 30 * DAY), used];
    assert_eq!(kept_labels(json!({}), &candidates), ["newest", "young", "used"]);
}

#[test]
fn decision_has_its_reasons_and_its_end() {
    let decision = decide_last(
        json!({ "expirationSeconds": 7200 }),
        &[newest_candidate(), restorable_candidate("an hour old", HOUR)],
    );
    let end = now().plus_millis(HOUR);
    assert_eq!((decision.keep, decision.expires_at), (true, Some(end)));
    assert_eq!(decision.reasons, [format!("it expires at {end}")]);
    let over = decide_last(
        json!({ "expirationSeconds": 3600 }),
        &[newest_candidate(), restorable_candidate("an hour old", HOUR)],
    );
    assert_eq!((over.keep, over.expires_at), (false, None));
    assert_eq!(over.reasons, ["3600 seconds have passed since its last use at 2026-11-20T11:00:00.000Z"]);
}

#[test]
fn expiration_of_0_seconds_never_ends() {
    let decision = decide_last(
        json!({ "expirationSeconds": 0 }),
        &[newest_candidate(), restorable_candidate("ancient", 50_000 * DAY)],
    );
    assert_eq!((decision.keep, decision.expires_at), (true, None));
    assert_eq!(decision.reasons, ["it does not expire"]);
}

#[test]
fn newest_restorable_snapshot_stays_and_newer_damaged_ones_may_expire() {
    let damaged = RetentionCandidate { restorable: false, ..restorable_candidate("damaged", 2 * DAY) };
    let candidates = [damaged, restorable_candidate("good", 3 * DAY), restorable_candidate("older", 4 * DAY)];
    assert_eq!(kept_labels(json!({ "expirationSeconds": 60 }), &candidates), ["good"]);
    let plan =
        retention::plan(&policy(json!({ "expirationSeconds": 60 })), RetentionScope::default(), &candidates, now());
    assert_eq!(plan[1].reasons, ["the newest snapshot that can be restored"]);
}

#[test]
fn newest_snapshot_of_a_superseded_sandbox_expires() {
    let scope = RetentionScope { superseded: true, ..RetentionScope::default() };
    let hour = policy(json!({ "expirationSeconds": 3600 }));
    let autosave = RetentionCandidate { autosave: true, ..restorable_candidate("autosave", 3 * 3_600_000) };
    let plan = retention::plan(&hour, scope, &[restorable_candidate("old", 2 * 3_600_000), autosave], now());
    assert_eq!(plan.iter().map(|decision| decision.keep).collect::<Vec<_>>(), [false, false]);
    let dependents = vec![sandbox("agent-42-restored-x")];
    let needed = RetentionCandidate { dependents, ..restorable_candidate("needed", 2 * 3_600_000) };
    assert!(retention::plan(&hour, scope, &[needed], now())[0].keep);
    assert!(retention::plan(&hour, scope, &[restorable_candidate("new", 60_000)], now())[0].keep);
}

#[test]
fn damaged_snapshot_expires_if_no_snapshot_is_restorable() {
    let damaged = RetentionCandidate { restorable: false, ..restorable_candidate("damaged", 2 * DAY) };
    assert!(kept_labels(json!({ "expirationSeconds": 60 }), &[damaged]).is_empty());
}

#[test]
fn pinned_or_needed_snapshot_stays_with_every_reason_and_without_an_end() {
    let mut candidate = restorable_candidate("needed", 300 * DAY);
    candidate.pinned = true;
    candidate.dependents = vec![sandbox("agent-1"), sandbox("agent-2")];
    candidate.expiration_seconds = Some(60);
    let decision =
        decide_last(json!({ "keepLast": { "count": 1 }, "expirationSeconds": 60 }), &[newest_candidate(), candidate]);
    assert_eq!((decision.keep, decision.expires_at), (true, None));
    assert_eq!(decision.reasons, ["pinned", "needed by \"agent-1\"", "needed by \"agent-2\""]);
}

#[test]
fn own_expiration_precedes_the_daily_and_weekly_rules() {
    let own = RetentionCandidate { expiration_seconds: Some(60), ..restorable_candidate("own", 2 * DAY) };
    assert_eq!(kept_labels(json!({ "keepDaily": 7, "keepWeekly": 7 }), &[newest_candidate(), own]), ["newest"]);
}

#[test]
fn own_expiration_overrides_that_of_the_policy() {
    let longer = RetentionCandidate { expiration_seconds: Some(0), ..restorable_candidate("longer", 300 * DAY) };
    let shorter = RetentionCandidate { expiration_seconds: Some(60), ..restorable_candidate("shorter", HOUR) };
    assert_eq!(kept_labels(json!({}), &[newest_candidate(), shorter, longer]), ["newest", "longer"]);
}

#[test]
fn own_expiration_does_not_keep_an_evicted_snapshot() {
    let own = RetentionCandidate { expiration_seconds: Some(0), ..restorable_candidate("for ever", HOUR) };
    assert_eq!(kept_labels(json!({ "keepLast": { "count": 1 } }), &[newest_candidate(), own]), ["newest"]);
}

#[test]
fn daily_snapshot_with_its_own_expiration_has_an_end() {
    let own = RetentionCandidate { expiration_seconds: Some(100_000), ..restorable_candidate("own", DAY) };
    let decision = decide_last(json!({ "keepDaily": 7 }), &[newest_candidate(), own]);
    assert_eq!(decision.expires_at, Some(now().plus_millis(100_000 * SECOND - DAY)));
    let daily = decide_last(json!({ "keepDaily": 7 }), &[newest_candidate(), restorable_candidate("daily", DAY)]);
    assert_eq!(daily.expires_at, None, "the daily rule has no end");
}

#[test]
fn keep_last_keeps_the_newest_and_evicts_the_others() {
    let candidates: Vec<_> = ["a", "b", "c", "d"]
        .iter()
        .enumerate()
        .map(|(n, label)| restorable_candidate(label, i64::try_from(n).unwrap() * HOUR))
        .collect();
    assert_eq!(kept_labels(json!({ "keepLast": { "count": 2 } }), &candidates), ["a", "b"]);
    let plan =
        retention::plan(&policy(json!({ "keepLast": { "count": 2 } })), RetentionScope::default(), &candidates, now());
    assert_eq!(plan[1].reasons[0], "among the newest 2 of its sandbox");
    assert_eq!(plan[2].reasons, ["not among the newest 2 of its sandbox"]);
}

#[test]
fn keep_last_above_the_number_of_snapshots_keeps_all() {
    assert_eq!(
        kept_labels(json!({ "keepLast": { "count": 10_000 } }), &[newest_candidate(), restorable_candidate("b", HOUR)]),
        ["newest", "b"]
    );
}

#[test]
fn keep_last_does_not_count_damaged_snapshots() {
    let damaged = RetentionCandidate { restorable: false, ..restorable_candidate("damaged", HOUR) };
    let candidates =
        [newest_candidate(), damaged, restorable_candidate("b", 2 * HOUR), restorable_candidate("c", 3 * HOUR)];
    assert_eq!(kept_labels(json!({ "keepLast": { "count": 2 } }), &candidates), ["newest", "damaged", "b"]);
}

#[test]
fn keep_last_counts_pinned_snapshots() {
    let pinned = RetentionCandidate { pinned: true, ..restorable_candidate("pinned", HOUR) };
    let candidates = [newest_candidate(), pinned, restorable_candidate("b", 2 * HOUR)];
    assert_eq!(kept_labels(json!({ "keepLast": { "count": 2 } }), &candidates), ["newest", "pinned"]);
}

#[test]
fn keep_last_may_have_its_own_expiration() {
    let rule = json!({ "keepLast": { "count": 2, "expirationSeconds": 3600 }, "expirationSeconds": 0 });
    let candidates = [newest_candidate(), restorable_candidate("b", 2 * HOUR)];
    assert_eq!(kept_labels(rule, &candidates), ["newest"]);
}

#[test]
fn evicted_snapshot_stays_until_it_expires_without_delete_evicted() {
    let rule = json!({
        "keepLast": { "count": 1, "expirationSeconds": 0, "deleteEvicted": false }, "expirationSeconds": 7200,
    });
    let candidates = [
        newest_candidate(),
        restorable_candidate("an hour old", HOUR),
        restorable_candidate("two hours old", 2 * HOUR),
    ];
    assert_eq!(kept_labels(rule.clone(), &candidates), ["newest", "an hour old"]);
    assert_eq!(decide_last(rule, &candidates[..2]).expires_at, Some(now().plus_millis(HOUR)));
}

#[test]
fn keep_daily_keeps_the_newest_of_each_day_despite_count_and_expiration() {
    let candidates = [
        newest_candidate(),
        restorable_candidate("today", HOUR),
        restorable_candidate("yesterday late", DAY),
        restorable_candidate("yesterday early", DAY + HOUR),
        restorable_candidate("nine days ago", 9 * DAY),
        restorable_candidate("ten days ago", 10 * DAY),
    ];
    let rule = json!({ "keepLast": { "count": 1 }, "keepDaily": 3, "expirationSeconds": 60 });
    assert_eq!(kept_labels(rule.clone(), &candidates), ["newest", "yesterday late", "nine days ago"]);
    let plan = retention::plan(&policy(rule), RetentionScope::default(), &candidates, now());
    assert_eq!(plan[2].reasons, ["the newest of its day, of the last 3 days"]);
}

#[test]
fn days_begin_at_midnight_utc() {
    let candidates = [restorable_candidate("00:00", 12 * HOUR), restorable_candidate("23:59", 12 * HOUR + 1)];
    let rule = json!({ "keepLast": { "count": 1 }, "keepDaily": 2 });
    assert_eq!(kept_labels(rule, &candidates), ["00:00", "23:59"]);
}

#[test]
fn weeks_begin_on_monday() {
    // `NOON` is on a Friday, four days after Monday.
    let candidates = [
        newest_candidate(),
        restorable_candidate("monday", 4 * DAY),
        restorable_candidate("sunday", 5 * DAY),
        restorable_candidate("monday before", 11 * DAY),
    ];
    let rule = json!({ "keepLast": { "count": 1 }, "keepWeekly": 2 });
    assert_eq!(kept_labels(rule, &candidates), ["newest", "sunday"]);
}

#[test]
fn snapshot_may_stay_for_its_day_and_its_week() {
    let rule = json!({ "keepDaily": 2, "keepWeekly": 2 });
    let decision = decide_last(rule, &[newest_candidate(), restorable_candidate("last week", 6 * DAY)]);
    assert_eq!(
        decision.reasons,
        ["the newest of its day, of the last 2 days", "the newest of its week, of the last 2 weeks"]
    );
}

#[test]
fn keep_daily_does_not_count_damaged_snapshots() {
    let damaged = RetentionCandidate { restorable: false, ..restorable_candidate("damaged", DAY) };
    let candidates = [newest_candidate(), damaged, restorable_candidate("whole", DAY + HOUR)];
    let rule = json!({ "keepDaily": 2, "expirationSeconds": 60 });
    assert_eq!(kept_labels(rule, &candidates), ["newest", "whole"]);
}

#[test]
fn new_snapshot_expires_by_the_keep_last_rule() {
    let rule = policy(json!({ "keepLast": { "count": 1, "expirationSeconds": 60 }, "expirationSeconds": 0 }));
    assert_eq!(expires_at(&rule, &newest_candidate()), Some(now().plus_millis(60 * SECOND)));
    let own = RetentionCandidate { expiration_seconds: Some(0), ..newest_candidate() };
    assert_eq!(expires_at(&rule, &own), None);
}

#[test]
fn only_a_policy_without_counts_is_time_only() {
    assert!(policy(json!({})).is_time_only());
    for counting in [json!({ "keepLast": { "count": 1 } }), json!({ "keepDaily": 1 }), json!({ "keepWeekly": 1 })] {
        assert!(!policy(counting).is_time_only());
    }
}

#[test]
fn numbers_above_the_maximum_are_refused() {
    for (policy, what) in [
        (Policy { keep_daily: 10_001, ..Policy::default() }, "count above"),
        (Policy { keep_weekly: u32::MAX, ..Policy::default() }, "count above"),
        (Policy { expiration_seconds: MAX_EXPIRATION + 1, ..Policy::default() }, "expiration"),
        (Policy { keep_last: Some(keep_last(10_001, None, true)), ..Policy::default() }, "count above"),
        (Policy { keep_last: Some(keep_last(1, Some(u64::MAX), true)), ..Policy::default() }, "expiration"),
    ] {
        let error = expect_error(policy.check());
        assert_eq!(error.code(), Code::InvalidArgument);
        assert!(error.message().contains(what), "{error}");
    }
}

#[test]
fn documented_maximums_are_accepted() {
    let count = keep_last(10_000, Some(MAX_EXPIRATION), true);
    let largest =
        Policy { keep_last: Some(count), expiration_seconds: MAX_EXPIRATION, keep_daily: 10_000, keep_weekly: 10_000 };
    largest.check().unwrap();
}

pub fn keep_last(count: u32, expiration_seconds: Option<u64>, delete_evicted: bool) -> KeepLast {
    KeepLast { count: NonZeroU32::new(count).unwrap(), expiration_seconds, delete_evicted }
}
