//! The request to take a snapshot.

use super::declare::request;
use super::workspace::LineageScope;
#[cfg(feature = "schema")]
use super::{MAX_KEY_CHARS, MIN_EXPIRATION};
use super::{check_expiration, check_key, check_range, check_replace, parse_new_label, refuse_memory};
use crate::model::freeze::Freeze;
#[cfg(feature = "schema")]
use crate::model::policy::MAX_EXPIRATION;
#[cfg(feature = "schema")]
use crate::model::schema::{NO_CONTROL, extends, needs, no_snapshot, replaces_label, zero_or};
use crate::model::{
    Compression, Consistency, Directory, Error, Label, Result, Runtime, SandboxId, SecretsMode, SnapshotCause,
};

request! {
    /// The request to take a snapshot of a sandbox.
    #[allow(clippy::struct_excessive_bools)] // The flags are independent options of the call.
    #[cfg_attr(
        feature = "schema",
        schemars(rename = "SnapshotOptions", transform = needs(&[]), transform = replaces_label),
        schemars(transform = extends("SandboxTarget"), transform = extends("LineageScope"))
    )]
    pub struct SnapshotRequest {
        /// The sandbox to capture.
        #[cfg_attr(feature = "schema", schemars(skip))]
        pub sandbox_id: SandboxId,
        /// The runtime of the sandbox. If the sandbox is new to the snapshotter: the deployment's default if absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub runtime: Option<Runtime>,
        /// The directory to capture; if absent, that of the sandbox's workspace, or the deployment's default.
        pub dir: Option<Directory>,
        /// The label of the snapshot, a name for people; derived from the time if absent.
        #[cfg_attr(feature = "schema", schemars(transform = no_snapshot))]
        pub label: Option<Label> = |text| text.as_deref().map(parse_new_label).transpose(),
        /// Whether to take the label from another snapshot that has it.
        pub replace: bool = |replace| check_replace(replace, label.as_ref()),
        /// The expiration, in seconds after the last use. 0 means never; if absent, the retention policy applies.
        #[cfg_attr(feature = "schema", schemars(transform = zero_or(MIN_EXPIRATION, MAX_EXPIRATION)))]
        pub expiration_seconds: Option<u64> = check_expiration,
        /// An idempotency key: a repeated call with the same key gets the same answer.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schemars(length(min = 1, max = MAX_KEY_CHARS), regex(pattern = NO_CONTROL)))]
        pub idempotency_key: Option<String> = check_key,
        /// The lineage that the caller works in.
        #[serde(flatten, skip_serializing_if = "LineageScope::is_unrestricted")]
        #[cfg_attr(feature = "schema", schemars(skip))]
        pub lineage_scope: LineageScope,
        /// The compression of the archive.
        pub compression: Option<Compression> = check_compression,
        /// The patterns of names to exclude, at any depth: `node_modules`, `*.log`. The Worker refuses patterns with a
        /// slash.
        #[cfg_attr(feature = "schema", schemars(inner(length(min = 1), regex(pattern = r"^[^\u0000\u000a]*$"))))]
        pub excludes: Vec<String> = check_excludes,
        /// Whether to exclude the files that git ignores. The Worker refuses it if ignored files are in a subdirectory.
        pub gitignore: Option<bool>,
        /// Whether to start a sandbox that is not running, and to capture it as it starts, without any of its files. If
        /// the sandbox was captured or restored before, the result is a rescue snapshot.
        pub wake: bool,
        /// Whether to adopt the present files as the sandbox's own after its container was replaced: this call captures
        /// them in a rescue snapshot, and the next snapshot is a regular one again. The Worker refuses to adopt an empty
        /// directory.
        pub adopt: bool,
        /// Whether to start a new capture even if one is already in progress. A capture in progress may miss files that
        /// the caller has written since it began.
        pub fresh: bool,
        /// Whether the snapshot may contain only what changed since a full one; the deployment's default if absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub incremental: Option<bool>,
        /// What to do with files that seem to contain secrets. If absent, they are kept, and not searched for.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub secrets: Option<SecretsMode> = |text| text.as_deref().map(SecretsMode::parse).transpose(),
        /// What to do if files change during the capture; `reported` if absent.
        #[serde(skip_serializing_if = "Consistency::is_default")]
        #[cfg_attr(feature = "schema", schemars(extend("default" = "reported")))]
        pub consistency: Consistency = |text| text.as_deref().map_or(Ok(Consistency::default()), Consistency::parse),
        /// The commands that freeze files during the capture and thaw them after it, for programs such as databases.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub freeze: Option<Freeze>,
        ;
        /// Who requests the capture.
        #[serde(skip)]
        pub purpose: CapturePurpose,
    }
    offers "name";
    refuse refuse_memory;
}

/// Who requests a capture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CapturePurpose {
    /// A caller.
    #[default]
    Caller,
    /// An operation on a named workspace, for this cause.
    Workspace(SnapshotCause),
    /// A stop, for this cause, which detects changes during the capture itself.
    Stop(SnapshotCause),
    /// A rescue: the files are not the workspace's own, and the workspace starts from them only on explicit request.
    Rescue,
    /// An automatic save. Its check recorded the state of the files under this name before the capture.
    Save {
        /// The name of the state.
        state: String,
    },
}

impl CapturePurpose {
    /// Returns the cause of the snapshot.
    pub const fn cause(&self) -> SnapshotCause {
        match self {
            Self::Caller => SnapshotCause::Caller,
            Self::Workspace(cause) | Self::Stop(cause) => *cause,
            Self::Rescue => SnapshotCause::Rescue,
            Self::Save { .. } => SnapshotCause::Autosave,
        }
    }
}

impl SnapshotRequest {
    /// Returns a request to capture the default directory of a sandbox.
    pub fn of(sandbox_id: SandboxId) -> Self {
        Self {
            sandbox_id,
            runtime: None,
            dir: None,
            label: None,
            replace: false,
            expiration_seconds: None,
            excludes: Vec::new(),
            gitignore: None,
            compression: None,
            wake: false,
            adopt: false,
            fresh: false,
            incremental: None,
            secrets: None,
            consistency: Consistency::default(),
            freeze: None,
            idempotency_key: None,
            lineage_scope: LineageScope::UNRESTRICTED,
            purpose: CapturePurpose::default(),
        }
    }

    /// Returns the request without the idempotency key and the lineage scope.
    #[must_use]
    pub fn without_caller(&self) -> Self {
        Self { idempotency_key: None, lineage_scope: LineageScope::UNRESTRICTED, ..self.clone() }
    }

    /// Returns whether one capture can answer both requests. It ignores `fresh`, the idempotency key and the lineage
    /// scope.
    pub fn is_same_capture(&self, other: &Self) -> bool {
        self.without_caller() == Self { fresh: self.fresh, ..other.without_caller() }
    }
}

fn check_compression(compression: Option<Compression>) -> Result<Option<Compression>> {
    if let Some(threads) = compression.and_then(|compression| compression.threads) {
        let most = Compression::MAX_THREADS;
        check_range("compression.threads", threads.get().into(), 1..=most, |most| {
            format!("Pass 1 to {most} threads.")
        })?;
    }
    Ok(compression)
}

fn check_excludes(excludes: Vec<String>) -> Result<Vec<String>> {
    if excludes.iter().any(|pattern| pattern.is_empty() || pattern.contains(['\0', '\n'])) {
        return Err(Error::invalid_argument(
            "`excludes` has a pattern that is empty or contains a null byte or a line break",
            "Pass patterns of names, such as \"node_modules\" or \"*.log\".",
        ));
    }
    Ok(excludes)
}
