//! The in-memory world that the service uses through its ports, and fixtures over it.
//!
//! - `world`: the complete world, its clock and its call log
//! - `sandboxes`: the sandboxes port, with the behavior of the SDK
//! - `containers`: the contents of containers
//! - `commands`, `checkpoints`: the hooks and the checkpoint script in containers
//! - `environment`: changes of sandboxes without the service
//! - `bucket`: the backups in R2
//! - `ledger`, `workspace_store`, `directory_store`: the stores of the Durable Objects
//! - `objects`: the running objects of the Worker
//! - `object_clients`: calls between these objects
//! - `faults`: the fault plan
//! - `deadlines`: timeouts
//! - `alarms`: alarms, and the checks of the state after them
//! - `fixture`: the snapshotters over a world, and common calls
//! - `named_workspaces`: fixtures and common calls for named workspaces
//! - `scenarios`: operations with a fault at each of their calls
//! - `pending`: an operation in progress
//! - `cancellation`: the cancellation signal of a caller

mod alarms;
mod bucket;
mod cancellation;
mod checkpoints;
mod commands;
mod containers;
mod deadlines;
#[path = "../../support/directory_store.rs"]
mod directory_store;
mod environment;
mod faults;
mod fixture;
#[path = "../../support/ledger.rs"]
mod ledger;
mod named_workspaces;
mod object_clients;
mod objects;
mod pending;
mod sandboxes;
mod scenarios;
#[path = "../../support/workspace_store.rs"]
mod workspace_store;
mod world;

pub use alarms::{DAY, HOUR, MINUTE};
pub use bucket::build_archive;
pub use cancellation::CancellationSource;
#[allow(unused_imports)] // Some suites run no hooks.
pub use commands::{CommandResult, HookCall};
pub use directory_store::MemoryDirectoryStore;
pub use faults::{CallPhase, Gate, Method};
pub use fixture::{ExpectError, FILE, Fixture, backup_id, by_id, by_label, by_ref, foreign_mark, sandbox};
pub use ledger::MemoryLedger;
pub use named_workspaces::{WORKSPACE, address, no_expiry, workspace_args};
#[allow(unused_imports)] // The conformance suite uses them without a fixture.
pub use objects::{LiveObjects, SandboxService};
pub use pending::PendingOperation;
pub use scenarios::{Scenario, Setup, for_every_call, for_every_call_of};
pub use workspace_store::MemoryWorkspaceStore;
pub use world::World;
