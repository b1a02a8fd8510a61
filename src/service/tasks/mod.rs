//! Durable tasks: what an operation did not finish, and what is due at a later time.
//!
//! - [`recover`]: completes or rolls back interrupted work
//! - [`alarm`]: runs what is due, and sets the next alarm
//! - [`backoff`]: the delays between the attempts

mod alarm;
pub(super) mod backoff;
mod recover;
