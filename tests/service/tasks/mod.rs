//! The alarm of a workspace, and recovery.

mod alarm;
mod recover;
