//! `decommission`: a workspace no longer needs a sandbox.

use futures_executor::block_on;
use sandbox_snapshotter::model::DerivationKind;
use sandbox_snapshotter::model::named::binding::WorkspaceBinding;
use sandbox_snapshotter::model::named::messages::ReserveRequest;

use crate::support::{Fixture, PendingOperation, address, sandbox};

const MINTED: &str = "agent-42-branch-aaaaaaaa";

#[test]
fn sandbox_decommissioned_before_its_claim_cannot_be_reserved() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let minted = fixture.snapshotter(MINTED);
    PendingOperation::start_with_background(&fixture.world, async move { minted.decommission(address("work")).await })
        .answer()
        .unwrap();
    let request = ReserveRequest {
        sandbox_id: sandbox(MINTED),
        snapshot_id: snapshot.snapshot_id().clone(),
        kind: DerivationKind::Branch,
        binding: WorkspaceBinding::new(address("work"), "/workspace".to_owned().try_into().unwrap()),
        runtime: None,
    };
    assert!(!block_on(fixture.snapshotter("agent-42").reserve(&request)).unwrap());
}
