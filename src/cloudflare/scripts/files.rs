//! The files of a container: the listing of a directory, hashes of single files, and the watch for changes.

use std::collections::BTreeMap;

use super::exec::DETECT_COMMAND;
use super::{COMPARE_MOUNTS, CREATE_WATCH_FILE, DETECT_MOUNT, FILE_NAMES, READ_MARKER, dir_vars, shell_quote};
use crate::model::named::binding::{DirectoryListing, UNKNOWN_CONTENT};
use crate::model::{ChangeCursor, Directory, ShortId};

/// The length of a SHA-256 hash in hexadecimal digits.
const SHA256_HEX_LEN: usize = 64;

/// The maximum length of the description of an image, in characters. The version in it comes from an environment
/// variable of the container and can be any text.
const MAX_IMAGE_CHARS: usize = 100;

/// The time limit of writing all pages to the disk, in seconds.
const SYNC_SECONDS: u32 = 5;

/// How far the clock and the uptime of the system may drift apart between two checks, in microseconds.
const MAX_SKEW_MICROS: u32 = 100_000;

/// The time limit of a walk through all files, in seconds.
const WALK_SECONDS: u32 = 20;

/// Prints the line `image <version> <hash>`: the version of the SDK's server, and a hash of what is installed.
pub(super) const PRINT_IMAGE: &str = r#"case $SANDBOX_VERSION in "" | *[![:graph:]]*) version=unknown ;; *) version=$SANDBOX_VERSION ;; esac
sum=$(cat /etc/os-release /var/lib/dpkg/status /lib/apk/db/installed 2>/dev/null | sha256sum); sum=${sum%% *}
printf 'image %s %.16s\n' "$version" "$sum"
"#;

/// Prints the lines `image <version> <hash>`, `listing <hash>` and `end`. The hash of an empty or missing directory is
/// `none`; of a directory that takes too long to list, and of a mount, `unknown`. The listing has names, sizes and
/// times, and no content: it distinguishes the files of the image from later ones, at a cost that does not depend on
/// the size of the files.
pub(in crate::cloudflare) fn list_directory(dir: &Directory) -> String {
    format!(
        r#"{dir}; {PRINT_IMAGE}mkdir -p -- "$d" 2>/dev/null
{DETECT_MOUNT}sum=none; if [ -n "$kind" ]; then sum=unknown; elif [ -d "$d" ] && cd -- "$d" && [ -z "$(find . -maxdepth 0 -empty)" ]; then
  sum=$(timeout {WALK_SECONDS} find . ! -path . -exec stat -c '%n %f %s %Y' -- {{}} + 2>/dev/null | LC_ALL=C sort | sha256sum
    [ "${{PIPESTATUS[0]}}" -lt 124 ] || echo unknown)
  case $sum in *unknown) sum=unknown ;; *) sum=${{sum%% *}} ;; esac
fi
echo "listing $sum"; echo end"#,
        dir = dir_vars(dir),
    )
}

