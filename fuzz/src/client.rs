//! Responses to a client: of the snapshotter, of a later release, or of another server. The input has two parts: a line
//! with the name of an operation and an HTTP status, and the body.

use std::cell::Cell;
use std::fmt::Debug;
use std::time::Duration;

use futures_executor::block_on;
use sandbox_snapshotter::model::answer::{
    Deletion, KeyRotation, Manifest, Page, Retention, Summary, Sweep, Tree, Verification,
};
use sandbox_snapshotter::model::background::{CommandDescription, CommandList, CommandOutput};
use sandbox_snapshotter::model::checkpoint::{
    CheckpointDiff, CheckpointPage, CreatedCheckpoint, DeletedCheckpoint, RestoredCheckpoint,
};
use sandbox_snapshotter::model::diff::SnapshotDiff;
use sandbox_snapshotter::model::exec::ExecResult;
use sandbox_snapshotter::model::files::{
    FileContent, FileDescription, FilePage, FilesSummary, RemovedFile, RestoredFiles,
};
use sandbox_snapshotter::model::health::Health;
use sandbox_snapshotter::model::named::TurnEnded;
use sandbox_snapshotter::model::named::answer::{
    DeletedWorkspace, ForkedWorkspaces, StartedWorkspace, StoppedWorkspace, WorkspaceDescription, WorkspacePage,
};
use sandbox_snapshotter::model::revive::RevivedSandbox;
use sandbox_snapshotter::model::token::{CreatedToken, CurrentToken, RevokedToken, TokenList};
use sandbox_snapshotter::model::tool::{ToolGrant, ToolList, ToolResult};
use sandbox_snapshotter::model::usage::Usage;
use sandbox_snapshotter::model::{TakenSnapshot, WorkspaceRef, json as text};
use sandbox_snapshotter_client::{Client, HttpResponse, Transport, TransportError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::input;
use super::rules::assert_json_round_trip;

/// See the module.
pub fn read(data: &[u8]) {
    let Some((first, body)) = input::line(data) else { return };
    let Some((operation, status)) = first.split_once(' ') else { return };
    let Ok(status) = status.parse() else { return };
    let sent = Cell::new(0);
    let reply = HttpResponse { status, body: String::from_utf8_lossy(body).into_owned() };
    let client = Client::new(ConstantTransport { reply: &reply, sent: &sent });
    match block_on(client.call(operation, json!({}))) {
        Ok(answer) => {
            assert!((200..300).contains(&status));
            check_answer(operation, &answer);
        }
        Err(error) => {
            assert!(!error.code().as_str().is_empty() || reply.body.contains("\"code\""));
            assert!(!(200..300).contains(&status) || serde_json::from_str::<Value>(&reply.body).is_err());
        }
    }
    assert!((1..=4).contains(&sent.get()), "{} calls were made", sent.get());
}

/// Asserts that an accepted answer is written back unchanged.
fn check_answer(operation: &str, answer: &Value) {
    match operation {
        "snapshot" | "import" => check_round_trip::<TakenSnapshot>(answer),
        "restore" | "branch" => check_round_trip::<WorkspaceRef>(answer),
        "revive" => check_round_trip::<RevivedSandbox>(answer),
        "list" => check_round_trip::<Page>(answer),
        "get" | "label" | "pin" | "unpin" => check_round_trip::<Summary>(answer),
        "manifest" => check_round_trip::<Manifest>(answer),
        "diff" => check_round_trip::<SnapshotDiff>(answer),
        "verify" => check_round_trip::<Verification>(answer),
        "delete" => check_round_trip::<Deletion>(answer),
        "lineage" => check_round_trip::<Tree>(answer),
        "retention" | "setRetention" | "applyRetention" => check_round_trip::<Retention>(answer),
        "rotateKey" => check_round_trip::<KeyRotation>(answer),
        "exec" => check_round_trip::<ExecResult>(answer),
        "commands/start" | "commands/end" => check_round_trip::<CommandDescription>(answer),
        "commands/list" => check_round_trip::<CommandList>(answer),
        "commands/output" => check_round_trip::<CommandOutput>(answer),
        "tokens/create" => check_round_trip::<CreatedToken>(answer),
        "tokens/list" => check_round_trip::<TokenList>(answer),
        "tokens/revoke" => check_round_trip::<RevokedToken>(answer),
        "tokens/current" => check_round_trip::<CurrentToken>(answer),
        "sweep" => check_round_trip::<Sweep>(answer),
        "health" => check_round_trip::<Health>(answer),
        "workspaces/create" | "workspaces/getOrCreate" | "workspaces/start" => {
            check_round_trip::<StartedWorkspace>(answer);
        }
        "workspaces/getByName" | "workspaces/update" => check_round_trip::<WorkspaceDescription>(answer),
        "workspaces/turnEnded" => check_round_trip::<TurnEnded>(answer),
        "workspaces/stop" | "workspaces/migrate" => check_round_trip::<StoppedWorkspace>(answer),
        "workspaces/fork" => check_round_trip::<ForkedWorkspaces<StartedWorkspace>>(answer),
        "workspaces/delete" => check_round_trip::<DeletedWorkspace>(answer),
        "workspaces/list" => check_round_trip::<WorkspacePage>(answer),
        "checkpoints/create" => check_round_trip::<CreatedCheckpoint>(answer),
        "checkpoints/list" => check_round_trip::<CheckpointPage>(answer),
        "checkpoints/restore" => check_round_trip::<RestoredCheckpoint>(answer),
        "files/list" => check_round_trip::<FilePage>(answer),
        "files/remove" => check_round_trip::<RemovedFile>(answer),
        "files/stat" | "files/write" | "files/mkdir" | "files/move" => check_round_trip::<FileDescription>(answer),
        "files/summary" => check_round_trip::<FilesSummary>(answer),
        "files/restore" => check_round_trip::<RestoredFiles>(answer),
        "files/read" => check_round_trip::<FileContent>(answer),
        "usage" => check_round_trip::<Usage>(answer),
        "checkpoints/delete" => check_round_trip::<DeletedCheckpoint>(answer),
        "checkpoints/diff" => check_round_trip::<CheckpointDiff>(answer),
        "tools/list" => check_round_trip::<ToolList>(answer),
        "tools/call" => check_round_trip::<ToolResult>(answer),
        "tools/grant" => check_round_trip::<ToolGrant>(answer),
        _ => (),
    }
}

fn check_round_trip<T: Serialize + DeserializeOwned + PartialEq + Debug>(answer: &Value) {
    if let Ok(answer) = text::from_value::<T>(answer) {
        assert_json_round_trip(&answer);
    }
}

/// A transport that always returns the same response.
struct ConstantTransport<'a> {
    reply: &'a HttpResponse,
    sent: &'a Cell<u32>,
}

impl Transport for ConstantTransport<'_> {
    async fn send(&self, _: &str, _: &Value) -> Result<HttpResponse, TransportError> {
        self.sent.set(self.sent.get() + 1);
        Ok(self.reply.clone())
    }

    async fn sleep(&self, _: Duration) {}

    fn random(&self) -> Result<[u8; 16], TransportError> {
        Ok([7; 16])
    }
}
