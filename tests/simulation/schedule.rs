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
use crate::rules::{aftermath, rest};
use crate::world::{Desk, LATEST, Truth, World};

const HOUR: i64 = 3600 * 1000;

/// How long all the calls of one schedule may take together, in milliseconds: three years.
const LONGEST: i64 = 3 * 366 * 24 * HOUR;

/// How many steps a schedule may take, which is far more than any does that ends.
const MOST_STEPS: u64 = 2_000_000;

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
    let world = World::new(seed, (callers::COUNT, callers::OF_NAMES), traced);
    world.trace(&format_args!("{:?}", world.weather));
    furnish(&world);
    let callers = (0..world.weather.callers).map(|_| callers::caller(Rc::clone(&world)).boxed_local());
    if to_the_end(&world, callers.collect()) {
        come_to_rest(&world);
    }
    let outcome = Outcome { violations: world.violations.take(), counts: world.counts.take() };
    world.end();
    outcome
}

/// The application's sandboxes have been running for an hour, and it made some backups of its own.
fn furnish(world: &Rc<World>) {
    let names = ["agent-42", "Ümlaut.Böx", "a-sandbox-whose-name-is-as-long-as-any-name-of-a-sandbox-can-be"];
    for name in names.iter().take(world.weather.roots) {
        let id = SandboxId::parse(name).unwrap();
        world.book.borrow_mut().roots.push(id.clone());
        world.writes(&id, 0);
    }
    world.run_for(HOUR);
    let roots = world.book.borrow().roots.clone();
    for id in roots {
        let truth = Truth {
            sandbox: id.clone(),
            files: [(9, 9)].into(),
            started_at: world.now(),
            is_accident: false,
            stamp: None,
            captured_at: world.now(),
        };
        let name = world.chance.pick(&[None, Some("mine"), Some("snapshotter/1 mine")]).unwrap();
        let handle = world.store(truth, name, "/workspace", 3 * 86_400);
        world.book.borrow_mut().own.push((id, handle));
    }
}

/// Runs all of `work` to its end; says whether there is one.
fn to_the_end(world: &Rc<World>, work: Vec<LocalBoxFuture<'static, ()>>) -> bool {
    let left = Rc::new(Cell::new(work.len()));
    for work in work {
        let left = Rc::clone(&left);
        world.executor.spawn(0, work.map(move |()| left.set(left.get() - 1)));
    }
    let until = world.now() + LONGEST;
    for _ in 0..MOST_STEPS {
        if left.get() == 0 {
            return true;
        }
        if !world.step(until) {
            break;
        }
    }
    world.violated("rule 3, callers never hang", &format_args!("{} calls have no answer", left.get()));
    false
}

/// Nothing fails any more. Callers ask again for what was lost, alarms come, the bucket is swept, and the rules are checked.
fn come_to_rest(world: &Rc<World>) {
    world.calm_down();
    world.trace(&format_args!("calm"));
    if world.weather.hangs > 0 {
        // What hangs comes to its end.
        world.run_for(4 * i64::from(LATEST));
    }
    let done = to_the_end(world, vec![callers::ask_again(Rc::clone(world)).boxed_local()]);
    world.run_for(36 * HOUR);
    if world.weather.hangs == 0 {
        // A backup that comes after several others in line may be too late for all but the sweep.
        aftermath::bucket(world);
    }
    let swept = sweep_all(Rc::clone(world)).boxed_local();
    if !done || !to_the_end(world, vec![swept]) {
        return;
    }
    world.run_for(2 * HOUR);
    aftermath::at_rest(world);
    rest::at_rest(world);
    if world.violations.borrow().is_empty() {
        to_the_end(world, vec![aftermath::is_usable(Rc::clone(world)).boxed_local()]);
        to_the_end(world, vec![rest::can_be_started(Rc::clone(world)).boxed_local()]);
    }
}

async fn sweep_all(world: Rc<World>) {
    let request = SweepRequest { dry_run: false, grace_seconds: SweepRequest::GRACE };
    if let Err(error) = sweep(&Desk::new(&world, None, None, 0), request).await {
        world.violated("rule 4, the bucket can be swept", &format_args!("{error}"));
    }
}
