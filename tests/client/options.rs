//! The client sends every option that an operation accepts.

use std::fmt::Debug;

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::client::Options;
use sandbox_snapshotter::model::named::Address;
use sandbox_snapshotter::model::request::{
    ApplyRetentionRequest, CallToolRequest, CreateCheckpointRequest, CreateRequest, DeleteRequest,
    DiffCheckpointRequest, ForkRequest, GetOrCreateRequest, GrantRequest, HealthRequest, ImportRequest, LabelRequest,
    LineageRequest, ListCheckpointsRequest, ListRequest, ListWorkspacesRequest, RestoreCheckpointRequest,
    SandboxRequest, SetRetentionRequest, StartRequest, SweepRequest, Toolset, UpdateRequest,
};
use sandbox_snapshotter::model::{RestoreRequest, Result, Selection, SnapshotRequest};
use serde_json::Value;

use super::examples::examples;

/// Asserts that decoded options are sent unchanged.
#[track_caller]
fn assert_round_trip<T: Options + Debug + PartialEq>(decode: fn(&Value) -> Result<T>, example: &Value) {
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
            Operation::Snapshot => assert_round_trip(SnapshotRequest::decode, example),
            Operation::Restore | Operation::Branch => assert_round_trip(RestoreRequest::decode, example),
            Operation::List => assert_round_trip(ListRequest::decode, example),
            Operation::Get | Operation::Manifest | Operation::Verify | Operation::Pin | Operation::Unpin => {
                assert_round_trip(Selection::decode, example);
            }
            Operation::Label => assert_round_trip(LabelRequest::decode, example),
            Operation::Delete => assert_round_trip(DeleteRequest::decode, example),
            Operation::Import => assert_round_trip(ImportRequest::decode, example),
            Operation::Lineage => assert_round_trip(LineageRequest::decode, example),
            Operation::Retention | Operation::RotateKey => assert_round_trip(SandboxRequest::decode, example),
            Operation::SetRetention => assert_round_trip(SetRetentionRequest::decode, example),
            Operation::ApplyRetention => assert_round_trip(ApplyRetentionRequest::decode, example),
            Operation::Sweep => assert_round_trip(SweepRequest::decode, example),
            Operation::CreateWorkspace => assert_round_trip(CreateRequest::decode, example),
            Operation::GetOrCreateWorkspace => assert_round_trip(GetOrCreateRequest::decode, example),
            Operation::GetWorkspaceByName | Operation::StopWorkspace | Operation::DeleteWorkspace => {
                assert_round_trip(Address::decode, example);
            }
            Operation::ListWorkspaces => assert_round_trip(ListWorkspacesRequest::decode, example),
            Operation::StartWorkspace => assert_round_trip(StartRequest::decode, example),
            Operation::ForkWorkspace => assert_round_trip(ForkRequest::decode, example),
            Operation::UpdateWorkspace => assert_round_trip(UpdateRequest::decode, example),
            Operation::CreateCheckpoint => assert_round_trip(CreateCheckpointRequest::decode, example),
            Operation::ListCheckpoints => assert_round_trip(ListCheckpointsRequest::decode, example),
            Operation::RestoreCheckpoint => assert_round_trip(RestoreCheckpointRequest::decode, example),
            Operation::DiffCheckpoint => assert_round_trip(DiffCheckpointRequest::decode, example),
            Operation::ListTools => assert_round_trip(Toolset::decode, example),
            Operation::CallTool => assert_round_trip(CallToolRequest::decode, example),
            Operation::GrantTools => assert_round_trip(GrantRequest::decode, example),
            Operation::Health => assert_round_trip(HealthRequest::decode, example),
        }
    }
}
