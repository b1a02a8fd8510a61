//! Random settings of named workspaces, and options of their starts.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use sandbox_snapshotter::model::named::settings::{
    DependsOn, Expiry, Hook, Hooks, OnDiverged, OnFailure, OnImageChange, OnMismatch, StartSettings,
};
use sandbox_snapshotter::model::named::{Autosave, ImageChoice, StoragePolicy};
use sandbox_snapshotter::model::request::SettingsUpdate;

use super::management::pick_policy;
use crate::world::{IMAGE_NAMES, World};

fn pick_hook(world: &World) -> Option<Hook> {
    let command = world.rng.pick(&["true", "true", "write", "write", "fail", "write, and fail", "hang"])?;
    let on_failure = if world.rng.one_in(2) { OnFailure::Fail } else { OnFailure::Warn };
    let timeout_seconds = world.rng.pick(&[1, 5, 20])?;
    let hook = Hook { command: command.to_owned(), timeout_seconds, on_failure };
    world.rng.one_in(4).then_some(hook)
}

/// Picks a change of the settings.
pub fn pick_changes(world: &World) -> SettingsUpdate {
    let rng = &world.rng;
    let expiry = Expiry {
        idle_seconds: rng.pick(&[600, 600, 60, 3600, 0]).unwrap(),
        max_seconds: rng.pick(&[0, 0, 0, 120, 7200]).unwrap(),
    };
    let files = rng.pick(&[vec![], vec!["1".to_owned()], vec!["1".to_owned(), "/etc/os-release".to_owned()]]);
    let depends_on = DependsOn {
        files: files.unwrap(),
        fingerprint: rng.pick(&[None, Some("a".to_owned()), Some("b".to_owned())]).unwrap(),
        on_mismatch: if rng.one_in(2) { OnMismatch::Fail } else { OnMismatch::Report },
        on_image_change: if rng.one_in(4) { OnImageChange::Fail } else { OnImageChange::Report },
    };
    let storage = (world.profile.has_platform && rng.one_in(2))
        .then(|| rng.pick(&[StoragePolicy::Archive, StoragePolicy::Both, StoragePolicy::Platform]).unwrap());
    SettingsUpdate {
        storage,
        durable: storage.map(|storage| storage != StoragePolicy::Platform),
        persistent: rng.one_in(8).then(|| rng.one_in(2)),
        incremental: rng.one_in(8).then(|| rng.one_in(2)),
        image: (world.profile.has_platform && rng.one_in(4)).then(|| ImageChoice(pick_image(world))),
        retention: rng.one_in(4).then(|| pick_policy(world)),
        hooks: rng.one_in(2).then(|| Hooks {
            before_stop: pick_hook(world),
            after_start: pick_hook(world),
            on_timeout: pick_hook(world),
        }),
        expiry: rng.one_in(2).then_some(expiry),
        autosave: rng.one_in(2).then(|| pick_autosave(world)),
        depends_on: rng.one_in(3).then_some(depends_on),
        env: None,
    }
}

fn pick_image(world: &World) -> Option<String> {
    world.rng.pick(&IMAGE_NAMES).filter(|_| world.rng.one_in(2)).map(ToOwned::to_owned)
}

fn pick_autosave(world: &World) -> Autosave {
    let rng = &world.rng;
    // Saves of unchanged files, each minute for days, would take most steps of a schedule.
    let (every_seconds, only_if_changed) = rng.pick(&[(0, true), (60, true), (300, true), (7200, false)]).unwrap();
    Autosave {
        every_seconds,
        only_if_changed,
        after_turn: rng.one_in(2),
        keep_last: NonZeroU32::new(rng.pick(&[1, 2, 5]).unwrap()).unwrap(),
    }
}

/// Picks the options of a start.
pub fn pick_start_options(world: &World) -> StartSettings {
    let rng = &world.rng;
    let choices = [OnDiverged::Fail, OnDiverged::Fail, OnDiverged::Rescue, OnDiverged::Adopt, OnDiverged::Discard];
    let expect = if rng.one_in(20) { [("1".to_owned(), "7".to_owned())].into() } else { BTreeMap::new() };
    StartSettings {
        on_diverged: rng.pick(&choices).unwrap(),
        allow_empty: rng.one_in(10),
        accept_stale: rng.one_in(2),
        expect,
    }
}
