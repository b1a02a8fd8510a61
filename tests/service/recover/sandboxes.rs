//! Sandboxes that were being made or destroyed when their worker died.

use sandbox_snapshotter::api::operations::Operation;
use serde_json::json;

use super::{dead_at, died_restoring, minted};
use crate::support::{DAY, FILE, HOUR, MINUTE, Method, Moment, Stage, by_ref};

#[test]
fn a_sandbox_that_was_being_made_is_destroyed_by_the_alarms() {
    for method in [Method::Claim, Method::Name, Method::Stamp, Method::RestoreBackup, Method::Arrive] {
        for moment in Moment::BOTH {
            let (stage, ..) = died_restoring(method, moment);
            stage.passes(3 * HOUR);
            stage.assert_settled();
            assert!(minted(&stage).is_empty(), "{method:?} {moment:?}");
        }
    }
}

#[test]
fn a_sandbox_that_was_being_made_is_destroyed_by_the_next_call() {
    let (stage, ..) = died_restoring(Method::Arrive, Moment::Before);
    assert_eq!(minted(&stage).len(), 1);
    stage.run(Operation::List, &json!({ "sandboxId": "agent-42" })).unwrap();
    assert!(minted(&stage).is_empty());
}

#[test]
fn a_restore_that_is_asked_for_again_after_a_crash_gets_one_sandbox() {
    for method in [Method::Claim, Method::Name, Method::Stamp, Method::RestoreBackup, Method::Arrive] {
        for moment in Moment::BOTH {
            let (stage, _, arguments) = died_restoring(method, moment);
            let restored = stage.run(Operation::Restore, &arguments).unwrap();
            stage.passes(3 * HOUR);
            assert!(
                minted(&stage).iter().eq([restored["ref"]["sandboxId"].as_str().unwrap()]),
                "{method:?} {moment:?}"
            );
            assert_eq!(stage.run(Operation::Restore, &arguments).unwrap(), restored);
            stage.assert_settled();
        }
    }
}

#[test]
fn a_restore_that_goes_on_in_its_sandbox_after_a_crash_is_ended_too() {
    for late in [0, 30_000] {
        assert_ended_when_it_goes_on_for(late);
    }
}

#[test]
fn a_sandbox_that_is_down_is_not_forgotten_as_long_as_a_restore_may_go_on_in_it() {
    let (stage, ..) = died_restoring(Method::RestoreBackup, Moment::Before);
    for _ in 0..5 {
        stage.run(Operation::List, &json!({ "sandboxId": "agent-42" })).unwrap();
        stage.restart();
        stage.world.pass(10_000);
    }
    stage.world.writes(&stage.minted(), FILE, "restored after all");
    stage.passes(3 * HOUR);
    assert!(minted(&stage).is_empty());
    stage.assert_settled();
}

#[test]
fn a_restore_that_goes_on_for_minutes_after_a_crash_is_ended_too() {
    assert_ended_when_it_goes_on_for(3 * MINUTE);
}

fn assert_ended_when_it_goes_on_for(millis: i64) {
    let (stage, ..) = died_restoring(Method::RestoreBackup, Moment::Before);
    stage.run(Operation::List, &json!({ "sandboxId": "agent-42" })).unwrap();
    let minted_id = stage.minted();
    stage.passes(millis);
    stage.world.writes(&minted_id, FILE, "restored after all");
    stage.passes(3 * HOUR);
    assert!(minted(&stage).is_empty(), "{millis}");
    stage.assert_settled();
}

/// A Worker died during a restore, and the next call has destroyed the sandbox, whose id this is; calls are counted from
/// here.
fn destroyed_after_a_crash() -> (Stage, String) {
    let (stage, ..) = died_restoring(Method::RestoreBackup, Moment::Before);
    stage.run(Operation::List, &json!({ "sandboxId": "agent-42" })).unwrap();
    let minted_id = stage.minted();
    stage.world.forget_calls();
    (stage, minted_id)
}

