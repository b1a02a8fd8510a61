//! The request to revive a sandbox.

#[cfg(feature = "schema")]
use super::MAX_KEY_CHARS;
use super::check_key;
use super::declare::request;
use super::workspace::LineageScope;
use crate::model::SandboxId;
use crate::model::named::settings::{OnDiverged, OnImageChange};
#[cfg(feature = "schema")]
use crate::model::schema::{NO_CONTROL, extends, needs};

request! {
    /// The request to restore the files of a sandbox that has lost them, in the same sandbox.
    #[cfg_attr(
        feature = "schema",
        schemars(rename = "ReviveOptions", transform = needs(&["sandboxId"]), transform = extends("LineageScope"))
    )]
    pub struct ReviveRequest {
        /// The id of the sandbox. It belongs to no named workspace.
        pub sandbox_id: SandboxId,
        /// How to handle files that were written since the sandbox cold-started without its own.
        pub on_diverged: OnDiverged,
        /// What to do if the image of the sandbox differs from that of the snapshot; `report` if absent.
        #[serde(skip_serializing_if = "OnImageChange::is_default")]
        #[cfg_attr(feature = "schema", schemars(extend("default" = "report")))]
        pub on_image_change: OnImageChange,
        /// An idempotency key: a repeated call with the same key gets the same answer.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schemars(length(min = 1, max = MAX_KEY_CHARS), regex(pattern = NO_CONTROL)))]
        pub idempotency_key: Option<String> = check_key,
        /// The lineage that the caller works in.
        #[serde(flatten)]
        #[cfg_attr(feature = "schema", schemars(skip))]
        pub lineage_scope: LineageScope,
    }
}

impl ReviveRequest {
    /// Returns a request for a sandbox with default options: the call fails where the caller has to decide.
    pub fn of(sandbox_id: SandboxId) -> Self {
        let (on_diverged, on_image_change) = (OnDiverged::default(), OnImageChange::default());
        let lineage_scope = LineageScope::UNRESTRICTED;
        Self { sandbox_id, on_diverged, on_image_change, idempotency_key: None, lineage_scope }
    }
}
