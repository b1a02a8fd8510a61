//! The caller's wish to stop: what an `AbortSignal` is to the service.

use std::future::{Future, pending};

use futures_util::FutureExt;
use futures_util::future::{Either, LocalBoxFuture, Shared, select};

use crate::model::{Code, Error, Result};
use crate::ports::Background;

/// A wish to stop that may come at any time, or never.
///
/// Whoever works looks at it before each step that costs something, and once more before answering: what
/// nobody waits for any more is taken back.
#[derive(Clone, Default)]
pub struct Abort(Option<Shared<LocalBoxFuture<'static, ()>>>);

impl Abort {
    /// No wish to stop will ever come.
    pub fn never() -> Self {
        Self(None)
    }

    /// The wish to stop comes when `signal` resolves.
    pub fn when(signal: impl Future<Output = ()> + 'static) -> Self {
        Self(Some(signal.boxed_local().shared()))
    }

    /// Fails with [`Code::Aborted`] once the wish has come.
    pub fn check(&self) -> Result<()> {
        let fired = self.0.as_ref().is_some_and(|signal| signal.clone().now_or_never().is_some());
        if fired { Err(Self::error()) } else { Ok(()) }
    }

    /// Waits for `work`, but no longer than until the wish to stop comes. `work` then goes on in the background
    /// to its own next [`check`](Self::check), and takes back what it did.
    pub async fn ends_wait_for<T: 'static>(
        self,
        work: impl Future<Output = Result<T>> + 'static,
        background: &impl Background,
    ) -> Result<T> {
        match select(work.boxed_local(), self.fired().boxed_local()).await {
            Either::Left((outcome, _)) => outcome,
            Either::Right(((), work)) => {
                background.run(work.map(drop).boxed_local());
                Err(Self::error())
            }
        }
    }

    /// Resolves when the wish comes.
    pub(super) async fn fired(self) {
        match self.0 {
            Some(signal) => signal.await,
            None => pending().await,
        }
    }

    /// The error of whoever does not wait any longer.
    pub(super) fn error() -> Error {
        Error::new(
            Code::Aborted,
            "The caller's AbortSignal fired. What was under way is taken back.",
            "Call again without the signal, or with one that has not fired.",
        )
    }
}
