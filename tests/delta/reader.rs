//! What the reader of archives returns for a base and a delta.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use futures_executor::block_on;
use snapshot_archive::{
    Archive, Archives, ChangeKind, Download, Entry, Form, Kind, Path as ArchivePath, Result as Read, Source, diff,
};

use crate::tree::{self, Listing};

/// An archive in memory.
#[derive(Clone)]
struct Memory(Bytes);

impl Source for Memory {
    async fn read(&mut self, offset: u64, length: usize) -> Read<Bytes> {
        let offset = usize::try_from(offset).unwrap();
        Ok(self.0.slice(offset..offset + length))
    }

    fn size(&self) -> u64 {
        self.0.len() as u64
    }
}

fn load(archive: &Path) -> Memory {
    Memory(fs::read(archive).unwrap().into())
}

fn parse(path: &Path) -> ArchivePath {
    ArchivePath::parse(path.as_os_str().as_bytes()).unwrap()
}

/// Compares what the reader returns for a base and the carrier of a delta with the listing of the captured directory.
pub fn compare(expected: &Listing, base: &Path, carrier: &Path, head: &str) -> Result<(), String> {
    let base = load(base);
    let delta = || Archives::Delta { base: base.clone(), carrier: load(carrier), head: head.to_owned() };
    let listed = block_on(list(delta())).map_err(|error| format!("the reader: {error}"))?;
    tree::compare(expected, &listed).map_err(|difference| format!("the reader: {difference}"))?;
    block_on(assert_missing(delta(), expected)).map_err(|error| format!("missing files: {error}"))?;
    let export = block_on(export(delta())).map_err(|error| format!("the export: {error}"))?;
    let exported = block_on(list(Archives::Full(export.clone()))).map_err(|error| format!("the export: {error}"))?;
    tree::compare(expected, &exported).map_err(|difference| format!("the export: {difference}"))?;
    let page = block_on(diff(delta().into(), Archives::Full(export).into(), b"", 1000, None))
        .map_err(|error| format!("{error:?}"))?;
    if !page.changes.is_empty() {
        return Err(format!("the export differs: {:?}", page.changes));
    }
    let first = block_on(list(Archives::Full(base.clone()))).map_err(|error| format!("the base: {error}"))?;
    block_on(compare_changes(Archives::Full(base.clone()), delta(), &first, &listed))
}

/// Lists an archive page by page, and reads its files in two ranges.
async fn list(archives: Archives<Memory>) -> Read<Listing> {
    let mut archive = archives.open().await?;
    let root = archive.stat(&parse(Path::new(""))).await?;
    let mut found = vec![(PathBuf::new(), root)];
    let mut pending = vec![PathBuf::new()];
    while let Some(directory) = pending.pop() {
        let mut after: Option<Bytes> = None;
        loop {
            let page = archive.list(&parse(&directory), after.as_deref(), 3).await?;
            for child in page.children {
                assert!(after.as_ref().is_none_or(|after| *after < child.name), "a page is not sorted");
                after = Some(child.name.clone());
                let path = directory.join(OsStr::from_bytes(&child.name));
                if child.entry.kind == Kind::Directory {
                    pending.push(path.clone());
                }
                found.push((path, child.entry));
            }
            if page.next.is_none() {
                break;
            }
            assert_eq!(page.next, after, "a page continues after its last name");
        }
    }
    let (mut entries, mut names) = (BTreeMap::new(), BTreeMap::<u64, Vec<PathBuf>>::new());
    for (path, entry) in found {
        assert_eq!(archive.stat(&parse(&path)).await?.file_id(), entry.file_id(), "{}", path.display());
        let (file_type, content) = match &entry.kind {
            Kind::Directory => (0o040_000, Vec::new()),
            Kind::Symlink { target } => (0o120_000, target.to_vec()),
            Kind::File => {
                names.entry(entry.file_id()).or_default().push(path.clone());
                (0o100_000, read(&mut archive, &path, &entry).await?)
            }
            other => panic!("{}: {other:?}", path.display()),
        };
        #[allow(clippy::cast_sign_loss, clippy::cast_possible_truncation)] // As a squashfs has it.
        let time = (file_type != 0o120_000).then(|| entry.mtime.rem_euclid(1 << 32) as u32);
        // The mode of a symbolic link has no effect.
        let mode = if file_type == 0o120_000 { 0o777 } else { u32::from(entry.mode) };
        entries.insert(path, (file_type | mode, entry.uid, entry.gid, time, content));
    }
    let mut groups: Vec<_> = names.into_values().filter(|names| names.len() > 1).collect();
    for names in &mut groups {
        names.sort();
    }
    groups.sort();
    Ok((entries, groups))
}

