//! What is compared: the sorted entries of the archives of a snapshot, or of a container.

use bytes::Bytes;

use crate::archive::SortedWalk;
use crate::{Archive, Archives, Entry, Error, Kind, Listing, Path, Result, Source};

/// What is compared.
pub enum Compared<S> {
    /// The files of a snapshot.
    Archives(Archives<S>),
    /// A part of the files of a container, which begins after the path after which the page begins.
    Listing(Listing),
}

impl<S> From<Archives<S>> for Compared<S> {
    fn from(archives: Archives<S>) -> Self {
        Self::Archives(archives)
    }
}

/// One of the archives that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "protocol", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "camelCase"))]
pub enum Side {
    /// The first one.
    From,
    /// The second one.
    To,
}

/// An error of one of the archives, or about the path after which the page begins.
pub type DiffError = (Side, Error);

/// Returns the error of one of the two.
pub(crate) fn of(side: Side) -> impl Fn(Error) -> DiffError {
    move |error| (side, error)
}

/// The sorted entries of one archive, or of a container.
pub(crate) struct Sorted<S> {
    files: Files<S>,
    /// The next entry.
    pub head: Option<(Bytes, Entry)>,
    consumed: usize,
    side: Side,
}

enum Files<S> {
    Archive(Box<Archive<S>>, SortedWalk),
    Listing(Listing),
}

impl<S: Source> Sorted<S> {
    /// Opens what is compared, at the first entry that follows a path.
    pub async fn open(compared: Compared<S>, after: &Path, side: Side) -> Result<Self, DiffError> {
        let open = async {
            let files = match compared {
                Compared::Archives(archives) => {
                    let mut archive = Box::new(archives.open().await?);
                    let walk = archive.walk_sorted(after).await?;
                    Files::Archive(archive, walk)
                }
                Compared::Listing(listing) => Files::Listing(listing),
            };
            let mut sorted = Self { files, head: None, consumed: 0, side };
            sorted.head = sorted.next().await?;
            Ok(sorted)
        };
        open.await.map_err(of(side))
    }

    /// Returns the next entry, and reads the one that follows.
    pub async fn take(&mut self) -> Result<Option<(Bytes, Entry)>, DiffError> {
        if let Files::Listing(listing) = &self.files {
            self.consumed = listing.offset();
        }
        let next = self.next().await.map_err(of(self.side))?;
        Ok(std::mem::replace(&mut self.head, next))
    }

    /// Reads the next entry. Not all archives contain sockets, which belong to a process.
    async fn next(&mut self) -> Result<Option<(Bytes, Entry)>> {
        loop {
            let next = match &mut self.files {
                Files::Archive(archive, walk) => archive.next_sorted(walk).await?,
                Files::Listing(listing) => listing.next()?,
            };
            if next.as_ref().is_none_or(|(_, entry)| entry.kind != Kind::Socket) {
                return Ok(next);
            }
        }
    }

    /// Returns the number of bytes of the listing that precede the next entry.
    pub const fn consumed(&self) -> usize {
        self.consumed
    }

    /// Whether the part of the listing ends here, and another one follows.
    pub fn is_cut(&self) -> bool {
        matches!(&self.files, Files::Listing(listing) if self.head.is_none() && !listing.is_last())
    }

    /// Whether the content of files can be read.
    pub fn has_random_access(&self) -> bool {
        matches!(&self.files, Files::Archive(archive, _) if archive.has_random_access())
    }

    /// Whether the files are those of a container.
    pub const fn is_listing(&self) -> bool {
        matches!(&self.files, Files::Listing(_))
    }

    /// Returns the content of a file, up to `limit` bytes; none of a file in a container.
    pub async fn read(&mut self, path: &[u8], entry: &Entry, limit: u64) -> Result<Vec<u8>, DiffError> {
        let Files::Archive(archive, _) = &mut self.files else { return Ok(Vec::new()) };
        let read = async {
            let mut content = archive.read_found(&Path::parse(path)?, entry, 0..limit).await?;
            let mut bytes = Vec::with_capacity(usize::try_from(content.remaining()).unwrap_or_default());
            while let Some(next) = archive.next_bytes(&mut content).await? {
                bytes.extend_from_slice(&next);
            }
            Ok(bytes)
        };
        read.await.map_err(of(self.side))
    }
}
