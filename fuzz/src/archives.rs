//! Archives. An input is a whole archive.

use bytes::Bytes;
use futures_executor::block_on;
use sha2::{Digest, Sha256};
use snapshot_archive::{Archive, Archives, Download, Error, Form, Kind, Path, Result, Source, diff};

/// The maximum number of entries that are read.
const MAX_ENTRIES: usize = 500;

/// The maximum number of bytes of files that are read.
const MAX_BYTES: u64 = 2_000_000;

/// Reads an archive of squashfs.
pub fn read_squashfs(data: &[u8]) {
    if data.starts_with(b"hsqs") {
        read(data);
    }
}

/// Reads an archive of tar.
pub fn read_tar(data: &[u8]) {
    if !data.starts_with(b"hsqs") {
        read(data);
    }
}

fn read(data: &[u8]) {
    read_archives(&Archives::Full(Memory::of(data)));
}

fn read_archives(archives: &Archives<Memory>) {
    assert_expected(&block_on(read_all(archives)));
    assert_expected(&block_on(read_sorted(archives)));
    assert_expected(&block_on(export(archives)));
    assert_expected(&block_on(compare_with_itself(archives)));
}

/// Reads a delta. The input has the archive of the base, the lists and the payload, each after its length in 2 bytes.
pub fn read_delta(data: &[u8]) {
    let mut rest = data;
    let mut part = || {
        let (length, content) = rest.split_first_chunk().unwrap_or((&[0; 2], rest));
        let (part, next) = content.split_at(content.len().min(u16::from_le_bytes(*length).into()));
        rest = next;
        part
    };
    let (base, lists, payload) = (part(), part(), part());
    let hex = |bytes: &[u8]| Sha256::digest(bytes).iter().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"));
    let head = format!("delta 1\nlists {}\n", hex(lists));
    let carrier = tar(&[("head", head.as_bytes()), ("lists", lists), ("payload.tar", payload)]);
    let (base, carrier, head) = (Memory::of(base), Memory::of(&carrier), hex(head.as_bytes()));
    read_archives(&Archives::Delta { base, carrier, head });
}

/// Makes a tar of files.
fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut tar = Vec::new();
    for (name, content) in files {
        let mut header = [0; 512];
        let size = format!("{:011o}", content.len());
        for (at, field) in [(0, *name), (124, &size), (148, "        ")] {
            header[at..at + field.len()].copy_from_slice(field.as_bytes());
        }
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        tar.extend_from_slice(&header);
        tar.extend_from_slice(content);
        tar.resize(tar.len().next_multiple_of(512), 0);
    }
    tar.resize(tar.len() + 1024, 0);
    tar
}

fn assert_expected(read: &Result<()>) {
    let is_expected = matches!(
        read,
        Ok(()) | Err(Error::Damaged(_) | Error::Unsupported(_) | Error::NotFound | Error::NotADirectory)
    );
    assert!(is_expected, "{read:?}");
}

/// Visits the entries in the order of their paths, and begins again in the middle.
async fn read_sorted(archives: &Archives<Memory>) -> Result<()> {
    let mut archive = archives.clone().open().await?;
    let paths = sorted_paths(&mut archive, &Path::default(), MAX_ENTRIES).await?;
    for pair in paths.windows(2) {
        assert!(pair[0] < pair[1], "the paths are not sorted");
    }
    let Some(middle) = paths.get(paths.len() / 2) else { return Ok(()) };
    // In a squashfs where the index of a directory is wrong, a search finds other entries than a visit.
    if let Ok(rest) = sorted_paths(&mut archive, middle, 10).await {
        assert!(rest.iter().all(|path| path > middle), "the visit begins before its cursor");
    }
    Ok(())
}

async fn sorted_paths(archive: &mut Archive<Memory>, after: &Path, limit: usize) -> Result<Vec<Path>> {
    let mut walk = archive.walk_sorted(after).await?;
    let mut paths = Vec::new();
    while paths.len() < limit
        && let Some((path, _)) = archive.next_sorted(&mut walk).await?
    {
        paths.push(Path::parse(&path).expect("a valid path"));
    }
    Ok(paths)
}

