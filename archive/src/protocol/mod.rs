//! Requests about an archive, and their answers, in the form in which WebAssembly modules exchange them.

mod conversions;

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::diff::{self, Certainty, Difference};
use crate::download::{Download, Form};
use crate::sorted::Side;
use crate::summary::{Totals, summarize};
use crate::{Archive, Archives, Compared, LeftOut, Listing, Path, Result, Source};

/// The maximum number of bytes of a file in an answer.
pub const MAX_READ: u64 = 1 << 20;

/// A request about an archive. A path is text, so a file whose path is not UTF-8 cannot be requested.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "operation", rename_all = "camelCase")]
pub enum Request {
    /// For the attributes of an entry.
    Stat {
        /// The path of the entry.
        path: String,
    },
    /// For a page of a directory.
    List {
        /// The path of the directory.
        path: String,
        /// The name after which the page begins.
        after: Option<Name>,
        /// The maximum number of entries.
        limit: usize,
    },
    /// For a range of a file.
    Read {
        /// The path of the file.
        path: String,
        /// The offset of the first byte.
        offset: u64,
        /// The maximum number of bytes; at most [`MAX_READ`] are read.
        length: u64,
    },
    /// For the beginnings of files.
    ReadStarts {
        /// The paths of the files.
        paths: Vec<String>,
        /// The maximum number of bytes of each.
        length: u64,
    },
    /// For what a directory contains.
    Summarize {
        /// The path of the directory.
        path: String,
    },
}

/// A name, or another text of an archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Name {
    /// In UTF-8.
    Text(String),
    /// In another encoding.
    Bytes(Vec<u8>),
}

impl Name {
    /// Returns the bytes of the name.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }
}

impl From<&[u8]> for Name {
    fn from(bytes: &[u8]) -> Self {
        std::str::from_utf8(bytes).map_or_else(|_| Self::Bytes(bytes.to_vec()), |text| Self::Text(text.to_owned()))
    }
}

/// The attributes of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Attributes {
    /// What it is.
    pub kind: EntryKind,
    /// The permission bits.
    pub mode: u16,
    /// The user id of its owner.
    pub uid: u32,
    /// The group id of its owner.
    pub gid: u32,
    /// The modification time, in seconds since 1970.
    pub mtime: i64,
    /// The size of a regular file in bytes, and otherwise 0.
    pub size: u64,
    /// The target of a symbolic link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Name>,
}

/// The type of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum EntryKind {
    /// A directory.
    Directory,
    /// A regular file.
    File,
    /// A symbolic link.
    Symlink,
    /// A device, a FIFO or a socket.
    Special,
}

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedAttributes {
    /// Its name.
    pub name: Name,
    /// Its attributes.
    #[serde(flatten)]
    pub attributes: Attributes,
}

/// An entry of a directory with everything below it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedTotals {
    /// Its name.
    pub name: Name,
    /// What it is.
    pub kind: EntryKind,
    /// The entry itself, or what is below it if it is a directory.
    pub totals: Totals,
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Answer {
    /// To `Stat`, and to `Read`, which has the bytes beside it.
    Entry(Attributes),
    /// To `List`.
    Page {
        /// The entries, sorted by the bytes of their names.
        entries: Vec<NamedAttributes>,
        /// The name after which the next page begins, unless this is the last one.
        next: Option<Name>,
    },
    /// To `ReadStarts`, which has the bytes beside it.
    Starts {
        /// The number of bytes of each of the first files: of those that [`MAX_READ`] bytes include.
        lengths: Vec<usize>,
    },
    /// To `Summarize`: see [`Summary`](crate::summary::Summary).
    Summary {
        /// Everything below the directory.
        totals: Totals,
        /// Its largest entries, largest first; absent if it has too many.
        entries: Option<Vec<NamedTotals>>,
        /// The paths of the largest files, and their sizes in bytes, largest first.
        largest: Vec<(Name, u64)>,
    },
    /// To a download of a directory that leaves files out.
    Export {
        /// The attributes of the directory.
        attributes: Attributes,
        /// The number of files that are left out.
        count: u64,
        /// The paths of the first ones in the snapshot.
        paths: Vec<Name>,
    },
}

/// The result of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    /// The answer.
    Answer(Answer),
    /// The archive has no entry with the path.
    NotFound,
    /// An entry on the path, or the entry to list, is no directory.
    NotADirectory,
    /// The entry is no regular file.
    NotAFile,
    /// The path is not valid. Says why.
    InvalidPath(String),
    /// The archive is damaged. Says how.
    Damaged(String),
    /// The archive can't be read. Says why.
    Unsupported(String),
    /// R2 failed. Has its message.
    SourceFailed(String),
}

