//! The state of the starts of a sandbox.

use serde::{Deserialize, Serialize};

use crate::model::named::binding::{LastRestore, SavedFiles};
use crate::model::{Directory, PendingTask, Timestamp};

/// The state of the starts of a sandbox: what the last one restored, and what an interrupted one left. A sandbox of a named
/// workspace has it in its binding, and any other sandbox from its first `revive` on.
#[allow(clippy::struct_excessive_bools)] // The flags are independent of each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StartState {
    /// The directory that the files are restored to.
    pub dir: Directory,
    /// Set while a start or stop works on the container, and after one was interrupted. The task reconciles the
    /// container. Until then only rescue snapshots are captured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(alias = "filling")]
    #[serde(rename = "restoreTask")]
    pub reconcile_task: Option<PendingTask>,
    /// A restore into the sandbox began, and its completion was not observed. The restore may continue in another
    /// container.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[serde(alias = "restoring")]
    pub restore_unconfirmed: bool,
    /// A request to destroy the container of the sandbox was not answered, or its sender ended. The request may
    /// take effect later, also on a container that is started after it, so no start returns this sandbox until no request
    /// can be late any more. A named workspace continues in another one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[serde(alias = "endUnanswered")]
    pub destroy_unconfirmed: bool,
    /// The sandbox did not answer a call in time, or the calling Worker was terminated. The call may arrive late and
    /// start a container that no start or stop has observed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[serde(alias = "late")]
    pub call_unconfirmed: bool,
    /// The nonce of the last container marker that a start wrote, with confirmation, before its restore. No restore has
    /// begun in a container whose marker has another nonce.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(alias = "begun")]
    pub restore_nonce: Option<String>,
    /// When a start first returned the sandbox. From then on the sandbox starts empty only on explicit request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(alias = "openedAt")]
    pub first_started_at: Option<Timestamp>,
    /// When a start last adopted files that were written into a cold-started container. A capture that began before
    /// this time shows the container before it became the sandbox's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(alias = "keptAt")]
    pub adopted_at: Option<Timestamp>,
    /// The snapshot that has all files of the sandbox; absent if a container may have held newer files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved: Option<SavedFiles>,
    /// The state of the files that the last automatic save captured, as the container names it; absent if no snapshot is
    /// known to have the files with which the container was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved_state: Option<String>,
    /// Since when changes may be lost that the last restore lost, if the last stop ended the container before an answer
    /// certainly reported that. The next start reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreported_since: Option<Timestamp>,
    /// The last restore into the sandbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_restore: Option<LastRestore>,
    /// The image of the container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// A hash of what the image contains in the directory; absent if that is nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// The names of the environment variables that may be set.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(alias = "variables")]
    pub env_names: Vec<String>,
    /// The image with which the class of the sandbox started the container; absent if the workspace neither chose it nor has
    /// platform snapshots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class_image: Option<String>,
    /// Whether the container may have another image than `class_image`, which was read while it ran already.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub class_image_uncertain: bool,
    /// The name of the image that the class of the sandbox last got for its next containers; the default of the class if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen_image: Option<String>,
    /// A hash of the directory in the platform snapshot that a start last began to restore. A container without a marker that
    /// has exactly this content has no files of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform_content: Option<String>,
}

impl StartState {
    /// Returns the state of a sandbox that was never started.
    pub const fn new(dir: Directory) -> Self {
        Self {
            dir,
            reconcile_task: None,
            restore_unconfirmed: false,
            destroy_unconfirmed: false,
            call_unconfirmed: false,
            restore_nonce: None,
            first_started_at: None,
            adopted_at: None,
            saved: None,
            saved_state: None,
            unreported_since: None,
            last_restore: None,
            image: None,
            baseline: None,
            env_names: Vec::new(),
            class_image: None,
            class_image_uncertain: false,
            chosen_image: None,
            platform_content: None,
        }
    }
}
