//! Connections that record whether a request was sent. A request that was not sent had no effect.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ureq::Error;
use ureq::unversioned::transport::{Buffers, ConnectionDetails, Connector, DefaultConnector, NextTimeout, Transport};

/// Whether any part of a request was sent.
#[derive(Clone, Debug, Default)]
pub struct SendMarker(Arc<AtomicBool>);

impl SendMarker {
    /// Marks the begin of another request, of which no part was sent.
    pub fn reset(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    /// Returns whether any part of the request was sent.
    pub fn is_sent(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn mark_sent(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A connector with TLS and proxies whose connections record what they send.
#[derive(Debug)]
pub struct TrackingConnector {
    inner: DefaultConnector,
    sent: SendMarker,
}

impl TrackingConnector {
    /// Creates a connector that records in `sent` whether a request was sent.
    pub fn tracking(sent: &SendMarker) -> Self {
        Self { inner: DefaultConnector::new(), sent: sent.clone() }
    }
}

impl Connector for TrackingConnector {
    type Out = TrackedTransport;

    fn connect(&self, details: &ConnectionDetails, chained: Option<()>) -> Result<Option<TrackedTransport>, Error> {
        let connected = self.inner.connect(details, chained);
        // Messages to a proxy are not part of the request.
        self.sent.reset();
        Ok(connected?.map(|inner| TrackedTransport { inner, sent: self.sent.clone() }))
    }
}

/// A connection to the server, after the handshake.
#[derive(Debug)]
pub struct TrackedTransport {
    inner: Box<dyn Transport>,
    sent: SendMarker,
}

impl Transport for TrackedTransport {
    fn buffers(&mut self) -> &mut dyn Buffers {
        self.inner.buffers()
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        self.sent.mark_sent();
        self.inner.transmit_output(amount, timeout)
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        self.inner.await_input(timeout)
    }

    fn is_open(&mut self) -> bool {
        self.inner.is_open()
    }

    fn is_tls(&self) -> bool {
        self.inner.is_tls()
    }
}
