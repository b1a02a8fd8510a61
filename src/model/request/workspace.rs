//! Requests about a whole workspace.

use std::fmt;

use base64ct::{Base64UrlUnpadded, Encoding};
use serde::Serialize;
use serde_json::Value;

use super::fields::Fields;
use super::invalid;
use crate::model::policy::{MAX_EXPIRATION, Policy};
#[cfg(feature = "schema")]
use crate::model::schema::{extends, needs};
use crate::model::{Label, Result, SandboxId, SnapshotId, Timestamp};

/// Who asks: the workspace that the caller works in. What belongs to another lineage is refused.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(transform = needs(&[])))]
pub struct Session {
    /// The sandbox of the session; absent where an application asks for itself.
    #[serde(rename = "session")]
    pub sandbox_id: Option<SandboxId>,
    /// Whether other lineages are allowed.
    pub allow_cross_session: bool,
}

impl Session {
    /// Nobody's.
    pub const NONE: Self = Self { sandbox_id: None, allow_cross_session: false };

    pub(super) fn checked(session: Option<&str>, allow_cross_session: bool) -> Result<Self> {
        Ok(Self { sandbox_id: session.map(SandboxId::parse).transpose()?, allow_cross_session })
    }
}

/// The workspace of a sandbox.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "SandboxOptions", rename_all = "camelCase"),
    schemars(transform = extends("Session"))
)]
pub struct WorkspaceRequest {
    /// The sandbox.
    pub sandbox_id: SandboxId,
    /// Who asks.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub session: Session,
}

impl WorkspaceRequest {
    /// The workspace of a sandbox, asked for in nobody's session.
    pub const fn of(sandbox_id: SandboxId) -> Self {
        Self { sandbox_id, session: Session::NONE }
    }

    /// Decodes `{sandboxId, session?, allowCrossSession?}`.
    pub fn decode(value: &Value) -> Result<Self> {
        let mut fields = Fields::of(value)?;
        let sandbox_id = fields.required("sandboxId")?;
        let (session, allow) = (fields.text("session")?, fields.flag("allowCrossSession")?);
        fields.end()?;
        Ok(Self { sandbox_id: SandboxId::parse(&sandbox_id)?, session: Session::checked(session.as_deref(), allow)? })
    }
}

/// The tree that a sandbox belongs to.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "LineageOptions", rename_all = "camelCase"),
    schemars(transform = needs(&["sandboxId"]), transform = extends("Session"))
)]
pub struct LineageRequest {
    /// The sandbox.
    pub sandbox_id: SandboxId,
    /// Whether each sandbox is asked if it is running. Otherwise nothing is said of that. It starts no container, but the
    /// Durable Object of every sandbox of the tree.
    #[cfg_attr(feature = "schema", schemars(extend("default" = false)))]
    pub check: bool,
    /// Who asks.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub session: Session,
}

impl LineageRequest {
    /// The tree that a sandbox belongs to, asked for in nobody's session, of which no sandbox is asked.
    pub const fn of(sandbox_id: SandboxId) -> Self {
        Self { sandbox_id, check: false, session: Session::NONE }
    }

    /// Decodes `{sandboxId, check?, session?, allowCrossSession?}`.
    pub fn decode(value: &Value) -> Result<Self> {
        let mut fields = Fields::of(value)?;
        let (sandbox_id, check) = (fields.required("sandboxId")?, fields.flag("check")?);
        let (session, allow) = (fields.text("session")?, fields.flag("allowCrossSession")?);
        fields.end()?;
        let session = Session::checked(session.as_deref(), allow)?;
        Ok(Self { sandbox_id: SandboxId::parse(&sandbox_id)?, check, session })
    }
}

/// A page of a workspace's snapshots.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "ListOptions", rename_all = "camelCase"),
    schemars(transform = needs(&["sandboxId"]), transform = extends("Session"))
)]
pub struct ListRequest {
    /// The sandbox that they were taken of.
    pub sandbox_id: SandboxId,
    /// Where the page begins; at the newest where absent.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub cursor: Option<Cursor>,
    /// How many are on it at most.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = Self::MAX_LIMIT), extend("default" = Self::LIMIT)))]
    pub limit: u32,
    /// How their labels begin.
    #[cfg_attr(feature = "schema", schemars(length(max = Label::MAX)))]
    pub label_prefix: Option<String>,
    /// Whether R2 is looked into, for what can be restored now; otherwise it is what was last found there.
    #[cfg_attr(feature = "schema", schemars(extend("default" = true)))]
    pub check: bool,
    /// Who asks.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub session: Session,
}

impl ListRequest {
    /// How many snapshots a page has, where the caller does not say.
    pub const LIMIT: u32 = 20;
    /// The most that a page can have: each is looked up in R2.
    pub const MAX_LIMIT: u32 = 100;

    /// The newest snapshots of a sandbox, asked for in nobody's session.
    pub const fn of(sandbox_id: SandboxId) -> Self {
        let (cursor, label_prefix, session) = (None, None, Session::NONE);
        Self { sandbox_id, cursor, limit: Self::LIMIT, label_prefix, check: true, session }
    }

