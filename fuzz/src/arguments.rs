//! The arguments of every operation, as they come over RPC and HTTP. The input is the name of an operation on a line of its own,
//! and JSON.

use std::fmt::Debug;

use sandbox_snapshotter::api::operations::{Operation, decode_target};
use sandbox_snapshotter::client::Options;
use sandbox_snapshotter::model::named::Address;
use sandbox_snapshotter::model::request::{
    AddressRequest, ApplyRetentionRequest, CallToolRequest, CreateCheckpointRequest, CreateRequest, DeleteRequest,
    DiffCheckpointRequest, ForkRequest, GetOrCreateRequest, GrantRequest, HealthRequest, ImportRequest, LabelRequest,
    LineageRequest, ListCheckpointsRequest, ListRequest, ListWorkspacesRequest, RestoreCheckpointRequest,
    SandboxRequest, SetRetentionRequest, StartRequest, StopRequest, SweepRequest, Toolset, UpdateRequest,
};
use sandbox_snapshotter::model::{RestoreRequest, Result, Selection, SnapshotRequest, json};
use serde_json::Value;

use super::rules::legible;
use super::words;

/// See the module.
pub fn read(data: &[u8]) {
    let Some((name, rest)) = words::line(data) else { return };
    let (Some(operation), Some(arguments)) = (Operation::by_name(name), words::json(rest)) else { return };
    let decoded = decode(operation, &arguments);
    match (&decoded, decode_target(operation, &arguments)) {
        (Ok(()), Ok(_)) => (),
        (Err(one), Err(other)) => {
            assert_eq!(one, &other);
            legible(one);
            tells_no_secret(operation, one.message(), &arguments);
        }
        (decoded, target) => panic!("{decoded:?}, but {target:?}"),
    }
}

/// Arguments that are taken can be written again, and mean the same then.
fn again<Request: Options + PartialEq + Debug>(decode: fn(&Value) -> Result<Request>, arguments: &Value) -> Result<()> {
    let request = decode(arguments)?;
    let written = request.to_json();
    assert_eq!(decode(&written).as_ref(), Ok(&request), "{written}");
    // Between the objects of this Worker they pass as text.
    assert_eq!(json::from_str(&arguments.to_string()).as_ref(), Ok(arguments));
    Ok(())
}

/// The values of environment variables may be secrets: whatever they are, the message is the same.
fn tells_no_secret(operation: Operation, message: &str, arguments: &Value) {
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
        Operation::Snapshot => again(SnapshotRequest::decode, arguments),
        Operation::Restore | Operation::Branch => again(RestoreRequest::decode, arguments),
        Operation::Get | Operation::Manifest | Operation::Verify | Operation::Pin | Operation::Unpin => {
            again(Selection::decode, arguments)
        }
        Operation::Label => again(LabelRequest::decode, arguments),
        Operation::Delete => again(DeleteRequest::decode, arguments),
        Operation::List => again(ListRequest::decode, arguments),
        Operation::Import => again(ImportRequest::decode, arguments),
        Operation::Lineage => again(LineageRequest::decode, arguments),
        Operation::Retention | Operation::RotateKey => again(SandboxRequest::decode, arguments),
        Operation::SetRetention => again(SetRetentionRequest::decode, arguments),
        Operation::ApplyRetention => again(ApplyRetentionRequest::decode, arguments),
        Operation::Sweep => again(SweepRequest::decode, arguments),
        Operation::CreateWorkspace => again(CreateRequest::decode, arguments),
        Operation::GetOrCreateWorkspace => again(GetOrCreateRequest::decode, arguments),
        Operation::GetWorkspaceByName | Operation::DeleteWorkspace => again(by_name, arguments),
        Operation::ListWorkspaces => again(ListWorkspacesRequest::decode, arguments),
        Operation::StartWorkspace => again(StartRequest::decode, arguments),
        Operation::StopWorkspace => again(|value| Ok(StopRequest::decode(value)?.address), arguments),
        Operation::ForkWorkspace => again(ForkRequest::decode, arguments),
        Operation::UpdateWorkspace => again(UpdateRequest::decode, arguments),
        Operation::CreateCheckpoint => again(CreateCheckpointRequest::decode, arguments),
        Operation::ListCheckpoints => again(ListCheckpointsRequest::decode, arguments),
        Operation::RestoreCheckpoint => again(RestoreCheckpointRequest::decode, arguments),
        Operation::DiffCheckpoint => again(DiffCheckpointRequest::decode, arguments),
        Operation::ListTools => again(Toolset::decode, arguments),
        Operation::CallTool => again(CallToolRequest::decode, arguments),
        Operation::GrantTools => again(GrantRequest::decode, arguments),
        Operation::Health => again(HealthRequest::decode, arguments),
    }
}

fn by_name(value: &Value) -> Result<Address> {
    Ok(AddressRequest::decode(value)?.address)
}
