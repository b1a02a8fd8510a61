//! The context of a command: the server and the output.

use std::cell::RefCell;
use std::io::Read;

use sandbox_snapshotter_client::model::exec::StartedForExec;
use sandbox_snapshotter_client::model::files::FileDescription;
use sandbox_snapshotter_client::model::named::{Address, Tenant, WorkspaceName};
use sandbox_snapshotter_client::model::request::{ExecRequest, ExportRequest, FileRequest, WriteFileRequest};
use sandbox_snapshotter_client::model::{SandboxId, json};
use sandbox_snapshotter_client::{Download, Options};
use serde::de::DeserializeOwned;
use serde_json::Value;
use ureq::BodyReader;

use super::snapshot_search::SnapshotSearch;
use super::target::to_target;
use crate::args::{Global, common};
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::interrupt::{self, Effect};
use crate::output::answer::Answer;
use crate::output::loss::loss_warning;
use crate::output::spinner::Spinner;
use crate::output::{Output, Show, print_warning};
use crate::settings::Sources;
use crate::transport::Server;

/// The context of a command.
pub struct Context {
    server: Server,
    /// The output settings.
    pub output: Output,
    /// The search of the snapshot that the command selects.
    pub(super) snapshot_search: RefCell<Option<SnapshotSearch>>,
    /// The workspaces that the command selects, with their present sandboxes.
    pub(super) selected: RefCell<Vec<(SandboxId, Address)>>,
    /// The start of the workspace for the first call of the command that started it.
    first_start: RefCell<Option<FirstStart>>,
}

/// The start of a workspace for a call. The answers of further calls repeat it as an earlier one.
struct FirstStart {
    started: StartedForExec,
    is_reported: bool,
}

impl Context {
    /// Returns the context for these options.
    pub fn of(flags: &Global, output: Output) -> Result<Self> {
        let environment = |name: &str| std::env::var_os(name);
        let settings = Sources::read(flags, &environment, &mut |text| print_warning(&text))?.settings()?;
        Ok(Self {
            server: Server::of(settings),
            output,
            snapshot_search: RefCell::new(None),
            selected: RefCell::default(),
            first_start: RefCell::default(),
        })
    }

    /// Calls an operation that changes nothing.
    pub fn call_read_only<T: DeserializeOwned>(&self, operation: &str, options: &impl Options) -> Result<Answer<T>> {
        self.call(operation, options, Effect::Reads)
    }

    /// Calls an operation that may change something. An error after which the call can be repeated contains its
    /// idempotency key.
    pub fn call_mutating<T: DeserializeOwned>(&self, operation: &str, options: &impl Options) -> Result<Answer<T>> {
        self.call(operation, options, Effect::Changes)
    }

    /// As [`call_read_only`](Self::call_read_only), for a call whose failure is not reported.
    pub fn call_without_suggestions<T: DeserializeOwned>(
        &self,
        operation: &str,
        options: &impl Options,
    ) -> Result<Answer<T>> {
        self.send(operation, &options.to_json(), Effect::Reads)
    }

    /// As [`call_without_suggestions`](Self::call_without_suggestions), for several options, a few at the same time. Returns the results
    /// in the order of the options.
    pub fn call_each<T: DeserializeOwned>(
        &self,
        operation: &str,
        options: impl IntoIterator<Item = impl Options>,
    ) -> Vec<Result<Answer<T>>> {
        let options: Vec<_> = options.into_iter().map(|options| options.to_json()).collect();
        let _tracker = interrupt::track_call(Effect::Reads, None);
        let _spinner = Spinner::start(format!("{operation}…"));
        self.server.call_each(operation, &options).into_iter().map(|answer| answer.and_then(Answer::of)).collect()
    }

    fn call<T: DeserializeOwned>(&self, operation: &str, options: &impl Options, effect: Effect) -> Result<Answer<T>> {
        let options = options.to_json();
        self.send(operation, &options, effect).map_err(|failure| {
            let failure = self.suggest_workspace(failure, &options);
            self.explain_search(failure).of_target(self.target_of(&options)).with_key(key_of(&options))
        })
    }

    fn send<T: DeserializeOwned>(&self, operation: &str, options: &Value, effect: Effect) -> Result<Answer<T>> {
        let key = key_of(options);
        let _tracker = interrupt::track_call(effect, key);
        let _spinner = Spinner::start(format!("{operation}…"));
        let answer = self.server.call(operation, options.clone()).and_then(Answer::of);
        let answer = answer.map_err(|failure| self.remember_start_of(failure))?;
        self.warn_of_loss_in(&answer.raw);
        Ok(Answer { key: key.map(str::to_owned), ..answer })
    }

    /// Downloads a file of a snapshot.
    pub fn download(&self, request: &FileRequest) -> Result<Download<Box<dyn Read>>> {
        self.server.download(request).map_err(|failure| self.explain_search(failure))
    }

    /// Downloads a directory of a snapshot as a tar.
    pub fn export(&self, request: &ExportRequest) -> Result<Download<Box<dyn Read>>> {
        self.server.export(request).map_err(|failure| self.explain_search(failure))
    }

