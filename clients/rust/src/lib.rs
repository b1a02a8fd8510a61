//! The Rust client of sandbox-snapshotter: calls it from another Worker over a service binding, or over a transport of the
//! caller.
//!
//! ```toml
//! # wrangler.toml of the caller
//! services = [{ binding = "SNAPSHOTTER", service = "sandbox-snapshotter" }]
//! ```
//!
//! ```no_run
//! use sandbox_snapshotter_client::model::{RestoreRequest, SandboxId, SnapshotRequest};
//! use sandbox_snapshotter_client::{Client, Result, Transport};
//!
//! async fn try_something(client: &Client<impl Transport>) -> Result<()> {
//!     let taken = client.snapshot(&SnapshotRequest::of(SandboxId::parse("agent-42")?)).await?;
//!     let restored = client.restore(&RestoreRequest::of(taken.snapshot)).await?;
//!     println!("restored to the sandbox {}", restored.sandbox_id());
//!     Ok(())
//! }
//! ```
//!
//! - [`Client`]: a method for each operation. [`Client::workspaces`], [`Client::checkpoints`], [`Client::files`],
//!   [`Client::tools`] and [`Client::tokens`] group the operations on named workspaces, on checkpoints, on files, on
//!   tools and on access tokens
//! - [`WorkspaceHandle`]: the operations on one named workspace
//! - `ServiceBinding`: the transport over a service binding, with the feature `service-binding`; [`Transport`] is the
//!   trait of transports
//! - [`Error`]: the error of a failed call
//! - [`Download`]: a file or a directory of a snapshot as a stream, over a [`StreamTransport`]
//! - [`RetryPolicy`]: how the client retries calls
//! - [`Options`]: the options of the operations
//! - [`model`]: the types of requests, answers and errors, which the Worker itself uses too

mod download;
mod error;
pub mod model;
mod operations;
mod options;
mod pages;
mod retry;
#[cfg(feature = "service-binding")]
mod service_binding;
#[cfg(feature = "service-binding")]
pub mod timer;
mod transport;
mod workspace;
mod workspace_commands;
mod workspace_files;
mod workspace_snapshots;

pub use download::Download;
pub use error::{Error, ErrorCode, Result};
pub use operations::{Checkpoints, Commands, Files, Tokens, Tools, Workspaces};
pub use options::Options;
pub use retry::RetryPolicy;
#[cfg(feature = "service-binding")]
pub use service_binding::ServiceBinding;
pub use transport::{HttpResponse, StreamTransport, StreamedResponse, Transport, TransportError};
pub use workspace::WorkspaceHandle;
pub use workspace_commands::WorkspaceCommands;
pub use workspace_files::WorkspaceFiles;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::model::json;
use crate::model::operation::{Operation, Repeatability};

/// The client of the snapshotter.
///
/// The client retries a call after a transient failure, if a second call has no effect beyond the first one. To make
/// the calls that create something safe to retry, the client adds an idempotency key to those that have none.
#[derive(Clone, Debug)]
pub struct Client<T> {
    transport: T,
    retry: RetryPolicy,
}

impl<T: Transport> Client<T> {
    /// Creates a client that calls over `transport`.
    pub fn new(transport: T) -> Self {
        Self { transport, retry: RetryPolicy::default() }
    }

    /// Sets another retry policy.
    #[must_use]
    pub fn with_retry(self, retry: RetryPolicy) -> Self {
        Self { retry, ..self }
    }

    /// Returns the operations on named workspaces, whose files persist across sandboxes.
    pub const fn workspaces(&self) -> Workspaces<'_, T> {
        Workspaces(self)
    }

    /// Returns the operations on background commands, which run while no caller waits for them.
    pub const fn commands(&self) -> Commands<'_, T> {
        Commands(self)
    }

    /// Returns the operations on the files of snapshots, which start no container.
    pub const fn files(&self) -> Files<'_, T> {
        Files(self)
    }

    /// Returns the operations on checkpoints: named states inside a sandbox that are cheap and local, and disappear
    /// with the container.
    pub const fn checkpoints(&self) -> Checkpoints<'_, T> {
        Checkpoints(self)
    }

    /// Returns the operations on access tokens.
    pub const fn tokens(&self) -> Tokens<'_, T> {
        Tokens(self)
    }

    /// Returns the operations on tools for language models.
    pub const fn tools(&self) -> Tools<'_, T> {
        Tools(self)
    }

    /// Calls an operation by its name, with options and answer as JSON. The operation may be one that only a later
    /// snapshotter has.
    pub async fn call(&self, operation: &str, mut options: Value) -> Result<Value> {
        let repeatability = Repeatability::of(operation, &options);
        let to_error = |error| Error::from_transport(error, repeatability.is_repeatable());
        if repeatability == Repeatability::WithKey
            && let Value::Object(fields) = &mut options
            && fields.get("idempotencyKey").is_none_or(Value::is_null)
        {
            let key = u128::from_le_bytes(self.transport.random().map_err(to_error)?);
            fields.insert("idempotencyKey".into(), json!(format!("{key:032x}")));
        }
        let mut attempts = 1;
        let mut uncertain = None; // The error of the last attempt that may have taken effect.
        loop {
            let response = self.transport.send(operation, &options).await.map_err(to_error);
            let error = match response.and_then(|response| read_response(&response, repeatability)) {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            if attempts >= self.retry.attempts || !repeatability.allows_retry(&error) {
                return Err(match uncertain {
                    Some(uncertain) if *error.code() == ErrorCode::Unreachable => error.after_uncertain(uncertain),
                    _ => error,
                });
            }
            if !retry::had_no_effect(&error) {
                uncertain = Some(error);
            }
            let random = self.transport.random().map_err(to_error)?;
            self.transport.sleep(self.retry.delay(attempts, random)).await;
            attempts += 1;
        }
    }

    async fn call_typed<Answer: DeserializeOwned>(
        &self,
        operation: Operation,
        options: &impl Options,
    ) -> Result<Answer> {
        let operation = operation.name();
        let answer = self.call(operation, options.to_json()).await?;
        json::from_value(&answer)
            .map_err(|why| Error::foreign_answer(&format!("the answer of {operation} can't be decoded: {why}")))
    }
}

/// Returns the answer or the error in a response.
fn read_response(response: &HttpResponse, repeatability: Repeatability) -> Result<Value> {
    let body = serde_json::from_str::<Value>(&response.body).ok();
    match (response.status, body) {
        (200..300, Some(answer)) => Ok(answer),
        (status, body) => Err(body.as_ref().and_then(Error::from_json).unwrap_or_else(|| {
            let what = format!("the status was {status}");
            match status {
                429 => Error::from_transport(TransportError::Unreachable(what), repeatability.is_repeatable()),
                500.. => Error::from_transport(TransportError::NoAnswer(what), repeatability.is_repeatable()),
                _ => Error::foreign_answer(&what),
            }
        })),
    }
}

/// Compiles the examples in the guide.
#[cfg(all(doctest, feature = "service-binding"))]
#[doc = include_str!("../../../docs/client-rust.md")]
struct Guide;
