//! What is left of a sandbox that was being started when somebody died.

use std::cell::RefCell;
use std::rc::Rc;

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::Code;
use sandbox_snapshotter::model::named::Stamp;
use sandbox_snapshotter::ports::Ledger;
use serde_json::json;

use crate::support::{Checked, FILE, HOUR, MINUTE, Method, Moment, Stage, WORK};

/// The Worker died at the first call of `method` of a start of `work`.
fn died_starting(method: Method, moment: Moment) -> Stage {
    let stage = Stage::with_stopped_work_as(&json!({ "hooks": { "afterStart": { "command": "exit 0" } } }));
    let gate = stage.world.at(method, moment).nth(1).held();
    let start = stage.begins(Operation::StartWorkspace, WORK, &json!({}));
    assert!(gate.is_reached(), "{method:?}");
    stage.dies_during(start);
    stage.world.goes_well();
    stage
}

const METHODS: [Method; 6] =
    [Method::Configure, Method::Begin, Method::RestoreBackup, Method::Arrive, Method::RunHook, Method::Stamp];

#[test]
fn it_is_ended_by_the_alarms() {
    for method in METHODS {
        for moment in Moment::BOTH {
            let stage = died_starting(method, moment);
            stage.passes(3 * HOUR);
            assert!(stage.world.running().is_empty(), "{method:?} {moment:?}");
            assert_eq!(stage.state(WORK), "stopped");
            stage.assert_settled();
        }
    }
}

#[test]
fn it_can_be_started_again_at_once() {
    for method in METHODS {
        for moment in Moment::BOTH {
            let stage = died_starting(method, moment);
            stage.starts(WORK, &json!({})).unwrap();
            assert_eq!(stage.file(WORK).unwrap(), "first", "{method:?} {moment:?}");
            stage.passes(5 * MINUTE);
            assert_eq!(stage.file(WORK).unwrap(), "first", "{method:?} {moment:?}");
        }
    }
}

#[test]
fn a_restore_that_goes_on_after_its_worker_died_is_ended_too() {
    for millis in [0, 30_000, 3 * MINUTE] {
        let stage = died_starting(Method::RestoreBackup, Moment::Before);
        stage.passes(millis);
        let id = stage.sandbox_of(WORK);
        stage.world.stops(&id);
        stage.passes(1000);
        stage.world.is_replaced(&id);
        stage.passes(3 * HOUR);
        assert!(stage.world.running().is_empty(), "{millis}");
    }
}

#[test]
fn what_somebody_wrote_into_it_since_is_not_thrown_away() {
    let stage = died_starting(Method::Begin, Moment::Before);
    let id = stage.sandbox_of(WORK);
    stage.world.writes(&id, FILE, "second");
    stage.passes(3 * HOUR);
    let is_there = stage.world.files(&id).is_some_and(|files| files[FILE] == "second");
    let is_saved = stage.snapshots_of(&id).len() == 2;
    assert!(is_there || is_saved);
}

#[test]
fn what_somebody_wrote_into_it_is_not_thrown_away_when_who_died_had_still_asked_for_a_stamp() {
    for on_diverged in ["save", "keep"] {
        let stage = died_starting(Method::Begin, Moment::Before);
        let id = stage.sandbox_of(WORK);
        stage.world.writes(&id, FILE, "second");
        stage.run(Operation::List, &json!({ "sandboxId": id })).unwrap();
        stage.world.is_stamped_late(&id, 1);
        let started = stage.starts(WORK, &json!({ "onDiverged": on_diverged })).unwrap();
        let is_kept = stage.file(WORK).unwrap() == "second";
        assert!(is_kept || started["saved"].is_string(), "{on_diverged}: {started}");
    }
}

