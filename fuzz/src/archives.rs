//! Archives. An input is a whole archive.

use bytes::Bytes;
use futures_executor::block_on;
use snapshot_archive::{Archive, Error, Kind, Path, Result, Source};

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
    let read = block_on(read_all(data));
    let is_expected = matches!(
        read,
        Ok(()) | Err(Error::Damaged(_) | Error::Unsupported(_) | Error::NotFound | Error::NotADirectory)
    );
    assert!(is_expected, "{read:?}");
}

async fn read_all(data: &[u8]) -> Result<()> {
    let mut archive = Archive::open(Memory(Bytes::copy_from_slice(data))).await?;
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

struct Memory(Bytes);

impl Source for Memory {
    async fn read(&self, offset: u64, length: usize) -> Result<Bytes> {
        let offset = usize::try_from(offset).expect("an offset in the archive");
        Ok(self.0.slice(offset..offset + length))
    }

    fn size(&self) -> u64 {
        self.0.len() as u64
    }
}
