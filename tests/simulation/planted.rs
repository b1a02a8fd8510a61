//! Verifies that the simulation can fail: it must find each of the planted bugs.

use std::process::ExitCode;

#[cfg(feature = "planted")]
use sandbox_snapshotter::service::planted::{Bug, plant};

/// The number of schedules that are searched for a bug.
#[cfg(feature = "planted")]
const fn max_schedules(bug: Bug) -> u64 {
    match bug {
        // The same call must arrive twice, and the sandbox must be decommissioned between the two; or the container must
        // end between the probe and the marker of an adoption.
        Bug::ReservedAfterDecommission | Bug::AdoptedWithoutProbe => 100_000,
        _ => 20_000,
    }
}

/// Searches for every planted bug whose name contains `part`, beginning at a seed.
#[cfg(feature = "planted")]
pub fn find_all(seed: u64, part: Option<&str>) -> ExitCode {
    use std::io::Write;

    let (mut found, mut all) = (0, 0);
    for bug in Bug::ALL {
        if part.is_some_and(|part| !format!("{bug:?}").contains(part)) {
            continue;
        }
        all += 1;
        let most = max_schedules(*bug);
        let first = crate::first_violation(most, seed, |planted| plant(planted.then_some(*bug)));
        let name = format!("{bug:?}");
        match first {
            Some((count, seed, violation)) => {
                found += 1;
                println!("{name:<30} {count:>6} schedules  seed {seed}: {violation}");
            }
            None => println!("{name:<30} {most:>6} schedules  not found"),
        }
        std::io::stdout().flush().ok();
    }
    println!("{found} of {all} planted bugs found");
    if found == all { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Prints how to build with planted bugs.
#[cfg(not(feature = "planted"))]
pub fn find_all(_: u64, _: Option<&str>) -> ExitCode {
    eprintln!(
        "No bugs are planted in this build. Use `npm run simulate -- --planted`, or \
         `cargo test --profile simulation --features planted --test simulation -- --planted`."
    );
    ExitCode::from(2)
}
