//! The arguments of every operation, over RPC and HTTP. The input has two parts: a line with the name of an operation,
//! and JSON.

use std::fmt::Debug;

use sandbox_snapshotter::api::operations::{Operation, Request};
use sandbox_snapshotter::client::Options;
use sandbox_snapshotter::model::named::Address;
use sandbox_snapshotter::model::request::{
    ApplyRetentionRequest, CallToolRequest, CreateCheckpointRequest, CreateRequest, DeleteRequest,
    DiffCheckpointRequest, ForkRequest, GetOrCreateRequest, GrantRequest, HealthRequest, ImportRequest, LabelRequest,
    LineageRequest, ListCheckpointsRequest, ListRequest, ListWorkspacesRequest, RestoreCheckpointRequest,
    SandboxRequest, SetRetentionRequest, StartRequest, StopRequest, SweepRequest, Toolset, UpdateRequest,
};
use sandbox_snapshotter::model::{RestoreRequest, Result, Selection, SnapshotRequest, json};
use serde_json::Value;

use super::input;
use super::rules::assert_legible;

/// See the module.
pub fn read(data: &[u8]) {
    let Some((name, rest)) = input::line(data) else { return };
    let (Some(operation), Some(arguments)) = (Operation::by_name(name), input::json(rest)) else { return };
    let decoded = decode(operation, &arguments);
    match (&decoded, Request::decode(operation, &arguments)) {
        (Ok(()), Ok(_)) => (),
        (Err(error), Err(target_error)) => {
            assert_eq!(error, &target_error);
            assert_legible(error);
            check_secrets(operation, error.message(), &arguments);
        }
        (decoded, target) => panic!("{decoded:?}, but {target:?}"),
    }
}

/// Asserts that accepted arguments can be written back with the same meaning.
fn check_round_trip<Request: Options + PartialEq + Debug>(
    decode: fn(&Value) -> Result<Request>,
    arguments: &Value,
) -> Result<()> {
    let request = decode(arguments)?;
    let written = request.to_json();
    assert_eq!(decode(&written).as_ref(), Ok(&request), "{written}");
    // The objects of this Worker pass arguments to each other as text.
    assert_eq!(json::from_str(&arguments.to_string()).as_ref(), Ok(arguments));
    Ok(())
}

/// Asserts that the message does not depend on the values of environment variables, which may be secrets.
fn check_secrets(operation: Operation, message: &str, arguments: &Value) {
    let mut others = arguments.clone();
    let Some(env) = others.get_mut("env").and_then(Value::as_object_mut) else { return };
    for value in env.values_mut() {
        *value = match value.take() {
            Value::String(text) => text.chars().map(|c| if c == '\0' { c } else { 'x' }).collect::<String>().into(),
            Value::Number(_) => 7.into(),
            Value::Bool(_) => true.into(),
            Value::Array(_) => Value::Array(Vec::new()),
            other => other,
        };
    }
    assert_eq!(decode(operation, &others).map_err(|error| error.message().to_owned()), Err(message.to_owned()));
}

fn decode(operation: Operation, arguments: &Value) -> Result<()> {
    match operation {
        Operation::Snapshot => check_round_trip(SnapshotRequest::decode, arguments),
        Operation::Restore | Operation::Branch => check_round_trip(RestoreRequest::decode, arguments),
        Operation::Get | Operation::Manifest | Operation::Verify | Operation::Pin | Operation::Unpin => {
            check_round_trip(Selection::decode, arguments)
        }
        Operation::Label => check_round_trip(LabelRequest::decode, arguments),
        Operation::Delete => check_round_trip(DeleteRequest::decode, arguments),
        Operation::List => check_round_trip(ListRequest::decode, arguments),
        Operation::Import => check_round_trip(ImportRequest::decode, arguments),
        Operation::Lineage => check_round_trip(LineageRequest::decode, arguments),
        Operation::Retention | Operation::RotateKey => check_round_trip(SandboxRequest::decode, arguments),
        Operation::SetRetention => check_round_trip(SetRetentionRequest::decode, arguments),
        Operation::ApplyRetention => check_round_trip(ApplyRetentionRequest::decode, arguments),
        Operation::Sweep => check_round_trip(SweepRequest::decode, arguments),
        Operation::CreateWorkspace => check_round_trip(CreateRequest::decode, arguments),
        Operation::GetOrCreateWorkspace => check_round_trip(GetOrCreateRequest::decode, arguments),
        Operation::GetWorkspaceByName | Operation::DeleteWorkspace => check_round_trip(Address::decode, arguments),
        Operation::ListWorkspaces => check_round_trip(ListWorkspacesRequest::decode, arguments),
        Operation::StartWorkspace => check_round_trip(StartRequest::decode, arguments),
        Operation::StopWorkspace => check_round_trip(|value| Ok(StopRequest::decode(value)?.address), arguments),
        Operation::ForkWorkspace => check_round_trip(ForkRequest::decode, arguments),
        Operation::UpdateWorkspace => check_round_trip(UpdateRequest::decode, arguments),
        Operation::CreateCheckpoint => check_round_trip(CreateCheckpointRequest::decode, arguments),
        Operation::ListCheckpoints => check_round_trip(ListCheckpointsRequest::decode, arguments),
        Operation::RestoreCheckpoint => check_round_trip(RestoreCheckpointRequest::decode, arguments),
        Operation::DiffCheckpoint => check_round_trip(DiffCheckpointRequest::decode, arguments),
        Operation::ListTools => check_round_trip(Toolset::decode, arguments),
        Operation::CallTool => check_round_trip(CallToolRequest::decode, arguments),
        Operation::GrantTools => check_round_trip(GrantRequest::decode, arguments),
        Operation::Health => check_round_trip(HealthRequest::decode, arguments),
    }
}
