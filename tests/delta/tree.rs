//! Random changes of a directory, and its listing.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use crate::random::SeededRng;

const NAMES: [&[u8]; 16] = [
    b"a",
    b"b",
    b"c",
    b"-x",
    b"*",
    b"[",
    b"\\",
    b"new\nline",
    b"\xff",
    b"sp ace",
    b"q'\"",
    b"..a",
    b".h",
    b" ",
    b"$(x)",
    &[b'x'; 200],
];
const MODES: [u32; 7] = [0o644, 0o755, 0o4755, 0o2775, 0, 0o1777, 0o600];
const TARGETS: [&str; 5] = ["a", "../b", "/etc/passwd", "x//y", "none\n"];

/// Everything about an entry that a restore preserves.
type Entry = (u32, u32, u32, Option<u32>, Vec<u8>);

/// The entries by path, and the groups of names of the same file.
pub type Listing = (BTreeMap<PathBuf, Entry>, Vec<Vec<PathBuf>>);

/// Returns all paths in a directory.
fn walk(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![dir.to_owned()];
    while let Some(dir) = pending.pop() {
        let mut entries: Vec<_> = fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path()).collect();
        entries.sort();
        for path in entries {
            if fs::symlink_metadata(&path).unwrap().is_dir() {
                pending.push(path.clone());
            }
            found.push(path);
        }
    }
    found
}

fn pick(rng: &SeededRng, paths: &[PathBuf]) -> Option<PathBuf> {
    (!paths.is_empty()).then(|| paths[rng.below(paths.len())].clone())
}

fn remove(path: &Path) {
    if fs::symlink_metadata(path).unwrap().is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
        .unwrap();
}

/// Makes random changes. No file gets several names unless `links` is set.
pub fn change(root: &Path, rng: &SeededRng, count: usize, links: bool) {
    for _ in 0..count {
        // A name can be too long, and a directory can't be moved into itself.
        drop(change_once(root, rng, links));
    }
}

#[allow(clippy::too_many_lines)] // A list of changes.
fn change_once(root: &Path, rng: &SeededRng, links: bool) -> std::io::Result<()> {
    let all = walk(root);
    let is = |path: &&PathBuf, test: fn(&fs::Metadata) -> bool| test(&fs::symlink_metadata(path).unwrap());
    let files: Vec<PathBuf> = all.iter().filter(|path| is(path, fs::Metadata::is_file)).cloned().collect();
    let below: Vec<PathBuf> = all.iter().filter(|path| is(path, fs::Metadata::is_dir)).cloned().collect();
    let dirs: Vec<PathBuf> = below.iter().cloned().chain([root.to_owned()]).collect();
    let new = dirs[rng.below(dirs.len())].join(OsStr::from_bytes(NAMES[rng.below(NAMES.len())]));
    let is_free = fs::symlink_metadata(&new).is_err();
    let (any, file) = (pick(rng, &all), pick(rng, &files));
    let content = |length: usize| (0..length).map(|_| u8::try_from(rng.below(256)).unwrap()).collect::<Vec<u8>>();
    match (rng.below(20), any, file) {
        (0..=3, ..) if is_free => fs::write(new, content(rng.below(2000)))?,
        (4, ..) if is_free => fs::create_dir(new)?,
        (5, ..) if is_free => symlink(TARGETS[rng.below(TARGETS.len())], new)?,
        (6, _, Some(file)) if is_free && links => fs::hard_link(file, new)?,
        (7, Some(any), _) => remove(&any),
        (8, Some(any), _) if is_free && !new.starts_with(&any) => fs::rename(any, new)?,
        (9, _, Some(file)) => {
            // The same size, with the same time.
            let (mut bytes, times) = (fs::read(&file)?, fs::metadata(&file)?);
            for byte in &mut bytes {
                *byte ^= 1;
            }
            let mut open = File::options().write(true).open(&file)?;
            open.write_all(&bytes)?;
            open.set_modified(times.modified()?)?;
        }
        (10, _, Some(file)) => File::options().append(true).open(file)?.write_all(b"more")?,
        (11, _, Some(file)) => File::options().write(true).open(file)?.set_len(rng.below(100) as u64)?,
        (12, Some(any), _) if !is(&&any, fs::Metadata::is_symlink) => {
            fs::set_permissions(any, Permissions::from_mode(MODES[rng.below(MODES.len())]))?;
        }
        (13, Some(any), _) => lchown(any, Some([0, 1000][rng.below(2)]), Some([0, 7][rng.below(2)]))?,
        (14, _, Some(file)) => {
            let seconds = [0, 86_400, 2_200_000_000, 4_102_444_800][rng.below(4)];
            File::options()
                .write(true)
                .open(file)?
                .set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))?;
        }
        (15, Some(any), _) => {
            remove(&any);
            match rng.below(3) {
                0 => fs::write(any, "file")?,
                1 => fs::create_dir(&any).and_then(|()| fs::write(any.join("in"), "in"))?,
                _ => symlink("a", any)?,
            }
        }
        (16, ..) if below.len() > 1 => {
            let (one, other) = (&below[rng.below(below.len())], &below[rng.below(below.len())]);
            if !one.starts_with(other) && !other.starts_with(one) {
                let between = root.join("between");
                fs::rename(one, &between)?;
                fs::rename(other, one)?;
                fs::rename(&between, other)?;
            }
        }
        (18, ..) if is_free => {
            // A parent of a file with several names.
            let linked: Vec<PathBuf> =
                files.iter().filter(|file| fs::metadata(file).unwrap().nlink() > 1).cloned().collect();
            let parent = pick(rng, &linked).and_then(|file| file.parent().map(Path::to_owned));
            if let Some(parent) = parent.filter(|parent| parent != root && !new.starts_with(parent)) {
                fs::rename(parent, new)?;
            }
        }
        (19, ..) => {
            // A directory passes the setgid bit on.
            let Some(dir) = pick(rng, &below) else { return Ok(()) };
            let mode = fs::metadata(&dir)?.permissions().mode();
            if mode & 0o2000 == 0 {
                fs::set_permissions(dir, Permissions::from_mode(0o2775))?;
            } else {
                // The mode with which tar makes a directory.
                let new = dir.join(OsStr::from_bytes(NAMES[rng.below(NAMES.len())]));
                fs::create_dir(&new)?;
                fs::set_permissions(new, Permissions::from_mode(0o700))?;
            }
        }
        (17, _, Some(file)) => {
            let mut open = File::options().write(true).truncate(true).open(file)?;
            open.seek(SeekFrom::Start(1 + rng.below(200_000) as u64))?;
            open.write_all(b"end")?;
        }
        _ => {}
    }
    Ok(())
}

