//! Refs: the public form of snapshots.
//!
//! They pass through applications, logs and language models, so they are decoded strictly.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::freeze::FreezeReport;
use super::ids::quoted;
use super::{
    BackupHandle, Error, FullReason, Label, Result, SandboxId, SecretsReport, ShortRef, SnapshotForm, SnapshotId,
    Timestamp, json,
};
#[cfg(feature = "schema")]
use crate::model::schema::{always, extends};

/// The provider that a ref belongs to.
pub const PROVIDER_ID: &str = "cloudflare-sandbox";

/// The version of the payloads that this release writes, and the only one that it reads.
pub const SCHEMA_VERSION: u32 = 1;

/// The maximum size of a ref, in bytes of JSON.
const MAX_BYTES: usize = 16 * 1024;

/// A reference to a snapshot, for applications to store and pass back.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SnapshotRef {
    /// The provider.
    #[cfg_attr(feature = "schema", schemars(extend("const" = PROVIDER_ID)))]
    #[serde(rename = "providerId")]
    provider_id: &'static str,
    /// The payload. Pass it back unchanged.
    #[serde(rename = "ref")]
    payload: SnapshotPayload,
}

/// The payload of a snapshot ref, which only this provider interprets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct SnapshotPayload {
    /// The version of this format.
    #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA_VERSION)))]
    schema_version: u32,
    /// The id of the snapshot.
    snapshot_id: SnapshotId,
    /// The sandbox that it was taken of.
    origin_id: SandboxId,
    /// The first sandbox of the lineage.
    root_id: SandboxId,
    /// The SDK's handle of the backup.
    backup: BackupHandle,
    /// When the backup was stored. A string without a format, because clients that parse times write them in another
    /// form, which the signature does not cover.
    #[cfg_attr(feature = "schema", schemars(with = "String", extend("pattern" = "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{12}Z$")))]
    created_at: Timestamp,
    /// The signature, which reveals an altered ref.
    signature: String,
}

impl SnapshotPayload {
    /// Returns the bytes that are signed: the JSON of all other fields, with sorted keys and no whitespace.
    fn signed_bytes(&self) -> Vec<u8> {
        let mut fields = json::to_value(self).unwrap_or_default();
        if let Value::Object(fields) = &mut fields {
            fields.remove("signature");
        }
        json::value_to_string(&fields).into_bytes()
    }
}

impl SnapshotRef {
    /// Creates the ref of a snapshot of `origin_id`, in the lineage of `root_id`. `sign` returns the signature of the
    /// bytes that it gets.
    pub fn new(
        snapshot_id: SnapshotId,
        origin_id: SandboxId,
        root_id: SandboxId,
        backup: BackupHandle,
        created_at: Timestamp,
        sign: impl FnOnce(&[u8]) -> String,
    ) -> Self {
        let mut payload = SnapshotPayload {
            schema_version: SCHEMA_VERSION,
            snapshot_id,
            origin_id,
            root_id,
            backup,
            created_at,
            signature: String::new(),
        };
        payload.signature = sign(&payload.signed_bytes());
        Self { provider_id: PROVIDER_ID, payload }
    }

    /// Returns the bytes that the signature is about: the JSON of all other fields.
    pub fn signed_bytes(&self) -> Vec<u8> {
        self.payload.signed_bytes()
    }

    /// Returns the signature, which only the Worker can verify.
    pub fn signature(&self) -> &str {
        &self.payload.signature
    }

    /// Decodes a ref from outside.
    ///
    /// # Errors
    /// [`Code::ForeignRef`] for a ref of another provider, [`Code::UnsupportedRefVersion`] for another schema version,
    /// [`Code::InvalidRef`] for any other deviation.
    pub fn decode(value: &Value) -> Result<Self> {
        let invalid = Error::invalid_snapshot_ref;
        let Value::Object(fields) = value else {
            return Err(invalid("is not an object"));
        };
        let provider = fields.get("providerId").and_then(Value::as_str).ok_or_else(|| invalid("has no providerId"))?;
        if provider != PROVIDER_ID {
            return Err(Error::foreign_ref("snapshot", provider));
        }
        // A snapshot call returns the others beside the ref.
        let known = ["providerId", "ref", "snapshotId", "shortRef", "capture"];
        if let Some(unknown) = fields.keys().find(|key| !known.contains(&key.as_str())) {
            return Err(invalid(&format!("has an unknown field {}", quoted(unknown))));
        }
        let payload = fields.get("ref").ok_or_else(|| invalid("has no ref"))?;
        let version =
            payload.get("schemaVersion").and_then(Value::as_u64).ok_or_else(|| invalid("has no schemaVersion"))?;
        if version != u64::from(SCHEMA_VERSION) {
            return Err(Error::snapshot_ref_version(version));
        }
        if payload.get("signature").is_none() {
            return Err(Error::snapshot_ref_unsigned());
        }
        if json::value_to_string(payload).len() > MAX_BYTES {
            return Err(invalid(&format!("is larger than {MAX_BYTES} bytes")));
        }
        let decoded: SnapshotPayload =
            json::from_value(payload).map_err(|error| invalid(&format!("cannot be read: {error}")))?;
        // A ref has exactly one valid spelling. For example, a time in another notation was not written by this
        // product.
        if json::to_value(&decoded).ok().as_ref() != Some(payload) {
            return Err(invalid("is not in the form that snapshot() returns"));
        }
        Ok(Self { provider_id: PROVIDER_ID, payload: decoded })
    }

