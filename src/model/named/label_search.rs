//! The result of the search for the label of a snapshot, as sent between the objects of a workspace.

use serde::{Deserialize, Serialize};

use crate::model::answer::Removal;
use crate::model::{Label, SnapshotId, Timestamp};

/// The result of the search for a label in the ledger of one sandbox.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LabelSearch {
    /// The snapshot with the label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<LabeledSnapshot>,
    /// The labels of the newest snapshots, if none has the label.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub newest_labels: Vec<Label>,
    /// The snapshot that had the label and was removed last, if none has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removed: Option<RemovedSnapshot>,
    /// Whether a call with the idempotency key of the search was made here.
    #[serde(default)]
    pub has_key: bool,
}

/// A snapshot that was found by its label.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LabeledSnapshot {
    /// The id of the snapshot.
    pub snapshot_id: SnapshotId,
    /// When the snapshot was taken, or its capture began.
    pub created_at: Timestamp,
    /// Whether the capture is complete.
    pub is_ready: bool,
}

/// A removed snapshot that had the label.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RemovedSnapshot {
    /// The id of the snapshot.
    pub snapshot_id: SnapshotId,
    /// When and why it was removed.
    pub removal: Removal,
}
