//! The ref of a sandbox, which the calls that make one return. It is decoded as strictly as that of a snapshot.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::refs::{PROVIDER_ID, SCHEMA_VERSION};
use super::{Error, Result, SandboxId, json};

/// A reference to a sandbox as a workspace, for applications to store and pass back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkspaceRef {
    /// The provider.
    #[cfg_attr(feature = "schema", schemars(extend("const" = PROVIDER_ID)))]
    provider_id: String,
    /// The payload. Pass it back unchanged.
    #[serde(rename = "ref")]
    payload: WorkspacePayload,
    /// The capabilities of the workspace.
    capabilities: Capabilities,
    /// The version of this format.
    #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA_VERSION)))]
    schema_version: u32,
    /// How the image of the sandbox differs from that of the snapshot, in the answer of the call that made the sandbox; empty
    /// if no difference is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    stale: Vec<String>,
    /// The files with secrets that the snapshot left out, in the answer of the call that made the sandbox: at most 100 paths.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    missing: Vec<String>,
}

/// The payload of a workspace ref, which only this provider interprets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct WorkspacePayload {
    /// The id of the sandbox, which the application passes to `getSandbox()`.
    sandbox_id: SandboxId,
    /// The first sandbox of the lineage.
    root_id: SandboxId,
}

/// The capabilities of a workspace.
#[allow(clippy::struct_excessive_bools)] // The public format.
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
    /// Creates the ref of the sandbox `sandbox_id`, in the lineage of `root_id`.
    pub fn new(sandbox_id: SandboxId, root_id: SandboxId) -> Self {
        Self {
            provider_id: PROVIDER_ID.to_owned(),
            payload: WorkspacePayload { sandbox_id, root_id },
            capabilities: Capabilities { fs: true, shell: true, code: true, snapshot: true },
            schema_version: SCHEMA_VERSION,
            stale: Vec::new(),
            missing: Vec::new(),
        }
    }

    /// Returns the ref with the differences between the image of the sandbox and that of its snapshot.
    #[must_use]
    pub fn with_stale(self, stale: Vec<String>) -> Self {
        Self { stale, ..self }
    }

    /// Returns the ref with the paths of the files with secrets that the snapshot left out.
    #[must_use]
    pub fn with_missing(self, missing: Vec<String>) -> Self {
        Self { missing, ..self }
    }

    /// Returns the paths of the files with secrets that are missing in a sandbox that was just made.
    pub fn missing(&self) -> &[String] {
        &self.missing
    }

    /// Returns how the image of the sandbox differs from that of the snapshot that it was just made from.
    pub fn stale(&self) -> &[String] {
        &self.stale
    }

    /// Decodes a ref from outside.
    ///
    /// # Errors
    /// [`Code::ForeignRef`] for a ref of another provider, [`Code::UnsupportedRefVersion`] for another schema version,
    /// [`Code::InvalidRef`] for any other deviation.
    pub fn decode(value: &Value) -> Result<Self> {
        let decoded: Self = json::from_value(value).map_err(Error::invalid_workspace_ref)?;
        if decoded.provider_id != PROVIDER_ID {
            return Err(Error::foreign_ref("workspace", &decoded.provider_id));
        }
        if decoded.schema_version != SCHEMA_VERSION {
            return Err(Error::workspace_ref_version(decoded.schema_version));
        }
        Ok(decoded)
    }

    /// The id of the sandbox, which the application passes to `getSandbox()`.
    pub fn sandbox_id(&self) -> &SandboxId {
        &self.payload.sandbox_id
    }

    /// The first sandbox of the lineage.
    pub fn root_id(&self) -> &SandboxId {
        &self.payload.root_id
    }
}
