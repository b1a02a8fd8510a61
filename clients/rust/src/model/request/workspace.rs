//! The requests of operations on a whole workspace, and of the sweep.

use std::fmt;

use base64ct::{Base64UrlUnpadded, Encoding};
use serde::{Serialize, Serializer};

use super::declare::{Content, Field, request};
use super::fields::Fields;
use super::sandbox_target::SandboxTarget;
use super::{check_page, check_range};
use crate::model::policy::{MAX_EXPIRATION, Policy};
#[cfg(feature = "schema")]
use crate::model::schema::{extends, needs};
use crate::model::{Error, Label, Result, SandboxId, SnapshotId, Timestamp};

/// The lineage that the caller works in. The Worker refuses sandboxes and snapshots of other lineages.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(transform = needs(&[])))]
pub struct LineageScope {
    /// The id of a sandbox in the caller's lineage. If absent, the call is not restricted to a lineage.
    #[serde(rename = "lineageScope")]
    pub sandbox_id: Option<SandboxId>,
    /// Whether to allow sandboxes and snapshots of other lineages.
    pub allow_cross_lineage: bool,
}

impl LineageScope {
    /// The scope of a call that is not restricted to a lineage.
    pub const UNRESTRICTED: Self = Self { sandbox_id: None, allow_cross_lineage: false };

    /// The names of its options, each with the name that an earlier release gave it.
    pub const FORMER_NAMES: [(&str, &str); 2] =
        [("lineageScope", "session"), ("allowCrossLineage", "allowCrossSession")];

    pub(super) fn is_unrestricted(&self) -> bool {
        *self == Self::UNRESTRICTED
    }
}

impl Field for LineageScope {
    type Raw = (Option<String>, bool);

    fn take(fields: &mut Fields, _: &str) -> Result<Self::Raw> {
        Ok((fields.string("lineageScope")?, fields.flag("allowCrossLineage")?))
    }
}

impl Content for LineageScope {
    fn check((sandbox_id, allow_cross_lineage): Self::Raw) -> Result<Self> {
        Ok(Self { sandbox_id: sandbox_id.as_deref().map(SandboxId::parse).transpose()?, allow_cross_lineage })
    }
}

request! {
    /// The request of an operation that takes only a sandbox.
    #[cfg_attr(feature = "schema", schemars(rename = "SandboxOptions", transform = extends("LineageScope")))]
    pub struct SandboxRequest {
        /// The id of the sandbox.
        pub sandbox_id: SandboxId,
        /// The lineage that the caller works in.
        #[serde(flatten)]
        #[cfg_attr(feature = "schema", schemars(skip))]
        pub lineage_scope: LineageScope,
    }
}

impl SandboxRequest {
    /// Returns a request for a sandbox, without a lineage scope.
    pub const fn of(sandbox_id: SandboxId) -> Self {
        Self { sandbox_id, lineage_scope: LineageScope::UNRESTRICTED }
    }
}

request! {
    /// The request for the lineage tree that a sandbox belongs to.
    #[cfg_attr(
        feature = "schema",
        schemars(rename = "LineageOptions", transform = needs(&[]), transform = extends("SandboxTarget")),
        schemars(transform = extends("LineageScope"))
    )]
    pub struct LineageRequest {
        /// The lineage that the caller works in.
        #[serde(flatten)]
        #[cfg_attr(feature = "schema", schemars(skip))]
        pub lineage_scope: LineageScope,
        /// The id of the sandbox.
        #[cfg_attr(feature = "schema", schemars(skip))]
        pub sandbox_id: SandboxId,
        /// Whether to query each sandbox's status; otherwise the answer does not say which sandboxes are running. The
        /// query starts the Durable Object of every sandbox in the tree, but no container.
        #[cfg_attr(feature = "schema", schemars(extend("default" = false)))]
        pub check: bool,
    }
    offers "name";
}

impl LineageRequest {
    /// Returns a request for the tree of a sandbox, without a lineage scope and without `check`.
    pub const fn of(sandbox_id: SandboxId) -> Self {
        Self { sandbox_id, check: false, lineage_scope: LineageScope::UNRESTRICTED }
    }
}

request! {
    /// The request for a page of the snapshots of a sandbox, or of the present and the former sandboxes of a workspace, newest first.
    #[cfg_attr(
        feature = "schema",
        schemars(rename = "ListOptions", transform = needs(&[]), transform = extends("SandboxTarget")),
        schemars(transform = extends("LineageScope"))
    )]
    pub struct ListRequest {
        /// The sandbox or the workspace that the snapshots were taken of.
        #[serde(flatten)]
        #[cfg_attr(feature = "schema", schemars(skip))]
        pub target: SandboxTarget,
        /// The cursor of the previous page; the page begins with the newest snapshot if absent.
        #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
        pub cursor: Option<SnapshotCursor>,
        /// The lineage that the caller works in.
        #[serde(flatten)]
        #[cfg_attr(feature = "schema", schemars(skip))]
        pub lineage_scope: LineageScope,
        /// The maximum number of snapshots on the page.
        #[cfg_attr(feature = "schema", schemars(range(min = 1, max = Self::MAX_LIMIT), extend("default" = Self::DEFAULT_LIMIT)))]
        pub limit: u32 = |limit| check_page(limit, Self::DEFAULT_LIMIT, Self::MAX_LIMIT),
        /// The prefix that the labels of the snapshots must have.
        #[cfg_attr(feature = "schema", schemars(length(max = Label::MAX)))]
        pub label_prefix: Option<String> = check_label_prefix,
        /// Whether to check in R2 which snapshots can be restored now; otherwise the answer contains the results of the
        /// last check.
        #[cfg_attr(feature = "schema", schemars(extend("default" = true)))]
        pub check: bool = |check| Ok(check.unwrap_or(true)),
    }
}

