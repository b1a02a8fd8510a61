//! The options of the operations, as JSON.

use serde_json::{Map, Value, json};

use crate::model::named::Address;
use crate::model::request::{
    ApplyRetentionRequest, CallToolRequest, CheckpointLocation, CreateCheckpointRequest, CreateRequest, DeleteRequest,
    DiffCheckpointRequest, ForkRequest, GetOrCreateRequest, GrantRequest, HealthRequest, ImportRequest, LabelRequest,
    LineageRequest, ListCheckpointsRequest, ListRequest, ListWorkspacesRequest, RestoreCheckpointRequest,
    SandboxRequest, SetRetentionRequest, StartRequest, SweepRequest, Toolset, UpdateRequest,
};
use crate::model::{RestoreRequest, Selection, SnapshotRequest};

/// The options of an operation: one of the types in [`model::request`](crate::model::request).
pub trait Options {
    /// Returns the options as JSON. A field with the value `null` counts as absent.
    fn to_json(&self) -> Value;
}

/// Merges the fields of several objects, without those that are `null`.
fn merge<const N: usize>(parts: [Value; N]) -> Value {
    let fields = parts.into_iter().filter_map(|part| match part {
        Value::Object(fields) => Some(fields),
        _ => None,
    });
    Value::Object(fields.flatten().filter(|(_, value)| !value.is_null()).collect::<Map<_, _>>())
}

impl Options for SnapshotRequest {
    fn to_json(&self) -> Value {
        merge([json!(self), json!(self.lineage_scope), json!({ "idempotencyKey": self.idempotency_key })])
    }
}

impl Options for Selection {
    fn to_json(&self) -> Value {
        merge([json!(self)])
    }
}

impl Options for RestoreRequest {
    fn to_json(&self) -> Value {
        merge([json!(self), json!({ "idempotencyKey": self.idempotency_key })])
    }
}

impl Options for LabelRequest {
    fn to_json(&self) -> Value {
        merge([json!(self.selection), json!({ "newLabel": self.new_label, "replace": self.replace })])
    }
}

impl Options for DeleteRequest {
    fn to_json(&self) -> Value {
        merge([json!(self.selection), json!({ "force": self.force })])
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
        merge([rest, json!(self.lineage_scope)])
    }
}

impl Options for ImportRequest {
    fn to_json(&self) -> Value {
        merge([json!({
            "sandboxId": self.sandbox_id,
            "backup": self.backup,
            "label": self.label,
            "replace": self.replace,
            "expirationSeconds": self.expiration_seconds,
        })])
    }
}

impl Options for SandboxRequest {
    fn to_json(&self) -> Value {
        merge([json!({ "sandboxId": self.sandbox_id }), json!(self.lineage_scope)])
    }
}

impl Options for LineageRequest {
    fn to_json(&self) -> Value {
        merge([json!({ "sandboxId": self.sandbox_id, "check": self.check }), json!(self.lineage_scope)])
    }
}

impl Options for SetRetentionRequest {
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
        merge([self.to_arguments().unwrap_or_default()])
    }
}

impl Options for GetOrCreateRequest {
    fn to_json(&self) -> Value {
        merge([self.create.to_json(), json!(self.start)])
    }
}

impl Options for ListWorkspacesRequest {
    fn to_json(&self) -> Value {
        merge([json!(self)])
    }
}

impl Options for StartRequest {
    fn to_json(&self) -> Value {
        merge([json!(self.address), json!({ "fingerprint": self.fingerprint }), json!(self.start)])
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
        merge([json!(self.address), rest])
    }
}

impl Options for UpdateRequest {
    fn to_json(&self) -> Value {
        let rest = json!({ "currentSnapshotId": self.current_snapshot_id, "acceptStale": self.start.accept_stale });
        merge([json!(self.address), json!(self.settings), rest])
    }
}

impl Options for CheckpointLocation {
    fn to_json(&self) -> Value {
        merge([json!({ "sandboxId": self.sandbox_id, "dir": self.dir }), json!(self.lineage_scope)])
    }
}

impl Options for ListCheckpointsRequest {
    fn to_json(&self) -> Value {
        let cursor = self.cursor.as_ref().map(ToString::to_string);
        merge([self.location.to_json(), json!({ "cursor": cursor, "limit": self.limit })])
    }
}

impl Options for CreateCheckpointRequest {
    fn to_json(&self) -> Value {
        merge([self.location.to_json(), json!({ "name": self.name, "description": self.description })])
    }
}

impl Options for RestoreCheckpointRequest {
    fn to_json(&self) -> Value {
        merge([self.location.to_json(), json!({ "name": self.name })])
    }
}

impl Options for DiffCheckpointRequest {
    fn to_json(&self) -> Value {
        merge([self.location.to_json(), json!({ "name": self.name, "maxBytes": self.max_bytes })])
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
        merge([json!(self.toolset), call])
    }
}

impl Options for GrantRequest {
    fn to_json(&self) -> Value {
        merge([json!(self.toolset), json!({ "expirationSeconds": self.expiration_seconds })])
    }
}