/// Prints what [`list_directory`] prints where the content is unknown, without reading the directory.
pub(super) fn skip_listing(dir: &Directory) -> String {
    format!(r#"{}; mkdir -p -- "$d" 2>/dev/null; echo image unknown; echo listing unknown; echo end"#, dir_vars(dir))
}

/// Parses the output of [`list_directory`].
pub(crate) fn read_listing(stdout: &str) -> Option<DirectoryListing> {
    let lines: Vec<&str> = stdout.lines().collect();
    let [image, listing, "end"] = lines.as_slice() else { return None };
    let content_hash = match listing.strip_prefix("listing ")? {
        "unknown" => Some(UNKNOWN_CONTENT.to_owned()),
        hash => Some(read_hash(hash)?).filter(|hash| !hash.is_empty()),
    };
    Some(DirectoryListing { image: read_image(image)?, content_hash })
}

/// Parses the output of [`PRINT_IMAGE`].
pub(super) fn read_image(line: &str) -> Option<String> {
    Some(line.strip_prefix("image ")?.chars().take(MAX_IMAGE_CHARS).collect())
}

/// Prints the hash of each file on a line, in the order of `files`, and then `end`. The hash of a missing file is
/// `none`.
pub(in crate::cloudflare) fn hash_files(dir: &Directory, files: &[String]) -> String {
    let path = |file: &String| {
        let parent = if file.starts_with('/') { "" } else { "\"$d\"/" };
        format!("file {parent}{}\n", shell_quote(file))
    };
    let files: Vec<String> = files.iter().map(path).collect();
    format!(
        r#"d={dir}
file() {{ sum=; if [ -f "$1" ]; then sum=$(sha256sum <"$1"); sum=${{sum%% *}}; fi; echo "${{sum:-none}}"; }}
{files}echo end"#,
        dir = shell_quote(dir.as_str()),
        files = files.concat(),
    )
}

/// Parses the output of [`hash_files`].
pub(crate) fn read_hashes(stdout: &str, files: &[String]) -> Option<BTreeMap<String, String>> {
    let mut lines = stdout.lines();
    let hash_of = |file: &String| Some((file.clone(), read_hash(lines.next()?)?));
    let hashes = files.iter().map(hash_of).collect::<Option<_>>()?;
    (lines.next()? == "end").then_some(hashes)
}

/// Returns the hash in `text`; empty for `none`.
fn read_hash(text: &str) -> Option<String> {
    let is_hash = text.len() == SHA256_HEX_LEN && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if text == "none" { Some(String::new()) } else { is_hash.then(|| text.to_owned()) }
}

/// Sets `$watch_file` to the watch file of a cursor. The name of the first one is that of an earlier release.
fn watch_file(cursor: &ChangeCursor) -> String {
    kind_and_id(cursor).map(|(kind, id)| format!("watch_file=$watch_file.{kind}.{id}\n")).unwrap_or_default()
}

/// Removes the watch files of other stops or captures, if the cursor is of one.
fn remove_watch_files(cursor: &ChangeCursor) -> String {
    let any_id = "?".repeat(ShortId::LENGTH);
    kind_and_id(cursor).map(|(kind, _)| format!("rm -f \"$watch_file\".{kind}.{any_id}\n")).unwrap_or_default()
}

/// Returns the kind and the id of a cursor that has an id.
fn kind_and_id(cursor: &ChangeCursor) -> Option<(&'static str, &str)> {
    match cursor {
        ChangeCursor::Idle => None,
        ChangeCursor::Stop(id) => Some(("stop", id.as_str())),
        ChangeCursor::Capture(id) => Some(("capture", id.as_str())),
    }
}

/// Sets `$found` to a path in the directory that is newer than the watch file, or to another text if there may be one;
/// otherwise to nothing. A walk that exceeds its time limit counts as a change, and so does a clock that was set back, because
/// a later change may have an earlier time. `$new` is written before.
///
/// Compares the status change time (ctime) where `find` supports it, because unpacked or moved files keep their
/// modification time. The `find` of busybox does not support it and compares whole seconds; there, a file with the time
/// of the watch file counts as newer. Of an overlay, only the upper directory is searched: it contains all changes
/// since the restore.
fn find_change() -> String {
    format!(
        r#"found=; if [ ! -e "$watch_file" ]; then found=$watch_file
elif IFS= read -r was <"$watch_file" && [ $((was - skew)) -gt {MAX_SKEW_MICROS} ]; then found=$watch_file
elif [ -d "$d" ] && cd -- "${{upper:-$d}}"; then
  since=-cnewer; if ! find "$watch_file" -cnewer "$watch_file" >/dev/null 2>&1; then
    since=-newer; touch -d "@$(($(stat -c %Y "$watch_file") - 1))" "$watch_file"
  fi
  found=$({{ timeout {WALK_SECONDS} find . "$since" "$watch_file" 2>/dev/null; [ $? -lt 124 ] || echo unknown; }} | head -n 1)
fi
"#
    )
}

/// Writes the watch file of a cursor, from which on changes count, and prints the image and `unchanged`.
pub(in crate::cloudflare) fn watch(cursor: &ChangeCursor) -> String {
    let (remove, own) = (remove_watch_files(cursor), watch_file(cursor));
    format!(r#"{FILE_NAMES}{remove}{own}{PRINT_IMAGE}{CREATE_WATCH_FILE}mv -f "$new" "$watch_file" && echo unchanged"#)
}

/// Parses the output of [`watch`].
pub(in crate::cloudflare) fn read_watch(stdout: &str) -> Option<String> {
    let lines: Vec<&str> = stdout.lines().collect();
    let [image, "unchanged"] = lines.as_slice() else { return None };
    read_image(image)
}

/// Prints `changed` if anything in the directory changed since the watch file of the cursor was written, and otherwise
/// `unchanged`. Then renews the watch file. A workspace in which a command of a caller runs is not idle. Prints `unmounted`
/// where the directory does not show its files.
pub(in crate::cloudflare) fn changed_since_watch(dir: &Directory, cursor: &ChangeCursor) -> String {
    format!(
        r#"{FILE_NAMES}{own}{dir}
{READ_MARKER}{COMPARE_MOUNTS}if has_other_mounts; then echo unmounted; exit; fi
{DETECT_MOUNT}{CREATE_WATCH_FILE}{find}{commands}mv -f "$new" "$watch_file" && if [ -n "$found" ]; then echo changed; else echo unchanged; fi"#,
        own = watch_file(cursor),
        dir = dir_vars(dir),
        find = find_change(),
        commands = if *cursor == ChangeCursor::Idle { DETECT_COMMAND } else { "" },
    )
}

/// Prints `changed` if anything in the directory changed since the state `saved`, and records the present state as
/// `next`; otherwise `unchanged`. Prints `other` in a container without a ready marker, and `unmounted` where the directory
/// does not show its files. A file for each state, whose name
/// ends with the name of the state, has the time of the state. Only the files of these two states stay: of an earlier
/// check, no save came about. What is written through a memory map changes no time while its page is dirty, so all pages are
/// written before the capture that follows.
pub(in crate::cloudflare) fn changed_since_save(dir: &Directory, saved: Option<&str>, next: &str) -> String {
    format!(
        r#"{FILE_NAMES}{READ_MARKER}case $now in "ready "*) ;; *) echo other; exit ;; esac
{dir} states=$watch_file.saved saved={saved} next={next}
{COMPARE_MOUNTS}if has_other_mounts; then echo unmounted; exit; fi
{DETECT_MOUNT}watch_file=$states.$next
{CREATE_WATCH_FILE}watch_file=$states.$saved
{find}if [ -z "$found" ]; then rm -f "$new" && echo unchanged; exit; fi
for file in "$states".*; do case $file in "$states.$saved" | "$new") ;; *) rm -f "$file" ;; esac; done
timeout {SYNC_SECONDS} sync -f -- "$d" 2>/dev/null; mv -f "$new" "$states.$next" && echo changed"#,
        dir = dir_vars(dir),
        saved = shell_quote(saved.unwrap_or("none")),
        next = shell_quote(next),
        find = find_change(),
    )
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};
    use std::process::Command;

    use tempfile::TempDir;

    use super::super::container::update_marker;
    use super::*;
    use crate::model::Provenance;
    use crate::model::named::ContainerMarker;

    /// A container in a directory of this machine, which is deleted at the end.
    struct TestContainer(TempDir);

    impl TestContainer {
        fn new() -> Self {
            let root = tempfile::tempdir().unwrap();
            fs::create_dir(root.path().join("files")).unwrap();
            let container = Self(root);
            container.run(&update_marker(None, &ContainerMarker::Ready("nonce".into()), None, false));
            container
        }

        fn state(&self, name: &str) -> PathBuf {
            self.0.path().join(format!("run.looked.saved.{name}"))
        }

        fn check(&self, saved: Option<&str>, next: &str) -> String {
            let dir = Directory::parse(self.0.path().join("files").to_str().unwrap()).unwrap();
            self.run(&changed_since_save(&dir, saved, next))
        }

        /// Runs a script with the paths of this container, and returns its output.
        fn run(&self, script: &str) -> String {
            let own_files = format!("run={};", self.0.path().join("run").display());
            let script = script.replace("run=/run/sandbox-snapshotter;", &own_files);
            let output = Command::new("bash").args(["-c", "--", &script]).output().unwrap();
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        }
    }

    /// Changes the difference of the clock and the uptime that a state has.
    fn shift_clock(state: &Path, micros: i64) {
        let skew: i64 = fs::read_to_string(state).unwrap().trim().parse().unwrap();
        fs::write(state, format!("{}\n", skew + micros)).unwrap();
    }

    #[test]
    fn file_that_changes_after_a_save_counts() {
        let container = TestContainer::new();
        assert_eq!(container.check(None, "a"), "changed");
        assert_eq!(container.check(Some("a"), "b"), "unchanged");
        fs::write(container.0.path().join("files/f"), "f").unwrap();
        assert_eq!(container.check(Some("a"), "c"), "changed");
        assert_eq!(container.check(Some("c"), "d"), "unchanged");
        assert_eq!(container.check(Some("b"), "e"), "changed");
    }

    #[test]
    fn clock_that_was_set_back_counts_as_a_change() {
        let container = TestContainer::new();
        container.check(None, "a");
        shift_clock(&container.state("a"), -1_000_000);
        assert_eq!(container.check(Some("a"), "b"), "unchanged", "the clock was set forward");
        shift_clock(&container.state("a"), 2_000_000);
        assert_eq!(container.check(Some("a"), "c"), "changed");
        assert_eq!(container.check(Some("c"), "d"), "unchanged");
    }

    #[test]
    fn state_of_an_earlier_release_has_no_clock() {
        let container = TestContainer::new();
        container.check(None, "a");
        fs::write(container.state("a"), "").unwrap();
        assert_eq!(container.check(Some("a"), "b"), "unchanged");
    }

    #[test]
    fn listing_reports_the_image_and_the_hash_of_the_directory() {
        let hash = "1".repeat(SHA256_HEX_LEN);
        let listing = |content_hash| Some(DirectoryListing { image: "0.12.10 0123456789abcdef".into(), content_hash });
        let stdout = |hash: &str| format!("image 0.12.10 0123456789abcdef\nlisting {hash}\nend\n");
        assert_eq!(read_listing(&stdout("none")), listing(None));
        assert_eq!(read_listing(&stdout(&hash)), listing(Some(hash.clone())));
        for odd in ["", "listing none\nend\n", "image a b\nlisting none\n", &stdout("1"), &stdout("")] {
            assert_eq!(read_listing(odd), None, "{odd}");
        }
    }

    #[test]
    fn watch_reports_the_packages_of_the_image() {
        let container = TestContainer::new();
        let printed = container.run(&format!("SANDBOX_VERSION=0.12.10\n{}", watch(&capture(1))));
        let image = read_watch(&printed).unwrap();
        let known = Provenance::parse(&image).unwrap();
        assert_eq!(known.sdk_version.as_deref(), Some("0.12.10"));
        assert_eq!(known.packages.map(|hash| hash.len()), Some(16));
        let odd = container.run(&format!("SANDBOX_VERSION='a b'\n{}", watch(&capture(1))));
        assert_eq!(Provenance::parse(&read_watch(&odd).unwrap()).unwrap().sdk_version, None);
    }

    #[test]
    fn watch_removes_those_of_other_captures() {
        let container = TestContainer::new();
        let files = |kind: &str| {
            let names =
                fs::read_dir(container.0.path()).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
            names.filter(|name| name.starts_with(&format!("run.looked.{kind}"))).count()
        };
        for number in 1..4 {
            for cursor in [capture(number), ChangeCursor::Idle, ChangeCursor::Stop(short_id(number))] {
                container.run(&watch(&cursor));
            }
        }
        assert_eq!((files("capture"), files("stop")), (1, 1));
        assert!(container.0.path().join("run.looked").exists() && container.state("start").exists());
    }

    fn capture(number: u8) -> ChangeCursor {
        ChangeCursor::Capture(short_id(number))
    }

    fn short_id(number: u8) -> ShortId {
        ShortId::from_random(&[number; 32]).unwrap()
    }

    #[test]
    fn long_image_description_is_truncated() {
        let listing = read_listing(&format!("image {} 0123456789abcdef\nlisting none\nend\n", "x".repeat(60_000)));
        assert_eq!(listing, Some(DirectoryListing { image: "x".repeat(MAX_IMAGE_CHARS), content_hash: None }));
    }

    #[test]
    fn hashes_are_read_in_the_order_of_the_files() {
        let hash = "2".repeat(SHA256_HEX_LEN);
        let files = ["b".to_owned(), "a\"'".to_owned()];
        let expected = BTreeMap::from([("b".to_owned(), String::new()), ("a\"'".to_owned(), hash.clone())]);
        assert_eq!(read_hashes(&format!("none\n{hash}\nend\n"), &files), Some(expected));
        for odd in ["", "none\n", "none\nnone\n", "none\nend\n", "none\n2\nend\n", "none\nnone\nnone\nend\n"] {
            assert_eq!(read_hashes(odd, &files), None, "{odd}");
        }
    }
}
