//! A caller's signal.

use futures_channel::oneshot;
use futures_util::FutureExt;
use sandbox_snapshotter::service::Abort;

/// What fires an abort.
pub struct Signal(oneshot::Sender<()>);

impl Signal {
    /// A signal, and what the service sees of it.
    pub fn new() -> (Self, Abort) {
        let (fire, fired) = oneshot::channel();
        (Self(fire), Abort::when(fired.map(drop)))
    }

    /// Fires.
    pub fn fire(self) {
        self.0.send(()).ok();
    }
}