    /// Decodes `{sandboxId, cursor?, limit?, labelPrefix?, check?, session?, allowCrossSession?}`.
    pub fn decode(value: &Value) -> Result<Self> {
        let mut fields = Fields::of(value)?;
        let sandbox_id = fields.required("sandboxId")?;
        let (cursor, label_prefix) = (fields.text("cursor")?, fields.text("labelPrefix")?);
        let limit = fields.number("limit")?.unwrap_or(Self::LIMIT.into());
        let check = fields.choice("check")?.unwrap_or(true);
        let (session, allow) = (fields.text("session")?, fields.flag("allowCrossSession")?);
        fields.end()?;
        let request = Self {
            sandbox_id: SandboxId::parse(&sandbox_id)?,
            cursor: cursor.as_deref().map(Cursor::parse).transpose()?,
            limit: limit.try_into().unwrap_or(u32::MAX),
            label_prefix: label_prefix.filter(|prefix| !prefix.is_empty()),
            check,
            session: Session::checked(session.as_deref(), allow)?,
        };
        if !(1..=Self::MAX_LIMIT).contains(&request.limit) {
            return Err(invalid(
                &format!("`limit` is {limit}"),
                &format!("Give 1 to {}, and go on with the cursor of the answer.", Self::MAX_LIMIT),
            ));
        }
        if request.label_prefix.as_ref().is_some_and(|prefix| prefix.chars().count() > Label::MAX) {
            return Err(invalid("`labelPrefix` is longer than a label can be", "Give the beginning of a label."));
        }
        Ok(request)
    }
}

/// A place in a list of snapshots, the newest first: behind the one of that time and id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// When the snapshot was taken.
    pub created_at: Timestamp,
    /// The snapshot.
    pub snapshot_id: SnapshotId,
}

impl Cursor {
    /// Reads a cursor that a list answered.
    pub fn parse(text: &str) -> Result<Self> {
        let read = || {
            let text = String::from_utf8(Base64UrlUnpadded::decode_vec(text).ok()?).ok()?;
            let (millis, id) = text.split_once(' ')?;
            Some(Self {
                created_at: Timestamp::from_millis(millis.parse().ok()?),
                snapshot_id: SnapshotId::parse(id).ok()?,
            })
        };
        read().ok_or_else(|| invalid("`cursor` is not one that list() answered", "Begin again without a cursor."))
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{} {}", self.created_at.as_millis(), self.snapshot_id);
        f.write_str(&Base64UrlUnpadded::encode_string(text.as_bytes()))
    }
}

/// A policy for a workspace.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "SetRetentionOptions", rename_all = "camelCase"),
    schemars(transform = needs(&["sandboxId", "policy"]))
)]
pub struct PolicyRequest {
    /// The sandbox.
    pub sandbox_id: SandboxId,
    /// The policy, in place of the one that it has.
    pub policy: Policy,
    /// Whether only to say what it would let go.
    pub dry_run: bool,
}

impl PolicyRequest {
    /// Decodes `{sandboxId, policy, dryRun?}`.
    pub fn decode(value: &Value) -> Result<Self> {
        let mut fields = Fields::of(value)?;
        let sandbox_id = fields.required("sandboxId")?;
        let (policy, dry_run) = (fields.object::<Policy>("policy")?, fields.flag("dryRun")?);
        fields.end()?;
        let sandbox_id = SandboxId::parse(&sandbox_id)?;
        let policy =
            policy.ok_or_else(|| invalid("`policy` is missing", "Give the whole policy; {} is the default one."))?;
        policy.check()?;
        Ok(Self { sandbox_id, policy, dry_run })
    }
}

/// A workspace to apply its policy to.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "ApplyRetentionOptions", rename_all = "camelCase"),
    schemars(transform = needs(&["sandboxId"]))
)]
pub struct ApplyRetentionRequest {
    /// The sandbox.
    pub sandbox_id: SandboxId,
    /// Whether only to say what would be let go.
    pub dry_run: bool,
}

impl ApplyRetentionRequest {
    /// Decodes `{sandboxId, dryRun?}`.
    pub fn decode(value: &Value) -> Result<Self> {
        let mut fields = Fields::of(value)?;
        let (sandbox_id, dry_run) = (fields.required("sandboxId")?, fields.flag("dryRun")?);
        fields.end()?;
        Ok(Self { sandbox_id: SandboxId::parse(&sandbox_id)?, dry_run })
    }
}

/// A bucket to sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "SweepOptions", rename_all = "camelCase"),
    schemars(transform = needs(&[]))
)]
pub struct SweepRequest {
    /// Whether only to count.
    pub dry_run: bool,
    /// How old a backup must be, in seconds, to be swept.
    #[cfg_attr(feature = "schema", schemars(range(max = Self::MAX_GRACE), extend("default" = Self::GRACE)))]
    pub grace_seconds: u64,
}

impl Default for SweepRequest {
    fn default() -> Self {
        Self { dry_run: false, grace_seconds: Self::GRACE }
    }
}

impl SweepRequest {
    /// One day.
    pub const GRACE: u64 = 24 * 3600;
    /// The longest grace period: that of the longest expiration.
    pub const MAX_GRACE: u64 = MAX_EXPIRATION;

    /// Decodes `{dryRun?, graceSeconds?}`.
    pub fn decode(value: &Value) -> Result<Self> {
        let mut fields = Fields::of(value)?;
        let (dry_run, grace_seconds) = (fields.flag("dryRun")?, fields.number("graceSeconds")?);
        fields.end()?;
        let grace_seconds = grace_seconds.unwrap_or(Self::GRACE);
        if grace_seconds > Self::MAX_GRACE {
            return Err(invalid(
                &format!("`graceSeconds` is {grace_seconds}"),
                &format!("Give at most {} seconds.", Self::MAX_GRACE),
            ));
        }
        Ok(Self { dry_run, grace_seconds })
    }
}
