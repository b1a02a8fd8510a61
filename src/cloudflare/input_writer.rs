//! The standard input of a command, which goes to a file in the container.
//!
//! It goes in parts, because a stream that the SDK (0.12.10) sends may stop for ever: its transport `rpc` (capnweb 0.8.0)
//! estimates the bandwidth from the times of messages, and waits for a window that is not a number when two of them are
//! the same. Its other transports send no streams.

use base64ct::{Base64, Encoding};
use futures_util::StreamExt;
use serde_json::{Value, json};
use worker::ByteStream;

use super::sandbox_command::{COMMAND_TIMEOUT_MILLIS, NO_SESSION};
use super::sandbox_stubs::SandboxStubs;
use super::scripts;
use crate::model::{Failure, SandboxId, Status};
use crate::ports::Sandboxes;

/// The size of a part, in bytes. Each part needs two calls, of which a request may make 10,000.
const PART_BYTES: usize = 2 * 1024 * 1024;

/// The number of parts that are put together at a time. It limits their time and the additional space on the disk.
const MAX_PARTS: u32 = 32;

/// The time limit of the command that puts parts together, in milliseconds.
const JOIN_TIMEOUT_MILLIS: u32 = 60_000;

/// Writes an input.
pub(super) struct InputWriter<'a> {
    sandboxes: &'a SandboxStubs,
    id: &'a SandboxId,
    path: &'a str,
    /// The bytes that are in no part yet.
    bytes: Vec<u8>,
    /// The parts that were not put together yet.
    parts: u32,
    /// The size of these parts, in bytes.
    parts_bytes: u64,
    /// The size of the file, in bytes.
    offset: u64,
}

impl<'a> InputWriter<'a> {
    /// Returns a writer to the file with the path `path`.
    pub fn new(sandboxes: &'a SandboxStubs, id: &'a SandboxId, path: &'a str) -> Self {
        Self { sandboxes, id, path, bytes: Vec::new(), parts: 0, parts_bytes: 0, offset: 0 }
    }

    /// Writes the whole input. After a failure, deletes what was written, if the container answers.
    pub async fn write(mut self, input: ByteStream) -> Result<(), Failure> {
        let outcome = self.write_parts(input).await;
        // A command would start another container where none runs.
        if outcome.is_err() && self.ensure_runs().await.is_ok() {
            let _ = self.sandboxes.run(self.id, &scripts::remove_input(self.path), COMMAND_TIMEOUT_MILLIS).await;
        }
        outcome
    }

    async fn write_parts(&mut self, mut input: ByteStream) -> Result<(), Failure> {
        while let Some(chunk) = input.next().await {
            let chunk =
                chunk.map_err(|error| scripts::input_interrupted(&format!("The input ended early: {error}")))?;
            let mut rest = chunk.as_slice();
            while !rest.is_empty() {
                let (taken, left) = rest.split_at(rest.len().min(PART_BYTES.saturating_sub(self.bytes.len())));
                self.bytes.extend_from_slice(taken);
                rest = left;
                if self.bytes.len() >= PART_BYTES {
                    self.write_part().await?;
                }
            }
        }
        if !self.bytes.is_empty() {
            self.write_part().await?;
        }
        if self.parts > 0 || self.offset == 0 { self.join().await } else { Ok(()) }
    }

    /// # Errors
    /// When no container runs.
    async fn ensure_runs(&self) -> Result<(), Failure> {
        match self.sandboxes.status(self.id).await?.status {
            Status::Down => Err(scripts::input_interrupted("The container ended before the input did.")),
            Status::Starting | Status::Healthy => Ok(()),
        }
    }

    async fn write_part(&mut self) -> Result<(), Failure> {
        if self.parts > 0 || self.offset > 0 {
            self.ensure_runs().await?;
        }
        let path = scripts::input_part(self.path, self.parts);
        let arguments = [json!(path), json!(Base64::encode_string(&self.bytes)), json!({ "sessionId": NO_SESSION })];
        let _: Value = self.sandboxes.call(self.id, "writeFile", &arguments).await?;
        self.parts_bytes = self.parts_bytes.saturating_add(self.bytes.len() as u64);
        self.parts = self.parts.saturating_add(1);
        self.bytes.clear();
        if self.parts >= MAX_PARTS { self.join().await } else { Ok(()) }
    }

    async fn join(&mut self) -> Result<(), Failure> {
        let end = self.offset.saturating_add(self.parts_bytes);
        let script = scripts::join_input(self.path, self.offset, self.parts, end);
        scripts::read_joined(&self.sandboxes.run(self.id, &script, JOIN_TIMEOUT_MILLIS).await?)?;
        (self.offset, self.parts, self.parts_bytes) = (end, 0, 0);
        Ok(())
    }
}
