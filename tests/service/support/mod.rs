//! The world in memory, as the service sees it through its ports.
//!
//! - `world`: everything together, its clock, and what a test reads of it
//! - `sandboxes`: the sandboxes as the service sees them, with the SDK's habits
//! - `containers`: what is in them
//! - `commands`: what runs in them; `checkpoints`: what is kept there
//! - `nature`: what happens to them without the service
//! - `bucket`: the backups in R2
//! - `ledger`: the ledger of a workspace
//! - `home`: what is kept of a named workspace, and the Directory
//! - `workers`: the objects of the Worker that are alive
//! - `reach`: how they reach each other
//! - `script`: what goes wrong, when
//! - `stage`: the snapshotters over a world, and the usual calls
//! - `deadlines`: time limits
//! - `time`: alarms, and what must be left when they have rung
//! - `plays`: operations that can be disturbed at each of their calls
//! - `names`: named workspaces: the usual calls
//! - `running`: an operation that is under way
//! - `signal`: a caller's signal

mod bucket;
mod checkpoints;
mod commands;
mod containers;
mod deadlines;
#[path = "../../support/home.rs"]
mod home;
#[path = "../../support/index.rs"]
mod index;
#[path = "../../support/ledger.rs"]
mod ledger;
mod names;
mod nature;
mod plays;
mod reach;
mod running;
mod sandboxes;
mod script;
mod signal;
mod stage;
mod time;
mod workers;
mod world;

pub use bucket::archive_of;
#[allow(unused_imports)] // Not every test runs hooks.
pub use commands::{HookCall, Ran};
pub use home::MemoryHome;
pub use index::MemoryIndex;
pub use ledger::MemoryLedger;
pub use names::{WORK, address, for_ever, on};
pub use plays::{Play, Prepare, at_every_call, at_every_call_of};
pub use running::Running;
pub use script::{Gate, Method, Moment};
pub use signal::Signal;
pub use stage::{Checked, FILE, Stage, backup_id, by_id, by_label, by_ref, foreign_mark, sandbox};
pub use time::{DAY, HOUR, MINUTE};
#[allow(unused_imports)] // The conformance suite makes workspaces without a stage.
pub use workers::{Snapshots, Workers};
pub use world::World;
