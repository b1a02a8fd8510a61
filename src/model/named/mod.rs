//! What the Worker stores and exchanges about named workspaces. Names, states, settings and answers are those of the Rust
//! client.
//!
//! - [`record`]: the stored record of a workspace
//! - [`loss`]: which files may be lost, and whether that was reported
//! - [`task`]: what the workspace still has to do for its sandboxes
//! - [`binding`]: the binding of a sandbox to its named workspace, stored in the sandbox's ledger
//! - [`container_marker`]: the marker that the sandbox's container carries
//! - [`former_files`]: where the files are that a workspace had in its former sandbox
//! - [`platform_snapshot`]: the platform snapshot of a sandbox
//! - [`label_search`]: the result of a search for the label of a snapshot
//! - [`messages`]: the messages between a named workspace and the `Workspace` object of its sandbox

pub mod binding;
pub mod container_marker;
pub mod former_files;
pub mod label_search;
pub mod loss;
pub mod messages;
pub mod platform_snapshot;
pub mod record;
pub mod task;

pub use container_marker::ContainerMarker;
pub use former_files::FormerFiles;
pub use platform_snapshot::PlatformSnapshot;
pub use record::NamedRecord;
pub use sandbox_snapshotter_client::model::named::*;
pub use task::Task;
