//! The cancellation signal of a caller.

use futures_channel::oneshot;
use futures_util::FutureExt;
use sandbox_snapshotter::service::CancellationToken;

/// Cancels a call.
pub struct CancellationSource(oneshot::Sender<()>);

impl CancellationSource {
    /// Creates a source and the token that the service gets.
    pub fn new() -> (Self, CancellationToken) {
        let (sender, receiver) = oneshot::channel();
        (Self(sender), CancellationToken::from_signal(receiver.map(drop)))
    }

    /// Cancels the call.
    pub fn cancel(self) {
        self.0.send(()).ok();
    }
}
