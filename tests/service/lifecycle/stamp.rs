//! How far a container is that is being made somebody's place of work.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::Code;
use serde_json::json;

use crate::support::{Checked, FILE, Method, Stage, WORK};

#[test]
fn a_stamp_whose_answer_was_lost_is_known_again() {
    for number in 1..=3 {
        let stage = Stage::with_stopped_work();
        stage.world.after(Method::Stamp).nth(number).fails_in_passing();
        stage.starts(WORK, &json!({})).unwrap();
        assert_eq!((stage.world.count(Method::RestoreBackup), stage.file(WORK)), (1, Some("first".into())), "{number}");
    }
}

#[test]
fn a_container_on_which_a_stamp_came_late_is_not_handed_out_empty() {
    let stage = Stage::with_stopped_work();
    let id = stage.sandbox_of(WORK);
    stage.world.before(Method::Stamp).nth(1).fails_in_passing();
    stage.world.before(Method::Stamp).nth(3).happens(move |world| {
        world.is_replaced(&id);
        world.is_stamped_late(&id, 1);
    });
    stage.starts(WORK, &json!({})).unwrap();
    assert_eq!(stage.file(WORK).unwrap(), "first");
}

#[test]
fn what_can_be_thrown_away_is_also_when_it_can_not_be_stamped() {
    let stage = Stage::with_stopped_work();
    let gate = stage.world.before(Method::Begin).held();
    let start = stage.begins(Operation::StartWorkspace, WORK, &json!({}));
    assert!(gate.is_reached());
    stage.dies_during(start);
    stage.world.goes_well();
    let id = stage.sandbox_of(WORK);
    stage.world.writes(&id, FILE, "second");
    stage.world.before(Method::Stamp).fails_in_passing();
    let destroyed = id.clone();
    stage.world.before(Method::Destroy).happens(move |world| {
        assert_eq!(world.files(&destroyed).unwrap()[FILE], "second");
        world.goes_well();
    });
    let started = stage.starts(WORK, &json!({ "onDiverged": "discard" })).unwrap();
    assert_eq!((&started["how"], stage.file(WORK)), (&json!("restored"), Some("first".into())));
}

#[test]
fn a_container_that_replaced_the_one_that_was_filled_gets_no_stamp() {
    let stage = Stage::with_stopped_work();
    let id = stage.sandbox_of(WORK);
    stage.world.before(Method::Arrive).happens(move |world| world.is_replaced(&id));
    stage.starts(WORK, &json!({})).fails_as(Code::OperationInterrupted);
    assert!(stage.world.stamp_on(&stage.sandbox_of(WORK)).is_none());
}
