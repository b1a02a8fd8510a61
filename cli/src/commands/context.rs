//! What commands work with: the server, and the output.

use futures_executor::block_on;
use sandbox_snapshotter::client::{Client, Options};
use sandbox_snapshotter::model::json;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::args::{Global, common};
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::interrupt;
use crate::output::spinner::Spinner;
use crate::output::{Output, Show, warn};
use crate::settings::Sources;
use crate::transport::Server;

/// What commands work with.
pub struct Context {
    server: Server,
    /// Where they print.
    pub output: Output,
}

impl Context {
    /// That of the settings.
    pub fn of(flags: &Global, output: Output) -> Result<Self> {
        let environment = |name: &str| std::env::var_os(name);
        let settings = Sources::read(flags, &environment, &mut |text| warn(&text))?.settings()?;
        Ok(Self { server: Server::of(settings), output })
    }

    /// Calls an operation. Where it has an idempotency key, a failure tells it.
    pub fn ask(&self, operation: &str, options: &impl Options) -> Result<Value> {
        let options = options.to_json();
        let key = options.get("idempotencyKey").and_then(Value::as_str).map(str::to_owned);
        let _noted = interrupt::during(operation, key.as_deref());
        let _spinner = Spinner::start(format!("{operation}…"));
        let client = Client::new(self.server.call());
        block_on(client.call(operation, options)).map_err(|error| Failure::from(error).keyed(key.as_deref()))
    }

    /// Calls an operation, and reads its answer.
    pub fn ask_for<T: DeserializeOwned>(&self, operation: &str, options: &impl Options) -> Result<T> {
        read(&self.ask(operation, options)?)
    }

    /// Calls an operation, and prints its answer.
    pub fn show<T: Show>(&self, operation: &str, options: &impl Options) -> Result<Exit> {
        self.output.show::<T>(&self.ask(operation, options)?)?;
        Ok(Exit::Done)
    }
}

/// Reads an answer.
pub fn read<T: DeserializeOwned>(answer: &Value) -> Result<T> {
    json::read(answer).map_err(|why| Failure::foreign(&format!("its answer can't be read: {why}")))
}

/// A list as the API answers it.
pub fn list_of(name: &str, rows: Vec<Value>, cursor: Option<&impl ToString>) -> Value {
    let cursor = cursor.map(|cursor| ("cursor".to_owned(), cursor.to_string().into()));
    Value::Object(std::iter::once((name.to_owned(), rows.into())).chain(cursor).collect())
}

/// The idempotency key that was given, or a new one: whoever is interrupted can ask again with it.
pub fn key(given: common::Key) -> Result<Option<String>> {
    if given.key.is_some() {
        return Ok(given.key);
    }
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| {
        let message = format!("There is no randomness for an idempotency key: {error}.");
        Failure::own(Exit::Failed, "NO_RANDOMNESS", message, "Give one with --idempotency-key.")
    })?;
    Ok(Some(format!("{:032x}", u128::from_le_bytes(bytes))))
}
