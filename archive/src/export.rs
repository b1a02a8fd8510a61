//! An archive of tar with what is below a directory.

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::archive::{Archive, Content, Walk};
use crate::left_out::is_left_out;
use crate::path::join;
use crate::secrets::is_named_like_secret;
use crate::tar::write::{Member, pad, write_end, write_header};
use crate::{Entry, Error, Kind, Path, Result, Source};

/// The number of bytes that are returned at once, or up to 1 MiB more.
const CHUNK: usize = 256 << 10;

/// The memory of the first names of files with several names, in bytes.
const LINK_MEMORY: usize = 4 << 20;

/// Makes a tar of a directory piece by piece: headers of ustar, or of pax where they have no room. Sockets are left out.
pub struct Export {
    root: Path,
    entry: Entry,
    walk: Walk,
    links: Links,
    /// Whether files are left out that are named like ones with secrets.
    omits_secrets: bool,
    step: Step,
}

/// What comes next.
enum Step {
    Root,
    Entry,
    /// The content of the last entry of the walk, with the number of bytes that are left and the size.
    Content {
        left: u64,
        size: u64,
    },
    /// The content of a file outside of the directory, which a hard link in it names.
    Outside {
        content: Box<Content>,
        left: u64,
        size: u64,
    },
    Done,
}

impl Export {
    /// Begins to export a directory, which has the attributes `entry`.
    pub async fn new<S: Source>(
        archive: &mut Archive<S>,
        root: &Path,
        entry: Entry,
        omits_secrets: bool,
    ) -> Result<Self> {
        let walk = archive.walk(root).await?;
        Ok(Self { root: root.clone(), entry, walk, links: Links::default(), omits_secrets, step: Step::Root })
    }

    /// Returns the next bytes of the tar.
    pub async fn next<S: Source>(&mut self, archive: &mut Archive<S>) -> Result<Option<Bytes>> {
        let mut out = Vec::with_capacity(CHUNK);
        while out.len() < CHUNK {
            match &mut self.step {
                Step::Root => {
                    if !self.entry.is_implied() {
                        let entry = &self.entry;
                        write_header(&mut out, &Member { path: b"./", type_flag: b'5', link: b"", entry, size: 0 });
                    }
                    self.step = Step::Entry;
                }
                Step::Entry => {
                    if let Some((path, entry)) = archive.next_entry(&mut self.walk).await? {
                        if self.omits_secrets && is_left_out(&join(&self.root.joined(), &path), &entry) {
                            continue;
                        }
                        self.step = self.begin(archive, &mut out, &path, &entry).await?;
                    } else {
                        write_end(&mut out);
                        self.step = Step::Done;
                    }
                }
                Step::Content { left, size } => {
                    let bytes = archive.next_entry_bytes(&mut self.walk).await?;
                    if !push_content(&mut out, bytes, left, *size)? {
                        self.step = Step::Entry;
                    }
                }
                Step::Outside { content, left, size } => {
                    let bytes = archive.next_bytes(content).await?;
                    if !push_content(&mut out, bytes, left, *size)? {
                        self.step = Step::Entry;
                    }
                }
                Step::Done => break,
            }
        }
        Ok((!out.is_empty()).then(|| out.into()))
    }

    /// Writes the header of an entry, and returns what follows.
    async fn begin<S: Source>(
        &mut self,
        archive: &mut Archive<S>,
        out: &mut Vec<u8>,
        path: &[u8],
        entry: &Entry,
    ) -> Result<Step> {
        let mut write = |path: &[u8], type_flag, link: &[u8], entry: &Entry| {
            write_header(out, &Member { path, type_flag, link, entry, size: entry.size });
        };
        let size = entry.size;
        match &entry.kind {
            Kind::Directory => write(&[path, b"/"].concat(), b'5', b"", entry),
            Kind::Symlink { target } => write(path, b'2', target, entry),
            Kind::BlockDevice(_) => write(path, b'4', b"", entry),
            Kind::CharacterDevice(_) => write(path, b'3', b"", entry),
            Kind::Fifo => write(path, b'6', b"", entry),
            Kind::Socket => {}
            Kind::File => {
                let Some(first) = self.links.first_name(entry, path) else {
                    write(path, b'0', b"", entry);
                    return Ok(Step::Content { left: size, size });
                };
                write(path, b'1', &first, &Entry { size: 0, ..entry.clone() });
            }
            Kind::HardLink { target } => {
                let target = Path::parse(target).map_err(|_| Error::Damaged("a name is not valid"))?;
                let is_omitted = self.omits_secrets && is_named_like_secret(&target.joined());
                if let Some(names) = self.root.below(&target).filter(|names| !names.is_empty() && !is_omitted) {
                    write(path, b'1', &names.join(&b'/'), entry);
                } else {
                    let content = archive.read(&target, 0..u64::MAX).await?;
                    let (file, size) = (content.entry().clone(), content.remaining());
                    write(path, b'0', b"", &file);
                    return Ok(Step::Outside { content: Box::new(content), left: size, size });
                }
            }
        }
        Ok(Step::Entry)
    }
}

/// Appends the next bytes of a content with its padding. Returns whether more follow.
fn push_content(out: &mut Vec<u8>, bytes: Option<Bytes>, left: &mut u64, size: u64) -> Result<bool> {
    let Some(bytes) = bytes else {
        pad(out, size);
        return if *left == 0 { Ok(false) } else { Err(Error::Damaged("a file ends early")) };
    };
    let length = bytes.len() as u64;
    *left = left.checked_sub(length).ok_or(Error::Damaged("a file is longer than its size"))?;
    out.extend_from_slice(&bytes);
    Ok(true)
}

/// The first names of files with several names. Where they need too much memory, the other names become copies.
#[derive(Default)]
struct Links {
    names: BTreeMap<u64, Name>,
    bytes: usize,
}

struct Name {
    path: Vec<u8>,
    /// The number of names that follow.
    left: u32,
}

impl Links {
    /// Returns the first name of a file; `None` if this is the first one.
    fn first_name(&mut self, entry: &Entry, path: &[u8]) -> Option<Vec<u8>> {
        const OVERHEAD: usize = 128;
        if entry.links < 2 {
            return None;
        }
        if let Some(name) = self.names.get_mut(&entry.file_id()) {
            name.left = name.left.saturating_sub(1);
            if name.left > 0 {
                return Some(name.path.clone());
            }
            self.bytes -= name.path.len() + OVERHEAD;
            return self.names.remove(&entry.file_id()).map(|name| name.path);
        }
        let bytes = path.len() + OVERHEAD;
        if self.bytes + bytes <= LINK_MEMORY {
            self.bytes += bytes;
            self.names.insert(entry.file_id(), Name { path: path.to_vec(), left: entry.links - 1 });
        }
        None
    }
}
