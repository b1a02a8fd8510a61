//! Why a snapshot was taken.

use serde::{Deserialize, Serialize};

/// Why a snapshot was taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum SnapshotCause {
    /// A caller of `snapshot` requested it.
    #[default]
    Caller,
    /// Its sandbox was stopped.
    Stop,
    /// It is an automatic save.
    Autosave,
    /// It has the present files of a workspace for its forks, or for a promotion to another workspace.
    Fork,
    /// It has the files of a workspace from before a rollback.
    BeforeRollback,
    /// It has the files of a workspace from before a promotion.
    BeforePromotion,
    /// It has the files of a workspace from before a start from a snapshot.
    BeforeStart,
    /// It has the files of a workspace from before a change of its image.
    BeforeImage,
    /// It is a rescue snapshot.
    Rescue,
    /// `import` added it.
    Import,
}

impl SnapshotCause {
    /// Returns the cause in words, for people.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Caller => "call",
            Self::Stop => "stop",
            Self::Autosave => "automatic save",
            Self::Fork => "fork",
            Self::BeforeRollback => "before rollback",
            Self::BeforePromotion => "before promotion",
            Self::BeforeStart => "before start from snapshot",
            Self::BeforeImage => "before change of image",
            Self::Rescue => "rescue",
            Self::Import => "import",
        }
    }
}
