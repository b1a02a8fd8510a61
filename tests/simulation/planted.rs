//! A simulation that can't fail shows nothing: each of the planted bugs has to be found.

use std::process::ExitCode;

#[cfg(feature = "planted")]
use sandbox_snapshotter::service::planted::{Bug, plant};

/// How many schedules a bug is looked for in.
#[cfg(feature = "planted")]
const fn most(bug: Bug) -> u64 {
    match bug {
        // The same call has to be made twice, and the sandbox to be retired between the two.
        Bug::ReservedTooLate => 100_000,
        _ => 20_000,
    }
}

/// Looks for every planted bug, from a seed on.
#[cfg(feature = "planted")]
pub fn find_all(seed: u64) -> ExitCode {
    use std::io::Write;

    let mut found = 0;
    for bug in Bug::ALL {
        let most = most(*bug);
        let first = crate::first_violation(most, seed, |planted| plant(planted.then_some(*bug)));
        let name = format!("{bug:?}");
        match first {
            Some((count, seed, violation)) => {
                found += 1;
                println!("{name:<24} {count:>6} schedules  seed {seed}: {violation}");
            }
            None => println!("{name:<24} {most:>6} schedules  not found"),
        }
        std::io::stdout().flush().ok();
    }
    let all = Bug::ALL.len();
    println!("{found} of {all} planted bugs found");
    if found == all { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Says how the bugs are planted.
#[cfg(not(feature = "planted"))]
pub fn find_all(_: u64) -> ExitCode {
    eprintln!(
        "No bugs are planted in this build. Use `npm run simulate -- --planted`, or \
         `cargo test --profile simulation --features planted --test simulation -- --planted`."
    );
    ExitCode::from(2)
}
