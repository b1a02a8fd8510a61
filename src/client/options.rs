//! What the operations take, as JSON.

use serde_json::{Map, Value, json};

use crate::model::named::Address;
use crate::model::request::{
    ApplyRetentionRequest, CallToolRequest, CheckpointsRequest, CreateCheckpointRequest, CreateRequest, DeleteRequest,
    DiffCheckpointRequest, ForkRequest, GetOrCreateRequest, GrantRequest, HealthRequest, ImportRequest, LabelRequest,
    LineageRequest, ListCheckpointsRequest, ListRequest, NamesRequest, PolicyRequest, RestoreCheckpointRequest,
    StartRequest, SweepRequest, Toolset, UpdateRequest, WorkspaceRequest,
};
use crate::model::{RestoreRequest, Selection, SnapshotRequest};

/// The options of an operation: one of the types in [`model::request`](crate::model::request).
pub trait Options {
    /// The options as the operation takes them. What is `null` is as good as absent.
    fn to_json(&self) -> Value;
}

/// The fields of several objects.
fn merged<const N: usize>(parts: [Value; N]) -> Value {
    let fields = parts.into_iter().filter_map(|part| match part {
        Value::Object(fields) => Some(fields),
        _ => None,
    });
    Value::Object(fields.flatten().filter(|(_, value)| !value.is_null()).collect::<Map<_, _>>())
}

impl Options for SnapshotRequest {
    fn to_json(&self) -> Value {
        merged([json!(self), json!(self.session), json!({ "idempotencyKey": self.idempotency_key })])
    }
}

impl Options for Selection {
    fn to_json(&self) -> Value {
        merged([json!(self)])
    }
}

impl Options for RestoreRequest {
    fn to_json(&self) -> Value {
        merged([json!(self), json!({ "idempotencyKey": self.idempotency_key })])
    }
}

impl Options for LabelRequest {
    fn to_json(&self) -> Value {
        merged([json!(self.selection), json!({ "newLabel": self.new_label, "replace": self.replace })])
    }
}

impl Options for DeleteRequest {
    fn to_json(&self) -> Value {
        merged([json!(self.selection), json!({ "force": self.force })])
    }
}

impl Options for ListRequest {
    fn to_json(&self) -> Value {
        let rest = json!({
            "sandboxId": self.sandbox_id,
            "cursor": self.cursor.as_ref().map(ToString::to_string),
            "limit": self.limit,
            "labelPrefix": self.label_prefix,
            "check": self.check,
        });
        merged([rest, json!(self.session)])
    }
}

impl Options for ImportRequest {
    fn to_json(&self) -> Value {
        merged([json!({
            "sandboxId": self.sandbox_id,
            "backup": self.backup,
            "label": self.label,
            "replace": self.replace,
            "expirationSeconds": self.expiration_seconds,
        })])
    }
}

impl Options for WorkspaceRequest {
    fn to_json(&self) -> Value {
        merged([json!({ "sandboxId": self.sandbox_id }), json!(self.session)])
    }
}

impl Options for LineageRequest {
    fn to_json(&self) -> Value {
        merged([json!({ "sandboxId": self.sandbox_id, "check": self.check }), json!(self.session)])
    }
}

impl Options for PolicyRequest {
    fn to_json(&self) -> Value {
        json!({ "sandboxId": self.sandbox_id, "policy": self.policy, "dryRun": self.dry_run })
    }
}

impl Options for ApplyRetentionRequest {
    fn to_json(&self) -> Value {
        json!({ "sandboxId": self.sandbox_id, "dryRun": self.dry_run })
    }
}

impl Options for SweepRequest {
    fn to_json(&self) -> Value {
        json!({ "dryRun": self.dry_run, "graceSeconds": self.grace_seconds })
    }
}

impl Options for HealthRequest {
    fn to_json(&self) -> Value {
        json!({})
    }
}

impl Options for Address {
    fn to_json(&self) -> Value {
        json!(self)
    }
}

impl Options for CreateRequest {
    fn to_json(&self) -> Value {
        merged([self.to_arguments().unwrap_or_default()])
    }
}

impl Options for GetOrCreateRequest {
    fn to_json(&self) -> Value {
        merged([self.create.to_json(), json!(self.start)])
    }
}

impl Options for NamesRequest {
    fn to_json(&self) -> Value {
        merged([json!(self)])
    }
}

impl Options for StartRequest {
    fn to_json(&self) -> Value {
        merged([json!(self.address), json!({ "fingerprint": self.fingerprint }), json!(self.start)])
    }
}

impl Options for ForkRequest {
    fn to_json(&self) -> Value {
        let rest = json!({
            "newName": self.new_name,
            "count": self.count,
            "copyEnv": self.copy_env,
            "idempotencyKey": self.idempotency_key,
        });
        merged([json!(self.address), rest])
    }
}

impl Options for UpdateRequest {
    fn to_json(&self) -> Value {
        let rest = json!({ "currentSnapshotId": self.current_snapshot_id, "acceptStale": self.start.accept_stale });
        merged([json!(self.address), json!(self.changes), rest])
    }
}

impl Options for CheckpointsRequest {
    fn to_json(&self) -> Value {
        merged([json!({ "sandboxId": self.sandbox_id, "dir": self.dir }), json!(self.session)])
    }
}

impl Options for ListCheckpointsRequest {
    fn to_json(&self) -> Value {
        let cursor = self.cursor.as_ref().map(ToString::to_string);
        merged([self.at.to_json(), json!({ "cursor": cursor, "limit": self.limit })])
    }
}

impl Options for CreateCheckpointRequest {
    fn to_json(&self) -> Value {
        merged([self.at.to_json(), json!({ "name": self.name, "description": self.description })])
    }
}

impl Options for RestoreCheckpointRequest {
    fn to_json(&self) -> Value {
        merged([self.at.to_json(), json!({ "name": self.name })])
    }
}

impl Options for DiffCheckpointRequest {
    fn to_json(&self) -> Value {
        merged([self.at.to_json(), json!({ "name": self.name, "maxBytes": self.max_bytes })])
    }
}

impl Options for Toolset {
    fn to_json(&self) -> Value {
        json!(self)
    }
}

impl Options for CallToolRequest {
    fn to_json(&self) -> Value {
        let call = json!({ "name": self.name, "arguments": self.arguments, "idempotencyKey": self.idempotency_key });
        merged([json!(self.toolset), call])
    }
}

impl Options for GrantRequest {
    fn to_json(&self) -> Value {
        merged([json!(self.toolset), json!({ "expirationSeconds": self.expiration_seconds })])
    }
}