/// Answers a request about a snapshot, with the bytes of files for `Read` and `ReadStarts`.
pub async fn answer<S: Source>(archives: Archives<S>, request: Request) -> Result<(Answer, Vec<u8>)> {
    let mut archive = archives.open().await?;
    match request {
        Request::Stat { path } => {
            let entry = archive.stat(&Path::parse(path.as_bytes())?).await?;
            Ok((Answer::Entry((&entry).into()), Vec::new()))
        }
        Request::List { path, after, limit } => {
            let path = Path::parse(path.as_bytes())?;
            let page = archive.list(&path, after.as_ref().map(Name::as_bytes), limit).await?;
            let entries = page.children.iter().map(NamedAttributes::from).collect();
            Ok((Answer::Page { entries, next: page.next.as_deref().map(Name::from) }, Vec::new()))
        }
        Request::Read { path, offset, length } => {
            let mut bytes = Vec::new();
            let range = offset..offset.saturating_add(length.min(MAX_READ));
            let attributes = read(&mut archive, &path, range, &mut bytes).await?;
            Ok((Answer::Entry(attributes), bytes))
        }
        Request::ReadStarts { paths, length } => {
            let (mut bytes, mut lengths) = (Vec::new(), Vec::new());
            for path in paths {
                let before = bytes.len();
                read(&mut archive, &path, 0..length.min(MAX_READ), &mut bytes).await?;
                if bytes.len() as u64 > MAX_READ {
                    bytes.truncate(before);
                    break;
                }
                lengths.push(bytes.len() - before);
            }
            Ok((Answer::Starts { lengths }, bytes))
        }
        Request::Summarize { path } => {
            let path = Path::parse(path.as_bytes())?;
            Ok((summarize(&mut archive, &path).await?.into(), Vec::new()))
        }
    }
}

/// Appends a range of a file to `bytes`. Returns the attributes of the file.
async fn read<S: Source>(
    archive: &mut Archive<S>,
    path: &str,
    range: Range<u64>,
    bytes: &mut Vec<u8>,
) -> Result<Attributes> {
    let mut content = archive.read(&Path::parse(path.as_bytes())?, range).await?;
    bytes.reserve(usize::try_from(content.remaining()).unwrap_or_default());
    while let Some(next) = archive.next_bytes(&mut content).await? {
        bytes.extend_from_slice(&next);
    }
    Ok(content.entry().into())
}

/// A request for a download.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DownloadRequest {
    /// The path of the file or the directory.
    pub path: String,
    /// What is downloaded.
    pub form: Form,
    /// Whether a tar leaves out the files that are named like ones with secrets.
    pub omits_secrets: bool,
}

/// Opens a download.
pub async fn open_download<S: Source>(archives: Archives<S>, request: DownloadRequest) -> Result<Download<S>> {
    Download::open(archives, Path::parse(request.path.as_bytes())?, request.form, request.omits_secrets).await
}

/// Describes a download.
pub fn describe<S: Source>(download: &Download<S>) -> Answer {
    let attributes = download.entry().into();
    match download.left_out() {
        None => Answer::Entry(attributes),
        Some(LeftOut { count, paths }) => Answer::Export {
            attributes,
            count: *count,
            paths: paths.iter().map(|path| Name::from(&path[..])).collect(),
        },
    }
}

/// A request for the differences between two snapshots, or a snapshot and the files of a container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiffRequest {
    /// The path after which the page begins; the root for the first page.
    pub after: Name,
    /// The maximum number of differences.
    pub limit: usize,
    /// The files of the container, which are beside the request; absent for two snapshots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listing: Option<ListingPart>,
    /// The time, in seconds since 1970, from which on files of the same size and time are compared by content: see [`diff`](diff::diff).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub racy_from: Option<i64>,
}

/// A part of the files of a container: see [`Listing`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListingPart {
    /// Whether it is the end of the list.
    pub is_last: bool,
    /// Which of the two the files of the container are.
    pub side: Side,
}

/// The result of a request for the differences between two snapshots.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DiffOutcome {
    /// A page of the differences.
    Page {
        /// The differences, sorted by path, name by name.
        changes: Vec<Change>,
        /// The path after which the next page begins, unless this is the last one.
        next: Option<Name>,
        /// The number of bytes of the listing that precede what the next page needs.
        #[serde(default)]
        consumed: usize,
    },
    /// One of the archives failed.
    Failed {
        /// Which one.
        side: Side,
        /// How.
        outcome: Outcome,
    },
}

/// A path that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The path.
    pub path: Name,
    /// How it differs.
    pub kind: ChangeKind,
    /// How the difference was found.
    pub certainty: Certainty,
    /// The attributes in the first archive.
    pub before: Option<Attributes>,
    /// The attributes in the second archive.
    pub after: Option<Attributes>,
    /// The SHA-256 of the file in the archive, in hexadecimal, if the caller must compare it with the file in the container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}

/// How a path differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ChangeKind {
    /// Only the second archive has the path.
    Added,
    /// Only the first archive has the path.
    Removed,
    /// Both archives have the path, with these differences.
    Changed(Vec<Difference>),
    /// The path in the first archive is this one.
    Renamed(Name),
}

/// Answers a request for the differences between two snapshots.
pub async fn answer_diff<S: Source>(from: Archives<S>, to: Archives<S>, request: DiffRequest) -> DiffOutcome {
    compare(from.into(), to.into(), &request).await
}

/// Answers a request for the differences between a snapshot and the files of a container.
pub async fn answer_listing_diff<S: Source>(
    snapshot: Archives<S>,
    listing: Vec<u8>,
    part: ListingPart,
    request: DiffRequest,
) -> DiffOutcome {
    let listing = Compared::Listing(Listing::new(listing, part.is_last));
    match part.side {
        Side::From => compare(listing, snapshot.into(), &request).await,
        Side::To => compare(snapshot.into(), listing, &request).await,
    }
}

async fn compare<S: Source>(from: Compared<S>, to: Compared<S>, request: &DiffRequest) -> DiffOutcome {
    match diff::diff(from, to, request.after.as_bytes(), request.limit, request.racy_from).await {
        Ok(page) => DiffOutcome::Page {
            changes: page.changes.iter().map(Change::from).collect(),
            next: page.next.as_deref().map(Name::from),
            consumed: page.consumed,
        },
        Err((side, error)) => DiffOutcome::Failed { side, outcome: error.into() },
    }
}
