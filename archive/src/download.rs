//! A download: the content of a file, or a tar of a directory.

use std::ops::Range;

use bytes::{Bytes, BytesMut};

use crate::archive::{Archive, Archives, Content};
use crate::export::Export;
use crate::left_out::LeftOut;
use crate::{Entry, Error, Kind, Path, Result, Source};

/// The number of bytes of a file that are returned at once, or up to 1 MiB more.
const CHUNK: usize = 256 << 10;

/// What is downloaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "protocol", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "camelCase"))]
pub enum Form {
    /// The content of a regular file.
    Content,
    /// A tar of a directory.
    Tar,
}

/// A download that is read piece by piece.
pub struct Download<S> {
    archive: Archive<S>,
    path: Path,
    entry: Entry,
    form: Form,
    range: Range<u64>,
    left_out: Option<LeftOut>,
    reading: Option<Reading>,
}

enum Reading {
    Content(Box<Content>),
    Tar(Box<Export>),
}

impl<S: Source> Download<S> {
    /// Opens the file or the directory at a path. With `omits_secrets`, a tar leaves out the files that are named like ones with
    /// secrets. It then visits all files first.
    pub async fn open(archives: Archives<S>, path: Path, form: Form, omits_secrets: bool) -> Result<Self> {
        let mut archive = archives.open().await?;
        let entry = archive.stat(&path).await?;
        match form {
            Form::Content if entry.kind != Kind::File => return Err(Error::NotAFile),
            Form::Tar if entry.kind != Kind::Directory => return Err(Error::NotADirectory),
            _ => {}
        }
        let range = 0..entry.size;
        let left_out = match form {
            Form::Tar if omits_secrets => Some(LeftOut::find(&mut archive, &path).await?),
            _ => None,
        };
        Ok(Self { archive, path, entry, form, range, left_out, reading: None })
    }

    /// Returns what a tar leaves out; `None` if it has all files.
    pub fn left_out(&self) -> Option<&LeftOut> {
        self.left_out.as_ref()
    }

    /// Returns the attributes of the file or the directory.
    pub fn entry(&self) -> &Entry {
        &self.entry
    }

    /// Sets the range of the content. Has no effect after the first bytes were read.
    pub fn set_range(&mut self, range: Range<u64>) {
        self.range = range;
    }

    /// Returns the next bytes.
    pub async fn next(&mut self) -> Result<Option<Bytes>> {
        if self.reading.is_none() {
            self.reading = Some(match self.form {
                Form::Content => Reading::Content(Box::new(
                    self.archive.read_found(&self.path, &self.entry, self.range.clone()).await?,
                )),
                Form::Tar => {
                    let omits_secrets = self.left_out.is_some();
                    let export = Export::new(&mut self.archive, &self.path, self.entry.clone(), omits_secrets).await?;
                    Reading::Tar(Box::new(export))
                }
            });
        }
        match &mut self.reading {
            None => Ok(None),
            Some(Reading::Tar(export)) => export.next(&mut self.archive).await,
            Some(Reading::Content(content)) => {
                let mut bytes = BytesMut::new();
                while bytes.len() < CHUNK {
                    let Some(next) = self.archive.next_bytes(content).await? else { break };
                    bytes.extend_from_slice(&next);
                }
                Ok((!bytes.is_empty()).then(|| bytes.freeze()))
            }
        }
    }
}
