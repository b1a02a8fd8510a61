//! Named workspaces: workspaces whose files persist under a name while sandboxes are created and destroyed.
//!
//! - [`name`]: names, tenants and addresses of workspaces
//! - [`lifecycle`]: the states of a workspace and the transitions between them
//! - [`settings`]: the settings of a workspace: hooks, expiry, what its snapshots depend on
//! - [`record`]: the stored record of a workspace
//! - [`binding`]: the binding of a sandbox to its named workspace, stored in the sandbox's ledger
//! - [`container_marker`]: the marker that the sandbox's container carries
//! - [`messages`]: the messages between a named workspace and the workspace of its sandbox
//! - [`answer`]: the answers for callers; their requests are in [`crate::model::request`]

pub mod answer;
pub mod binding;
pub mod container_marker;
pub mod lifecycle;
pub mod messages;
pub mod name;
pub mod record;
pub mod settings;

pub use answer::Transition;
pub use container_marker::ContainerMarker;
pub use lifecycle::State;
pub use name::{Address, Tenant, WorkspaceName};
pub use record::NamedRecord;
pub use settings::Settings;
