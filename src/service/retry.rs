//! Repeats what failed in passing.

use std::time::Duration;

use super::{Abort, trace};
use crate::model::{Code, Error, Result};
use crate::ports::{Clock, Entropy, Ports};

/// How often something is tried before its failure counts.
pub(super) const ATTEMPTS: u32 = 3;

/// The wait before the second attempt, in milliseconds; it doubles with each further one.
const FIRST_WAIT_MILLIS: u64 = 200;

/// Does `work` up to three times, while it fails with an error that passes and nobody wishes to stop. The waits
/// between are random within a factor of two, so that callers which failed together do not come back together.
pub(super) async fn retry<P: Ports, T>(
    ports: &P,
    abort: &Abort,
    mut work: impl AsyncFnMut() -> Result<T>,
) -> Result<T> {
    let mut attempt = 1;
    loop {
        abort.check()?;
        trace::tried(attempt);
        match work().await {
            Err(error) if passes_soon(&error) && attempt < ATTEMPTS => {
                let [jitter, ..] = ports.entropy().bytes().unwrap_or_default();
                let wait = FIRST_WAIT_MILLIS << (attempt - 1);
                ports.clock().sleep(Duration::from_millis(wait + wait * u64::from(jitter) / 255)).await;
                attempt += 1;
            }
            outcome => return outcome,
        }
    }
}

/// Whether it is worth while to try again at once. Where a time limit has passed, the call may still be under way: another one
/// would wait for it, and its own limit pass as well.
fn passes_soon(error: &Error) -> bool {
    error.retryable() && !matches!(error.code(), Code::SandboxTimeout | Code::SandboxUnresponsive)
}
