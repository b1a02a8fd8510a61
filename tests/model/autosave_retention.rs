//! The retention of automatic snapshots, which are a class of their own.

use std::num::NonZeroU32;

use proptest::prelude::*;
use sandbox_snapshotter::model::retention::{self, RetentionCandidate, RetentionScope};
use serde_json::{Value, json};

use super::policy::{now, policy, restorable_candidate};
use super::support::cases;

const HOUR: i64 = 3_600_000;
const DAY: i64 = 24 * HOUR;

fn autosave(label: &str, millis_ago: i64) -> RetentionCandidate {
    RetentionCandidate { autosave: true, ..restorable_candidate(label, millis_ago) }
}

fn scope(keep: u32) -> RetentionScope {
    RetentionScope { keep_autosaves: NonZeroU32::new(keep), ..RetentionScope::default() }
}

fn kept(value: Value, keep_autosaves: u32, candidates: &[RetentionCandidate]) -> Vec<String> {
    let plan = retention::plan(&policy(value), scope(keep_autosaves), candidates, now());
    plan.into_iter().filter(|decision| decision.keep).map(|decision| decision.label.to_string()).collect()
}

#[test]
fn autosaves_count_only_among_themselves() {
    let candidates = [
        autosave("auto 1", 0),
        restorable_candidate("made 1", HOUR),
        autosave("auto 2", 2 * HOUR),
        autosave("auto 3", 3 * HOUR),
        restorable_candidate("made 2", 4 * HOUR),
        restorable_candidate("made 3", 5 * HOUR),
    ];
    let count = json!({ "keepLast": { "count": 2 } });
    assert_eq!(kept(count, 2, &candidates), ["auto 1", "made 1", "auto 2", "made 2"]);
}

#[test]
fn policy_never_evicts_the_newest_autosave_that_is_the_only_copy() {
    let candidates = [autosave("auto", 40 * DAY), restorable_candidate("made", 50 * DAY)];
    for strict in [json!({ "expirationSeconds": 60 }), json!({ "keepLast": { "count": 1 }, "expirationSeconds": 60 })] {
        assert_eq!(kept(strict, 1, &candidates), ["auto", "made"]);
    }
}

#[test]
fn autosave_before_a_newer_snapshot_expires() {
    let candidates = [restorable_candidate("made", HOUR), autosave("auto", 2 * HOUR)];
    assert_eq!(kept(json!({ "expirationSeconds": 60 }), 5, &candidates), ["made"]);
    assert_eq!(kept(json!({}), 5, &candidates), ["made", "auto"]);
}

#[test]
fn newest_made_snapshot_stays_although_an_autosave_is_newer() {
    let candidates = [autosave("auto", 0), restorable_candidate("made", 40 * DAY)];
    assert_eq!(kept(json!({}), 1, &candidates), ["auto", "made"]);
}

#[test]
fn pinned_and_needed_autosaves_stay() {
    let pinned = RetentionCandidate { pinned: true, ..autosave("pinned", 2 * HOUR) };
    let needed = RetentionCandidate { dependents: vec![super::support::sandbox("a")], ..autosave("needed", 3 * HOUR) };
    let candidates = [autosave("auto 1", 0), autosave("auto 2", HOUR), pinned, needed];
    assert_eq!(kept(json!({}), 1, &candidates), ["auto 1", "pinned", "needed"]);
}

#[test]
fn autosave_that_cannot_be_restored_does_not_count() {
    let damaged = RetentionCandidate { restorable: false, ..autosave("damaged", 0) };
    let candidates = [damaged, autosave("auto 1", HOUR), autosave("auto 2", 2 * HOUR)];
    assert_eq!(kept(json!({}), 1, &candidates), ["damaged", "auto 1"]);
}

proptest! {
    #![proptest_config(cases(200))]

    /// However many autosaves there are, they change no decision about another snapshot.
    #[test]
    fn autosaves_evict_nothing_else(
        ages in prop::collection::vec((0..60 * DAY, any::<bool>()), 0..20),
        count in 1..4_u32,
        keep in 1..4_u32,
    ) {
        let mut candidates: Vec<_> = ages.into_iter().map(|(ago, is_auto)| {
            RetentionCandidate { autosave: is_auto, ..restorable_candidate("one of many", ago) }
        }).collect();
        candidates.sort_by_key(|candidate| std::cmp::Reverse(candidate.created_at));
        let rule = policy(json!({ "keepLast": { "count": count }, "keepDaily": 2, "expirationSeconds": 86_400 }));
        let decide = |candidates: &[RetentionCandidate]| -> Vec<_> {
            let plan = retention::plan(&rule, scope(keep), candidates, now());
            let made = plan.into_iter().zip(candidates).filter(|(_, candidate)| !candidate.autosave);
            made.map(|(decision, _)| (decision.keep, decision.reasons)).collect()
        };
        let made: Vec<_> = candidates.iter().filter(|candidate| !candidate.autosave).cloned().collect();
        prop_assert_eq!(decide(&candidates), decide(&made));
    }
}
