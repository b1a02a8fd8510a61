//! How calls run: what all operations share, whatever they do.
//!
//! - [`call_context`]: the correlation id and the side effects of a call, for the log
//! - [`cancellation`]: cancellation by the caller
//! - [`completion`]: work that continues when its caller disconnects
//! - [`idempotency`]: returns the same answer to the same call
//! - [`queue`]: limits how many calls may wait for a resource
//! - [`limits`]: the time limit of each call to a sandbox
//! - [`retry`]: repeats calls that failed transiently
//! - [`failures`]: maps failures of the SDK and the platform to error codes

pub mod call_context;
pub mod cancellation;
pub(super) mod completion;
pub(crate) mod failures;
pub(super) mod idempotency;
pub mod limits;
pub(crate) mod queue;
pub(super) mod retry;
