//! Exports: a tar of a directory, and the content of a file.

use std::ffi::OsStr;
use std::fs::{self, File, FileTimes};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use futures_executor::block_on;
use snapshot_archive::{Archive, Archives, Download, Error, Form, diff};

use crate::support::{FORMATS, Folder, Format, Memory, full, path, random};

/// Reads a whole download.
fn download(archive: &Path, at: &str, form: Form) -> Result<Vec<u8>, Error> {
    block_on(async {
        let mut download = Download::open(full(archive), path(at), form, false).await?;
        let mut bytes = Vec::new();
        while let Some(next) = download.next().await? {
            assert!(!next.is_empty() && next.len() <= (1 << 20) + (320 << 10), "{} bytes", next.len());
            bytes.extend_from_slice(&next);
        }
        Ok(bytes)
    })
}

fn export(archive: &Path, at: &str) -> Vec<u8> {
    download(archive, at, Form::Tar).unwrap()
}

/// A tree with all that a tar has to express.
fn odd_tree() -> Folder {
    let folder = Folder::new();
    folder.write("plain", "plain");
    folder.write("empty", "");
    folder.write("deep/large", random(1, 1_500_000));
    folder.write("deep/block", random(2, 512));
    folder.write(format!("deep/{}", "long-name-".repeat(20)), "long");
    folder.write(format!("{}/file", "a-long-directory/".repeat(12)), "deep");
    folder.write(b"deep/\xff\xfe", "no UTF-8");
    folder.write([&b"deep/\xff"[..], &[b'x'; 150]].concat(), "long, and no UTF-8");
    folder.write("deep/ü ñ\n", "UTF-8");
    let tree = folder.tree();
    symlink("../plain", tree.join("deep/link")).unwrap();
    symlink("t".repeat(200), tree.join("deep/long-link")).unwrap();
    fs::create_dir(tree.join("no-files")).unwrap();
    fs::hard_link(tree.join("plain"), tree.join("deep/same-as-plain")).unwrap();
    fs::hard_link(tree.join("plain"), tree.join("z-same-as-plain")).unwrap();
    assert!(Command::new("mkfifo").arg(tree.join("fifo")).status().unwrap().success());
    fs::set_permissions(tree.join("plain"), fs::Permissions::from_mode(0o4751)).unwrap();
    let time = FileTimes::new().set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_234_567_890));
    File::open(tree.join("empty")).unwrap().set_times(time).unwrap();
    folder
}

#[test]
fn export_has_no_differences_to_its_archive() {
    let folder = odd_tree();
    for format in FORMATS {
        let archive = folder.archive(format);
        let tar = Archives::Full(Memory(export(&archive, "").into()));
        let original = Archives::Full(Memory(fs::read(&archive).unwrap().into()));
        let page = block_on(diff(original.into(), tar.into(), b"", 1000, None)).unwrap();
        assert_eq!((page.changes, page.next), (vec![], None), "{format:?}");
    }
}

#[test]
fn tar_unpacks_an_export() {
    let folder = odd_tree();
    for format in [FORMATS[0], FORMATS[3]] {
        let tar = export(&folder.archive(format), "");
        let unpacked = Folder::new();
        let file = unpacked.tree().with_extension("tar");
        fs::write(&file, &tar).unwrap();
        let target = unpacked.tree();
        let extracted = Command::new("tar").arg("-C").arg(&target).arg("-xpf").arg(&file).output().unwrap();
        assert!(extracted.status.success(), "{format:?}: {}", String::from_utf8_lossy(&extracted.stderr));
        let same = Command::new("diff").args(["-r", "--no-dereference"]).args([folder.tree(), target.clone()]).output();
        let same = same.unwrap();
        // `diff` does not compare FIFOs.
        let output = String::from_utf8_lossy(&same.stdout);
        assert!(output.lines().all(|line| line.contains("fifo")), "{format:?}: {output}");
        let of = |path: &str| fs::metadata(target.join(path)).unwrap();
        assert_eq!((of("plain").ino(), of("plain").nlink()), (of("deep/same-as-plain").ino(), 3));
        assert_eq!((of("plain").mode() & 0o7777, of("empty").mtime()), (0o4751, 1_234_567_890));
        assert!(target.join(OsStr::from_bytes(b"deep/\xff\xfe")).exists());
    }
}

#[test]
fn hard_link_to_a_file_outside_of_the_directory_is_a_copy() {
    let folder = odd_tree();
    for format in FORMATS {
        let mut archive = block_on(Archive::open(Memory(export(&folder.archive(format), "deep").into()))).unwrap();
        let content = block_on(async {
            let mut content = archive.read(&path("same-as-plain"), 0..100).await?;
            archive.next_bytes(&mut content).await
        });
        assert_eq!(content.unwrap().as_deref(), Some(&b"plain"[..]), "{format:?}");
        assert_eq!(block_on(archive.stat(&path("plain"))), Err(Error::NotFound));
    }
}

