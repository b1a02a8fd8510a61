//! Verifies that the simulation can fail: it must find each of the planted bugs.
//!
//! A bug is played at the boundary of the service, which is the same code with and without it: a port does not do what the
//! service asks of it, or answers as a mistake in the service would read the answer. Where the mistake belongs to one place
//! of the service, the file of the caller tells it (`Location::caller`). Where no port sees the mistake, the request of the
//! caller changes on its way to the service.
//!
//! - `bug`: the bugs
//! - `ports`: the ports of an object, and what the bugs note about it
//! - `ledger`, `workspace_store`: rows that are misread, or stored in another form
//! - `sandboxes`, `sandbox_session`, `backups`: calls that are dropped, delayed or misread; `probes`: probes that are
//!   misread
//! - `messages`: messages to the objects of sandboxes
//! - `requests`: requests of callers

mod backups;
mod bug;
mod ledger;
mod messages;
mod ports;
mod probes;
mod requests;
mod sandbox_session;
mod sandboxes;
mod workspace_store;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::Write;
use std::process::ExitCode;

use sandbox_snapshotter::model::SandboxId;

use crate::history::Call;
use messages::Lifecycle;

pub use bug::Bug;
pub use ports::{PlantedPorts, Storage};
pub use requests::{as_decoded, as_received, run_derivation};

/// The bug that is planted in a world, and what the bugs note about the world.
#[derive(Default)]
pub struct Planted {
    bug: Option<Bug>,
    /// The calls in progress that start, stop or decommission a sandbox.
    lifecycle_calls: RefCell<BTreeMap<SandboxId, Lifecycle>>,
    /// The first call with each idempotency key.
    first_calls: RefCell<BTreeMap<String, Call>>,
}

impl Planted {
    /// Plants a bug, or none.
    pub fn new(bug: Option<Bug>) -> Self {
        Self { bug, ..Self::default() }
    }

    /// Returns whether a bug is planted.
    pub fn is(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }
}

/// Returns the number of schedules that are searched for a bug.
const fn max_schedules(bug: Bug) -> u64 {
    match bug {
        // The same call must arrive twice, and the sandbox must be decommissioned between the two; or the container must
        // end between the probe and the marker of an adoption; or a destroy must hang, and take effect after the next revival.
        Bug::ReservedAfterDecommission | Bug::AdoptedWithoutProbe | Bug::UnansweredDestroyNotStored => 100_000,
        _ => 20_000,
    }
}

/// Searches for every planted bug whose name contains `part`, beginning at a seed.
pub fn find_all(seed: u64, part: Option<&str>) -> ExitCode {
    let (mut found, mut all) = (0, 0);
    for bug in Bug::ALL {
        let name = format!("{bug:?}");
        if part.is_some_and(|part| !name.contains(part)) {
            continue;
        }
        all += 1;
        let most = max_schedules(*bug);
        match crate::first_violation(most, seed, *bug) {
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
