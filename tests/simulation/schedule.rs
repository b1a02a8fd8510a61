//! One schedule: callers work in a rough world, everything comes to rest, and what must always hold is checked.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use sandbox_snapshotter::model::SandboxId;
use sandbox_snapshotter::model::request::SweepRequest;
use sandbox_snapshotter::service::sweep;

use crate::callers;
use crate::rules::{final_state, final_workspaces};
use crate::world::{GroundTruth, MAX_LATE_MILLIS, SimulatedPorts, World};

const HOUR: i64 = 3600 * 1000;

/// How long all the calls of one schedule may take together, in milliseconds: three years.
const MAX_DURATION: i64 = 3 * 366 * 24 * HOUR;

/// How many steps a schedule may take, which is far more than any does that ends.
const MAX_STEPS: u64 = 2_000_000;

/// What a schedule came to.
#[derive(Default)]
pub struct Outcome {
    /// What was violated.
    pub violations: Vec<String>,
    /// How often what happened.
    pub counts: BTreeMap<&'static str, u64>,
}

/// Runs the schedule of a seed, and shows its events where that is wanted.
pub fn run(seed: u64, traced: bool) -> Outcome {
    let world = World::new(seed, (callers::ACTION_COUNT, callers::WORKSPACE_ACTION_COUNT), traced);
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

/// The application's sandboxes have been running for an hour, and it made some backups of its own.
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
        let truth = GroundTruth {
            sandbox: id.clone(),
            files: [(9, 9)].into(),
            started_at: world.now(),
            is_untouched: false,
            marker: None,
            captured_at: world.now(),
        };
        let name = world.rng.pick(&[None, Some("mine"), Some("snapshotter/1 mine")]).unwrap();
        let handle = world.store_backup(truth, name, "/workspace", 3 * 86_400);
        world.history.borrow_mut().app_backups.push((id, handle));
    }
}

/// Runs all of `work` to its end; says whether there is one.
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
    world.report_violation("rule 3, callers never hang", &format_args!("{} calls have no answer", left.get()));
    false
}

/// Nothing fails any more. Callers ask again for what was lost, alarms come, the bucket is swept, and the rules are checked.
fn quiesce(world: &Rc<World>) {
    world.stop_faults();
    world.trace(&format_args!("calm"));
    if world.profile.hang_rate > 0 {
        // What hangs comes to its end.
        world.run_for(4 * i64::from(MAX_LATE_MILLIS));
    }
    let done = run_to_completion(world, vec![callers::repeat_lost_calls(Rc::clone(world)).boxed_local()]);
    world.run_for(36 * HOUR);
    if world.profile.hang_rate == 0 {
        // A backup that comes after several others in line may be too late for all but the sweep.
        final_state::check_bucket(world);
    }
    let swept = sweep_all(Rc::clone(world)).boxed_local();
    if !done || !run_to_completion(world, vec![swept]) {
        return;
    }
    world.run_for(2 * HOUR);
    final_state::check_final_state(world);
    final_workspaces::check_final_workspaces(world);
    if world.violations.borrow().is_empty() {
        run_to_completion(world, vec![final_state::check_usable(Rc::clone(world)).boxed_local()]);
        run_to_completion(world, vec![final_workspaces::check_startable(Rc::clone(world)).boxed_local()]);
    }
}

async fn sweep_all(world: Rc<World>) {
    let request = SweepRequest { dry_run: false, grace_seconds: SweepRequest::DEFAULT_GRACE_SECONDS };
    if let Err(error) = sweep(&SimulatedPorts::new(&world, None, None, 0), request).await {
        world.report_violation("rule 4, the bucket can be swept", &format_args!("{error}"));
    }
}
