//! The requests about the files of a snapshot or of a sandbox.

use super::declare::{Content, Field, request};
use super::fields::Fields;
use super::file_source::FileSource;
use super::selection::Selection;
use super::{check_page, check_range};
use crate::model::files::{FileCursor, FilePath};
#[cfg(feature = "schema")]
use crate::model::schema::{extends, needs};
use crate::model::{Directory, Error, Result, Runtime, SandboxId, SecretsMode};

request! {
    /// The request for a page of the files in a directory.
    #[cfg_attr(
        feature = "schema",
        schemars(rename = "ListFilesOptions", transform = needs(&[]), transform = extends("FileSource"))
    )]
    pub struct ListFilesRequest {
        /// Where the directory is.
        #[serde(flatten)]
        #[cfg_attr(feature = "schema", schemars(skip))]
        pub source: FileSource,
        /// The path of the directory; the directory of the snapshot or of the workspace itself if absent.
        pub path: Option<FilePath>,
        /// The cursor of the previous page; the page begins with the first file if absent.
        #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
        pub cursor: Option<FileCursor>,
        /// The maximum number of files on the page.
        #[cfg_attr(feature = "schema", schemars(range(min = 1, max = Self::MAX_LIMIT), extend("default" = Self::DEFAULT_LIMIT)))]
        pub limit: u32 = |limit| check_page(limit, Self::DEFAULT_LIMIT, Self::MAX_LIMIT),
    }
}

impl ListFilesRequest {
    /// The default number of files on a page.
    pub const DEFAULT_LIMIT: u32 = 100;
    /// The maximum number of files on a page.
    pub const MAX_LIMIT: u32 = 1000;

    /// Returns a request for the first files in the directory of a snapshot or of a workspace.
    pub fn of(source: impl Into<FileSource>) -> Self {
        Self { source: source.into(), path: None, cursor: None, limit: Self::DEFAULT_LIMIT }
    }
}

request! {
    /// The request for the attributes of a file.
    #[cfg_attr(
        feature = "schema",
        schemars(rename = "StatFileOptions", transform = needs(&["path"]), transform = extends("FileSource"))
    )]
    pub struct StatFileRequest {
        /// Where the file is.
        #[serde(flatten)]
        #[cfg_attr(feature = "schema", schemars(skip))]
        pub source: FileSource,
        /// The path of the file.
        pub path: FilePath,
    }
}

request! {
    /// The request to download a file of a snapshot.
    #[cfg_attr(
        feature = "schema",
        schemars(rename = "FileOptions", transform = needs(&["path"]), transform = extends("Selection"))
    )]
    pub struct FileRequest {
        /// The selection of the snapshot.
        #[serde(flatten)]
        #[cfg_attr(feature = "schema", schemars(skip))]
        pub selection: Selection,
        /// The path of the file.
        pub path: FilePath,
    }
}

request! {
    /// The request for a tar of a directory of a snapshot.
    #[cfg_attr(
        feature = "schema",
        schemars(rename = "ExportOptions", transform = needs(&[]), transform = extends("Selection"))
    )]
    pub struct ExportRequest {
        /// The selection of the snapshot.
        #[serde(flatten)]
        #[cfg_attr(feature = "schema", schemars(skip))]
        pub selection: Selection,
        /// The path of the directory; the directory that the snapshot contains if absent.
        pub path: Option<FilePath>,
        /// What to do with files that are named like ones with secrets: `exclude` if absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub secrets: Option<SecretsMode> = |text| text.as_deref().map(SecretsMode::parse).transpose(),
    }
}

request! {
    /// The request for what a directory of a snapshot contains.
    #[cfg_attr(
        feature = "schema",
        schemars(rename = "SummaryOptions", transform = needs(&[]), transform = extends("Selection"))
    )]
    pub struct SummaryRequest {
        /// The selection of the snapshot.
        #[serde(flatten)]
        #[cfg_attr(feature = "schema", schemars(skip))]
        pub selection: Selection,
        /// The path of the directory; the directory that the snapshot contains if absent.
        pub path: Option<FilePath>,
    }
}

request! {
    /// The request to write files of a snapshot to a running sandbox.
    #[cfg_attr(
        feature = "schema",
        schemars(rename = "RestoreFilesOptions", transform = needs(&["paths"]), transform = extends("Selection"))
    )]
    pub struct RestoreFilesRequest {
        /// The selection of the snapshot.
        #[serde(flatten)]
        #[cfg_attr(feature = "schema", schemars(skip))]
        pub selection: Selection,
        /// The paths of files, symbolic links and directories in the snapshot: 1–100, which select at most 1,000 of these and 64 MiB
        /// together.
        #[cfg_attr(feature = "schema", schemars(length(min = 1, max = Self::MAX_PATHS), inner(length(min = 1))))]
        pub paths: Vec<FilePath>,
        /// The sandbox to write the files to. It must be running. If absent, the one that the snapshot was taken of, or the present one
        /// of the workspace whose `name` selects the snapshot.
        pub to: Option<SandboxId>,
        /// The runtime of the sandbox. If the sandbox is new to the snapshotter: the deployment's default if absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub runtime: Option<Runtime>,
        /// The directory to write the files to, at their paths; if absent, that of the sandbox's workspace, or the deployment's default.
        pub dir: Option<Directory>,
        /// Whether to replace existing files.
        pub overwrite: bool,
    }
}

