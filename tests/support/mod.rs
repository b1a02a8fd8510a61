//! All ports in memory. The service tests and the simulation use them, each with its own [`Scheduler`].
//!
//! - `world`: everything outside of the service: its state, its clock and its randomness
//! - `scheduler`: what a test decides: when calls take effect, which of them fail, and the time
//! - `methods`: the methods of the ports
//! - `sandboxes`: the sandboxes port, with the behavior of the SDK 0.12.10; `caller_commands`: what callers do in their
//!   containers; `sandbox_session`: the port of a session; `sandbox_calls`: how all reach the object and its container
//! - `namespaces`: the Durable Object namespaces of the sandboxes, one for each binding
//! - `containers`: the sandboxes and the contents of their containers
//! - `deltas`: the scripts of incremental snapshots in containers
//! - `commands`, `checkpoints`: the hooks and the checkpoint script in containers
//! - `secrets`: the search for files with secrets
//! - `freeze`: the freezes of files during captures; `git_ignored`: what git ignores
//! - `exec`: the commands of callers; `background`: those that run in the background
//! - `bucket`: the bucket in R2; `backups`: the backups in it
//! - `ledger`, `workspace_store`, `directory_store`, `alarm`: the stores of the Durable Objects
//! - `objects`: the Durable Objects that run the service, and their ports
//! - `object_clients`: calls between these objects
//! - `platform`: platform snapshots
//! - `errors`: errors of any code
//! - `random`: pseudorandom numbers

mod alarm;
mod background;
mod backups;
mod bucket;
mod caller_commands;
mod checkpoints;
mod commands;
mod containers;
mod deltas;
mod directory_store;
pub mod errors;
mod exec;
mod file_calls;
mod freeze;
mod git_ignored;
mod ledger;
mod methods;
mod namespaces;
mod object_clients;
mod objects;
mod platform;
mod random;
mod runtime;
mod sandbox_calls;
mod sandbox_session;
mod sandboxes;
mod scheduler;
mod secrets;
mod workspace_store;
mod world;

pub use alarm::Alarm;
pub use backups::{Backup, Capture, build_archive};
pub use commands::{CommandResult, HookCall};
pub use containers::{Container, Files, Image, Sandbox, is_under};
pub use deltas::{DeltaState, Inventory};
pub use directory_store::MemoryDirectoryStore;
pub use ledger::{MemoryLedger, RowChange};
pub use methods::{Method, Service};
pub use namespaces::{Namespace, in_namespace};
pub use objects::{Group, NamedService, Object, ObjectKey, ObjectPorts, ObjectService, SandboxService};
pub use platform::{Disk, class_image};
pub use random::SeededRng;
pub use scheduler::{Event, Scheduler, Work};
pub use secrets::SECRET;
pub use workspace_store::{MemoryWorkspaceStore, StoreChange};
pub use world::World;
