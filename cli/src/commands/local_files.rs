//! Files on this machine, to which downloads are written.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf, is_separator};

use sandbox_snapshotter_client::model::files::FilePath;
use tar::Archive;

use super::copied::Totals;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::output::{is_terminal, print_bytes};

/// The operand for the standard output.
pub(super) const STDOUT: &str = "-";

/// The number of bytes that are copied at once.
const BUFFER: usize = 64 << 10;

/// The bytes of a download.
pub(super) type Body = Box<dyn Read>;

pub(super) fn write_to_stdout(mut body: impl Read) -> Result<()> {
    if is_terminal() {
        let message = "A terminal would execute the control characters of the content.";
        return Err(Failure::invalid("INVALID_USAGE", message, "Redirect the standard output, or pass a file."));
    }
    let mut buffer = vec![0; BUFFER];
    loop {
        let length = body.read(&mut buffer).map_err(|error| broken(&error))?;
        if length == 0 {
            return Ok(());
        }
        print_bytes(buffer.get(..length).unwrap_or_default())?;
    }
}

/// Writes bytes to a file that appears when it is complete. Returns its size.
pub(super) fn write_file(mut body: impl Read, expected: Option<u64>, target: &Path, force: bool) -> Result<u64> {
    let mut partial = target.as_os_str().to_owned();
    partial.push(format!(".part-{}", std::process::id()));
    let partial = PathBuf::from(partial);
    let mut write = || -> Result<u64> {
        let mut file =
            File::options().write(true).create_new(true).open(&partial).map_err(|error| unwritable(target, &error))?;
        let size = copy_bytes(&mut body, &mut file, target)?;
        if expected.is_some_and(|expected| expected != size) {
            return Err(broken(&io::ErrorKind::UnexpectedEof.into()));
        }
        // A link fails if the target exists, and a rename replaces it.
        let placed = if force { fs::rename(&partial, target) } else { fs::hard_link(&partial, target) };
        placed.map_err(|error| unwritable(target, &error))?;
        Ok(size)
    };
    let size = write();
    // It does not exist after a rename.
    let _ = fs::remove_file(&partial);
    size
}

fn copy_bytes(from: &mut impl Read, to: &mut File, path: &Path) -> Result<u64> {
    let mut buffer = vec![0; BUFFER];
    let mut size = 0;
    loop {
        let length = from.read(&mut buffer).map_err(|error| broken(&error))?;
        if length == 0 {
            return Ok(size);
        }
        to.write_all(buffer.get(..length).unwrap_or_default()).map_err(|error| unwritable(path, &error))?;
        size += length as u64;
    }
}

/// Unpacks a tar into a directory. Refuses names that lead out of it, and does not write through symbolic links out of it.
/// Returns the totals of its files. Devices and pipes are left out.
pub(super) fn unpack(tar: impl Read, target: &Path, force: bool) -> Result<Totals> {
    let mut archive = Archive::new(tar);
    archive.set_overwrite(force);
    fs::create_dir_all(target).map_err(|error| unwritable(target, &error))?;
    let (mut directories, mut totals) = (Vec::new(), Totals::default());
    for entry in archive.entries().map_err(|error| broken(&error))? {
        let mut entry = entry.map_err(|error| broken(&error))?;
        let kind = entry.header().entry_type();
        check_name(&entry.path_bytes())?;
        if kind.is_dir() {
            // Their attributes could prevent that files are written into them.
            directories.push(entry);
        } else if kind.is_file() || kind.is_symlink() || kind.is_hard_link() {
            unpack_entry(&mut entry, target)?;
            totals.add(entry.size());
        } else {
            totals.left_out += 1;
        }
    }
    directories.sort_by(|one, other| other.path_bytes().cmp(&one.path_bytes()));
    directories.iter_mut().try_for_each(|directory| unpack_entry(directory, target))?;
    Ok(totals)
}

fn unpack_entry(entry: &mut tar::Entry<'_, impl Read>, target: &Path) -> Result<()> {
    let is_unpacked = entry.unpack_in(target).map_err(|error| unwritable(target, &error))?;
    if is_unpacked { Ok(()) } else { Err(unsafe_name(&entry.path_bytes())) }
}

/// Verifies that a name in a tar is relative, and leads to no parent.
fn check_name(name: &[u8]) -> Result<()> {
    let is_safe = !name.starts_with(b"/") && name.split(|byte| *byte == b'/').all(|part| part != b"..");
    if is_safe { Ok(()) } else { Err(unsafe_name(name)) }
}

pub(super) fn check_target_directory(target: &Path, force: bool) -> Result<()> {
    match fs::read_dir(target) {
        Ok(mut entries) => {
            let is_free = force || entries.next().is_none();
            if is_free { Ok(()) } else { Err(exists(target)) }
        }
        Err(_) if target.exists() => Err(of_other_kind(target)),
        Err(_) => Ok(()),
    }
}

