//! Work that runs to completion, because a partial result has no use.

use std::panic::AssertUnwindSafe;

use futures_channel::oneshot;
use futures_util::FutureExt;

use crate::model::{Error, Result};
use crate::ports::{Background, Ports};

/// Begins work that runs to completion, even if the caller stops waiting for its outcome. Returns the outcome.
pub(in crate::service) fn run_to_completion<P: Ports, T: 'static, F: Future<Output = Result<T>> + 'static>(
    ports: &P,
    work: F,
) -> impl Future<Output = Result<T>> + use<P, T, F> {
    let (sender, outcome) = oneshot::channel();
    let work = AssertUnwindSafe(work).catch_unwind().map(|outcome| {
        // If this fails, the caller no longer waits.
        let _ = sender.send(outcome.unwrap_or_else(|_| Err(Error::internal())));
    });
    ports.background().run(work.boxed_local());
    outcome.map(|outcome| outcome.unwrap_or_else(|_| Err(Error::internal())))
}
