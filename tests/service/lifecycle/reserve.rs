//! A sandbox is going to be made from a snapshot, by its own workspace.

use futures_executor::block_on;
use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::named::messages::ReserveRequest;
use sandbox_snapshotter::model::named::standing::Standing;
use sandbox_snapshotter::model::{Code, Lineage, SnapshotRef};
use sandbox_snapshotter::ports::Ledger;
use serde_json::json;

use crate::support::{Checked, Method, Stage, address, by_ref, sandbox};

const MINTED: &str = "agent-42-branch-aaaaaaaa";

fn request(snapshot: &SnapshotRef, name: &str) -> ReserveRequest {
    let standing = Standing::of(address(name), "/workspace".to_owned().try_into().unwrap());
    ReserveRequest {
        sandbox_id: sandbox(MINTED),
        snapshot_id: snapshot.snapshot_id().clone(),
        lineage: Lineage::Branch,
        standing,
    }
}

#[test]
fn it_is_held_from_then_on_and_nothing_is_started() {
    let (stage, snapshot) = Stage::with_snapshot();
    assert!(block_on(stage.of("agent-42").reserve(&request(&snapshot, "work"))).unwrap());
    assert_eq!(stage.run(Operation::Get, &by_ref(&snapshot)).unwrap()["holders"], json!([MINTED]));
    assert!(!stage.world.running().contains(MINTED));
    let workspace = stage.ledger(MINTED).workspace().unwrap().unwrap();
    assert_eq!((workspace.standing.unwrap().address, workspace.parent.unwrap().needed), (address("work"), true));
}

#[test]
fn asked_again_it_is_the_same_answer() {
    let (stage, snapshot) = Stage::with_snapshot();
    for _ in 0..2 {
        assert!(block_on(stage.of("agent-42").reserve(&request(&snapshot, "work"))).unwrap());
    }
    stage.restart();
    assert!(block_on(stage.of("agent-42").reserve(&request(&snapshot, "work"))).unwrap());
    assert_eq!(stage.ledger("agent-42").derivations().unwrap().len(), 1);
}

#[test]
fn it_is_the_same_answer_also_when_the_first_one_was_lost() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.world.after(Method::Claim).nth(1).fails_in_passing();
    assert!(block_on(stage.of("agent-42").reserve(&request(&snapshot, "work"))).unwrap());
}

#[test]
fn an_id_of_another_name_is_not_given_away() {
    let (stage, snapshot) = Stage::with_snapshot();
    block_on(stage.of("agent-42").reserve(&request(&snapshot, "work"))).unwrap();
    assert!(!block_on(stage.of("agent-42").reserve(&request(&snapshot, "other"))).unwrap());
    assert_eq!(stage.ledger(MINTED).workspace().unwrap().unwrap().standing.unwrap().address, address("work"));
}

#[test]
fn an_id_of_a_sandbox_that_is_there_is_not_given_away() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.runs(MINTED);
    stage.captures(MINTED, "its own");
    assert!(!block_on(stage.of("agent-42").reserve(&request(&snapshot, "work"))).unwrap());
    assert!(stage.ledger("agent-42").derivations().unwrap().is_empty());
}

#[test]
fn what_is_gone_cannot_be_held() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.run(Operation::Delete, &by_ref(&snapshot)).unwrap();
    block_on(stage.of("agent-42").reserve(&request(&snapshot, "work"))).fails_as(Code::SnapshotNotFound);
    assert!(stage.ledger(MINTED).workspace().unwrap().is_none());
}

#[test]
fn what_goes_meanwhile_is_not_held() {
    let (stage, snapshot) = Stage::with_snapshot();
    let ledger = stage.ledger("agent-42");
    let id = snapshot.snapshot_id().clone();
    stage.world.after(Method::Claim).nth(1).happens(move |_| ledger.forget_snapshot(&id).unwrap());
    block_on(stage.of("agent-42").reserve(&request(&snapshot, "work"))).fails_as(Code::SnapshotNotFound);
    assert!(stage.ledger("agent-42").derivations().unwrap().is_empty());
}

#[test]
fn a_sandbox_that_has_given_it_up_already_does_not_hold_it() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.of("agent-42").release(snapshot.snapshot_id(), &sandbox(MINTED)).unwrap();
    assert!(!block_on(stage.of("agent-42").reserve(&request(&snapshot, "work"))).unwrap());
    assert_eq!(stage.run(Operation::Get, &by_ref(&snapshot)).unwrap()["holders"], json!([]));
}

#[test]
fn a_sandbox_that_gives_it_up_meanwhile_does_not_hold_it() {
    let (stage, snapshot) = Stage::with_snapshot();
    let (origin, id) = (stage.of("agent-42"), snapshot.snapshot_id().clone());
    stage.world.after(Method::Claim).nth(1).happens(move |_| origin.release(&id, &sandbox(MINTED)).unwrap());
    assert!(!block_on(stage.of("agent-42").reserve(&request(&snapshot, "work"))).unwrap());
    assert_eq!(stage.run(Operation::Get, &by_ref(&snapshot)).unwrap()["holders"], json!([]));
}
