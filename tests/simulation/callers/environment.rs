//! Events outside of the service.

use std::rc::Rc;

use super::snapshots::pick_sandbox;
use crate::memory::Service;
use crate::world::World;

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// Ends a container, with or without the sandbox noticing. The application may then start another one by using the sandbox.
pub async fn end_container(world: Rc<World>) {
    let Some(id) = world.rng.pick(&world.running_sandboxes()) else { return };
    world.end_container(&id, world.rng.one_in(2));
    let is_of_caller = world.history.borrow().sandboxes().contains(&id);
    if is_of_caller && world.rng.one_in(2) {
        world.pass_step().await;
        world.write_file(&id, 0);
    }
}

/// Reconnects a sandbox to its container.
pub async fn reconnect(world: Rc<World>) {
    world.reconnect(&pick_sandbox(&world));
}

/// Waits up to 70 minutes.
pub async fn wait_short(world: Rc<World>) {
    let millis = world.rng.pick(&[500, 10_000, 2 * MINUTE, 70 * MINUTE]).unwrap();
    world.executor.sleep(millis).await;
}

/// Waits from 5 hours to 32 days.
pub async fn wait_long(world: Rc<World>) {
    let millis = world.rng.pick(&[5 * HOUR, 25 * HOUR, 3 * DAY, 8 * DAY, 32 * DAY]).unwrap();
    world.executor.sleep(millis).await;
}

/// Takes a service down for a time.
pub async fn fail_service(world: Rc<World>) {
    if world.profile.failure_rate > 0 {
        let millis = world.rng.pick(&[1000, 10_000, 3 * MINUTE, 2 * HOUR]).unwrap();
        world.take_down_service(world.rng.below(Service::COUNT), millis);
    }
}

/// Removes the archive of a backup.
pub async fn damage_backup(world: Rc<World>) {
    if !world.rng.one_in(4) {
        return;
    }
    let ids: Vec<_> = world.bucket.borrow().keys().cloned().collect();
    let Some(id) = world.rng.pick(&ids) else { return };
    world.trace(&format_args!("{id} is damaged"));
    world.history.borrow_mut().damaged_backups.insert(id.clone(), world.now());
    if let Some(backup) = world.bucket.borrow_mut().get_mut(&id) {
        backup.archive = None;
    }
}

/// Deletes a platform snapshot, as the platform may.
pub async fn delete_disk(world: Rc<World>) {
    let ids: Vec<_> = world.disks.borrow().keys().cloned().collect();
    let Some(id) = world.rng.pick(&ids) else { return };
    world.trace(&format_args!("the platform deletes {id}"));
    world.disks.borrow_mut().remove(&id);
}

/// Deploys another image for the sandboxes.
pub async fn deploy_image(world: Rc<World>) {
    if world.rng.one_in(3) {
        world.deploy_image();
    }
}
