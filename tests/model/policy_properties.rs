//! Properties of every plan of retention.

use proptest::prelude::*;
use sandbox_snapshotter::model::policy::{Decision, KeepLast, Policy};
use sandbox_snapshotter::model::retention::{self, RetentionCandidate, RetentionScope};
use sandbox_snapshotter::model::{SandboxId, SnapshotId};

use super::policy::{DAY, keep_last, now, restorable_candidate};
use super::support::{cases, sandbox};

/// Generates policies whose `keep_last` rule keeps snapshots at least as long as the policy's own expiration.
fn any_policy() -> impl Strategy<Value = Policy> {
    let seconds = prop_oneof![Just(0), 60..40 * 24 * 3600_u64];
    let longer = prop_oneof![Just(None), Just(Some(0_u64))];
    let rule = (1..6_u32, longer, any::<bool>()).prop_map(|(count, seconds, evict)| keep_last(count, seconds, evict));
    (prop::option::of(rule), seconds, 0..4_u32, 0..4_u32).prop_map(
        |(keep_last, expiration_seconds, keep_daily, keep_weekly)| Policy {
            keep_last,
            expiration_seconds,
            keep_daily,
            keep_weekly,
        },
    )
}

fn any_candidate() -> impl Strategy<Value = RetentionCandidate> {
    let dependents = prop_oneof![4 => Just(Vec::<SandboxId>::new()), 1 => Just(vec![sandbox("agent-1")])];
    let own = prop_oneof![3 => Just(None), 1 => Just(Some(0)), 1 => (60..40 * 24 * 3600_u64).prop_map(Some)];
    let flags = (prop::bool::weighted(0.1), prop::bool::weighted(0.8));
    (0..60 * DAY, 0..30 * DAY, own, flags, dependents).prop_map(|(ago, used, own, (pinned, restorable), dependents)| {
        RetentionCandidate {
            last_used_at: now().plus_millis(-(ago - used).max(0)),
            expiration_seconds: own,
            pinned,
            restorable,
            dependents,
            ..restorable_candidate("one of many", ago)
        }
    })
}

/// Generates the snapshots of a sandbox, the newest first, with unique ids.
fn any_candidates() -> impl Strategy<Value = Vec<RetentionCandidate>> {
    prop::collection::vec(any_candidate(), 0..20).prop_map(|mut candidates| {
        candidates.sort_by_key(|candidate| std::cmp::Reverse(candidate.created_at));
        for (number, candidate) in candidates.iter_mut().enumerate() {
            let mut random = [0; 32];
            random[0] = u8::try_from(number).unwrap();
            candidate.snapshot_id = SnapshotId::draw(&random).unwrap();
        }
        candidates
    })
}

fn apply_plan(candidates: &[RetentionCandidate], plan: &[Decision]) -> Vec<RetentionCandidate> {
    candidates.iter().zip(plan).filter(|(_, decision)| decision.keep).map(|(candidate, _)| candidate.clone()).collect()
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn plan_decides_about_each_snapshot_once_in_order_and_with_a_reason(
        policy in any_policy(), candidates in any_candidates(),
    ) {
        let plan = retention::plan(&policy, RetentionScope::default(), &candidates, now());
        prop_assert_eq!(plan.len(), candidates.len());
        for (candidate, decision) in candidates.iter().zip(&plan) {
            prop_assert_eq!(&candidate.snapshot_id, &decision.snapshot_id);
            prop_assert!(!decision.reasons.is_empty());
            prop_assert!(decision.keep || decision.expires_at.is_none());
        }
    }

    #[test]
    fn plan_keeps_pinned_and_needed_snapshots_and_the_newest_restorable_one(policy in any_policy(), candidates in any_candidates()) {
        let plan = retention::plan(&policy, RetentionScope::default(), &candidates, now());
        let newest_restorable = candidates.iter().position(|candidate| candidate.restorable);
        for (index, (candidate, decision)) in candidates.iter().zip(&plan).enumerate() {
            if candidate.pinned || !candidate.dependents.is_empty() || newest_restorable == Some(index) {
                prop_assert!(decision.keep, "{:?}", decision);
            }
        }
    }

    #[test]
    fn plan_of_the_remaining_snapshots_removes_no_more(policy in any_policy(), candidates in any_candidates()) {
        let rest = apply_plan(&candidates, &retention::plan(&policy, RetentionScope::default(), &candidates, now()));
        let again = retention::plan(&policy, RetentionScope::default(), &rest, now());
        prop_assert!(again.iter().all(|decision| decision.keep), "{:?}", again);
    }

    #[test]
    fn plan_removes_a_snapshot_exactly_at_its_reported_end(policy in any_policy(), candidates in any_candidates()) {
        for (index, decision) in retention::plan(&policy, RetentionScope::default(), &candidates, now()).into_iter().enumerate() {
            if let Some(end) = decision.expires_at {
                prop_assert!(end > now());
                prop_assert!(retention::plan(&policy, RetentionScope::default(), &candidates, end.plus_millis(-1))[index].keep);
                prop_assert!(!retention::plan(&policy, RetentionScope::default(), &candidates, end)[index].keep);
            }
        }
    }

    #[test]
    fn plan_keeps_a_snapshot_without_an_end_for_a_hundred_years(
        policy in any_policy(), candidates in any_candidates(),
    ) {
        let plan = retention::plan(&policy, RetentionScope::default(), &candidates, now());
        let later = retention::plan(&policy, RetentionScope::default(), &candidates, now().plus_millis(100 * 365 * DAY));
        for (decision, later) in plan.iter().zip(later) {
            prop_assert!(!decision.keep || decision.expires_at.is_some() || later.keep, "{:?}", later);
        }
    }

    #[test]
    fn longer_expiration_removes_no_more(policy in any_policy(), candidates in any_candidates()) {
        let longer = Policy { expiration_seconds: 0, ..policy.clone() };
        for (decision, longer) in retention::plan(&policy, RetentionScope::default(), &candidates, now()).iter().zip(retention::plan(&longer, RetentionScope::default(), &candidates, now())) {
            prop_assert!(!decision.keep || longer.keep);
        }
    }

    #[test]
    fn larger_count_removes_no_more(policy in any_policy(), candidates in any_candidates()) {
        let more = |rule: KeepLast| KeepLast { count: rule.count.saturating_add(1), ..rule };
        let larger = Policy { keep_last: policy.keep_last.map(more), ..policy.clone() };
        for (decision, larger) in retention::plan(&policy, RetentionScope::default(), &candidates, now()).iter().zip(retention::plan(&larger, RetentionScope::default(), &candidates, now())) {
            prop_assert!(!decision.keep || larger.keep);
        }
    }

    #[test]
    fn plan_keeps_at_most_the_count_of_unneeded_snapshots(
        count in 1..6_u32, candidates in any_candidates(),
    ) {
        let policy = Policy { keep_last: Some(keep_last(count, None, true)), ..Policy::default() };
        let rest = apply_plan(&candidates, &retention::plan(&policy, RetentionScope::default(), &candidates, now()));
        let counted = rest.iter().filter(|it| it.restorable && !it.pinned && it.dependents.is_empty());
        prop_assert!(counted.count() <= count as usize);
    }

    #[test]
    fn policy_round_trips_through_json(policy in any_policy()) {
        let text = serde_json::to_string(&policy).unwrap();
        prop_assert_eq!(serde_json::from_str::<Policy>(&text).unwrap(), policy);
    }
}
