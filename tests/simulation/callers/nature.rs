//! What happens to the world without the service.

use std::rc::Rc;

use super::taking::sandbox;
use crate::world::{SERVICES, World};

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// A container ends, noticed or not, and its owner may start another one by looking into the sandbox.
pub async fn kill(world: Rc<World>) {
    let Some(id) = world.chance.pick(&world.running()) else { return };
    world.dies(&id, world.chance.one_in(2));
    let is_theirs = world.book.borrow().sandboxes().contains(&id);
    if is_theirs && world.chance.one_in(2) {
        world.moment().await;
        world.writes(&id, 0);
    }
}

/// A sandbox connects to its container again.
pub async fn reconnect(world: Rc<World>) {
    world.reconnects(&sandbox(&world));
}

/// Some time passes.
pub async fn wait_a_little(world: Rc<World>) {
    let millis = world.chance.pick(&[500, 10_000, 2 * MINUTE, 70 * MINUTE]).unwrap();
    world.executor.sleep(millis).await;
}

/// Much time passes.
pub async fn wait_long(world: Rc<World>) {
    let millis = world.chance.pick(&[5 * HOUR, 25 * HOUR, 3 * DAY, 8 * DAY, 32 * DAY]).unwrap();
    world.executor.sleep(millis).await;
}

/// A service is down for a while.
pub async fn go_down(world: Rc<World>) {
    if world.weather.fails > 0 {
        let millis = world.chance.pick(&[1000, 10_000, 3 * MINUTE, 2 * HOUR]).unwrap();
        world.is_down_for(world.chance.below(SERVICES), millis);
    }
}

/// Somebody damages a backup by hand.
pub async fn spoil(world: Rc<World>) {
    if !world.chance.one_in(4) {
        return;
    }
    let ids: Vec<_> = world.bucket.borrow().keys().cloned().collect();
    let Some(id) = world.chance.pick(&ids) else { return };
    world.trace(&format_args!("{id} is spoiled"));
    world.book.borrow_mut().spoiled.insert(id.clone());
    if let Some(backup) = world.bucket.borrow_mut().get_mut(&id) {
        backup.archive = None;
    }
}

/// The sandboxes get another image.
pub async fn deploy(world: Rc<World>) {
    if world.chance.one_in(3) {
        world.deploys();
    }
}
