//! The way to the server: HTTP, one blocking call at a time.

use std::io::ErrorKind;
use std::time::{Duration, Instant};

use sandbox_snapshotter::client::{Loss, Reply, Transport};
use serde_json::Value;
use ureq::http::Response;
use ureq::{Agent, Body, Error, Timeout};

use crate::settings::{Address, Settings, Token};

/// How long it may take until the server takes a connection.
const CONNECTING: Duration = Duration::from_secs(10);

/// The largest answer that is read, in bytes. The longest diff has 4 MB, which JSON may write six times as long.
const LARGEST: u64 = 32 * 1024 * 1024;

/// The server of one address.
#[derive(Clone)]
pub struct Server {
    agent: Agent,
    address: Address,
    token: Option<Token>,
    timeout: Option<Duration>,
}

impl Server {
    /// The server that the settings name.
    pub fn of(settings: Settings) -> Self {
        let Settings { address, token, timeout } = settings;
        let config = Agent::config_builder()
            .http_status_as_error(false)
            // A redirect could lead the token to somebody else.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_connect(Some(CONNECTING))
            .user_agent(concat!("snapshotter/", env!("CARGO_PKG_VERSION")));
        // A proxy would read what passes without TLS.
        let config = if address.is_encrypted() { config } else { config.proxy(None) };
        Self { agent: config.build().new_agent(), address, token, timeout }
    }

    /// A call that begins now, with all of its attempts.
    pub fn call(&self) -> Call<'_> {
        Call { server: self, deadline: self.timeout.and_then(|timeout| Instant::now().checked_add(timeout)) }
    }

    /// Reads a path without the token.
    pub fn look(&self, path: &str) -> Result<Reply, Loss> {
        let call = self.call();
        let request = self.agent.get(self.address.at(path)).config().timeout_global(call.left()?).build();
        read(request.call())
    }
}

/// One call to a server, with all of its attempts.
pub struct Call<'a> {
    server: &'a Server,
    deadline: Option<Instant>,
}

impl Call<'_> {
    /// How much of its time is left; `None` where there is no limit.
    fn left(&self) -> Result<Option<Duration>, Loss> {
        let Some(deadline) = self.deadline else { return Ok(None) };
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(Loss::Lost("the time limit is over".into())) } else { Ok(Some(left)) }
    }
}

impl Transport for Call<'_> {
    async fn send(&self, operation: &str, options: &Value) -> Result<Reply, Loss> {
        let Server { agent, address, token, .. } = self.server;
        let request = agent.post(address.at(&format!("/v1/{operation}"))).content_type("application/json");
        let request = match token {
            Some(token) => request.header("Authorization", token.authorization()),
            None => request,
        };
        let request = request.config().timeout_global(self.left()?).build();
        read(request.send(options.to_string()))
    }

    async fn sleep(&self, duration: Duration) {
        std::thread::sleep(duration);
    }

    fn random(&self) -> Result<[u8; 16], Loss> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(|error| Loss::Unreachable(format!("there is no randomness: {error}")))?;
        Ok(bytes)
    }
}

fn read(answer: Result<Response<Body>, Error>) -> Result<Reply, Loss> {
    let mut response = answer.map_err(|error| loss(&error))?;
    let status = response.status().as_u16();
    let body = response.body_mut().with_config().limit(LARGEST).lossy_utf8(true).read_to_string();
    let body = body.map_err(|error| Loss::Lost(format!("the answer broke off: {error}")))?;
    Ok(Reply { status, body })
}

/// Whether a failed request was taken by somebody.
fn loss(error: &Error) -> Loss {
    let why = match error {
        Error::Io(io) => io.to_string(),
        error => error.to_string(),
    };
    match error {
        Error::HostNotFound
        | Error::ConnectionFailed
        | Error::InvalidProxyUrl
        | Error::BadUri(_)
        | Error::Http(_)
        | Error::Tls(_)
        | Error::Rustls(_)
        | Error::Timeout(Timeout::Resolve | Timeout::Connect) => Loss::Unreachable(why),
        Error::Io(io)
            if matches!(
                io.kind(),
                ErrorKind::ConnectionRefused
                    | ErrorKind::HostUnreachable
                    | ErrorKind::NetworkUnreachable
                    | ErrorKind::AddrNotAvailable
            ) =>
        {
            Loss::Unreachable(why)
        }
        // The server's certificate is looked at before anything is sent.
        Error::Io(_) if why.contains("certificate") => Loss::Unreachable(why),
        Error::Timeout(_) => Loss::Lost("the time limit is over".into()),
        _ => Loss::Lost(why),
    }
}
