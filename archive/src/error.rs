//! The errors of readers.

/// The reason why a reader fails.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The archive has no entry with this path.
    #[error("no such file or directory")]
    NotFound,
    /// The entry is no directory.
    #[error("not a directory")]
    NotADirectory,
    /// The entry is no regular file.
    #[error("not a regular file")]
    NotAFile,
    /// The path is not valid in any archive.
    #[error("the path {0}")]
    InvalidPath(&'static str),
    /// The archive is incomplete, or violates its format.
    #[error("the archive is damaged: {0}")]
    Damaged(&'static str),
    /// The archive exceeds a limit of the reader, or has a feature that the reader lacks.
    #[error("the archive can't be read: {0}")]
    Unsupported(&'static str),
    /// The source failed.
    #[error("{0}")]
    Source(String),
}

impl Error {
    /// The error of a position in an archive of another kind than the one that is read.
    pub(crate) const OTHER_ARCHIVE: Self = Self::Unsupported("the position is in an archive of another kind");
}

/// The result of a reader.
pub type Result<T, E = Error> = std::result::Result<T, E>;