#[test]
fn export_is_of_a_directory_and_download_of_a_file() {
    let folder = odd_tree();
    for format in FORMATS {
        let archive = folder.archive(format);
        assert_eq!(download(&archive, "plain", Form::Tar), Err(Error::NotADirectory));
        assert_eq!(download(&archive, "missing", Form::Tar), Err(Error::NotFound));
        assert_eq!(download(&archive, "deep", Form::Content), Err(Error::NotAFile));
        assert_eq!(download(&archive, "deep/link", Form::Content), Err(Error::NotAFile));
        assert_eq!(download(&archive, "empty", Form::Content), Ok(vec![]));
        assert_eq!(download(&archive, "no-files", Form::Tar).unwrap().len(), 512 + 1024, "{format:?}");
    }
}

#[test]
fn download_of_a_range_has_only_its_bytes() {
    let folder = odd_tree();
    let content = random(1, 1_500_000);
    for format in FORMATS {
        let archive = folder.archive(format);
        assert!(download(&archive, "deep/large", Form::Content).unwrap() == content, "{format:?}");
        for range in [0..1, 131_071..131_073, 1_499_999..1_500_000, 700_000..700_000] {
            let bytes = block_on(async {
                let mut download =
                    Download::open(full(&archive), path("deep/large"), Form::Content, false).await.unwrap();
                assert_eq!(download.entry().size, 1_500_000);
                download.set_range(range.clone());
                let bytes = download.next().await.unwrap().unwrap_or_default();
                assert_eq!(download.next().await, Ok(None));
                bytes
            });
            let [start, end] = [range.start, range.end].map(|at| usize::try_from(at).unwrap());
            assert!(bytes == content[start..end], "{range:?} of {format:?}");
        }
    }
}

#[test]
fn damaged_archive_ends_an_export_with_an_error() {
    let folder = Folder::new();
    folder.write("file", random(1, 3_000_000));
    let mut bytes = fs::read(folder.archive(Format::Tar(None))).unwrap();
    bytes.truncate(1_000_000);
    let export = block_on(async {
        let mut download = Download::open(Archives::Full(Memory(bytes.into())), path(""), Form::Tar, false).await?;
        while download.next().await?.is_some() {}
        Ok(())
    });
    assert!(matches!(export, Err(Error::Damaged(_))), "{export:?}");
}

#[test]
fn files_with_secrets_are_left_out_of_a_tar() {
    let folder = Folder::new();
    for name in [".env", "app/.env.local", "app/main.js", "app/.env.example", "certs/server.key"] {
        folder.write(name, name);
    }
    symlink(".env", folder.tree().join("link.pem")).unwrap();
    fs::create_dir(folder.tree().join("dir.key")).unwrap();
    fs::hard_link(folder.tree().join(".env"), folder.tree().join("other-name")).unwrap();
    for format in FORMATS {
        let archive = folder.archive(format);
        for (at, expected, left_out) in [
            (
                "",
                vec!["./", "app/", "app/.env.example", "app/main.js", "certs/", "dir.key/", "link.pem", "other-name"],
                vec![".env", "app/.env.local", "certs/server.key"],
            ),
            ("app", vec!["./", ".env.example", "main.js"], vec!["app/.env.local"]),
        ] {
            let (found, tar) = block_on(async {
                let mut download = Download::open(full(&archive), path(at), Form::Tar, true).await.unwrap();
                let found = download.left_out().unwrap().clone();
                let mut tar = Vec::new();
                while let Some(next) = download.next().await.unwrap() {
                    tar.extend_from_slice(&next);
                }
                (found, tar)
            });
            let mut paths: Vec<String> =
                found.paths.iter().map(|path| String::from_utf8(path.clone()).unwrap()).collect();
            paths.sort();
            assert_eq!(
                (paths, found.count),
                (left_out.iter().map(ToString::to_string).collect(), left_out.len() as u64)
            );
            let target = Folder::new();
            target.write("tar", &tar);
            let listed = Command::new("tar").arg("-tf").arg(target.tree().join("tar")).output().unwrap();
            assert!(listed.status.success());
            let mut names: Vec<&str> = std::str::from_utf8(&listed.stdout).unwrap().lines().collect();
            names.sort_unstable();
            assert_eq!(names, expected, "{at}");
            let unpacked = Command::new("tar").arg("-xf").arg("tar").current_dir(target.tree()).status().unwrap();
            assert!(unpacked.success(), "a hard link to a file that is left out is a copy");
        }
    }
}
