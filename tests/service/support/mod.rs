//! The ports in memory, with faults that tests plan, and fixtures over them.
//!
//! - `memory`: the ports in memory
//! - `planned`: their scheduler: the clock, the call log, and the background work
//! - `faults`: the fault plan
//! - `deadlines`: timeouts
//! - `environment`: changes of sandboxes without the service
//! - `alarms`: alarms, and the checks of the state after them
//! - `fixture`: the snapshotters over a world, and common calls
//! - `runtimes`: a deployment with both runtimes
//! - `named_workspaces`: fixtures and common calls for named workspaces
//! - `scenarios`: operations with a fault at each of their calls
//! - `pending`: an operation in progress
//! - `cancellation`: the cancellation signal of a caller

mod alarms;
mod cancellation;
mod deadlines;
mod environment;
mod faults;
mod fixture;
#[path = "../../support/mod.rs"]
#[allow(dead_code, unused_imports)] // The simulation uses all of it.
mod memory;
mod named_workspaces;
mod pending;
mod planned;
mod runtimes;
mod scenarios;

pub use alarms::{DAY, HOUR, MINUTE};
pub use cancellation::CancellationSource;
pub use faults::{CallPhase, Gate};
pub use fixture::{ExpectError, FILE, Fixture, backup_id, by_id, by_label, by_ref, foreign_mark, sandbox};
#[allow(unused_imports)] // Only the tests of schemas need errors of any code.
pub use memory::errors::error;
#[allow(unused_imports)] // Some suites run no hooks.
pub use memory::{
    CommandResult, HookCall, MemoryDirectoryStore, MemoryLedger, MemoryWorkspaceStore, Method, SECRET, build_archive,
};
pub use named_workspaces::{WORKSPACE, address, no_expiry, workspace_args};
pub use pending::PendingOperation;
pub use scenarios::{
    SCENARIOS, Scenario, Setup, crash_at_every_call, fail_every_call_permanently, fail_every_call_transiently,
    for_every_call, for_every_call_in, for_every_call_of, for_every_scenario,
};

/// The sandboxes of one binding.
#[allow(dead_code)] // Only the conformance suite uses them directly.
pub type Namespace = memory::Namespace<planned::Planned>;

/// The service of one sandbox.
pub type SandboxService = memory::SandboxService<planned::Planned>;

/// Everything outside of the service.
pub type World = memory::World<planned::Planned>;
