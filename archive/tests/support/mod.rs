//! Trees of files, archives of them, and sources that count what is read.
#![allow(dead_code, clippy::missing_panics_doc)] // Each test binary uses a part.

use std::cell::Cell;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use futures_executor::block_on;
use sha2::{Digest, Sha256};
use snapshot_archive::{Archive, Archives, Error, Result, Source};

/// A folder that is deleted at the end of a test.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("snapshot-archive-{}-{count}", std::process::id()));
        fs::create_dir_all(path.join("tree")).unwrap();
        Self(path)
    }

    /// The tree of files to archive.
    pub fn tree(&self) -> PathBuf {
        self.0.join("tree")
    }

    /// Writes a file of the tree. Its name can be any bytes.
    pub fn write(&self, path: impl AsRef<[u8]>, content: impl AsRef<[u8]>) {
        let path = self.tree().join(OsStr::from_bytes(path.as_ref()));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Makes a squashfs archive of the tree with options of mksquashfs.
    pub fn squashfs(&self, options: &str) -> PathBuf {
        let archive = self.0.join("archive");
        let mut command = Command::new("mksquashfs");
        command.arg(self.tree()).arg(&archive).args(["-noappend", "-no-progress", "-quiet"]);
        run(command.args(options.split_whitespace()));
        archive
    }

    /// Makes a tar archive of the tree as a container does, with a program that compresses it.
    pub fn tar(&self, compressor: Option<&str>) -> PathBuf {
        let options = compressor.map(|program| vec!["-S", "-I", program]);
        self.tar_with(&options.unwrap_or(vec!["-S"]))
    }

    /// Makes a tar archive of the tree with options of tar.
    pub fn tar_with(&self, options: &[&str]) -> PathBuf {
        let archive = self.0.join("archive");
        let mut command = Command::new("tar");
        command.arg("-C").arg(self.tree()).arg("--numeric-owner");
        run(command.args(options).arg("-cf").arg(&archive).arg("."));
        archive
    }

    /// Makes an archive in a format.
    pub fn archive(&self, format: Format) -> PathBuf {
        match format {
            Format::Squashfs(options) => self.squashfs(options),
            Format::Tar(compressor) => self.tar(compressor),
        }
    }
}

/// The directory with the changes of a delta.
pub struct Carrier {
    folder: Folder,
    /// The SHA-256 of the head.
    pub head: String,
}

impl Carrier {
    /// Makes a carrier with entries of a tree, and the lists of the directories that changed: paths that begin with `/`, and
    /// entries that begin with their type.
    pub fn new(changed: &Folder, paths: &[String], lists: &[(&str, Vec<String>)]) -> Self {
        let folder = Folder::new();
        let names = folder.tree().with_file_name("names");
        fs::write(&names, paths.iter().map(|path| format!("./{path}\0")).collect::<Vec<_>>().concat()).unwrap();
        let mut command = Command::new("tar");
        command.arg("-C").arg(changed.tree()).args(["--format=posix", "--pax-option=delete=atime,delete=ctime"]);
        // A time with a fraction needs more headers.
        command
            .args([
                "--mtime=@1700000000",
                "--numeric-owner",
                "-S",
                "--no-recursion",
                "--null",
                "--verbatim-files-from",
                "-T",
            ])
            .arg(names);
        run(command.arg("-cf").arg(folder.tree().join("payload.tar")));
        let entries =
            |entries: &[String]| entries.iter().map(|entry| format!("{entry}\0")).collect::<Vec<_>>().concat();
        let lists =
            lists.iter().map(|(path, list)| format!("{path}\0{}\0", entries(list))).collect::<Vec<_>>().concat();
        folder.write("lists", &lists);
        let head = format!("delta 1\nbase b\nlists {}\npayload p\ndigest d\n", sha256(lists.as_bytes()));
        folder.write("head", &head);
        Self { folder, head: sha256(head.as_bytes()) }
    }

