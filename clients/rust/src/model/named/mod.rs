//! Named workspaces: workspaces whose files persist under a name while sandboxes are created and destroyed.
//!
//! - [`name`]: names, tenants and addresses of workspaces
//! - [`lifecycle`]: the states of a workspace and the transitions between them
//! - [`settings`]: the settings of a workspace: hooks, expiry, what its snapshots depend on
//! - [`autosave`]: automatic saves
//! - [`image`]: the image of the containers
//! - [`storage`]: where the files of a workspace are stored
//! - [`problem`]: the problem of a workspace
//! - [`answer`]: the answers for callers; their requests are in [`crate::model::request`]

pub mod answer;
pub mod autosave;
pub mod image;
pub mod lifecycle;
pub mod name;
pub mod problem;
pub mod settings;
pub mod storage;

pub use autosave::{Autosave, TurnEnded};
pub use image::ImageChoice;
pub use lifecycle::{State, Transition};
pub use name::{Address, Tenant, WorkspaceName};
pub use settings::Settings;
pub use storage::{PlatformSnapshotDescription, Storage, StoragePolicy};
