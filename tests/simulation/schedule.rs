//! One schedule: callers work while faults happen, the faults stop, the service reconciles, and the rules are checked.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use sandbox_snapshotter::model::named::Autosave;
use sandbox_snapshotter::model::request::SweepRequest;
use sandbox_snapshotter::model::{BackupOptions, SandboxId};
use sandbox_snapshotter::ports::WorkspaceStore;
use sandbox_snapshotter::service::sweep;

use crate::callers;
use crate::planted::Bug;
use crate::rules::{final_state, final_workspaces};
use crate::world::{Capture, ContainerNotes, DIR, Files, MAX_LATE_MILLIS, Simulation, World};

const SECOND: i64 = 1000;
const HOUR: i64 = 3600 * SECOND;

/// The longest duration of all calls of one schedule together, in milliseconds: three years.
const MAX_DURATION: i64 = 3 * 366 * 24 * HOUR;

/// The maximum number of steps of a schedule, far above that of any schedule that ends.
const MAX_STEPS: u64 = 50_000_000;

/// The result of a schedule.
#[derive(Default)]
pub struct Outcome {
    /// The violated rules.
    pub violations: Vec<String>,
    /// The number of times that each kind of event happened.
    pub counts: BTreeMap<&'static str, u64>,
}

/// Runs the schedule of a seed with a planted bug, if there is one, and prints its events if `traced`.
pub fn run(seed: u64, planted: Option<Bug>, traced: bool) -> Outcome {
    let actions = (callers::ACTION_COUNT, callers::WORKSPACE_ACTION_COUNT);
    let world = Simulation::new_world(seed, actions, planted, traced);
    world.trace(&format_args!("{:?}", world.profile));
    create_sandboxes(&world);
    let callers = (0..world.profile.caller_count).map(|_| callers::run_caller(Rc::clone(&world)).boxed_local());
    if run_to_completion(&world, callers.collect()) {
        quiesce(&world);
    }
    let outcome = Outcome { violations: world.violations.take(), counts: world.counts.take() };
    world.tear_down();
    outcome
}

/// Creates the application's sandboxes, runs them for an hour, and stores backups that the application made itself.
fn create_sandboxes(world: &Rc<World>) {
    let names = ["agent-42", "Ümlaut.Böx", "a-sandbox-whose-name-is-as-long-as-any-name-of-a-sandbox-can-be"];
    for name in names.iter().take(world.profile.sandbox_count) {
        let id = SandboxId::parse(name).unwrap();
        world.history.borrow_mut().roots.push(id.clone());
        world.write_file(&id, 0);
    }
    world.run_for(HOUR);
    let roots = world.history.borrow().roots.clone();
    for id in roots {
        let capture = Capture {
            sandbox: id.clone(),
            files: Files::from([(format!("{DIR}/9"), "9".to_owned())]),
            started_at: world.now(),
            image: String::new(),
            format: world.profile.archive_format,
            identity: None,
            marker: None,
            notes: ContainerNotes { is_used: true, ..ContainerNotes::default() },
            captured_at: world.now(),
            tree: None,
        };
        let options = BackupOptions {
            dir: world.config.default_dir.clone(),
            name: world.rng.pick(&["", "mine", "snapshotter/1 mine"]).unwrap().to_owned(),
            ttl: 3 * 86_400,
            gitignore: None,
            excludes: Vec::new(),
            compression: None,
            local_bucket: world.config.local_bucket,
            expected_last_change: None,
        };
        let handle = world.store_backup(capture, &options);
        world.history.borrow_mut().app_backups.push((id, handle));
    }
}

/// Runs all of `work` to its end. Returns whether it ended.
fn run_to_completion(world: &Rc<World>, work: Vec<LocalBoxFuture<'static, ()>>) -> bool {
    let left = Rc::new(Cell::new(work.len()));
    for work in work {
        let left = Rc::clone(&left);
        world.executor.spawn(0, work.map(move |()| left.set(left.get() - 1)));
    }
    let until = world.now() + MAX_DURATION;
    for _ in 0..MAX_STEPS {
        if left.get() == 0 {
            return true;
        }
        if !world.step_task(until) {
            break;
        }
    }
    world.report_violation("rule 3, every call is answered", &format_args!("{} calls are not", left.get()));
    false
}

/// Stops the faults, repeats the calls whose answers were lost, fires the alarms, sweeps the bucket, and checks the rules.
fn quiesce(world: &Rc<World>) {
    world.stop_faults();
    world.trace(&format_args!("the faults stop"));
    if world.profile.hang_rate > 0 {
        // Calls that hang come to their end.
        world.run_for(4 * i64::from(MAX_LATE_MILLIS));
    }
    let done = run_to_completion(world, vec![callers::repeat_lost_calls(Rc::clone(world)).boxed_local()]);
    // The rules are checked while no capture is in progress.
    turn_automatic_saves_off(world);
    world.run_for(36 * HOUR);
    if world.profile.hang_rate == 0 {
        // A backup that waited behind several others may be so late that only the sweep finds it.
        final_state::check_bucket(world);
    }
    // An operation that was running may have written the settings again.
    turn_automatic_saves_off(world);
    let swept = sweep_all(Rc::clone(world)).boxed_local();
    if !done || !run_to_completion(world, vec![swept]) {
        return;
    }
    world.run_for(2 * HOUR);
    // An alarm may be at work, such as one that removes an expired snapshot.
    let end = world.now() + HOUR;
    while world.is_busy() && world.now() < end {
        world.run_for(SECOND);
    }
    final_state::check_final_state(world);
    final_workspaces::check_final_workspaces(world);
    if world.violations.borrow().is_empty() {
        run_to_completion(world, vec![final_state::check_usable(Rc::clone(world)).boxed_local()]);
        run_to_completion(world, vec![final_workspaces::check_startable(Rc::clone(world)).boxed_local()]);
    }
}

fn turn_automatic_saves_off(world: &World) {
    let stores: Vec<_> = world.workspace_stores.borrow().values().cloned().collect();
    for store in stores {
        if let Some(mut record) = store.stored_record() {
            record.settings.autosave = Autosave::default();
            store.put_record(&record).unwrap();
        }
    }
}

async fn sweep_all(world: Rc<World>) {
    let request = SweepRequest { dry_run: false, grace_seconds: SweepRequest::DEFAULT_GRACE_SECONDS };
    if let Err(error) = sweep(&world.entrypoint(), request).await {
        world.report_violation("rule 4, a sweep succeeds without faults", &format_args!("{error}"));
    }
}
