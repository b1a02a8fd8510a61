//! Errors about refs: their form, their signature, and the lineage that they belong to.

use std::fmt::Display;

use crate::model::ids::quoted;
use crate::model::{
    BackupId, Code, DirectoryBackup, Error, PROVIDER_ID, SCHEMA_VERSION, SandboxId, ShortRef, SnapshotRef,
};

const PASS_UNCHANGED: &str = "Pass the ref back exactly as `snapshot` returned it.";

impl Error {
    /// [`Code::InvalidRef`], for a value that is not a snapshot ref.
    pub fn invalid_snapshot_ref(why: &str) -> Self {
        Self::new(Code::InvalidRef, format!("The snapshot ref {why}"), PASS_UNCHANGED)
    }

    /// [`Code::InvalidRef`], for a text that is not a short ref.
    pub fn invalid_short_ref() -> Self {
        Self::new(
            Code::InvalidRef,
            "The text is not the short ref of a snapshot: it is truncated, or was altered",
            "Pass the `shortRef` of an answer exactly as it was returned. It begins with `snap_`.",
        )
    }

    /// [`Code::InvalidArgument`], for a short ref of another sandbox than the one that is named beside it.
    pub fn short_ref_of_other_sandbox(id: &SandboxId) -> Self {
        Self::invalid_argument(
            format!("`snapshotId` is the short ref of a snapshot of another sandbox than {:?}", id.as_str()),
            "Omit `sandboxId`: the short ref contains the sandbox.",
        )
    }

    /// [`Code::InvalidRef`], for a snapshot ref without a signature.
    pub fn snapshot_ref_unsigned() -> Self {
        Self::new(
            Code::InvalidRef,
            "The snapshot ref has no signature: an earlier version created it, or part of it is missing.",
            "Pass the ref back exactly as `snapshot` returned it. Import a backup of an earlier version with `import`.",
        )
    }

    /// [`Code::InvalidRef`], for a value that is not a workspace ref.
    pub fn invalid_workspace_ref(why: impl Display) -> Self {
        Self::new(
            Code::InvalidRef,
            format!("The workspace ref cannot be read: {why}"),
            "Pass the ref back exactly as `restore` or `branch` returned it.",
        )
    }

    /// [`Code::InvalidRef`], for a text that is not an id of the kind `what`.
    pub fn invalid_id(what: &str, text: &str) -> Self {
        Self::new(Code::InvalidRef, format!("{} is not a {what} id.", quoted(text)), PASS_UNCHANGED)
    }

    /// [`Code::InvalidRef`], for a backup handle without a required field.
    pub fn backup_handle_field_missing(field: &str) -> Self {
        Self::new(Code::InvalidRef, format!("The backup handle has no `{field}`."), PASS_UNCHANGED)
    }

    /// [`Code::InvalidRef`], for a backup handle that would not reach the sandbox unchanged.
    pub fn backup_handle_unsupported(max_bytes: usize, max_levels: usize) -> Self {
        Self::new(
            Code::InvalidRef,
            format!(
                "The backup handle has a field `__proto__`, is larger than {max_bytes} bytes, or is nested deeper than \
                 {max_levels} levels."
            ),
            PASS_UNCHANGED,
        )
    }

    /// [`Code::InvalidRef`], for a record of `DirectoryBackup` whose size or SHA-256 is missing or malformed.
    pub fn directory_backup_invalid() -> Self {
        Self::new(
            Code::InvalidRef,
            format!(
                "A record of DirectoryBackup with the format {:?} must have a `size` in bytes and a `sha256` of 64 \
                 hexadecimal digits.",
                DirectoryBackup::FORMAT,
            ),
            PASS_UNCHANGED,
        )
    }

    /// [`Code::Unsupported`], for a record of `DirectoryBackup` of another format.
    pub fn directory_backup_format_unsupported(format: &str) -> Self {
        Self::new(
            Code::Unsupported,
            format!(
                "The backup handle has the format {}. This version of the snapshotter supports {:?}.",
                quoted(format),
                DirectoryBackup::FORMAT,
            ),
            "Deploy a release of the snapshotter that supports the format.",
        )
    }