impl ListRequest {
    /// The default number of snapshots on a page.
    pub const DEFAULT_LIMIT: u32 = 20;
    /// The maximum number of snapshots on a page. The list checks each of them in R2.
    pub const MAX_LIMIT: u32 = 100;

    /// Returns a request for the newest snapshots of a sandbox or a workspace, without a lineage scope.
    pub fn of(target: impl Into<SandboxTarget>) -> Self {
        let (cursor, label_prefix, lineage_scope) = (None, None, LineageScope::UNRESTRICTED);
        Self { target: target.into(), cursor, limit: Self::DEFAULT_LIMIT, label_prefix, check: true, lineage_scope }
    }
}

fn check_label_prefix(prefix: Option<String>) -> Result<Option<String>> {
    if prefix.as_ref().is_some_and(|prefix| prefix.chars().count() > Label::MAX) {
        let message = format!("`labelPrefix` is longer than {} characters", Label::MAX);
        return Err(Error::invalid_argument(message, "Pass the beginning of a label."));
    }
    Ok(prefix.filter(|prefix| !prefix.is_empty()))
}

/// A position in a list of snapshots, newest first: after the snapshot with this time and id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotCursor {
    /// When the snapshot was taken.
    pub created_at: Timestamp,
    /// The id of the snapshot.
    pub snapshot_id: SnapshotId,
}

impl SnapshotCursor {
    /// Parses a cursor that a list returned.
    pub fn parse(text: &str) -> Result<Self> {
        let decode = || {
            let text = String::from_utf8(Base64UrlUnpadded::decode_vec(text).ok()?).ok()?;
            let (millis, id) = text.split_once(' ')?;
            Some(Self {
                created_at: Timestamp::from_millis(millis.parse().ok()?),
                snapshot_id: SnapshotId::parse(id).ok()?,
            })
        };
        decode().ok_or_else(|| Error::invalid_cursor("list"))
    }
}

impl fmt::Display for SnapshotCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{} {}", self.created_at.as_millis(), self.snapshot_id);
        f.write_str(&Base64UrlUnpadded::encode_string(text.as_bytes()))
    }
}

impl Serialize for SnapshotCursor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

request! {
    /// The request to set the retention policy of a workspace.
    #[cfg_attr(
        feature = "schema",
        schemars(rename = "SetRetentionOptions", transform = needs(&["sandboxId", "policy"]))
    )]
    pub struct SetRetentionRequest {
        /// The id of the sandbox.
        pub sandbox_id: SandboxId,
        /// The policy, which replaces the present one.
        pub policy: Policy = check_policy,
        /// Whether only to report what the policy would remove.
        pub dry_run: bool,
    }
}

fn check_policy(policy: Option<Policy>) -> Result<Policy> {
    let policy = policy.ok_or_else(|| {
        Error::invalid_argument("`policy` is missing", "Pass the whole policy; {} is the default policy.")
    })?;
    policy.check()?;
    Ok(policy)
}

request! {
    /// The request to apply the retention policy of a workspace.
    #[cfg_attr(feature = "schema", schemars(rename = "ApplyRetentionOptions", transform = needs(&["sandboxId"])))]
    pub struct ApplyRetentionRequest {
        /// The id of the sandbox.
        pub sandbox_id: SandboxId,
        /// Whether only to report what would be removed.
        pub dry_run: bool,
    }
}

request! {
    /// The request to sweep the bucket: to delete backups that no snapshot owns.
    #[derive(Copy, Eq)]
    #[cfg_attr(feature = "schema", schemars(rename = "SweepOptions", transform = needs(&[])))]
    pub struct SweepRequest {
        /// Whether only to count the backups.
        pub dry_run: bool,
        /// The minimum age of a backup that the sweep deletes, in seconds.
        #[cfg_attr(feature = "schema", schemars(range(max = Self::MAX_GRACE_SECONDS), extend("default" = Self::DEFAULT_GRACE_SECONDS)))]
        pub grace_seconds: u64 = Self::check_grace,
    }
}

impl Default for SweepRequest {
    fn default() -> Self {
        Self { dry_run: false, grace_seconds: Self::DEFAULT_GRACE_SECONDS }
    }
}

impl SweepRequest {
    /// The default grace period, in seconds: one day.
    pub const DEFAULT_GRACE_SECONDS: u64 = 24 * 3600;
    /// The maximum grace period, in seconds: the maximum expiration.
    pub const MAX_GRACE_SECONDS: u64 = MAX_EXPIRATION;

    fn check_grace(seconds: Option<u64>) -> Result<u64> {
        check_range(
            "graceSeconds",
            seconds.unwrap_or(Self::DEFAULT_GRACE_SECONDS),
            0..=Self::MAX_GRACE_SECONDS,
            |most| format!("Pass at most {most} seconds."),
        )
    }
}
