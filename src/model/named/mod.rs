//! Workspaces that persist by name, across sandboxes that come and go.
//!
//! - [`name`]: what they are called, and by whom
//! - [`lifecycle`]: the states that one can be in, and how it gets from one to another
//! - [`settings`]: how one is to be kept: hooks, expiry, what its snapshots depend on
//! - [`record`]: what is kept of one
//! - [`standing`]: what the workspace of a sandbox keeps when the sandbox stands for a name
//! - [`stamp`]: what its container carries
//! - [`messages`]: what the two ask of each other
//! - [`answer`]: what callers are told; what they ask for is in [`crate::model::request`]

pub mod answer;
pub mod lifecycle;
pub mod messages;
pub mod name;
pub mod record;
pub mod settings;
pub mod stamp;
pub mod standing;

pub use lifecycle::State;
pub use name::{Address, Tenant, WorkspaceName};
pub use record::{NamedRecord, Transition};
pub use settings::Settings;
pub use stamp::Stamp;
