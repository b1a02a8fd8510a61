//! The way to the server: HTTP, one blocking call at a time.

mod connection;

use std::cell::RefCell;
use std::time::{Duration, Instant};

use futures_executor::block_on;
use sandbox_snapshotter::client::{self, Client, ErrorCode, Loss, Reply, Transport};
use serde_json::Value;
use ureq::http::Response;
use ureq::http::header::{CONTENT_TYPE, LOCATION};
use ureq::unversioned::resolver::DefaultResolver;
use ureq::{Agent, Body, Error, Timeout};

use self::connection::{Connections, Sent};
use crate::failure::{Failure, Result};
use crate::settings::{Address, Settings, Token};

/// How long it may take until the server takes a connection.
const CONNECTING: Duration = Duration::from_secs(10);

/// The largest answer that is read, in bytes. The longest diff has 4 MB, which JSON may write six times as long.
const LARGEST: u64 = 32 * 1024 * 1024;

/// The server of one address.
#[derive(Clone)]
pub struct Server {
    agent: Agent,
    sent: Sent,
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
        let sent = Sent::default();
        let agent = Agent::with_parts(config.build(), Connections::noting(&sent), DefaultResolver::default());
        Self { agent, sent, address, token, timeout }
    }

    /// Calls an operation, with as many attempts as do no harm.
    pub fn ask(&self, operation: &str, options: Value) -> Result<Value> {
        let call = self.call();
        let came = call.came.clone();
        block_on(Client::new(call).call(operation, options)).map_err(|error| told(error, came.borrow().as_deref()))
    }

    /// Reads a path without the token.
    pub fn look(&self, path: &str) -> Result<Reply, Loss> {
        let call = self.call();
        let request = self.agent.get(self.address.at(path)).config().timeout_global(call.left()?).build();
        call.read(|| request.call())
    }

    /// A call that begins now, with all of its attempts.
    fn call(&self) -> Call<'_> {
        let deadline = self.timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        Call { server: self, deadline, came: Came::default() }
    }
}

/// What came last, for people, where it is not what the snapshotter would answer.
type Came = std::rc::Rc<RefCell<Option<String>>>;

/// One call to a server, with all of its attempts.
struct Call<'a> {
    server: &'a Server,
    deadline: Option<Instant>,
    came: Came,
}

impl Call<'_> {
    /// How much of its time is left; `None` where there is no limit.
    fn left(&self) -> Result<Option<Duration>, Loss> {
        let Some(deadline) = self.deadline else { return Ok(None) };
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(Loss::Lost("the time limit is over".into())) } else { Ok(Some(left)) }
    }

    /// Sends a request, and reads what is answered.
    fn read(&self, send: impl FnOnce() -> Result<Response<Body>, Error>) -> Result<Reply, Loss> {
        self.server.sent.begin();
        let mut response = match send() {
            Ok(response) => response,
            Err(Error::Protocol(_)) => return Ok(self.foreign("what is not HTTP")),
            Err(error) => return Err(loss(&error, self.server.sent.is_begun())),
        };
        let status = response.status().as_u16();
        *self.came.borrow_mut() = Some(described(&response));
        match response.body_mut().with_config().limit(LARGEST).lossy_utf8(true).read_to_string() {
            Ok(body) => Ok(Reply { status, body }),
            Err(Error::BodyExceedsLimit(_)) => Ok(self.foreign(&format!("more than {} MiB", LARGEST / 1024 / 1024))),
            Err(Error::Timeout(_)) => Err(Loss::Lost("the time limit is over".into())),
            Err(error) => Err(Loss::Lost(format!("the answer broke off: {}", why(&error)))),
        }
    }

    /// A reply that nobody takes for an answer.
    fn foreign(&self, came: &str) -> Reply {
        *self.came.borrow_mut() = Some(came.to_owned());
        Reply { status: 200, body: String::new() }
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
        self.read(|| request.send(options.to_string()))
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

/// A failed call; where somebody else answered, with what came.
fn told(error: client::Error, came: Option<&str>) -> Failure {
    match came {
        Some(came) if *error.code() == ErrorCode::ForeignAnswer => Failure::foreign(&format!("it answers {came}")),
        _ => error.into(),
    }
}

/// What a response is, at a glance: `HTML with the status 200`.
fn described(response: &Response<Body>) -> String {
    let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
    let form = match header(CONTENT_TYPE).map(|value| value.split(';').next().unwrap_or_default().trim()) {
        Some("text/html") => "HTML".to_owned(),
        Some(form) if form.ends_with("json") => "JSON of another form".to_owned(),
        Some(form) if !form.is_empty() => form.to_owned(),
        _ => "something".to_owned(),
    };
    let leads = header(LOCATION).map_or_else(String::new, |place| format!(", which leads to {place}"));
    format!("{form} with the status {}{leads}", response.status().as_u16())
}

/// Whether a failed request was taken by somebody. What was never sent was not.
fn loss(error: &Error, is_sent: bool) -> Loss {
    match (is_sent, error) {
        (true, Error::Timeout(_)) => Loss::Lost("the time limit is over".into()),
        (true, error) => Loss::Lost(why(error)),
        (false, error) => Loss::Unreachable(why(error)),
    }
}

/// What went wrong on the way, for people.
fn why(error: &Error) -> String {
    match error {
        Error::HostNotFound => "there is no host of that name".to_owned(),
        Error::Timeout(Timeout::Resolve) => "looking up the host takes too long".to_owned(),
        Error::Timeout(Timeout::Connect) => format!("nobody took the connection within {} s", CONNECTING.as_secs()),
        Error::Timeout(_) => "the time limit is over".to_owned(),
        Error::ConnectionFailed => "nobody took the connection".to_owned(),
        Error::ConnectProxyFailed(why) => format!("the proxy did not let it pass: {why}"),
        Error::Io(error) => error.to_string(),
        error => error.to_string(),
    }
}