/// Sets the time of all directories to an old one, so that a later change of it is seen at whole seconds.
pub fn age_directories(root: &Path) {
    let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    for path in walk(root).into_iter().chain([root.to_owned()]) {
        if fs::symlink_metadata(&path).unwrap().is_dir() {
            File::open(path).unwrap().set_modified(old).unwrap();
        }
    }
}

/// Lists a directory, and itself.
pub fn list(root: &Path) -> Listing {
    let (mut entries, mut names) = (BTreeMap::new(), BTreeMap::<u64, Vec<PathBuf>>::new());
    for path in walk(root).into_iter().chain([root.to_owned()]) {
        let found = fs::symlink_metadata(&path).unwrap();
        let relative = path.strip_prefix(root).unwrap().to_owned();
        let content = if found.is_symlink() {
            fs::read_link(&path).unwrap().as_os_str().as_bytes().to_vec()
        } else if found.is_file() {
            // An overlay has no links, and the same number for files of both layers.
            if found.nlink() > 1 {
                names.entry(found.ino()).or_default().push(relative.clone());
            }
            fs::read(&path).unwrap()
        } else {
            Vec::new()
        };
        // A squashfs has 32 bits of the seconds.
        #[allow(clippy::cast_sign_loss, clippy::cast_possible_truncation)]
        let time = (!found.is_symlink()).then(|| found.mtime().rem_euclid(1 << 32) as u32);
        entries.insert(relative, (found.mode(), found.uid(), found.gid(), time, content));
    }
    let mut groups: Vec<Vec<PathBuf>> = names.into_values().filter(|names| names.len() > 1).collect();
    for names in &mut groups {
        names.sort();
    }
    groups.sort();
    (entries, groups)
}

/// Returns the first difference of two listings.
pub fn compare(expected: &Listing, found: &Listing) -> Result<(), String> {
    let paths = expected.0.keys().chain(found.0.keys());
    for path in paths {
        let (expected, found) = (expected.0.get(path), found.0.get(path));
        if expected != found {
            return Err(format!("{} is {found:?}, and not {expected:?}", path.display()));
        }
    }
    if expected.1 == found.1 { Ok(()) } else { Err(format!("links {:?}, and not {:?}", found.1, expected.1)) }
}

/// Sets an extended attribute of an empty directory in `dir`, with programs that every machine has.
pub fn set_attribute(dir: &Path, name: &str) {
    let tar = "tar --format=posix --no-recursion";
    let script =
        format!("{tar} --pax-option='SCHILY.xattr.user.a:=1' -cf - {name} | {tar} --xattrs --xattrs-include='*' -xf -");
    assert!(Command::new("/bin/bash").arg("-c").arg(script).current_dir(dir).status().unwrap().success());
}
