//! The script that puts the parts of an input together.

use super::shell_quote;
use crate::model::Failure;

/// Returns the path of a part of the input in `path`.
pub(in crate::cloudflare) fn input_part(path: &str, number: u32) -> String {
    format!("{path}.{number}")
}

/// Appends the Base64 parts 0 to `parts` to the first `offset` bytes of an input, and deletes the parts. Prints `joined`, or
/// why there is no complete input. Then nothing of it is left.
///
/// The sizes show a container that replaced the one with the former parts.
pub(in crate::cloudflare) fn join_input(path: &str, offset: u64, parts: u32, end: u64) -> String {
    format!(
        r#"path={path} part=0
fail() {{ rm -f -- "$path" "$path".*; err=$2; echo "$1 ${{err:0:500}}"; exit; }}
if [ {offset} = 0 ]; then err=$( (umask 077; : >"$path") 2>&1) || fail failed "$err"; fi
check() {{ size=$(stat -c %s -- "$path" 2>/dev/null); [ "$size" = "$1" ] || fail interrupted "The input has ${{size:-no}} bytes instead of $1."; }}
check {offset}
while [ "$part" -lt {parts} ]; do
  [ -e "$path.$part" ] || fail interrupted "A part of the input is missing."
  err=$(base64 -d 2>&1 >>"$path" <"$path.$part") || fail failed "$err"
  rm -f -- "$path.$part"; part=$((part + 1))
done
check {end}
echo joined
"#,
        path = shell_quote(path),
    )
}

/// The failure of an input of which the container has not all parts.
pub(in crate::cloudflare) fn input_interrupted(why: &str) -> Failure {
    Failure::new("Error", why).with_code("OPERATION_INTERRUPTED")
}

/// Deletes what was written of an input.
pub(in crate::cloudflare) fn remove_input(path: &str) -> String {
    let path = shell_quote(path);
    format!("rm -f -- {path} {path}.*\n")
}

/// Parses the output of [`join_input`].
pub(crate) fn read_joined(stdout: &str) -> Result<(), Failure> {
    let stdout = stdout.trim_end();
    match stdout.split_once(' ').unwrap_or((stdout, "")) {
        ("joined", _) => Ok(()),
        ("failed", why) => Err(Failure::new("Error", why)),
        // A container that replaced another one has none of the former parts.
        ("interrupted", why) => Err(input_interrupted(why)),
        _ => Err(Failure::protocol("the sandbox", "the output of the end of an input can't be read")),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::process::Command;

    use base64ct::{Base64, Encoding};
    use tempfile::TempDir;

    use super::*;

    fn join(path: &Path, offset: u64, parts: &[&[u8]], end: u64) -> Result<(), Failure> {
        let path = path.to_str().unwrap();
        let mut count = 0;
        for part in parts {
            fs::write(input_part(path, count), Base64::encode_string(part)).unwrap();
            count += 1;
        }
        let script = join_input(path, offset, count, end);
        let output = Command::new("bash").args(["-c", &script]).output().unwrap();
        read_joined(&String::from_utf8(output.stdout).unwrap())
    }

    fn folder() -> TempDir {
        tempfile::tempdir().unwrap()
    }

    fn count_files(folder: &TempDir) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn parts_are_appended_in_their_order() {
        let folder = folder();
        let path = folder.path().join("it's");
        join(&path, 0, &[b"one\0", b"\xff two"], 9).unwrap();
        join(&path, 9, &[b"", b" three"], 15).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"one\0\xff two three");
        assert_eq!(count_files(&folder), 1);
    }

    #[test]
    fn removal_leaves_no_part() {
        let folder = folder();
        let path = folder.path().join("it's");
        join(&path, 0, &[b"one"], 3).unwrap();
        fs::write(input_part(path.to_str().unwrap(), 0), "dHdv").unwrap();
        assert!(Command::new("bash").args(["-c", &remove_input(path.to_str().unwrap())]).status().unwrap().success());
        assert_eq!(count_files(&folder), 0);
    }

    #[test]
    fn input_without_bytes_is_an_empty_file() {
        let folder = folder();
        join(&folder.path().join("input"), 0, &[], 0).unwrap();
        assert_eq!(fs::read(folder.path().join("input")).unwrap(), b"");
    }

    #[test]
    fn later_parts_in_another_container_leave_no_input() {
        let folder = folder();
        let failure = join(&folder.path().join("input"), 9, &[b" three"], 15).unwrap_err();
        assert_eq!(failure, input_interrupted("The input has no bytes instead of 9."));
        assert_eq!(count_files(&folder), 0);
    }

    #[test]
    fn missing_part_leaves_no_input() {
        let folder = folder();
        let path = folder.path().join("input");
        let script = join_input(path.to_str().unwrap(), 0, 1, 3);
        let output = Command::new("bash").args(["-c", &script]).output().unwrap();
        let failure = read_joined(&String::from_utf8(output.stdout).unwrap()).unwrap_err();
        assert_eq!(failure, input_interrupted("A part of the input is missing."));
        assert_eq!(count_files(&folder), 0);
    }

    #[test]
    fn incomplete_part_leaves_no_input() {
        let folder = folder();
        let failure = join(&folder.path().join("input"), 0, &[b"one"], 4).unwrap_err();
        assert_eq!(failure, input_interrupted("The input has 3 bytes instead of 4."));
        assert_eq!(count_files(&folder), 0);
    }

    #[test]
    fn input_that_cannot_be_written_says_why() {
        let folder = folder();
        fs::create_dir(folder.path().join("input")).unwrap();
        let failure = join(&folder.path().join("input"), 0, &[b"one"], 3).unwrap_err();
        assert!(failure.message.contains("Is a directory"), "{}", failure.message);
    }
}
