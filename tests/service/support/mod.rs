//! The world in memory, as the service sees it through its ports.
//!
//! - `world`: everything together, its clock, and what a test reads of it
//! - `sandboxes`: sandboxes whose containers come and go, with the SDK's habits
//! - `bucket`: the backups in R2
//! - `ledger`: the ledger of a workspace
//! - `workers`: the Workspace objects that are alive, and how they reach each other
//! - `script`: what goes wrong, when
//! - `stage`: the snapshotters over a world, and the usual calls
//! - `time`: alarms, and what must be left when they have rung
//! - `plays`: operations that can be disturbed at each of their calls
//! - `running`: an operation that is under way
//! - `signal`: a caller's signal

mod bucket;
#[path = "../../support/ledger.rs"]
mod ledger;
mod plays;
mod running;
mod sandboxes;
mod script;
mod signal;
mod stage;
mod time;
mod workers;
mod world;

pub use bucket::archive_of;
pub use ledger::MemoryLedger;
pub use plays::{Play, at_every_call};
pub use running::Running;
pub use script::{Gate, Method, Moment};
pub use signal::Signal;
pub use stage::{Checked, FILE, Stage, backup_id, by_id, by_label, by_ref, foreign_mark, sandbox};
pub use time::{DAY, HOUR, MINUTE};
#[allow(unused_imports)] // The conformance suite makes workspaces without a stage.
pub use workers::{Snapshots, Workers};
pub use world::World;