#[test]
fn a_sandbox_that_was_destroyed_is_looked_at_several_times() {
    let (stage, minted_id) = destroyed_after_a_crash();
    let looked_in = |millis: i64| {
        stage.world.forget_calls();
        stage.passes(millis);
        stage.world.calls_about(&minted_id)
    };
    for wait in [MINUTE, 10 * MINUTE, HOUR] {
        assert_eq!(looked_in(wait - 20_000), []);
        assert_eq!(looked_in(25_000), [Method::State], "after {wait}");
    }
    assert_eq!(looked_in(DAY), []);
    stage.assert_settled();
}

#[test]
fn a_sandbox_that_is_up_again_is_destroyed_and_looked_at_from_the_beginning() {
    for wait in [0, 5 * MINUTE, 30 * MINUTE] {
        let (stage, minted_id) = destroyed_after_a_crash();
        stage.passes(wait);
        stage.world.writes(&minted_id, FILE, "restored after all");
        while stage.world.count(Method::Destroy) == 0 {
            stage.passes(MINUTE);
        }
        assert!(minted(&stage).is_empty());
        stage.world.forget_calls();
        stage.passes(3 * HOUR);
        assert_eq!(stage.world.calls_about(&minted_id), [Method::State; 3], "{wait}");
        stage.assert_settled();
    }
}

#[test]
fn a_sandbox_that_could_not_be_destroyed_is_looked_at_again_after_ten_minutes() {
    let (stage, minted_id) = destroyed_after_a_crash();
    stage.world.writes(&minted_id, FILE, "restored after all");
    stage.world.before(Method::Destroy).fails_in_passing();
    while stage.world.count(Method::Destroy) == 0 {
        stage.passes(MINUTE);
    }
    stage.world.forget_calls();
    stage.passes(8 * MINUTE);
    assert_eq!(stage.world.calls_about(&minted_id), []);
    stage.passes(3 * MINUTE);
    assert_ne!(stage.world.calls_about(&minted_id), []);
}

#[test]
fn looks_that_fail_are_made_again() {
    let (stage, minted_id) = destroyed_after_a_crash();
    stage.world.before(Method::State).fails_in_passing();
    stage.world.before(Method::Destroy).fails_in_passing();
    stage.passes(5 * HOUR);
    stage.world.writes(&minted_id, FILE, "restored after all");
    stage.world.goes_well();
    stage.passes(3 * HOUR);
    assert!(minted(&stage).is_empty());
    stage.assert_settled();
}

#[test]
fn a_sandbox_of_an_application_whose_id_was_drawn_is_never_destroyed() {
    for moment in Moment::BOTH {
        let (stage, snapshot) = Stage::with_snapshot();
        stage.runs("agent-42-restored-aaaaaaaa");
        stage.captures("agent-42-restored-aaaaaaaa", "an application's own");
        let files = stage.world.files("agent-42-restored-aaaaaaaa");
        stage.world.draws_next(Some([0; 32]));
        dead_at(&stage, Operation::Restore, &by_ref(&snapshot), Method::Claim, moment);
        stage.passes(3 * HOUR);
        assert_eq!(stage.world.files("agent-42-restored-aaaaaaaa"), files, "{moment:?}");
        assert_eq!(stage.world.count(Method::Destroy), 0, "{moment:?}");
    }
}

#[test]
fn a_snapshot_whose_restore_died_can_be_deleted() {
    let (stage, snapshot, _) = died_restoring(Method::RestoreBackup, Moment::Before);
    stage.run(Operation::Delete, &by_ref(&snapshot)).unwrap();
    stage.passes(3 * HOUR);
    stage.assert_settled();
}

#[test]
fn a_sandbox_that_cannot_be_destroyed_is_not_forgotten() {
    let (stage, ..) = died_restoring(Method::Arrive, Moment::Before);
    stage.world.before(Method::Destroy).fails_in_passing();
    stage.passes(DAY);
    assert_eq!(minted(&stage).len(), 1);
    stage.world.goes_well();
    stage.passes(2 * HOUR + HOUR);
    assert!(minted(&stage).is_empty());
    stage.assert_settled();
}

#[test]
fn a_sandbox_that_somebody_has_is_left_alone() {
    let (stage, snapshot) = Stage::with_snapshot();
    let restored = stage.restore(&snapshot).unwrap().sandbox_id().to_string();
    stage.restart();
    stage.passes(DAY);
    assert!(minted(&stage).iter().eq([&restored]));
    assert_eq!(stage.world.count(Method::Destroy), 0);
}
