//! Connections that note when something is sent over them: until then, nobody can have done anything.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ureq::Error;
use ureq::unversioned::transport::{Buffers, ConnectionDetails, Connector, DefaultConnector, NextTimeout, Transport};

/// Whether any part of a request was sent.
#[derive(Clone, Debug, Default)]
pub struct Sent(Arc<AtomicBool>);

impl Sent {
    /// Another request begins, of which nothing was sent.
    pub fn begin(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    /// Whether any part of the request was sent.
    pub fn is_begun(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn note(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Makes connections as usual, with TLS and proxies.
#[derive(Debug)]
pub struct Connections {
    usual: DefaultConnector,
    sent: Sent,
}

impl Connections {
    /// Connections that note in `sent` what is sent over them.
    pub fn noting(sent: &Sent) -> Self {
        Self { usual: DefaultConnector::new(), sent: sent.clone() }
    }
}

impl Connector for Connections {
    type Out = Noting;

    fn connect(&self, details: &ConnectionDetails, chained: Option<()>) -> Result<Option<Noting>, Error> {
        let connected = self.usual.connect(details, chained);
        // What was said to a proxy is no part of the request.
        self.sent.begin();
        Ok(connected?.map(|way| Noting { way, sent: self.sent.clone() }))
    }
}

/// A connection to the server, after the handshake.
#[derive(Debug)]
pub struct Noting {
    way: Box<dyn Transport>,
    sent: Sent,
}

impl Transport for Noting {
    fn buffers(&mut self) -> &mut dyn Buffers {
        self.way.buffers()
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        self.sent.note();
        self.way.transmit_output(amount, timeout)
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        self.way.await_input(timeout)
    }

    fn is_open(&mut self) -> bool {
        self.way.is_open()
    }

    fn is_tls(&self) -> bool {
        self.way.is_tls()
    }
}
