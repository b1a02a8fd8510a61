//! The simulation: the whole service over simulated sandboxes, buckets and ledgers.
//!
//! A seed determines its schedule: the calls, the order of all steps, the failures, and the points at which an object
//! crashes and loses its memory. Afterwards recovery runs, and the rules are checked.
//!
//! `npm run simulate -- --schedules 1000 --seed 1` runs the schedules of the seeds 1 to 1000.
//! `npm run simulate -- --schedules 1 --seed 77 --trace` prints the events of one schedule.
//! `npm run simulate -- --planted` verifies that the simulation finds the planted bugs; `--planted WORD`, those whose
//! names contain `WORD`.
// Helpers are not `#[test]` functions, so clippy's exceptions for tests do not apply to them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod callers;
mod executor;
mod history;
#[path = "../support/mod.rs"]
#[allow(dead_code, unused_imports)] // The service tests use all of it.
mod memory;
mod planted;
mod profile;
mod rules;
mod schedule;
mod world;

use std::collections::BTreeMap;
use std::num::NonZero;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use planted::Bug;
use schedule::Outcome;

/// The number of schedules that `cargo test` runs.
const DEFAULT_SCHEDULES: u64 = 1000;

/// The command-line arguments.
struct Arguments {
    /// Absent under `cargo test`.
    schedules: Option<u64>,
    seed: u64,
    traced: bool,
    stats: bool,
    planted: bool,
    /// The requested name of a test or of planted bugs.
    filter: Option<String>,
}

impl Arguments {
    fn read() -> Result<Self, String> {
        let mut read = Self { schedules: None, seed: 1, traced: false, stats: false, planted: false, filter: None };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            let mut number = || {
                let text = arguments.next().unwrap_or_default().replace('_', "");
                text.parse().map_err(|_| format!("{argument} takes a number, not {text:?}."))
            };
            match argument.as_str() {
                "--schedules" => read.schedules = Some(number()?),
                "--seed" => read.seed = number()?,
                "--trace" => read.traced = true,
                "--stats" => read.stats = true,
                "--planted" => read.planted = true,
                // libtest's own options.
                _ if argument.starts_with('-') => {}
                _ => read.filter = Some(argument),
            }
        }
        Ok(read)
    }
}

fn main() -> ExitCode {
    let arguments = match Arguments::read() {
        Ok(arguments) => arguments,
        Err(problem) => {
            eprintln!("{problem}");
            return ExitCode::from(2);
        }
    };
    if arguments.planted {
        return planted::find_all(arguments.seed, arguments.filter.as_deref());
    }
    if arguments.filter.as_ref().is_some_and(|filter| !"simulation".contains(filter)) {
        println!("\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 1 filtered out");
        return ExitCode::SUCCESS;
    }
    let schedules = arguments.schedules.unwrap_or(DEFAULT_SCHEDULES);
    let began = Instant::now();
    let results = run_schedules(schedules, &arguments);
    let seconds = began.elapsed().as_secs_f64();
    for (seed, violations) in &results.violations {
        println!("--schedules 1 --seed {seed}: {}", violations.join("; "));
    }
    if arguments.stats {
        for (what, count) in &results.counts {
            println!("{:>10} {what} in 1000 schedules", count * 1000 / schedules.max(1));
        }
        println!("{seconds:>10.1} seconds");
    }
    let failed = results.violations.len();
    println!("{schedules} schedules, {failed} violations");
    if arguments.schedules.is_none() {
        let (word, passed) = if failed == 0 { ("ok", 1) } else { ("FAILED", 0) };
        println!(
            "\ntest result: {word}. {passed} passed; {} failed; 0 ignored; 0 measured; 0 filtered out",
            1 - passed
        );
    }
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The results of many schedules.
#[derive(Default)]
struct Results {
    violations: BTreeMap<u64, Vec<String>>,
    counts: BTreeMap<&'static str, u64>,
}

impl Results {
    fn merge(&mut self, other: Self) {
        self.violations.extend(other.violations);
        for (what, count) in other.counts {
            *self.counts.entry(what).or_default() += count;
        }
    }
}

/// Runs `schedules` schedules, with consecutive seeds.
fn run_schedules(schedules: u64, arguments: &Arguments) -> Results {
    let threads = if arguments.traced { 1 } else { processors() };
    let next = AtomicU64::new(0);
    on_threads(threads, || {
        let mut results = Results::default();
        while let Some(seed) = next_seed(&next, schedules, arguments.seed) {
            let Outcome { violations, counts } = schedule::run(seed, None, arguments.traced);
            let violations = (!violations.is_empty()).then_some((seed, violations));
            results.merge(Results { violations: violations.into_iter().collect(), counts });
        }
        results
    })
}

/// Runs schedules until one violates a rule that the same schedule does not violate without the planted bug. Returns the
/// number of schedules, the seed, and the first violation.
fn first_violation(most: u64, seed: u64, bug: Bug) -> Option<(u64, u64, String)> {
    let next = AtomicU64::new(0);
    let results = on_threads(processors(), || {
        let mut results = Results::default();
        while let Some(seed) = next_seed(&next, most, seed) {
            let violations = schedule::run(seed, Some(bug), false).violations;
            let is_new = || schedule::run(seed, None, false).violations.is_empty();
            if !violations.is_empty() && is_new() {
                next.store(most, Ordering::Relaxed);
                results.violations.insert(seed, violations);
            }
        }
        results
    });
    let (first, violations) = results.violations.into_iter().next()?;
    Some((first - seed + 1, first, violations.into_iter().next()?))
}

/// Returns the next seed, if any is left.
fn next_seed(next: &AtomicU64, schedules: u64, seed: u64) -> Option<u64> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    (index < schedules).then(|| seed.wrapping_add(index))
}

fn processors() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// Runs `work` on several threads, and merges the results.
fn on_threads(threads: usize, work: impl Fn() -> Results + Sync) -> Results {
    let mut all = Results::default();
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(&work)).collect();
        for worker in workers {
            all.merge(worker.join().expect("a schedule panicked"));
        }
    });
    all
}
