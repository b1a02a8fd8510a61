//! Refs: what snapshots and sandboxes are outside of this Worker.
//!
//! They pass through applications, logs and language models, so what comes back is decoded strictly.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ids::quoted;
use super::{BackupHandle, Code, Error, Label, Result, SandboxId, SigningKey, SnapshotId, Timestamp, json};
#[cfg(feature = "schema")]
use crate::model::schema::extends;

/// The provider that a ref belongs to.
pub const PROVIDER_ID: &str = "cloudflare-sandbox";

/// The version of the payloads that this release writes, and the only one that it reads.
pub const SCHEMA_VERSION: u32 = 1;

/// The largest ref, in bytes of JSON.
const MAX_BYTES: usize = 16 * 1024;

const REMEDIATION: &str = "Pass the ref on exactly as snapshot() answered it.";

/// A snapshot, as it passes through applications.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SnapshotRef {
    /// The provider.
    #[cfg_attr(feature = "schema", schemars(extend("const" = PROVIDER_ID)))]
    #[serde(rename = "providerId")]
    provider_id: &'static str,
    /// What this provider says of it. Pass it on unchanged.
    #[serde(rename = "ref")]
    payload: SnapshotPayload,
}

/// What a snapshot ref says, for this provider alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct SnapshotPayload {
    /// The version of this form.
    #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA_VERSION)))]
    schema_version: u32,
    /// The snapshot.
    snapshot_id: SnapshotId,
    /// The sandbox that it was taken of.
    origin_id: SandboxId,
    /// The first sandbox of the lineage.
    root_id: SandboxId,
    /// The SDK's handle of the backup.
    backup: BackupHandle,
    /// When the backup was stored.
    created_at: Timestamp,
    /// By which a ref that was altered is known.
    signature: String,
}

impl SnapshotPayload {
    /// What is signed: the JSON of everything else, its keys in order and without blanks.
    fn message(&self) -> Vec<u8> {
        let mut fields = json::write(self).unwrap_or_default();
        if let Value::Object(fields) = &mut fields {
            fields.remove("signature");
        }
        json::text(&fields).into_bytes()
    }
}

impl SnapshotRef {
    /// The ref of a snapshot of `origin_id`, in the lineage of `root_id`, signed by `key`.
    pub fn sign(
        snapshot_id: SnapshotId,
        origin_id: SandboxId,
        root_id: SandboxId,
        backup: BackupHandle,
        created_at: Timestamp,
        key: &SigningKey,
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
        payload.signature = key.sign(&payload.message());
        Self { provider_id: PROVIDER_ID, payload }
    }

    /// Whether one of `keys` has signed it.
    pub fn is_signed_by(&self, keys: &[SigningKey]) -> bool {
        let message = self.payload.message();
        keys.iter().any(|key| key.signed(&message, &self.payload.signature))
    }

    /// Decodes a ref that came from outside.
    ///
    /// # Errors
    /// [`Code::ForeignRef`] for another provider's, [`Code::UnsupportedRefVersion`] for another schema version,
    /// [`Code::InvalidRef`] for whatever else is not exactly a ref.
    pub fn decode(value: &Value) -> Result<Self> {
        let invalid = |why: &str| Error::new(Code::InvalidRef, format!("The snapshot ref {why}"), REMEDIATION);
        let Value::Object(fields) = value else {
            return Err(invalid("is not an object"));
        };
        let provider = fields.get("providerId").and_then(Value::as_str).ok_or_else(|| invalid("has no providerId"))?;
        if provider != PROVIDER_ID {
            return Err(Error::new(
                Code::ForeignRef,
                format!("The snapshot ref belongs to the provider {}, not to {PROVIDER_ID:?}.", quoted(provider)),
                "Give this ref to the provider that made it.",
            ));
        }
        // `capture` is what a snapshot call says beside the ref.
        if let Some(unknown) = fields.keys().find(|key| !["providerId", "ref", "capture"].contains(&key.as_str())) {
            return Err(invalid(&format!("has an unknown field {}", quoted(unknown))));
        }
        let payload = fields.get("ref").ok_or_else(|| invalid("has no ref"))?;
        let version =
            payload.get("schemaVersion").and_then(Value::as_u64).ok_or_else(|| invalid("has no schemaVersion"))?;
        if version != u64::from(SCHEMA_VERSION) {
            return Err(Error::new(
                Code::UnsupportedRefVersion,
                format!("The snapshot ref has the schema version {version}; this deployment reads {SCHEMA_VERSION}."),
                "Deploy the release of sandbox-snapshotter that made the ref, or take a new snapshot.",
            ));
        }
        if payload.get("signature").is_none() {
            return Err(Error::new(
                Code::InvalidRef,
                "The snapshot ref has no signature: an earlier version made it, or part of it was lost.",
                "Pass the ref on exactly as snapshot() answered it. A backup of an earlier version comes in by import().",
            ));
        }
        if json::text(payload).len() > MAX_BYTES {
            return Err(invalid(&format!("is larger than {MAX_BYTES} bytes")));
        }
        let decoded: SnapshotPayload =
            json::read(payload).map_err(|error| invalid(&format!("can't be read: {error}")))?;
        // There is one way to write a ref: a time in another spelling, for one, was not written here.
        if json::write(&decoded).ok().as_ref() != Some(payload) {
            return Err(invalid("is not written as snapshot() writes it"));
        }
        Ok(Self { provider_id: PROVIDER_ID, payload: decoded })
    }

