//! What commands work with: the server, and the output.

use std::cell::RefCell;

use sandbox_snapshotter::client::Options;
use sandbox_snapshotter::model::Code;
use serde::de::DeserializeOwned;

use crate::args::{Global, common};
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::interrupt::{self, Effect};
use crate::output::answer::Answer;
use crate::output::spinner::Spinner;
use crate::output::{Output, Show, warn};
use crate::settings::Sources;
use crate::transport::Server;

/// What commands work with.
pub struct Context {
    server: Server,
    /// Where they print.
    pub output: Output,
    /// Where a snapshot was looked for that several sandboxes may have, for people.
    pub(super) searched: RefCell<Option<String>>,
}

impl Context {
    /// That of the settings.
    pub fn of(flags: &Global, output: Output) -> Result<Self> {
        let environment = |name: &str| std::env::var_os(name);
        let settings = Sources::read(flags, &environment, &mut |text| warn(&text))?.settings()?;
        Ok(Self { server: Server::of(settings), output, searched: RefCell::new(None) })
    }

    /// Calls an operation that leaves everything as it was.
    pub fn look<T: DeserializeOwned>(&self, operation: &str, options: &impl Options) -> Result<Answer<T>> {
        self.ask(operation, options, Effect::Reads)
    }

    /// Calls an operation that may change something. Where it has an idempotency key, a failure tells it.
    pub fn act<T: DeserializeOwned>(&self, operation: &str, options: &impl Options) -> Result<Answer<T>> {
        self.ask(operation, options, Effect::Changes)
    }

    fn ask<T: DeserializeOwned>(&self, operation: &str, options: &impl Options, effect: Effect) -> Result<Answer<T>> {
        let options = options.to_json();
        let key = options.get("idempotencyKey").and_then(serde_json::Value::as_str).map(str::to_owned);
        let _noted = interrupt::during(effect, key.as_deref());
        let _spinner = Spinner::start(format!("{operation}…"));
        let answer = self.server.ask(operation, options).and_then(Answer::of);
        let answer = answer.map_err(|failure| self.with_places(failure).keyed(key.as_deref()))?;
        Ok(Answer { key, ..answer })
    }

    /// Prints an answer, which is the end of a command.
    pub fn show<T: Show>(&self, answer: &Answer<T>) -> Result<Exit> {
        self.output.show(answer)?;
        Ok(Exit::Done)
    }

    /// A snapshot that was not found is not in any of the places that were searched.
    fn with_places(&self, failure: Failure) -> Failure {
        match &*self.searched.borrow() {
            Some(places) if failure.code() == Some(Code::SnapshotNotFound.as_str()) => failure.also(places),
            _ => failure,
        }
    }
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