    /// The files of the carrier.
    pub fn files(&self) -> &Folder {
        &self.folder
    }

    /// Makes an archive of the carrier in a format.
    pub fn archive(&self, format: Format) -> PathBuf {
        self.folder.archive(format)
    }

    /// The archives of a base and of this carrier.
    pub fn delta(&self, base: &Path, carrier: &Path) -> Archives<Counting> {
        let [base, carrier] = [base, carrier].map(|path| Counting::open(path).0);
        Archives::Delta { base, carrier, head: self.head.clone() }
    }
}

/// Returns the SHA-256 in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"))
}

/// A format of archives.
#[derive(Clone, Copy, Debug)]
pub enum Format {
    /// With options of mksquashfs.
    Squashfs(&'static str),
    /// With a program that compresses it.
    Tar(Option<&'static str>),
}

/// The formats in which containers make archives.
pub const FORMATS: [Format; 6] = [
    Format::Squashfs("-comp lz4"),
    Format::Squashfs("-comp gzip"),
    Format::Squashfs("-comp zstd"),
    Format::Tar(None),
    Format::Tar(Some("gzip -1")),
    Format::Tar(Some("zstd -q -T0 -1")),
];

/// Opens an archive in a file.
pub fn open(path: &Path) -> Archive<Counting> {
    block_on(Archive::open(Counting::open(path).0)).unwrap()
}

/// An archive in a file that has all files of a snapshot.
pub fn full(path: &Path) -> Archives<Counting> {
    Archives::Full(Counting::open(path).0)
}

/// Reads a range of a file.
pub fn read<S: Source>(archive: &mut Archive<S>, at: &str, range: Range<u64>) -> Result<Vec<u8>> {
    block_on(async {
        let mut content = archive.read(&path(at), range).await?;
        let mut bytes = Vec::new();
        let length = content.remaining();
        while let Some(next) = archive.next_bytes(&mut content).await? {
            assert!(!next.is_empty());
            bytes.extend_from_slice(&next);
            assert_eq!(content.remaining(), length - bytes.len() as u64);
        }
        assert_eq!(content.remaining(), 0);
        Ok(bytes)
    })
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// An archive in memory.
pub struct Memory(pub Bytes);

impl Source for Memory {
    async fn read(&mut self, offset: u64, length: usize) -> Result<Bytes> {
        assert!(length > 0, "an empty range");
        let offset = usize::try_from(offset).unwrap();
        Ok(self.0.slice(offset..offset + length))
    }

    fn size(&self) -> u64 {
        self.0.len() as u64
    }
}

/// The reads of an archive.
#[derive(Default)]
pub struct Reads {
    pub count: Cell<u64>,
    pub bytes: Cell<u64>,
}

/// An archive in a file. Counts what is read.
pub struct Counting {
    file: File,
    size: u64,
    pub reads: Rc<Reads>,
}

impl Counting {
    pub fn open(path: &Path) -> (Self, Rc<Reads>) {
        let file = File::open(path).unwrap();
        let size = file.metadata().unwrap().len();
        let reads = Rc::<Reads>::default();
        (Self { file, size, reads: Rc::clone(&reads) }, reads)
    }
}

impl Source for Counting {
    async fn read(&mut self, offset: u64, length: usize) -> Result<Bytes> {
        self.reads.count.set(self.reads.count.get() + 1);
        self.reads.bytes.set(self.reads.bytes.get() + length as u64);
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, offset).map_err(|error| Error::Source(error.to_string()))?;
        Ok(bytes.into())
    }

    fn size(&self) -> u64 {
        self.size
    }
}

/// Returns bytes that don't compress well, from a seed.
pub fn random(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

/// Parses a path in an archive.
pub fn path(path: impl AsRef<[u8]>) -> snapshot_archive::Path {
    snapshot_archive::Path::parse(path.as_ref()).unwrap()
}