pub(super) fn check_target_file(target: &Path, force: bool) -> Result<()> {
    match fs::symlink_metadata(target) {
        Ok(found) if found.is_dir() => Err(of_other_kind(target)),
        Ok(_) if !force => Err(exists(target)),
        _ => Ok(()),
    }
}

/// Returns the local directory for a copy of the directory `path`: `local` itself, or the directory with the name of the copied
/// one in `local` if that exists, or ends with a slash.
pub(super) fn directory_target(local: &str, path: &FilePath) -> PathBuf {
    let target = PathBuf::from(local);
    match kept_name(path.as_str()) {
        Some(name) if local.ends_with('/') || target.is_dir() => target.join(name),
        _ => target,
    }
}

/// Returns the name that a copy of a directory keeps in an existing directory; `None` if the path ends with `/.`, or names no
/// directory, so that the files in it are copied.
pub(super) fn kept_name(path: &str) -> Option<&str> {
    let last = path.split(is_separator).rfind(|name| !name.is_empty());
    last.filter(|name| !matches!(*name, "." | ".."))
}

/// Returns the last name of a path.
pub(super) fn file_name(path: &FilePath) -> Result<&str> {
    let last = path.as_str().split('/').rfind(|name| !matches!(*name, "" | "."));
    last.ok_or_else(|| Failure::foreign_answer("a file without a name"))
}

fn exists(target: &Path) -> Failure {
    let message = format!("{} exists already, and may have newer content.", target.display());
    Failure::local(Exit::Conflict, "LOCAL_FILE_EXISTS", message, "Pass another path, or `--force` to replace files.")
}

/// The failure of a copy over something of another kind, which `--force` does not replace either.
fn of_other_kind(target: &Path) -> Failure {
    let (what, copy) = if target.is_dir() { ("a directory", "a file") } else { ("no directory", "a directory") };
    let message = format!("{} is {what}, and {copy} can't replace it.", target.display());
    Failure::local(Exit::Conflict, "LOCAL_FILE_EXISTS", message, "Pass another path.")
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    if error.kind() == io::ErrorKind::AlreadyExists {
        return exists(path);
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists());
    let (why, remediation) = match folder {
        Some(folder) => {
            (format!("the folder {} does not exist", folder.display()), "Create the folder, or pass another path.")
        }
        None => (error.to_string(), "Pass another path."),
    };
    let message = format!("{} can't be written: {why}.", path.display());
    Failure::local(Exit::Failed, "LOCAL_FILE_UNWRITABLE", message, remediation)
}

/// Returns the failure of a file of this machine that can't be read.
pub(super) fn unreadable(path: &Path, error: &io::Error) -> Failure {
    let message = format!("{} can't be read: {error}.", path.display());
    Failure::local(Exit::Failed, "LOCAL_FILE_UNREADABLE", message, "Pass a file that this user can read.")
}

fn unsafe_name(name: &[u8]) -> Failure {
    let message = format!("The tar has a name that leads out of the directory: {:?}.", String::from_utf8_lossy(name));
    Failure::local(Exit::Denied, "UNSAFE_NAME", message, "Do not unpack it. Check the address of the server.")
}

