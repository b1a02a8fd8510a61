//! A sandbox is not needed any more.

use futures_executor::block_on;
use sandbox_snapshotter::model::Lineage;
use sandbox_snapshotter::model::named::messages::ReserveRequest;
use sandbox_snapshotter::model::named::standing::Standing;

use crate::support::{Running, Stage, address, sandbox};

const MINTED: &str = "agent-42-branch-aaaaaaaa";

#[test]
fn one_that_is_retired_before_it_was_claimed_never_comes_to_be() {
    let (stage, snapshot) = Stage::with_snapshot();
    let minted = stage.of(MINTED);
    Running::start_in(&stage.world, async move { minted.retire(address("work")).await }).answer().unwrap();
    let request = ReserveRequest {
        sandbox_id: sandbox(MINTED),
        snapshot_id: snapshot.snapshot_id().clone(),
        lineage: Lineage::Branch,
        standing: Standing::of(address("work"), "/workspace".to_owned().try_into().unwrap()),
    };
    assert!(!block_on(stage.of("agent-42").reserve(&request)).unwrap());
}