#[test]
fn nor_is_it_when_that_stamp_comes_right_after_it_was_looked_at() {
    for on_diverged in ["save", "keep"] {
        let stage = died_starting(Method::Begin, Moment::Before);
        let id = stage.sandbox_of(WORK);
        stage.world.writes(&id, FILE, "second");
        let late = id.clone();
        stage.world.before(Method::Stamp).nth(1).happens(move |world| world.is_stamped_late(&late, 1));
        let started = stage.starts(WORK, &json!({ "onDiverged": on_diverged })).unwrap();
        let is_kept = stage.file(WORK).unwrap() == "second";
        assert!(is_kept || started["saved"].is_string(), "{on_diverged}: {started}");
    }
}

#[test]
fn looks_before_their_time_do_not_count_however_often_workers_die() {
    let stage = died_starting(Method::RestoreBackup, Moment::Before);
    let id = stage.sandbox_of(WORK);
    stage.world.stops(&id);
    for _ in 0..5 {
        stage.restart();
        stage.run(Operation::List, &json!({ "sandboxId": id })).unwrap();
    }
    stage.passes(2 * MINUTE);
    stage.world.is_replaced(&id);
    stage.passes(3 * HOUR);
    assert!(stage.world.running().is_empty());
}

#[test]
fn a_sandbox_that_is_nobodys_is_looked_after_until_it_is_ended() {
    let stage = Stage::with_work();
    let id = stage.sandbox_of(WORK);
    stage.world.before(Method::Destroy).fails_in_passing();
    drop(stage.deletes(WORK));
    stage.world.goes_well();
    stage.restart();
    let gate = stage.world.before(Method::Destroy).held();
    let list = stage.begin(Operation::List, &json!({ "sandboxId": id }));
    assert!(gate.is_reached());
    stage.dies_during(list);
    let standing = stage.ledger(&id).workspace().unwrap().unwrap().standing.unwrap();
    assert!(standing.filling.is_some());
}

#[test]
fn a_sandbox_that_was_handed_out_is_left_alone() {
    let stage = Stage::with_work();
    stage.restart();
    stage.passes(3 * HOUR);
    assert_eq!((stage.state(WORK), stage.file(WORK)), ("active", Some("first".into())));
    assert_eq!(stage.world.count(Method::Destroy), 0);
}

#[test]
fn it_is_looked_at_when_that_is_due_and_not_at_every_alarm() {
    let stage = died_starting(Method::Configure, Moment::Before);
    let id = stage.sandbox_of(WORK);
    stage.run(Operation::List, &json!({ "sandboxId": id })).unwrap();
    stage.world.forget_calls();
    let mut looks = Vec::new();
    for _ in 0..20 {
        stage.ledger(&id).set_alarm(Some(stage.world.moment())).unwrap();
        stage.passes(5 * MINUTE);
        looks.push(stage.world.calls_about(&id).iter().filter(|method| **method == Method::State).count());
    }
    // The name looks once; then it is after a minute, ten more and sixty more.
    let expected = [(2, 2), (3, 12), (4, 6)].into_iter().flat_map(|(count, times)| vec![count; times]);
    assert!(expected.eq(looks.iter().copied()), "{looks:?}");
}

#[test]
fn one_that_the_workspace_has_left_is_captured_and_ended_whatever_a_look_has_started() {
    let stage = Stage::with_stopped_work();
    let former = stage.sandbox_of(WORK);
    stage.world.before(Method::RestoreBackup).nth(1).is_never_answered();
    stage.world.before(Method::Destroy).nth(1).is_never_answered();
    stage.starts(WORK, &json!({})).unwrap();
    stage.passes(2 * MINUTE);
    assert!(!stage.world.running().contains(&former));
    // What was asked for before has started a container, with files that no start had seen.
    stage.world.is_replaced(&former);
    stage.world.writes(&former, FILE, "of another image");
    stage.passes(3 * HOUR);
    assert!(!stage.world.running().contains(&former));
    assert!(stage.is_up(WORK));
    assert_eq!(stage.snapshots_of(&former).len(), 2, "what was in it is in a snapshot");
}