fn broken(error: &io::Error) -> Failure {
    let message = format!("The download broke off, and is incomplete: {error}.");
    Failure::transient(Exit::NoAnswer, "DOWNLOAD_INCOMPLETE", message, "Try again.", true)
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use tar::{Builder, EntryType, Header};
    use tempfile::TempDir;

    use super::*;

    fn header(name: &[u8], kind: EntryType, size: u64) -> Header {
        let mut header = Header::new_ustar();
        header.as_mut_bytes()[..name.len()].copy_from_slice(name);
        header.set_entry_type(kind);
        header.set_size(size);
        header.set_mode(0o644);
        header.set_mtime(1000);
        header.set_cksum();
        header
    }

    /// A tar with a file at each name.
    fn files(names: &[&str]) -> Vec<u8> {
        let mut tar = Builder::new(Vec::new());
        for name in names {
            tar.append(&header(name.as_bytes(), EntryType::Regular, 1), &b"x"[..]).unwrap();
        }
        tar.into_inner().unwrap()
    }

    /// An empty folder that is deleted at the end.
    struct Folder(TempDir);

    impl Folder {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            fs::create_dir(dir.path().join("target")).unwrap();
            Self(dir)
        }

        fn target(&self) -> PathBuf {
            self.0.path().join("target")
        }
    }

    fn code<T>(result: Result<T>) -> Option<String> {
        result.err().and_then(|failure| failure.code().map(str::to_owned))
    }

    #[test]
    fn files_are_unpacked() {
        let folder = Folder::new();
        let totals = unpack(Cursor::new(files(&["a", "b/c"])), &folder.target(), false).unwrap();
        assert_eq!(totals, Totals { files: 2, size_bytes: 2, left_out: 0 });
        assert_eq!(fs::read(folder.target().join("b/c")).unwrap(), b"x");
    }

    #[test]
    fn names_that_lead_out_are_refused() {
        let folder = Folder::new();
        for name in ["../out", "a/../../out", "/out"] {
            assert_eq!(code(unpack(Cursor::new(files(&[name])), &folder.target(), true)), Some("UNSAFE_NAME".into()));
        }
        assert!(!folder.0.path().join("out").exists());
    }

    #[test]
    fn nothing_is_written_through_a_symbolic_link_out_of_the_target() {
        let folder = Folder::new();
        fs::create_dir(folder.0.path().join("outside")).unwrap();
        let mut tar = Builder::new(Vec::new());
        let mut link = header(b"link", EntryType::Symlink, 0);
        link.set_link_name("../outside").unwrap();
        link.set_cksum();
        tar.append(&link, io::empty()).unwrap();
        tar.append(&header(b"link/file", EntryType::Regular, 1), &b"x"[..]).unwrap();
        let unpacked = unpack(Cursor::new(tar.into_inner().unwrap()), &folder.target(), true);
        assert!(unpacked.is_err());
        assert_eq!(fs::read_dir(folder.0.path().join("outside")).unwrap().count(), 0);
    }

    #[test]
    fn hard_link_to_a_file_out_of_the_target_is_refused() {
        let folder = Folder::new();
        fs::write(folder.0.path().join("secret"), "secret").unwrap();
        let mut tar = Builder::new(Vec::new());
        let mut link = header(b"link", EntryType::Link, 0);
        link.set_link_name("../secret").unwrap();
        link.set_cksum();
        tar.append(&link, io::empty()).unwrap();
        assert!(unpack(Cursor::new(tar.into_inner().unwrap()), &folder.target(), true).is_err());
        assert!(!folder.target().join("link").exists());
    }

    #[test]
    fn existing_files_are_kept_without_force() {
        let folder = Folder::new();
        let target = folder.target().join("a");
        fs::write(&target, "newer").unwrap();
        assert_eq!(code(check_target_directory(&folder.target(), false)), Some("LOCAL_FILE_EXISTS".into()));
        assert!(unpack(Cursor::new(files(&["a"])), &folder.target(), false).is_err());
        assert_eq!(code(check_target_file(&target, false)), Some("LOCAL_FILE_EXISTS".into()));
        assert_eq!(code(write_file(&b"old"[..], Some(3), &target, false).map(drop)), Some("LOCAL_FILE_EXISTS".into()));
        assert_eq!(fs::read(&target).unwrap(), b"newer");
        write_file(&b"old"[..], Some(3), &target, true).unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"old");
        assert_eq!(fs::read_dir(folder.target()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_and_a_directory_never_replace_each_other() {
        let folder = Folder::new();
        let file = folder.target().join("a");
        fs::write(&file, "a").unwrap();
        for force in [false, true] {
            let refused = format!("{:?}", check_target_directory(&file, force).unwrap_err());
            assert!(
                refused.contains("is no directory, and a directory can't replace it") && !refused.contains("--force")
            );
            let refused = format!("{:?}", check_target_file(&folder.target(), force).unwrap_err());
            assert!(refused.contains("is a directory, and a file can't replace it") && !refused.contains("--force"));
        }
    }

    #[test]
    fn a_directory_keeps_its_name_in_an_existing_one() {
        let folder = Folder::new();
        let existing = folder.target().display().to_string();
        let target = |local: &str, path| directory_target(local, &FilePath::parse(path).unwrap());
        for (path, expected) in
            [("a/src", "src"), ("src/", "src"), ("src/.", ""), ("src/./", ""), (".", ""), ("/", ""), ("/src", "src")]
        {
            assert_eq!(target(&existing, path), folder.target().join(expected), "{path}");
        }
        assert_eq!(target("missing", "src"), Path::new("missing"));
        assert_eq!(target("missing/", "src"), Path::new("missing/src"));
    }

    #[test]
    fn a_missing_folder_is_named_with_the_path_of_the_user() {
        let folder = Folder::new();
        let target = folder.target().join("missing/x.tar");
        let Err(Failure::Reported(report)) = write_file(&b"x"[..], None, &target, false) else { panic!() };
        let (path, parent) = (target.display(), folder.target().join("missing"));
        let expected = format!("{path} can't be written: the folder {} does not exist.", parent.display());
        assert_eq!(
            (report.message, report.remediation.as_str()),
            (expected, "Create the folder, or pass another path.")
        );
    }

    #[test]
    fn incomplete_file_does_not_appear() {
        let folder = Folder::new();
        let written = write_file(&b"old"[..], Some(5), &folder.target().join("a"), true).map(drop);
        assert_eq!(code(written), Some("DOWNLOAD_INCOMPLETE".into()));
        assert_eq!(fs::read_dir(folder.target()).unwrap().count(), 0);
    }
}
