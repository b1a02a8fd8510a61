//! Calls the snapshotter from another Worker in Rust, over a service binding.
//!
//! ```toml
//! # wrangler.toml of the caller
//! services = [{ binding = "SNAPSHOTTER", service = "sandbox-snapshotter" }]
//! ```
//!
//! ```no_run
//! use sandbox_snapshotter::client::{Client, Result, Service};
//! use sandbox_snapshotter::model::{RestoreRequest, SandboxId, SnapshotRequest};
//!
//! async fn try_something(service: Service) -> Result<()> {
//!     let client = Client::new(service);
//!     let taken = client.snapshot(&SnapshotRequest::of(SandboxId::parse("agent-42")?)).await?;
//!     let restored = client.restore(&RestoreRequest::of(taken.snapshot)).await?;
//!     println!("its files are in {}", restored.sandbox_id());
//!     Ok(())
//! }
//! ```
//!
//! - [`Client`]: a method for each operation; those on workspaces that persist by name, on checkpoints and on tools stand in
//!   groups: [`Client::workspaces`], [`Client::checkpoints`], [`Client::tools`]
//! - [`Service`]: the way over a service binding; [`Transport`] is any way
//! - [`Error`]: what a call fails with
//! - [`Retry`]: how calls are made again
//! - [`Options`]: what the operations take

mod checkpoints;
mod error;
mod options;
mod pages;
mod retry;
#[cfg(feature = "service-binding")]
mod service;
mod snapshots;
mod tools;
mod transport;
mod workspaces;

pub use checkpoints::Checkpoints;
pub use error::{Error, ErrorCode, Result};
pub use options::Options;
pub use retry::Retry;
#[cfg(feature = "service-binding")]
pub use service::Service;
pub use tools::Tools;
pub use transport::{Loss, Reply, Transport};
pub use workspaces::Workspaces;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use self::retry::Again;
use crate::model::json;

/// Calls the snapshotter.
///
/// A call that failed in passing is made again, where that does no harm. So that it never does for what makes something, such
/// calls get an idempotency key where they have none.
#[derive(Clone, Debug)]
pub struct Client<T> {
    transport: T,
    retry: Retry,
}

impl<T: Transport> Client<T> {
    /// A client that calls over `transport`.
    pub fn new(transport: T) -> Self {
        Self { transport, retry: Retry::default() }
    }

    /// With another rule for making calls again.
    #[must_use]
    pub fn retrying(self, retry: Retry) -> Self {
        Self { retry, ..self }
    }

    /// Workspaces that persist by name, across sandboxes that come and go.
    pub const fn workspaces(&self) -> Workspaces<'_, T> {
        Workspaces(self)
    }

    /// Named states inside of a sandbox: cheap, local, gone with the container.
    pub const fn checkpoints(&self) -> Checkpoints<'_, T> {
        Checkpoints(self)
    }

    /// Tools for language models.
    pub const fn tools(&self) -> Tools<'_, T> {
        Tools(self)
    }

    /// Calls an operation by its name, from JSON to JSON: also one that only a later snapshotter has.
    pub async fn call(&self, operation: &str, mut options: Value) -> Result<Value> {
        let again = Again::of(operation, &options);
        let lost = |loss| Error::of_loss(loss, again.is_repeatable());
        if again == Again::Keyed
            && let Value::Object(fields) = &mut options
            && fields.get("idempotencyKey").is_none_or(Value::is_null)
        {
            let key = u128::from_le_bytes(self.transport.random().map_err(lost)?);
            fields.insert("idempotencyKey".into(), json!(format!("{key:032x}")));
        }
        let mut attempts = 1;
        loop {
            let reply = self.transport.send(operation, &options).await.map_err(lost);
            let error = match reply.and_then(|reply| read(&reply, again)) {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            if attempts >= self.retry.attempts || !again.after(&error) {
                return Err(error);
            }
            let random = self.transport.random().map_err(lost)?;
            self.transport.sleep(self.retry.wait(attempts, random)).await;
            attempts += 1;
        }
    }

    async fn ask<Answer: DeserializeOwned>(&self, operation: &str, options: &impl Options) -> Result<Answer> {
        let answer = self.call(operation, options.to_json()).await?;
        json::read(&answer).map_err(|why| Error::foreign(&format!("the answer of {operation} can't be read: {why}")))
    }
}

/// The answer or the error of a reply.
fn read(reply: &Reply, again: Again) -> Result<Value> {
    let body = serde_json::from_str::<Value>(&reply.body).ok();
    match (reply.status, body) {
        (200..300, Some(answer)) => Ok(answer),
        (status, body) => Err(body.as_ref().and_then(Error::read).unwrap_or_else(|| {
            let what = format!("the status was {status}");
            match status {
                429 => Error::of_loss(Loss::Unreachable(what), again.is_repeatable()),
                500.. => Error::of_loss(Loss::Lost(what), again.is_repeatable()),
                _ => Error::foreign(&what),
            }
        })),
    }
}