/// Exports the archive, and reads the export.
async fn export(archives: &Archives<Memory>) -> Result<()> {
    let mut download = Download::open(archives.clone(), Path::default(), Form::Tar, false).await?;
    let mut tar = Vec::new();
    while let Some(bytes) = download.next().await? {
        tar.extend_from_slice(&bytes);
        if tar.len() as u64 > MAX_BYTES {
            return Ok(());
        }
    }
    let mut archive = Archive::open(Memory::of(&tar)).await.expect("a valid tar");
    let mut walk = archive.walk(&Path::default()).await.expect("a valid tar");
    loop {
        match archive.next_entry(&mut walk).await {
            Ok(Some(_)) => {}
            // An export of nothing has no entry for the directory itself.
            Ok(None) | Err(Error::NotFound) => return Ok(()),
            Err(error) => panic!("the export can't be read: {error}"),
        }
    }
}

/// Compares the archive with itself.
async fn compare_with_itself(archives: &Archives<Memory>) -> Result<()> {
    match diff(archives.clone().into(), archives.clone().into(), b"", 10, None).await {
        Ok(page) => assert!(page.changes.is_empty(), "an archive differs from itself: {:?}", page.changes),
        Err((_, error)) => return Err(error),
    }
    Ok(())
}

async fn read_all(archives: &Archives<Memory>) -> Result<()> {
    let mut archive = archives.clone().open().await?;
    let root = Path::default();
    let page = archive.list(&root, None, 10).await?;
    for pair in page.children.windows(2) {
        assert!(pair[0].name < pair[1].name, "a page is not sorted");
    }
    if let Some(after) = &page.next {
        let next = archive.list(&root, Some(after), 10).await?;
        assert!(next.children.iter().all(|child| child.name > *after), "a page begins before its cursor");
    }
    let mut walk = archive.walk(&root).await?;
    let mut bytes = 0;
    for _ in 0..MAX_ENTRIES {
        let Some((path, entry)) = archive.next_entry(&mut walk).await? else { return Ok(()) };
        let path = Path::parse(&path).expect("a valid path");
        let mut size = 0;
        while let Some(next) = archive.next_entry_bytes(&mut walk).await? {
            assert!(!next.is_empty() && next.len() <= 1 << 20, "a piece has {} bytes", next.len());
            size += next.len() as u64;
            bytes += next.len() as u64;
            if bytes > MAX_BYTES {
                return Ok(());
            }
        }
        assert_eq!(size, entry.size, "a file has another size than its entry");
        if archive.has_random_access() {
            read_by_path(&mut archive, &path).await?;
        }
    }
    Ok(())
}

/// Reads an entry by its path. In an archive where the index of a directory is wrong, that is another one or none.
async fn read_by_path(archive: &mut Archive<Memory>, path: &Path) -> Result<()> {
    let entry = match archive.stat(path).await {
        Err(Error::NotFound) => return Ok(()),
        entry => entry?,
    };
    if entry.kind == Kind::File {
        let middle = entry.size / 2;
        let mut content = archive.read(path, middle..u64::MAX).await?;
        assert_eq!(content.remaining(), entry.size - middle);
        archive.next_bytes(&mut content).await?;
    }
    Ok(())
}

#[derive(Clone)]
struct Memory(Bytes);

impl Memory {
    fn of(data: &[u8]) -> Self {
        Self(Bytes::copy_from_slice(data))
    }
}

impl Source for Memory {
    async fn read(&mut self, offset: u64, length: usize) -> Result<Bytes> {
        let offset = usize::try_from(offset).expect("an offset in the archive");
        Ok(self.0.slice(offset..offset + length))
    }

    fn size(&self) -> u64 {
        self.0.len() as u64
    }
}
