//! The transport to the server: HTTP, one blocking call at a time.

mod connection;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::Read;
use std::thread;
use std::time::{Duration, Instant};

use futures_executor::block_on;
use sandbox_snapshotter_client::model::request::{ExportRequest, FileRequest};
use sandbox_snapshotter_client::{
    self as client, Client, Download, ErrorCode, HttpResponse, StreamTransport, StreamedResponse, Transport,
    TransportError,
};
use serde_json::Value;
use ureq::http::Response;
use ureq::http::header::{CONTENT_TYPE, LOCATION};
use ureq::unversioned::resolver::DefaultResolver;
use ureq::{Agent, Body, BodyReader, Error, SendBody, Timeout};

use self::connection::{SendMarker, TrackingConnector};
use crate::failure::{Failure, Result};
use crate::settings::{Address, Settings, Token};

/// The time limit for establishing a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The maximum size of an answer, in bytes. The longest diff has 4 MiB, and its JSON encoding may be six times as long.
const MAX_ANSWER_BYTES: u64 = 32 * 1024 * 1024;

/// The maximum number of calls at the same time.
const MAX_CONCURRENT_CALLS: usize = 8;

/// The server of one address.
#[derive(Clone)]
pub struct Server {
    agent: Agent,
    sent: SendMarker,
    address: Address,
    token: Option<Token>,
    timeout: Option<Duration>,
}

impl Server {
    /// Returns the server of the settings.
    pub fn of(settings: Settings) -> Self {
        let Settings { address, token, timeout } = settings;
        let config = Agent::config_builder()
            .http_status_as_error(false)
            // A redirect could send the token to another server.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .user_agent(concat!("snapshotter/", env!("CARGO_PKG_VERSION")));
        // Without TLS, a proxy could read the request.
        let config = if address.is_encrypted() { config } else { config.proxy(None) };
        let sent = SendMarker::default();
        let agent = Agent::with_parts(config.build(), TrackingConnector::tracking(&sent), DefaultResolver::default());
        Self { agent, sent, address, token, timeout }
    }

    /// Calls an operation, with as many attempts as do no harm.
    pub fn call(&self, operation: &str, options: Value) -> Result<Value> {
        let call = self.begin_call();
        let foreign_answer = call.foreign_answer.clone();
        block_on(Client::new(call).call(operation, options))
            .map_err(|error| self.to_failure(error, foreign_answer.borrow().as_deref()))
    }

    /// Calls an operation with each of several options, a few at the same time. Returns the results in the order of the options.
    pub fn call_each(&self, operation: &str, options: &[Value]) -> Vec<Result<Value>> {
        let count = options.len().min(MAX_CONCURRENT_CALLS);
        let results = thread::scope(|scope| {
            let call_part = |first: usize| {
                // A connection records whether the request of one call was sent.
                let server = Self::of(self.settings());
                let part = options.iter().enumerate().skip(first).step_by(count);
                scope.spawn(move || {
                    part.map(|(index, options)| (index, server.call(operation, options.clone()))).collect::<Vec<_>>()
                })
            };
            let threads: Vec<_> = (0..count).map(call_part).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect::<BTreeMap<_, _>>()
        });
        results.into_values().collect()
    }

    fn settings(&self) -> Settings {
        Settings { address: self.address.clone(), token: self.token.clone(), timeout: self.timeout }
    }

    /// Downloads a file of a snapshot. The time limit is that of the begin of the response.
    pub fn download(&self, request: &FileRequest) -> Result<Download<Box<dyn Read>>> {
        let call = self.begin_call();
        let foreign_answer = call.foreign_answer.clone();
        block_on(Client::new(call).files().download(request))
            .map_err(|error| self.to_failure(error, foreign_answer.borrow().as_deref()))
    }

