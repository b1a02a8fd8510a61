//! `reserve` claims a sandbox id and makes the sandbox a dependent of a snapshot, before a workspace derives it.

use futures_executor::block_on;
use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::named::binding::WorkspaceBinding;
use sandbox_snapshotter::model::named::messages::ReserveRequest;
use sandbox_snapshotter::model::{Code, DerivationKind, SnapshotRef};
use sandbox_snapshotter::ports::Ledger;
use serde_json::json;

use crate::support::{ExpectError, Fixture, Method, address, by_ref, sandbox};

const MINTED: &str = "agent-42-branch-aaaaaaaa";

fn request(snapshot: &SnapshotRef, name: &str) -> ReserveRequest {
    let binding = WorkspaceBinding::new(address(name), "/workspace".to_owned().try_into().unwrap());
    ReserveRequest {
        sandbox_id: sandbox(MINTED),
        snapshot_id: snapshot.snapshot_id().clone(),
        kind: DerivationKind::Branch,
        binding,
        runtime: None,
    }
}

#[test]
fn reserve_adds_a_dependent_and_starts_no_container() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    assert!(block_on(fixture.snapshotter("agent-42").reserve(&request(&snapshot, "work"))).unwrap());
    assert_eq!(fixture.run(Operation::Get, &by_ref(&snapshot)).unwrap()["dependents"], json!([MINTED]));
    assert!(!fixture.world.running_sandboxes().contains(MINTED));
    let sandbox = fixture.ledger(MINTED).sandbox().unwrap().unwrap();
    assert_eq!((sandbox.binding.unwrap().address, sandbox.parent.unwrap().needs_snapshot), (address("work"), true));
}

#[test]
fn repeated_reserve_returns_the_same_answer() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    for _ in 0..2 {
        assert!(block_on(fixture.snapshotter("agent-42").reserve(&request(&snapshot, "work"))).unwrap());
    }
    fixture.crash_worker();
    assert!(block_on(fixture.snapshotter("agent-42").reserve(&request(&snapshot, "work"))).unwrap());
    assert_eq!(fixture.ledger("agent-42").derived_sandboxes().unwrap().len(), 1);
}

#[test]
fn reserve_succeeds_when_answer_of_claim_is_lost() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.world.after(Method::Claim).nth(1).fail_transiently();
    assert!(block_on(fixture.snapshotter("agent-42").reserve(&request(&snapshot, "work"))).unwrap());
}

#[test]
fn reserve_refuses_an_id_reserved_for_another_workspace() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    block_on(fixture.snapshotter("agent-42").reserve(&request(&snapshot, "work"))).unwrap();
    assert!(!block_on(fixture.snapshotter("agent-42").reserve(&request(&snapshot, "other"))).unwrap());
    assert_eq!(fixture.ledger(MINTED).sandbox().unwrap().unwrap().binding.unwrap().address, address("work"));
}

#[test]
fn reserve_refuses_the_id_of_an_existing_sandbox() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.start_sandbox(MINTED);
    fixture.snapshot_labelled(MINTED, "its own");
    assert!(!block_on(fixture.snapshotter("agent-42").reserve(&request(&snapshot, "work"))).unwrap());
    assert!(fixture.ledger("agent-42").derived_sandboxes().unwrap().is_empty());
}

#[test]
fn reserve_fails_when_snapshot_is_deleted() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.run(Operation::Delete, &by_ref(&snapshot)).unwrap();
    block_on(fixture.snapshotter("agent-42").reserve(&request(&snapshot, "work"))).expect_code(Code::SnapshotNotFound);
    assert!(fixture.ledger(MINTED).sandbox().unwrap().is_none());
}

#[test]
fn reserve_fails_when_snapshot_is_deleted_during_claim() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let ledger = fixture.ledger("agent-42");
    let id = snapshot.snapshot_id().clone();
    fixture.world.after(Method::Claim).nth(1).run(move |_| ledger.delete_snapshot(&id).unwrap());
    block_on(fixture.snapshotter("agent-42").reserve(&request(&snapshot, "work"))).expect_code(Code::SnapshotNotFound);
    assert!(fixture.ledger("agent-42").derived_sandboxes().unwrap().is_empty());
}

#[test]
fn reserve_is_refused_when_sandbox_already_released_snapshot() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.snapshotter("agent-42").release(snapshot.snapshot_id(), &sandbox(MINTED)).unwrap();
    assert!(!block_on(fixture.snapshotter("agent-42").reserve(&request(&snapshot, "work"))).unwrap());
    assert_eq!(fixture.run(Operation::Get, &by_ref(&snapshot)).unwrap()["dependents"], json!([]));
}

#[test]
fn reserve_is_refused_when_sandbox_releases_snapshot_during_claim() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let (origin, id) = (fixture.snapshotter("agent-42"), snapshot.snapshot_id().clone());
    fixture.world.after(Method::Claim).nth(1).run(move |_| origin.release(&id, &sandbox(MINTED)).unwrap());
    assert!(!block_on(fixture.snapshotter("agent-42").reserve(&request(&snapshot, "work"))).unwrap());
    assert_eq!(fixture.run(Operation::Get, &by_ref(&snapshot)).unwrap()["dependents"], json!([]));
}
