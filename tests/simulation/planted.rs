//! A simulation that can't fail shows nothing: each of the planted bugs has to be found.

use std::process::ExitCode;

#[cfg(feature = "planted")]
use sandbox_snapshotter::service::planted::{Bug, plant};

/// How many schedules a bug is looked for in.
#[cfg(feature = "planted")]
const fn max_schedules(bug: Bug) -> u64 {
    match bug {
        // The same call has to be made twice, and the sandbox to be retired between the two.
        Bug::ReservedTooLate => 100_000,
        _ => 20_000,
    }
}

/// Looks for every planted bug whose name has `part` in it, from a seed on.
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
                println!("{name:<24} {count:>6} schedules  seed {seed}: {violation}");
            }
            None => println!("{name:<24} {most:>6} schedules  not found"),
        }
        std::io::stdout().flush().ok();
    }
    println!("{found} of {all} planted bugs found");
    if found == all { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Says how the bugs are planted.
#[cfg(not(feature = "planted"))]
pub fn find_all(_: u64, _: Option<&str>) -> ExitCode {
    eprintln!(
        "No bugs are planted in this build. Use `npm run simulate -- --planted`, or \
         `cargo test --profile simulation --features planted --test simulation -- --planted`."
    );
    ExitCode::from(2)
}
