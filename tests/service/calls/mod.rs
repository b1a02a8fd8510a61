//! What all calls share.

mod call_context;
mod cancellation;
mod failures;
mod idempotency;
mod limits;
mod retry;
mod sdk_errors;
