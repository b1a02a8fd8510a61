//! Retries of calls that failed with a transient error.

use std::time::Duration;

use super::call_context;
use crate::model::{Code, Error, Result};
use crate::ports::{Clock, Entropy, Ports};
use crate::service::CancellationToken;

/// How many attempts are made before the error is returned.
const MAX_ATTEMPTS: u32 = 3;

/// The shortest delay before the second attempt, in milliseconds; it doubles with each further attempt.
const BASE_DELAY_MILLIS: u64 = 200;

/// Runs `work` up to three times, while it fails with a transient error and the call is not canceled. Each delay is
/// multiplied by a random factor of 1–2, so that callers that failed together do not retry together.
pub(in crate::service) async fn retry<P: Ports, T>(
    ports: &P,
    abort: &CancellationToken,
    mut work: impl AsyncFnMut() -> Result<T>,
) -> Result<T> {
    let mut attempt = 1;
    loop {
        abort.check()?;
        call_context::record_attempts(attempt);
        match work().await {
            Err(error) if is_retryable_now(&error) && attempt < MAX_ATTEMPTS => {
                let [jitter, ..] = ports.entropy().random_bytes().unwrap_or_default();
                let delay = BASE_DELAY_MILLIS << (attempt - 1);
                ports.clock().sleep(Duration::from_millis(delay + delay * u64::from(jitter) / 255)).await;
                attempt += 1;
            }
            outcome => return outcome,
        }
    }
}

/// Returns whether an immediate retry can help. After a timeout the first call may still run: a second one would wait
/// for it, and time out too.
fn is_retryable_now(error: &Error) -> bool {
    error.is_retryable() && !matches!(error.code(), Code::SandboxTimeout | Code::SandboxUnresponsive)
}
