//! What happens to the world without the service.

use std::rc::Rc;

use super::snapshots::pick_sandbox;
use crate::world::{SERVICE_COUNT, World};

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// A container ends, noticed or not, and its owner may start another one by looking into the sandbox.
pub async fn end_container(world: Rc<World>) {
    let Some(id) = world.rng.pick(&world.running_sandboxes()) else { return };
    world.end_container(&id, world.rng.one_in(2));
    let is_theirs = world.history.borrow().sandboxes().contains(&id);
    if is_theirs && world.rng.one_in(2) {
        world.pass_step().await;
        world.write_file(&id, 0);
    }
}

/// A sandbox connects to its container again.
pub async fn reconnect(world: Rc<World>) {
    world.reconnect(&pick_sandbox(&world));
}

/// Some time passes.
pub async fn wait_short(world: Rc<World>) {
    let millis = world.rng.pick(&[500, 10_000, 2 * MINUTE, 70 * MINUTE]).unwrap();
    world.executor.sleep(millis).await;
}

/// Much time passes.
pub async fn wait_long(world: Rc<World>) {
    let millis = world.rng.pick(&[5 * HOUR, 25 * HOUR, 3 * DAY, 8 * DAY, 32 * DAY]).unwrap();
    world.executor.sleep(millis).await;
}

/// A service is down for a while.
pub async fn fail_service(world: Rc<World>) {
    if world.profile.failure_rate > 0 {
        let millis = world.rng.pick(&[1000, 10_000, 3 * MINUTE, 2 * HOUR]).unwrap();
        world.take_down_service(world.rng.below(SERVICE_COUNT), millis);
    }
}

/// Somebody damages a backup by hand.
pub async fn damage_backup(world: Rc<World>) {
    if !world.rng.one_in(4) {
        return;
    }
    let ids: Vec<_> = world.bucket.borrow().keys().cloned().collect();
    let Some(id) = world.rng.pick(&ids) else { return };
    world.trace(&format_args!("{id} is spoiled"));
    world.history.borrow_mut().damaged_backups.insert(id.clone());
    if let Some(backup) = world.bucket.borrow_mut().get_mut(&id) {
        backup.archive = None;
    }
}

/// The sandboxes get another image.
pub async fn deploy_image(world: Rc<World>) {
    if world.rng.one_in(3) {
        world.deploy_image();
    }
}