    /// Starts a command, and returns the text of its events.
    pub fn exec_stream(&self, request: &ExecRequest, input: Option<impl Read>) -> Result<BodyReader<'static>> {
        let options = request.to_json();
        let stream = self.server.exec_stream(&options, input);
        stream.map_err(|failure| self.explain_target(self.remember_start_of(failure), &options))
    }

    /// Writes a file of a running sandbox, whose content is the input.
    pub fn write_file(&self, request: &WriteFileRequest, content: impl Read) -> Result<Answer<FileDescription>> {
        let mut options = request.to_json();
        if let Some(options) = options.as_object_mut() {
            options.remove("content");
            options.remove("encoding");
        }
        let _tracker = interrupt::track_call(Effect::Changes, None);
        let written = self.server.write_file(&options, content).and_then(Answer::of);
        let written = written.map_err(|failure| self.explain_target(self.remember_start_of(failure), &options))?;
        self.warn_of_loss_in(&written.raw);
        Ok(written)
    }

    /// Adds the target of a call to its failure, and a suggestion for an unknown workspace.
    pub(super) fn explain_target(&self, failure: Failure, options: &Value) -> Failure {
        self.suggest_workspace(failure, options).of_target(self.target_of(options))
    }

    /// Warns of the start of a workspace or a sandbox for a call if files may be lost, unless an earlier call of the command started
    /// it. In JSON mode, the answer has it.
    pub fn warn_of_loss(&self, started: Option<&StartedForExec>) {
        if started.is_some_and(|started| self.remember_start(started)) && !self.output.json {
            self.warn_of_unreported_start();
        }
    }

    /// Warns of the start for a call whose failure was not reported.
    pub(super) fn warn_of_unreported_start(&self) {
        self.warn_except_in_json(self.take_unreported_start().as_ref().and_then(loss_warning));
    }

    /// Returns the first start if nothing has reported it, which the caller does.
    pub(super) fn take_unreported_start(&self) -> Option<StartedForExec> {
        let mut first = self.first_start.borrow_mut();
        let first = first.as_mut().filter(|first| !first.is_reported)?;
        first.is_reported = true;
        Some(first.started.clone())
    }

    /// Remembers the start of the workspace in a failure, which the command may not report.
    fn remember_start_of(&self, failure: Failure) -> Failure {
        if let Some(started) = failure.started() {
            self.remember_start(started);
        }
        failure
    }

    /// Remembers a start, and returns whether it is the first one, or the first one that may have lost files.
    fn remember_start(&self, started: &StartedForExec) -> bool {
        let mut first = self.first_start.borrow_mut();
        let is_first = first.as_ref().is_none_or(|FirstStart { started: first, .. }| {
            first.may_have_lost != Some(true) && started.may_have_lost == Some(true)
        });
        if is_first {
            *first = Some(FirstStart { started: started.clone(), is_reported: false });
        }
        is_first
    }

    /// Prints warnings of lost files. In JSON mode, the answer has what they say.
    pub(super) fn warn_except_in_json(&self, warnings: impl IntoIterator<Item = String>) {
        if !self.output.json {
            warnings.into_iter().for_each(|warning| print_warning(&warning));
        }
    }

    fn warn_of_loss_in(&self, answer: &Value) {
        let started = answer.get("started").and_then(|started| json::from_value(started).ok());
        self.warn_of_loss(started.as_ref());
    }

    /// Returns the workspace that a call is about, as `@name`, or else its sandbox.
    fn target_of(&self, options: &Value) -> Option<String> {
        let option = |name: &str| options.get(name).and_then(Value::as_str);
        // With the id of a sandbox, a name is that of a checkpoint.
        let Some(id) = option("sandboxId") else {
            let tenant = option("tenant").map_or_else(|| Ok(Tenant::default_tenant()), Tenant::parse).ok()?;
            return Some(to_target(&Address { tenant, name: WorkspaceName::parse(option("name")?).ok()? }));
        };
        let selected = self.selected.borrow();
        let workspace = selected.iter().find(|(sandbox_id, _)| sandbox_id.as_str() == id);
        Some(workspace.map_or_else(|| id.to_owned(), |(_, address)| to_target(address)))
    }

    /// Removes the time limit of calls, for a call that ends with a command.
    #[must_use]
    pub fn without_time_limit(mut self) -> Self {
        self.server = self.server.without_time_limit();
        self
    }

    /// Returns the URL of a path on the server.
    pub fn url(&self, path: &str) -> String {
        self.server.url(path)
    }

    /// Prints an answer, and returns the exit status of the command.
    pub fn show<T: Show>(&self, answer: &Answer<T>) -> Result<Exit> {
        self.output.show(answer)?;
        Ok(Exit::Done)
    }
}

/// Returns the idempotency key in the options of a call.
fn key_of(options: &Value) -> Option<&str> {
    options.get("idempotencyKey").and_then(Value::as_str)
}

/// Returns the given idempotency key, or a random one: with it, an interrupted command can be repeated.
pub fn key_or_new(given: common::IdempotencyKey) -> Result<Option<String>> {
    if given.key.is_some() {
        return Ok(given.key);
    }
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| {
        let message = format!("The platform returned no random bytes for an idempotency key: {error}.");
        Failure::local(Exit::Failed, "NO_RANDOMNESS", message, "Pass a key with `--idempotency-key`.")
    })?;
    Ok(Some(format!("{:032x}", u128::from_le_bytes(bytes))))
}