    /// [`Code::ForeignRef`], for a `kind` ref of another provider.
    pub fn foreign_ref(kind: &str, provider: &str) -> Self {
        Self::new(
            Code::ForeignRef,
            format!("The {kind} ref belongs to the provider {}, not to {PROVIDER_ID:?}.", quoted(provider)),
            "Pass this ref to the provider that created it.",
        )
    }

    /// [`Code::UnsupportedRefVersion`], for a snapshot ref with another schema version.
    pub fn snapshot_ref_version(version: u64) -> Self {
        Self::new(
            Code::UnsupportedRefVersion,
            format!("The snapshot ref has the schema version {version}; this deployment reads {SCHEMA_VERSION}."),
            "Deploy the release of sandbox-snapshotter that created the ref, or take a new snapshot.",
        )
    }

    /// [`Code::UnsupportedRefVersion`], for a workspace ref with another schema version.
    pub fn workspace_ref_version(version: u32) -> Self {
        Self::new(
            Code::UnsupportedRefVersion,
            format!("The workspace ref has the schema version {version}; this deployment reads {SCHEMA_VERSION}."),
            "Deploy the release of sandbox-snapshotter that created the ref.",
        )
    }

    /// [`Code::RefMismatch`], for a ref that its workspace did not sign.
    pub fn ref_forged(r#ref: &SnapshotRef) -> Self {
        Self::new(
            Code::RefMismatch,
            format!(
                "The snapshot ref of {} is not signed by the ledger of {:?}: it was forged or altered, or its key was \
                 rotated out.",
                r#ref.snapshot_id(),
                r#ref.origin_id().as_str()
            ),
            "Pass the ref exactly as `snapshot` returned it. After key rotations, `get` returns a ref with a new \
             signature.",
        )
    }

    /// [`Code::RefMismatch`], for a short ref that its workspace did not sign.
    pub fn short_ref_forged(short: &ShortRef) -> Self {
        Self::new(
            Code::RefMismatch,
            format!(
                "The short ref of {} is not signed by the ledger of {:?}: it was forged or altered, or its key was \
                 rotated out.",
                short.snapshot_id(),
                short.origin_id().as_str()
            ),
            "Pass the `shortRef` exactly as it was returned. After key rotations, `get` returns one with a new signature.",
        )
    }

    /// [`Code::RefMismatch`], for a signed ref that differs from the ledger.
    pub fn ref_outdated(r#ref: &SnapshotRef) -> Self {
        Self::new(
            Code::RefMismatch,
            format!("The snapshot ref of {} does not match the ledger.", r#ref.snapshot_id()),
            "Use the ref that `get` returns.",
        )
    }

    /// [`Code::RefMismatch`], for an import of a backup that is not of the sandbox or the directory.
    pub fn import_mismatch(backup: &BackupId, how: &str) -> Self {
        Self::new(
            Code::RefMismatch,
            format!("The backup {backup} {how}."),
            "Pass the handle exactly as createBackup() returned it, and the id of the sandbox that was backed up.",
        )
    }

    /// [`Code::CrossLineage`], for an object in the lineage of `root`, when the lineage scope `scope` has the root
    /// `scope_root`.
    pub fn other_lineage(scope: &SandboxId, scope_root: &SandboxId, root: &SandboxId) -> Self {
        Self::new(
            Code::CrossLineage,
            format!(
                "The lineage scope {:?} belongs to the lineage of {:?}; the requested object belongs to the lineage of \
                 {:?}.",
                scope.as_str(),
                scope_root.as_str(),
                root.as_str()
            ),
            "Use a snapshot of the same lineage, or pass `allowCrossLineage: true` to permit it.",
        )
    }

    /// [`Code::CrossLineage`], for a sandbox of another tenant.
    pub fn other_tenant(id: &SandboxId) -> Self {
        Self::new(
            Code::CrossLineage,
            format!("The sandbox {:?} belongs to another tenant.", id.as_str()),
            "Use a snapshot of the same tenant.",
        )
    }
}
