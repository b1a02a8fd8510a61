//! The clock and the source of randomness.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::FutureExt;
use sandbox_snapshotter::model::Timestamp;
use sandbox_snapshotter::ports::{Clock, Entropy};

use super::Case;
use super::world::World;

pub fn cases<W: World>() -> Vec<Case<W>> {
    vec![
        case!(async clock_returns_a_plausible_time),
        case!(async sleep_lasts_for_its_duration),
        case!(async sleep_ends_when_it_is_moved_to_another_task),
        case!(async random_draws_are_unique),
    ]
}

async fn clock_returns_a_plausible_time(world: &impl World) {
    let now = world.clock().now();
    assert!(now > Timestamp::from_millis(1_760_000_000_000), "{now}");
    assert!(now < Timestamp::MAX, "{now}");
}

async fn sleep_lasts_for_its_duration(world: &impl World) {
    let clock = world.clock();
    for millis in [0_u32, 1, 50] {
        let before = clock.now();
        clock.sleep(Duration::from_millis(millis.into())).await;
        let passed = clock.now().millis_since(before);
        // A timer may fire one millisecond early by the clock.
        assert!((i64::from(millis) - 1..60_000).contains(&passed), "{passed} ms of {millis}");
    }
}

async fn sleep_ends_when_it_is_moved_to_another_task(world: &impl World) {
    let clock = world.clock();
    let mut wait = clock.sleep(Duration::from_millis(20)).boxed_local();
    // An in-memory clock need not wait.
    if wait.as_mut().now_or_never().is_none() {
        wait.await;
    }
}

async fn random_draws_are_unique(world: &impl World) {
    let draws: BTreeSet<[u8; 32]> = (0..100).map(|_| world.entropy().random_bytes().unwrap()).collect();
    assert_eq!(draws.len(), 100);
    let bytes: BTreeSet<u8> = draws.into_iter().flatten().collect();
    assert_eq!(bytes.len(), 256, "every byte value occurs");
}
