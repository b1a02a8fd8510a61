//! Cancellation by the caller: the form that an `AbortSignal` has in the service.

use std::future::{Future, pending};

use futures_util::FutureExt;
use futures_util::future::{Either, LocalBoxFuture, Shared, select};

use crate::model::{Error, Result};
use crate::ports::Background;

/// A token that is cancelled at any time, or never.
///
/// An operation checks it before each expensive step, and once more before it returns. If the token is cancelled, the
/// operation rolls back what it did.
#[derive(Clone, Default)]
pub struct CancellationToken(Option<Shared<LocalBoxFuture<'static, ()>>>);

impl CancellationToken {
    /// Returns a token that is never cancelled.
    pub fn never() -> Self {
        Self(None)
    }

    /// Returns a token that is cancelled when `signal` resolves.
    pub fn from_signal(signal: impl Future<Output = ()> + 'static) -> Self {
        Self(Some(signal.boxed_local().shared()))
    }

    /// Fails with [`Code::Aborted`] if the token is cancelled.
    pub fn check(&self) -> Result<()> {
        let is_cancelled = self.0.as_ref().is_some_and(|signal| signal.clone().now_or_never().is_some());
        if is_cancelled { Err(Error::cancelled()) } else { Ok(()) }
    }

    /// Waits for `work` until the token is cancelled. `work` then continues in the background to its own next
    /// [`check`](Self::check), and rolls back what it did.
    pub async fn run_until_cancelled<T: 'static>(
        self,
        work: impl Future<Output = Result<T>> + 'static,
        background: &impl Background,
    ) -> Result<T> {
        match select(work.boxed_local(), self.cancelled().boxed_local()).await {
            Either::Left((outcome, _)) => outcome,
            Either::Right(((), work)) => {
                background.run(work.map(drop).boxed_local());
                Err(Error::cancelled())
            }
        }
    }

    /// Returns the outcome of `work`; `None`, and drops `work`, if the token is cancelled before.
    pub(crate) fn unless_cancelled<'a, T: 'a>(
        self,
        work: impl Future<Output = T> + 'a,
    ) -> impl Future<Output = Option<T>> + 'a {
        select(work.boxed_local(), self.cancelled().boxed_local()).map(|first| match first {
            Either::Left((outcome, _)) => Some(outcome),
            Either::Right(((), _)) => None,
        })
    }

    /// Resolves when the token is cancelled.
    pub(crate) async fn cancelled(self) {
        match self.0 {
            Some(signal) => signal.await,
            None => pending().await,
        }
    }
}
