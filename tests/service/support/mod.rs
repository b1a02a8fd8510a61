//! The world in memory, as the service sees it through its ports.
//!
//! - `world`: everything together, its clock, and what a test reads of it
//! - `sandboxes`: sandboxes whose containers come and go, with the SDK's habits
//! - `bucket`: the backups in R2
//! - `script`: what goes wrong, when
//! - `stage`: a snapshotter over a world, and the usual calls
//! - `running`: an operation that is under way
//! - `signal`: a caller's signal

mod bucket;
mod running;
mod sandboxes;
mod script;
mod signal;
mod stage;
mod world;

pub use bucket::archive_size_of;
pub use running::Running;
pub use script::{Gate, Method};
pub use signal::Signal;
pub use stage::{Checked, FILE, Stage, backup_id, sandbox};
pub use world::World;