async fn read(archive: &mut Archive<Memory>, path: &Path, entry: &Entry) -> Read<Vec<u8>> {
    let middle = entry.size / 2;
    let mut bytes = Vec::new();
    for range in [0..middle, middle..u64::MAX] {
        let mut content = archive.read(&parse(path), range).await?;
        while let Some(next) = archive.next_bytes(&mut content).await? {
            bytes.extend_from_slice(&next);
        }
        assert_eq!(content.remaining(), 0);
    }
    assert_eq!(bytes.len() as u64, entry.size, "{}", path.display());
    Ok(bytes)
}

/// Asserts that paths without an entry are missing.
async fn assert_missing(archives: Archives<Memory>, expected: &Listing) -> Read<()> {
    let mut archive = archives.open().await?;
    for (path, (mode, ..)) in &expected.0 {
        let is_directory = mode & 0o170_000 == 0o040_000;
        let error =
            if is_directory { snapshot_archive::Error::NotFound } else { snapshot_archive::Error::NotADirectory };
        let below = parse(&path.join("no such name"));
        assert_eq!(archive.stat(&below).await.unwrap_err(), error, "{}", path.display());
        assert_eq!(archive.list(&below, None, 10).await.unwrap_err(), error, "{}", path.display());
        if !is_directory {
            assert_eq!(archive.list(&parse(path), None, 10).await.unwrap_err(), error, "{}", path.display());
        }
    }
    Ok(())
}

async fn export(archives: Archives<Memory>) -> Read<Memory> {
    let mut download = Download::open(archives, parse(Path::new("")), Form::Tar, false).await?;
    let mut tar = Vec::new();
    while let Some(bytes) = download.next().await? {
        tar.extend_from_slice(&bytes);
    }
    Ok(Memory(tar.into()))
}

/// Compares the differences that the reader finds between a base and a delta with their listings.
async fn compare_changes(
    base: Archives<Memory>,
    delta: Archives<Memory>,
    before: &Listing,
    after: &Listing,
) -> Result<(), String> {
    let page = diff(base.into(), delta.into(), b"", 1000, None)
        .await
        .map_err(|error| format!("the differences: {error:?}"))?;
    let (mut added, mut removed) = (BTreeSet::new(), BTreeSet::new());
    let to_path = |path: &Bytes| PathBuf::from(OsStr::from_bytes(path));
    for change in &page.changes {
        let path = to_path(&change.path);
        match &change.kind {
            ChangeKind::Added => drop(added.insert(path)),
            ChangeKind::Removed => drop(removed.insert(path)),
            ChangeKind::Renamed { from } => {
                removed.insert(to_path(from));
                added.insert(path);
            }
            ChangeKind::Changed(_) => {
                if before.0.get(&path) == after.0.get(&path) {
                    return Err(format!("{} counts as changed", path.display()));
                }
            }
        }
    }
    let only = |one: &Listing, other: &Listing| -> BTreeSet<PathBuf> {
        one.0.keys().filter(|path| !other.0.contains_key(*path)).cloned().collect()
    };
    if (&added, &removed) != (&only(after, before), &only(before, after)) {
        return Err(format!("the reader found the differences {:?}", page.changes));
    }
    Ok(())
}
