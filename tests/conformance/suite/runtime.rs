//! The clock and the randomness.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::FutureExt;
use sandbox_snapshotter::model::Timestamp;
use sandbox_snapshotter::ports::{Clock, Entropy};

use super::Case;
use super::world::World;

pub fn cases<W: World>() -> Vec<Case<W>> {
    vec![
        case!(async it_is_after_the_beginning_of_this_project),
        case!(async time_passes_during_a_wait),
        case!(async a_wait_that_another_task_goes_on_with_ends),
        case!(async no_two_draws_are_alike),
    ]
}

async fn it_is_after_the_beginning_of_this_project(world: &impl World) {
    let now = world.clock().now();
    assert!(now > Timestamp::from_millis(1_760_000_000_000), "{now}");
    assert!(now < Timestamp::MAX, "{now}");
}

async fn time_passes_during_a_wait(world: &impl World) {
    let clock = world.clock();
    for millis in [0_u32, 1, 50] {
        let before = clock.now();
        clock.sleep(Duration::from_millis(millis.into())).await;
        let passed = clock.now().millis_since(before);
        // Timers may come one millisecond early by the clock.
        assert!((i64::from(millis) - 1..60_000).contains(&passed), "{passed} ms of {millis}");
    }
}

async fn a_wait_that_another_task_goes_on_with_ends(world: &impl World) {
    let clock = world.clock();
    let mut wait = clock.sleep(Duration::from_millis(20)).boxed_local();
    // A clock in memory need not wait.
    if wait.as_mut().now_or_never().is_none() {
        wait.await;
    }
}

async fn no_two_draws_are_alike(world: &impl World) {
    let draws: BTreeSet<[u8; 32]> = (0..100).map(|_| world.entropy().random_bytes().unwrap()).collect();
    assert_eq!(draws.len(), 100);
    let bytes: BTreeSet<u8> = draws.into_iter().flatten().collect();
    assert_eq!(bytes.len(), 256, "every byte comes up");
}