    /// Downloads a directory of a snapshot as a tar. The time limit is that of the begin of the response.
    pub fn export(&self, request: &ExportRequest) -> Result<Download<Box<dyn Read>>> {
        let call = self.begin_call();
        let foreign_answer = call.foreign_answer.clone();
        block_on(Client::new(call).files().export(request))
            .map_err(|error| self.to_failure(error, foreign_answer.borrow().as_deref()))
    }

    /// Starts a command, with the input as its standard input, and returns the text of its events. Each event has as much
    /// time as the command: the server ends both.
    pub fn exec_stream(&self, options: &Value, input: Option<impl Read>) -> Result<BodyReader<'static>> {
        let response = self.post_input("exec", options, input, EVENTS)?;
        if describe_response(&response).starts_with(EVENTS) && response.status().is_success() {
            return Ok(response.into_body().into_with_config().limit(u64::MAX).reader());
        }
        Err(self.read_failure(response))
    }

    /// Writes a file of a running sandbox, whose content is the input.
    pub fn write_file(&self, options: &Value, input: impl Read) -> Result<Value> {
        let mut response = self.post_input("files/write", options, Some(input), JSON)?;
        if !response.status().is_success() {
            return Err(self.read_failure(response));
        }
        let body = response.body_mut().with_config().limit(MAX_ANSWER_BYTES).read_to_string();
        let answer = body.ok().and_then(|body| serde_json::from_str(&body).ok());
        answer.ok_or_else(|| Failure::foreign_answer(&format!("the response was {}", describe_response(&response))))
    }

    /// Sends a call once. An input is the body of the request, and then the options are in the URL.
    fn post_input(
        &self,
        operation: &str,
        options: &Value,
        input: Option<impl Read>,
        accepted: &str,
    ) -> Result<Response<Body>> {
        let path = match &input {
            Some(_) => format!("/v1/{operation}?options={}", percent_encode(&options.to_string())),
            None => format!("/v1/{operation}"),
        };
        let request = self.agent.post(self.address.url(&path)).header("Accept", accepted);
        let request = match &self.token {
            Some(token) => request.header("Authorization", token.authorization()),
            None => request,
        };
        self.sent.reset();
        let response = match input {
            Some(mut input) => request.content_type("application/octet-stream").send(SendBody::from_reader(&mut input)),
            None => request.content_type(JSON).send(options.to_string()),
        };
        let to_error = |error: &Error| transport_error(error, self.sent.is_sent());
        response.map_err(|error| self.to_failure(client::Error::from_transport(to_error(&error), false), None))
    }

    /// Removes the time limit of calls.
    #[must_use]
    pub fn without_time_limit(self) -> Self {
        Self { timeout: None, ..self }
    }

    /// Requests a path with GET, without the token.
    pub fn get(&self, path: &str) -> Result<HttpResponse, TransportError> {
        let call = self.begin_call();
        let request = self.agent.get(self.address.url(path)).config().timeout_global(call.remaining()?).build();
        call.read(|| request.call())
    }

    /// Returns the URL of a path.
    pub fn url(&self, path: &str) -> String {
        self.address.url(path)
    }

    /// Begins a call: its time limit starts now and covers all of its attempts.
    fn begin_call(&self) -> Call<'_> {
        let deadline = self.timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        Call { server: self, deadline, foreign_answer: ForeignAnswer::default() }
    }

    /// Reads the failure in a response.
    fn read_failure(&self, mut response: Response<Body>) -> Failure {
        let described = describe_response(&response);
        let body = response.body_mut().with_config().limit(MAX_ANSWER_BYTES).lossy_utf8(true).read_to_string();
        let error = body.ok().and_then(|body| serde_json::from_str(&body).ok());
        match error.as_ref().and_then(client::Error::from_json) {
            Some(error) => self.to_failure(error, None),
            None => Failure::foreign_answer(&format!("the response was {described}")),
        }
    }

    /// Converts the error of a call. If the answer is not from a snapshotter, the failure describes the response.
    fn to_failure(&self, error: client::Error, foreign_answer: Option<&str>) -> Failure {
        match foreign_answer {
            Some(description) if *error.code() == ErrorCode::ForeignAnswer => {
                Failure::foreign_answer(&format!("the response was {description}"))
            }
            _ => {
                let is_unreachable = *error.code() == ErrorCode::Unreachable;
                let failure = Failure::from(error).of_server(&self.address);
                if is_unreachable {
                    failure.with_sentence(&format!("The address is {}.", self.address))
                } else {
                    failure
                }
            }
        }
    }
}

