//! What the client sends is what the operation takes, with nothing lost.

use std::fmt::Debug;

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::client::Options;
use sandbox_snapshotter::model::request::{
    ApplyRetentionRequest, CallToolRequest, CreateCheckpointRequest, CreateRequest, DeleteRequest,
    DiffCheckpointRequest, ForkRequest, GetOrCreateRequest, GrantRequest, HealthRequest, ImportRequest, LabelRequest,
    LineageRequest, ListCheckpointsRequest, ListRequest, NameRequest, NamesRequest, PolicyRequest,
    RestoreCheckpointRequest, StartRequest, SweepRequest, Toolset, UpdateRequest, WorkspaceRequest,
};
use sandbox_snapshotter::model::{RestoreRequest, Result, Selection, SnapshotRequest};
use serde_json::Value;

use super::examples::examples;

/// Makes sure that options which were decoded are sent as they were.
#[track_caller]
fn sent<T: Options + Debug + PartialEq>(decode: fn(&Value) -> Result<T>, example: &Value) {
    let request = decode(example).unwrap();
    let sent = request.to_json();
    assert_eq!(decode(&sent).unwrap(), request, "{sent}");
    assert!(sent.as_object().unwrap().values().all(|value| !value.is_null()), "{sent}");
}

#[test]
fn every_option_of_every_operation_is_sent() {
    for (operation, example) in examples() {
        let example = &example;
        match operation {
            Operation::Snapshot => sent(SnapshotRequest::decode, example),
            Operation::Restore | Operation::Branch => sent(RestoreRequest::decode, example),
            Operation::List => sent(ListRequest::decode, example),
            Operation::Get | Operation::Manifest | Operation::Verify | Operation::Pin | Operation::Unpin => {
                sent(Selection::decode, example);
            }
            Operation::Label => sent(LabelRequest::decode, example),
            Operation::Delete => sent(DeleteRequest::decode, example),
            Operation::Import => sent(ImportRequest::decode, example),
            Operation::Lineage => sent(LineageRequest::decode, example),
            Operation::Retention | Operation::RotateKey => sent(WorkspaceRequest::decode, example),
            Operation::SetRetention => sent(PolicyRequest::decode, example),
            Operation::ApplyRetention => sent(ApplyRetentionRequest::decode, example),
            Operation::Sweep => sent(SweepRequest::decode, example),
            Operation::CreateWorkspace => sent(CreateRequest::decode, example),
            Operation::GetOrCreateWorkspace => sent(GetOrCreateRequest::decode, example),
            Operation::GetWorkspaceByName | Operation::StopWorkspace | Operation::DeleteWorkspace => {
                sent(|value| NameRequest::decode(value).map(|request| request.address), example);
            }
            Operation::ListWorkspaces => sent(NamesRequest::decode, example),
            Operation::StartWorkspace => sent(StartRequest::decode, example),
            Operation::ForkWorkspace => sent(ForkRequest::decode, example),
            Operation::UpdateWorkspace => sent(UpdateRequest::decode, example),
            Operation::CreateCheckpoint => sent(CreateCheckpointRequest::decode, example),
            Operation::ListCheckpoints => sent(ListCheckpointsRequest::decode, example),
            Operation::RestoreCheckpoint => sent(RestoreCheckpointRequest::decode, example),
            Operation::DiffCheckpoint => sent(DiffCheckpointRequest::decode, example),
            Operation::ListTools => sent(Toolset::decode, example),
            Operation::CallTool => sent(CallToolRequest::decode, example),
            Operation::GrantTools => sent(GrantRequest::decode, example),
            Operation::Health => sent(HealthRequest::decode, example),
        }
    }
}
