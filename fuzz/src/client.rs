//! What answers a client: the snapshotter, a later one, or somebody else. The input is the name of an operation and a status on
//! a line of their own, and the body.

use std::cell::Cell;
use std::fmt::Debug;
use std::time::Duration;

use futures_executor::block_on;
use sandbox_snapshotter::client::{Client, HttpResponse, Transport, TransportError};
use sandbox_snapshotter::model::answer::{
    Deletion, KeyRotation, Manifest, Page, Retention, Summary, Sweep, Tree, Verification,
};
use sandbox_snapshotter::model::checkpoint::{CheckpointDiff, Checkpoints, CreatedCheckpoint, RestoredCheckpoint};
use sandbox_snapshotter::model::health::Health;
use sandbox_snapshotter::model::named::answer::{
    DeletedWorkspace, ForkedWorkspaces, StartedWorkspace, StoppedWorkspace, WorkspaceDescription, WorkspacePage,
};
use sandbox_snapshotter::model::tool::{ToolGrant, ToolResult, Tools};
use sandbox_snapshotter::model::{TakenSnapshot, WorkspaceRef, json as text};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::rules::kept;
use super::words;

/// See the module.
pub fn read(data: &[u8]) {
    let Some((first, body)) = words::line(data) else { return };
    let Some((operation, status)) = first.split_once(' ') else { return };
    let Ok(status) = status.parse() else { return };
    let sent = Cell::new(0);
    let reply = HttpResponse { status, body: String::from_utf8_lossy(body).into_owned() };
    let client = Client::new(Always { reply: &reply, sent: &sent });
    match block_on(client.call(operation, json!({}))) {
        Ok(answer) => {
            assert!((200..300).contains(&status));
            understood(operation, &answer);
        }
        Err(error) => {
            assert!(!error.code().as_str().is_empty() || reply.body.contains("\"code\""));
            assert!(!(200..300).contains(&status) || serde_json::from_str::<Value>(&reply.body).is_err());
        }
    }
    assert!((1..=4).contains(&sent.get()), "it was asked {} times", sent.get());
}

/// An answer that is understood is written as the same.
fn understood(operation: &str, answer: &Value) {
    match operation {
        "snapshot" | "import" => again::<TakenSnapshot>(answer),
        "restore" | "branch" => again::<WorkspaceRef>(answer),
        "list" => again::<Page>(answer),
        "get" | "label" | "pin" | "unpin" => again::<Summary>(answer),
        "manifest" => again::<Manifest>(answer),
        "verify" => again::<Verification>(answer),
        "delete" => again::<Deletion>(answer),
        "lineage" => again::<Tree>(answer),
        "retention" | "setRetention" | "applyRetention" => again::<Retention>(answer),
        "rotateKey" => again::<KeyRotation>(answer),
        "sweep" => again::<Sweep>(answer),
        "health" => again::<Health>(answer),
        "workspaces/create" | "workspaces/getOrCreate" | "workspaces/start" => again::<StartedWorkspace>(answer),
        "workspaces/getByName" | "workspaces/update" => again::<WorkspaceDescription>(answer),
        "workspaces/stop" => again::<StoppedWorkspace>(answer),
        "workspaces/fork" => again::<ForkedWorkspaces<StartedWorkspace>>(answer),
        "workspaces/delete" => again::<DeletedWorkspace>(answer),
        "workspaces/list" => again::<WorkspacePage>(answer),
        "checkpoints/create" => again::<CreatedCheckpoint>(answer),
        "checkpoints/list" => again::<Checkpoints>(answer),
        "checkpoints/restore" => again::<RestoredCheckpoint>(answer),
        "checkpoints/diff" => again::<CheckpointDiff>(answer),
        "tools/list" => again::<Tools>(answer),
        "tools/call" => again::<ToolResult>(answer),
        "tools/grant" => again::<ToolGrant>(answer),
        _ => (),
    }
}

fn again<T: Serialize + DeserializeOwned + PartialEq + Debug>(answer: &Value) {
    if let Ok(answer) = text::from_value::<T>(answer) {
        kept(&answer);
    }
}

/// A way to somebody who always answers the same.
struct Always<'a> {
    reply: &'a HttpResponse,
    sent: &'a Cell<u32>,
}

impl Transport for Always<'_> {
    async fn send(&self, _: &str, _: &Value) -> Result<HttpResponse, TransportError> {
        self.sent.set(self.sent.get() + 1);
        Ok(self.reply.clone())
    }

    async fn sleep(&self, _: Duration) {}

    fn random(&self) -> Result<[u8; 16], TransportError> {
        Ok([7; 16])
    }
}