    /// The snapshot.
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

/// What a snapshot call answers: the ref, and how it came about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "TakenSnapshot"),
    schemars(transform = extends("SnapshotRef"))
)]
pub struct Taken {
    /// The snapshot.
    #[cfg_attr(feature = "schema", schemars(skip))]
    #[serde(flatten)]
    pub snapshot: SnapshotRef,
    /// The capture that it came from.
    pub capture: Capture,
}

/// How a snapshot was captured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Capture {
    /// The label that the snapshot was given.
    pub label: Label,
    /// The size of its archive, in bytes.
    pub size_bytes: u64,
    /// When the capture began: what was written later may not be in it.
    pub began_at: Timestamp,
    /// Whether another caller had asked for it.
    pub shared: bool,
    /// Whether it is a rescue snapshot: of a container that was not the sandbox's own. It is never the newest, and counts for
    /// nothing in retention.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rescue: bool,
    /// How much smaller it is than the snapshot before, where that is so much that files may be missing by mistake. That one is
    /// spared by retention until the next snapshot, or for 7 days.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspect: Option<Suspect>,
}

/// How much smaller a snapshot is than the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Suspect {
    /// The size of the archive before, in bytes.
    pub before: u64,
    /// The size of this one, in bytes.
    pub after: u64,
}

impl Suspect {
    /// A predecessor of at most this size, in bytes, is never much larger.
    const FLOOR: u64 = 1_000_000;

    /// Whether a snapshot of `after` bytes is suspect that follows one of `before` bytes: below 2 %.
    pub fn of(before: u64, after: u64) -> Option<Self> {
        (before > Self::FLOOR && after.saturating_mul(50) < before).then_some(Self { before, after })
    }
}

/// A sandbox seen as somebody's place of work, as it passes through applications.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkspaceRef {
    /// The provider.
    #[cfg_attr(feature = "schema", schemars(extend("const" = PROVIDER_ID)))]
    provider_id: String,
    /// The sandbox.
    #[serde(rename = "ref")]
    payload: WorkspacePayload,
    /// What can be done in it.
    capabilities: Capabilities,
    /// The version of this form.
    #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA_VERSION)))]
    schema_version: u32,
}

/// What a workspace ref says, for this provider alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct WorkspacePayload {
    /// The sandbox: what the application gives to `getSandbox()`.
    sandbox_id: SandboxId,
    /// The first sandbox of the lineage.
    root_id: SandboxId,
}

/// What can be done in a workspace.
#[allow(clippy::struct_excessive_bools)] // The form that callers know it in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Capabilities {
    /// Files can be read and written.
    fs: bool,
    /// Commands can be run.
    shell: bool,
    /// Code can be run.
    code: bool,
    /// Snapshots can be taken.
    snapshot: bool,
}

impl WorkspaceRef {
    /// The ref of the sandbox `sandbox_id`, in the lineage of `root_id`.
    pub fn new(sandbox_id: SandboxId, root_id: SandboxId) -> Self {
        Self {
            provider_id: PROVIDER_ID.to_owned(),
            payload: WorkspacePayload { sandbox_id, root_id },
            capabilities: Capabilities { fs: true, shell: true, code: true, snapshot: true },
            schema_version: SCHEMA_VERSION,
        }
    }

    /// Decodes a ref that came from outside.
    ///
    /// # Errors
    /// [`Code::ForeignRef`] for another provider's, [`Code::UnsupportedRefVersion`] for another schema version,
    /// [`Code::InvalidRef`] for whatever else is not exactly a ref.
    pub fn decode(value: &Value) -> Result<Self> {
        let remediation = "Pass the ref on exactly as restore() or branch() answered it.";
        let decoded: Self = json::read(value).map_err(|why| {
            Error::new(Code::InvalidRef, format!("The workspace ref can't be read: {why}"), remediation)
        })?;
        if decoded.provider_id != PROVIDER_ID {
            let provider = quoted(&decoded.provider_id);
            return Err(Error::new(
                Code::ForeignRef,
                format!("The workspace ref belongs to the provider {provider}, not to {PROVIDER_ID:?}."),
                "Give this ref to the provider that made it.",
            ));
        }
        if decoded.schema_version != SCHEMA_VERSION {
            let version = decoded.schema_version;
            return Err(Error::new(
                Code::UnsupportedRefVersion,
                format!("The workspace ref has the schema version {version}; this deployment reads {SCHEMA_VERSION}."),
                "Deploy the release of sandbox-snapshotter that made the ref.",
            ));
        }
        Ok(decoded)
    }

    /// The sandbox: what the application gives to `getSandbox()`.
    pub fn sandbox_id(&self) -> &SandboxId {
        &self.payload.sandbox_id
    }

    /// The first sandbox of the lineage.
    pub fn root_id(&self) -> &SandboxId {
        &self.payload.root_id
    }
}