    /// The id of the snapshot.
    pub fn snapshot_id(&self) -> &SnapshotId {
        &self.payload.snapshot_id
    }

    /// The sandbox that it was taken of.
    pub fn origin_id(&self) -> &SandboxId {
        &self.payload.origin_id
    }

    /// The first sandbox of the lineage.
    pub fn root_id(&self) -> &SandboxId {
        &self.payload.root_id
    }

    /// The SDK's handle of the backup.
    pub fn backup(&self) -> &BackupHandle {
        &self.payload.backup
    }

    /// When the backup was stored.
    pub fn created_at(&self) -> Timestamp {
        self.payload.created_at
    }
}

impl<'de> Deserialize<'de> for SnapshotRef {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::decode(&Value::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

/// The result of a snapshot call: the ref, its id, its short form, and details of the capture.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "TakenSnapshot"),
    schemars(transform = always(&["snapshotId", "shortRef", "capture"]), transform = extends("SnapshotRef"))
)]
pub struct TakenSnapshot {
    /// The snapshot.
    #[cfg_attr(feature = "schema", schemars(skip))]
    #[serde(flatten)]
    pub snapshot: SnapshotRef,
    /// The id of the snapshot, as in the ref.
    pub snapshot_id: SnapshotId,
    /// The ref as one text. Absent only in an answer that an earlier release stored under an idempotency key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub short_ref: Option<ShortRef>,
    /// Details of the capture.
    pub capture: Capture,
}

impl TakenSnapshot {
    /// Returns the result for a snapshot.
    pub fn new(snapshot: SnapshotRef, short_ref: Option<ShortRef>, capture: Capture) -> Self {
        Self { snapshot_id: snapshot.snapshot_id().clone(), short_ref, snapshot, capture }
    }
}

/// The result of a snapshot call as it is read: an earlier release stored it without the id.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReadSnapshot {
    #[serde(flatten)]
    snapshot: SnapshotRef,
    short_ref: Option<ShortRef>,
    capture: Capture,
}

impl<'de> Deserialize<'de> for TakenSnapshot {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let ReadSnapshot { snapshot, short_ref, capture } = ReadSnapshot::deserialize(deserializer)?;
        Ok(Self::new(snapshot, short_ref, capture))
    }
}

/// How a snapshot was captured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Capture {
    /// The label of the snapshot.
    pub label: Label,
    /// The size of its archive, in bytes.
    pub size_bytes: u64,
    /// When the capture began. Files that were written later may be missing.
    pub began_at: Timestamp,
    /// Whether the capture was shared with another caller's request.
    pub shared: bool,
    /// Whether files in the directory changed during the capture, so that the snapshot may contain earlier and later files
    /// side by side. Changes of excluded files count. Absent if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_during_capture: Option<bool>,
    /// How the freeze of the files ended; absent without the option `freeze`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub freeze: Option<FreezeReport>,
    /// Whether this is a rescue snapshot: one of a container that was not the sandbox's own. It never counts as the
    /// newest snapshot, and retention ignores it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rescue: bool,
    /// Present if the snapshot is so much smaller than the previous one that files may be missing by mistake. Retention
    /// protects the previous snapshot until the next snapshot, or for 7 days.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspect: Option<SizeDrop>,
    /// Whether the archive contains all files, or the changes since another snapshot.
    #[serde(default)]
    pub form: SnapshotForm,
    /// The full snapshot that a delta is based on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<SnapshotId>,
    /// The bytes that this snapshot added to R2.
    #[serde(default)]
    pub stored_bytes: u64,
    /// The bytes that a restore reads: those of the archive and, for a delta, those of its base.
    #[serde(default)]
    pub total_bytes: u64,
    /// Why the snapshot is full although incremental snapshots are on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<FullReason>,
    /// The files that seem to contain secrets. Present with the option `secrets`; with `keep`, absent if the search failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secrets: Option<SecretsReport>,
}

/// The sizes of a snapshot and of the previous one, which was much larger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SizeDrop {
    /// The size of the previous archive, in bytes.
    pub before: u64,
    /// The size of this archive, in bytes.
    pub after: u64,
}

impl SizeDrop {
    /// A previous archive of at most this size, in bytes, is too small for the check.
    const MIN_PREVIOUS_BYTES: u64 = 1_000_000;

    /// Returns the drop if `after` bytes are less than 2 % of `before` bytes.
    pub fn detect(before: u64, after: u64) -> Option<Self> {
        (before > Self::MIN_PREVIOUS_BYTES && after.saturating_mul(50) < before).then_some(Self { before, after })
    }
}