/// The media type of answers.
const JSON: &str = "application/json";

/// The media type of the events of a command.
const EVENTS: &str = "text/event-stream";

/// Encodes a text for the query of a URL.
fn percent_encode(text: &str) -> String {
    let encode = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(encode).collect()
}

/// A description of the last response, for the error if the response is not from a snapshotter.
type ForeignAnswer = std::rc::Rc<RefCell<Option<String>>>;

/// One call to a server, with all of its attempts.
struct Call<'a> {
    server: &'a Server,
    deadline: Option<Instant>,
    foreign_answer: ForeignAnswer,
}

impl Call<'_> {
    /// Returns the remaining time; `None` if there is no limit.
    fn remaining(&self) -> Result<Option<Duration>, TransportError> {
        let Some(deadline) = self.deadline else { return Ok(None) };
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            Err(TransportError::NoAnswer("the time limit was exceeded".into()))
        } else {
            Ok(Some(left))
        }
    }

    /// Sends a request, and reads the response.
    fn read(&self, send: impl FnOnce() -> Result<Response<Body>, Error>) -> Result<HttpResponse, TransportError> {
        self.server.sent.reset();
        match send() {
            Ok(response) => self.read_body(response),
            Err(Error::Protocol(_)) => Ok(self.unreadable_response("not HTTP")),
            Err(error) => Err(transport_error(&error, self.server.sent.is_sent())),
        }
    }

    fn read_body(&self, mut response: Response<Body>) -> Result<HttpResponse, TransportError> {
        let status = response.status().as_u16();
        *self.foreign_answer.borrow_mut() = Some(describe_response(&response));
        match response.body_mut().with_config().limit(MAX_ANSWER_BYTES).lossy_utf8(true).read_to_string() {
            Ok(body) => Ok(HttpResponse { status, body }),
            Err(Error::BodyExceedsLimit(_)) => {
                Ok(self.unreadable_response(&format!("larger than {} MiB", MAX_ANSWER_BYTES / 1024 / 1024)))
            }
            Err(Error::Timeout(_)) => Err(TransportError::NoAnswer("the time limit was exceeded".into())),
            Err(error) => {
                Err(TransportError::NoAnswer(format!("the connection broke during the answer: {}", error_text(&error))))
            }
        }
    }

    /// Records the description of an unreadable response, and returns a response that is not a valid answer.
    fn unreadable_response(&self, description: &str) -> HttpResponse {
        *self.foreign_answer.borrow_mut() = Some(description.to_owned());
        HttpResponse { status: 200, body: String::new() }
    }
}

impl StreamTransport for Call<'_> {
    type Body = Box<dyn Read>;

    async fn open(&self, name: &str, query: &str) -> Result<StreamedResponse<Box<dyn Read>>, TransportError> {
        let Server { agent, address, token, sent, .. } = self.server;
        let request = agent.get(address.url(&format!("/v1/{name}?{query}")));
        let request = match token {
            Some(token) => request.header("Authorization", token.authorization()),
            None => request,
        };
        let request = request.config().timeout_recv_response(self.remaining()?).build();
        sent.reset();
        let response = match request.call() {
            Ok(response) => response,
            Err(Error::Protocol(_)) => return Ok(StreamedResponse::Other(self.unreadable_response("not HTTP"))),
            Err(error) => return Err(transport_error(&error, sent.is_sent())),
        };
        let header = |name: &str| response.headers().get(name)?.to_str().ok().map(str::to_owned);
        let (Some(snapshot_id), 200) = (header("X-Snapshot-Id"), response.status().as_u16()) else {
            return self.read_body(response).map(StreamedResponse::Other);
        };
        let etag = header("ETag").unwrap_or_default();
        let length = header("Content-Length").and_then(|length| length.parse().ok());
        let secrets = header("X-Secrets");
        let body = Box::new(response.into_body().into_reader());
        Ok(StreamedResponse::Stream { snapshot_id, etag, length, secrets, body })
    }
}