impl RestoreFilesRequest {
    /// The maximum number of paths.
    pub const MAX_PATHS: usize = 100;
    /// The maximum number of files, links and directories, with those in the directories.
    pub const MAX_FILES: usize = 1000;
    /// The maximum number of bytes of all files.
    pub const MAX_BYTES: u64 = 64 * 1024 * 1024;

    /// Returns a request to write files to the default directory of the sandbox that the snapshot was taken of, where they do not
    /// exist.
    pub const fn of(selection: Selection, paths: Vec<FilePath>) -> Self {
        Self { selection, paths, to: None, runtime: None, dir: None, overwrite: false }
    }

    /// The sandbox to write the files to.
    pub fn target(&self) -> &SandboxId {
        self.to.as_ref().unwrap_or_else(|| self.selection.selector.origin_id())
    }
}

impl Field for Vec<FilePath> {
    type Raw = Vec<String>;

    fn take(fields: &mut Fields, name: &str) -> Result<Self::Raw> {
        fields.strings(name)
    }
}

impl Content for Vec<FilePath> {
    fn check(raw: Self::Raw) -> Result<Self> {
        let most = RestoreFilesRequest::MAX_PATHS;
        if raw.is_empty() || raw.len() > most {
            return Err(Error::invalid_argument(
                format!("`paths` must have 1–{most} paths, got {}", raw.len()),
                format!("Pass 1 to {most} paths of files or directories in the snapshot."),
            ));
        }
        let parse = |(index, path): (usize, &String)| {
            if path.is_empty() {
                return Err(Error::invalid_argument(
                    format!("`paths[{index}]` is empty"),
                    "Pass a path, or \".\" for the whole directory.",
                ));
            }
            FilePath::parse_option(&format!("paths[{index}]"), path)
        };
        raw.iter().enumerate().map(parse).collect()
    }
}

request! {
    /// The request for the content of a file.
    #[cfg_attr(
        feature = "schema",
        schemars(rename = "ReadFileOptions", transform = needs(&["path"]), transform = extends("FileSource"))
    )]
    pub struct ReadFileRequest {
        /// Where the file is.
        #[serde(flatten)]
        #[cfg_attr(feature = "schema", schemars(skip))]
        pub source: FileSource,
        /// The path of the file.
        pub path: FilePath,
        /// The offset of the first byte; 0 if absent.
        #[cfg_attr(feature = "schema", schemars(range(max = Self::MAX_OFFSET), extend("default" = 0)))]
        pub offset: u64 = Self::check_offset,
        /// The maximum number of bytes. Without it and an `offset`, the answer has the whole file, and a file of more than 1 MiB is
        /// refused.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schemars(range(min = 1, max = Self::MAX_LENGTH)))]
        pub length: Option<u32> = Self::check_length,
    }
}

impl ReadFileRequest {
    /// The maximum offset: the largest integer that JavaScript represents exactly.
    pub const MAX_OFFSET: u64 = (1 << 53) - 1;
    /// The maximum number of bytes of a content.
    pub const MAX_LENGTH: u32 = 1024 * 1024;

    /// Returns a request for a whole file of at most 1 MiB.
    pub fn of(source: impl Into<FileSource>, path: FilePath) -> Self {
        Self { source: source.into(), path, offset: 0, length: None }
    }

    /// Returns a request for the first part of a file of any size.
    pub fn first_part(source: impl Into<FileSource>, path: FilePath) -> Self {
        Self { length: Some(Self::MAX_LENGTH), ..Self::of(source, path) }
    }

    /// Returns whether the answer must have the whole file.
    pub const fn is_of_whole(&self) -> bool {
        self.offset == 0 && self.length.is_none()
    }

    fn check_offset(offset: Option<u64>) -> Result<u64> {
        check_range("offset", offset.unwrap_or_default(), 0..=Self::MAX_OFFSET, |_| {
            "Pass an offset in the file.".to_owned()
        })
    }

    fn check_length(length: Option<u64>) -> Result<Option<u32>> {
        let check = |length| {
            check_range("length", length, 1..=Self::MAX_LENGTH, |most| {
                format!("Pass 1 to {most}, and read the rest of the file with another `offset`.")
            })
        };
        length.map(check).transpose()
    }
}