#[test]
fn one_that_the_workspace_has_left_is_looked_at_until_nothing_can_come_late() {
    let stage = Stage::with_stopped_work();
    let former = stage.sandbox_of(WORK);
    let [snapshot] = stage.snapshots_of(&former).try_into().unwrap();
    stage.goes_back(WORK, &json!(snapshot)).unwrap();
    stage.passes(20 * MINUTE);
    // A look that was not answered in time.
    stage.world.is_replaced(&former);
    stage.passes(HOUR);
    assert!(!stage.world.running().contains(&former));
    stage.assert_settled();
}

#[test]
fn files_that_the_application_wrote_are_not_ended_because_a_late_stamp_comes_to_them() {
    for on_diverged in ["save", "keep"] {
        let stage = Stage::with_late_stamp();
        let id = stage.sandbox_of(WORK);
        stage.world.is_stamped_late(&id, 1);
        stage.starts(WORK, &json!({})).fails_as(Code::WorkspaceDiverged);
        let started = stage.starts(WORK, &json!({ "onDiverged": on_diverged })).unwrap();
        let is_adopted = stage.file(WORK).as_deref() == Some("second");
        assert_eq!((is_adopted, started["saved"].is_string()), (on_diverged == "keep", on_diverged == "save"));
    }
}

#[test]
fn adopted_files_are_captured_only_after_no_late_step_can_fill_their_container() {
    let stage = Stage::with_stopped_work();
    let id = stage.sandbox_of(WORK);
    stage.world.before(Method::RestoreBackup).fails_in_passing();
    stage.starts(WORK, &json!({})).fails_as(Code::SandboxUnavailable);
    stage.world.goes_well();
    stage.passes(5 * MINUTE);
    stage.world.is_replaced(&id);
    stage.world.writes(&id, FILE, "second");
    stage.world.is_stamped_late(&id, 1);
    let captured = Rc::new(RefCell::new(Vec::new()));
    let markers = captured.clone();
    stage.world.before(Method::CreateBackup).happens(move |world| markers.borrow_mut().push(world.stamp_on(&id)));
    assert_eq!(stage.starts(WORK, &json!({ "onDiverged": "keep" })).unwrap()["how"], "kept");
    let captured = captured.take();
    assert!(matches!(captured.as_slice(), [Some(Stamp::Kept(_))]), "{captured:?}");
}

#[test]
fn a_container_that_an_unanswered_look_starts_after_the_stop_is_ended() {
    let stage = Stage::with_work();
    let id = stage.sandbox_of(WORK);
    stage.world.before(Method::Probe).nth(1).is_never_answered();
    stage.starts(WORK, &json!({})).fails_as(Code::SandboxTimeout);
    stage.stops(WORK).unwrap();
    stage.passes(20 * MINUTE);
    stage.world.is_replaced(&id);
    stage.passes(2 * HOUR);
    assert!(stage.world.running().is_empty());
    stage.assert_settled();
}

#[test]
fn a_container_that_a_start_whose_worker_died_starts_after_the_stop_is_ended() {
    let stage = Stage::with_stopped_work();
    let id = stage.sandbox_of(WORK);
    let gate = stage.world.after(Method::Arrive).nth(1).held();
    let start = stage.begins(Operation::StartWorkspace, WORK, &json!({}));
    assert!(gate.is_reached());
    stage.dies_during(start);
    stage.world.goes_well();
    assert_eq!(stage.starts(WORK, &json!({})).unwrap()["how"], "alive");
    stage.stops(WORK).unwrap();
    stage.passes(20 * MINUTE);
    stage.world.is_replaced(&id);
    stage.passes(2 * HOUR);
    assert!(stage.world.running().is_empty());
    stage.assert_settled();
}

#[test]
fn a_container_that_a_repeated_stamp_starts_after_the_stop_is_ended() {
    let stage = Stage::with_diverged_work();
    let id = stage.sandbox_of(WORK);
    stage.world.before(Method::Stamp).nth(1).fails_in_passing();
    stage.starts(WORK, &json!({ "onDiverged": "keep" })).unwrap();
    stage.stops(WORK).unwrap();
    stage.passes(20 * MINUTE);
    stage.world.is_replaced(&id);
    stage.passes(2 * HOUR);
    assert!(stage.world.running().is_empty());
    stage.assert_settled();
}