impl Transport for Call<'_> {
    async fn send(&self, operation: &str, options: &Value) -> Result<HttpResponse, TransportError> {
        let Server { agent, address, token, .. } = self.server;
        let request = agent.post(address.url(&format!("/v1/{operation}"))).content_type("application/json");
        let request = match token {
            Some(token) => request.header("Authorization", token.authorization()),
            None => request,
        };
        let request = request.config().timeout_global(self.remaining()?).build();
        self.read(|| request.send(options.to_string()))
    }

    async fn sleep(&self, duration: Duration) {
        thread::sleep(duration);
    }

    fn random(&self) -> Result<[u8; 16], TransportError> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)
            .map_err(|error| TransportError::Unreachable(format!("the platform returned no random bytes: {error}")))?;
        Ok(bytes)
    }
}

/// Describes a response, such as `HTML with the status 200`.
fn describe_response(response: &Response<Body>) -> String {
    let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
    let form = match header(CONTENT_TYPE).map(|value| value.split(';').next().unwrap_or_default().trim()) {
        Some("text/html") => "HTML".to_owned(),
        Some(form) if form.ends_with("json") => "JSON in another format".to_owned(),
        Some(form) if !form.is_empty() => form.to_owned(),
        _ => "a body without a content type".to_owned(),
    };
    let redirect = header(LOCATION).map_or_else(String::new, |target| format!(" and a redirect to {target}"));
    format!("{form} with the status {}{redirect}", response.status().as_u16())
}

/// Converts the error of a request. A request that was not sent did not reach the server.
fn transport_error(error: &Error, is_sent: bool) -> TransportError {
    match (is_sent, error) {
        (true, Error::Timeout(_)) => TransportError::NoAnswer("the time limit was exceeded".into()),
        (true, error) => TransportError::NoAnswer(error_text(error)),
        (false, error) => TransportError::Unreachable(error_text(error)),
    }
}

/// Describes an error of the connection.
fn error_text(error: &Error) -> String {
    match error {
        Error::HostNotFound => "the host does not exist".to_owned(),
        Error::Timeout(Timeout::Resolve) => "the lookup of the host timed out".to_owned(),
        Error::Timeout(Timeout::Connect) => {
            format!("no server accepted the connection within {} s", CONNECT_TIMEOUT.as_secs())
        }
        Error::Timeout(_) => "the time limit was exceeded".to_owned(),
        Error::ConnectionFailed => "no server accepted the connection".to_owned(),
        Error::ConnectProxyFailed(why) => format!("the proxy refused the connection: {why}"),
        Error::Io(error) => explain_tls(error.to_string()),
        error => explain_tls(error.to_string()),
    }
}

/// Replaces the text for an `https` address whose server answers the handshake in plain text.
fn explain_tls(text: String) -> String {
    if text.contains("InvalidContentType") {
        "the server speaks http, and the address begins with https://".to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unreachable_server_is_named() {
        let settings =
            Settings { address: Address::parse("http://127.0.0.1:1/x").unwrap(), token: None, timeout: None };
        let error = client::Error::from_transport(TransportError::Unreachable("no server accepted it".into()), false);
        let Failure::Reported(report) = Server::of(settings).to_failure(error, None) else { panic!() };
        assert!(report.message.ends_with(" The address is http://127.0.0.1:1/x."), "{}", report.message);
    }
}
