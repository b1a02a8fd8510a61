//! The script that writes a part of a file.

use base64ct::{Base64, Encoding};

use super::required_container::{check_container, read_container_refusal};
use super::{FILE_NAMES, dir_vars, shell_quote};
use crate::model::file_part::{FilePart, PartOutcome, PartRefusal};
use crate::model::required_container::{Refusal, RequiredContainer};
use crate::model::{Directory, DirectoryContent};

/// Goes to the directory of the file. Creates missing directories, and follows no symbolic link.
const ENTER_PARENT: &str = r#"if [ ! -e "$d" ] && [ ! -L "$d" ]; then echo "directory missing"; exit; fi
if ! { [ -d "$d" ] && cd -L -- "$d"; }; then echo "directory other"; exit; fi
named=$PWD; cd -P .
if [ "$named" != "$PWD" ]; then echo "directory link"; exit; fi
file=$path
while case $file in */*) ;; *) false ;; esac; do
  name=${file%%/*} file=${file#*/}
  if [ -L "./$name" ]; then echo blocked; exit; fi
  [ -d "./$name" ] || [ -e "./$name" ] || err=$(mkdir -- "./$name" 2>&1) || { echo "failed $err"; exit; }
  if ! { [ -d "./$name" ] && cd -P -- "./$name"; }; then echo blocked; exit; fi
done
if [ -d "./$file" ] && [ ! -L "./$file" ]; then echo blocked; exit; fi
"#;

/// The prefix of the names of incomplete files.
const PART_PREFIX: &str = ".sandbox-snapshotter-part-";

/// Writes a part of a file next to the file, and puts the complete file into its place. Prints `stored`, `placed` or
/// `exists`, or why it did neither.
///
/// A link fails where something is in the place, and a rename replaces it: both are atomic. An incomplete file of an
/// earlier call is removed.
pub(in crate::cloudflare) fn write_file_part(dir: &Directory, required: &RequiredContainer, part: &FilePart) -> String {
    let overwrite = part.end.is_some_and(|end| end.overwrite);
    let begin = if part.offset == 0 {
        format!("rm -f -- ./{PART_PREFIX}* 2>/dev/null; (umask 077; : >\"$tmp\") 2>/dev/null\n")
    } else {
        String::new()
    };
    let end = part.end.map_or_else(
        || "echo stored\n".to_owned(),
        |end| {
            let place = if overwrite {
                r#"err=$(mv -f -T -- "$tmp" "./$file" 2>&1) && { echo placed; exit; }
"#
            } else {
                r#"if [ -e "./$file" ] || [ -L "./$file" ]; then rm -f -- "$tmp"; echo exists; exit; fi
err=$(ln -T -- "$tmp" "./$file" 2>&1) && { rm -f -- "$tmp"; echo placed; exit; }
"#
            };
            format!(
                r#"chown {uid}:{gid} -- "$tmp" 2>/dev/null; chmod {mode:o} -- "$tmp" 2>/dev/null; touch -d @{mtime} -- "$tmp" 2>/dev/null
size=$(stat -c %s -- "$tmp" 2>/dev/null); [ "$size" = {size} ] || fail "it has ${{size:-no}} bytes instead of {size}"
{place}fail "$err"
"#,
                uid = end.uid,
                gid = end.gid,
                mode = end.mode,
                mtime = end.mtime,
                size = end.size,
            )
        },
    );
    format!(
        r#"{FILE_NAMES}{dir} path={path} tmp=./{PART_PREFIX}{token}
fail() {{ rm -f -- "$tmp"; err=$1; echo "failed ${{err:0:500}}"; exit; }}
refusal=$(
{check}); if [ -n "$refusal" ]; then echo "$refusal"; exit; fi
{ENTER_PARENT}{begin}size=$(stat -c %s -- "$tmp" 2>/dev/null); [ "$size" = {offset} ] || fail "the incomplete file has ${{size:-no}} bytes instead of {offset}"
err=$(base64 -d 2>&1 >>"$tmp" <<'PART'
{content}
PART
) || fail "$err"
{end}"#,
        check = check_container(required),
        dir = dir_vars(dir),
        path = shell_quote(part.path.as_str()),
        token = part.token,
        offset = part.offset,
        content = Base64::encode_string(&part.bytes),
    )
}

/// Parses the output of [`write_file_part`].
pub(crate) fn read_part_outcome(stdout: &str) -> Option<Result<PartOutcome, Refusal<PartRefusal>>> {
    let stdout = stdout.trim_end();
    if let Some(refusal) = read_container_refusal(stdout) {
        return Some(Err(Refusal::Container(refusal)));
    }
    let (word, rest) = stdout.split_once(' ').unwrap_or((stdout, ""));
    Some(Err(Refusal::Call(match word {
        "stored" => return Some(Ok(PartOutcome::Stored)),
        "placed" => return Some(Ok(PartOutcome::Placed)),
        "exists" => return Some(Ok(PartOutcome::Exists)),
        "directory" => PartRefusal::NotADirectory(match rest {
            "missing" => DirectoryContent::Missing,
            "link" => DirectoryContent::Symlink,
            "other" => DirectoryContent::NotDirectory,
            _ => return None,
        }),
        "blocked" => PartRefusal::Blocked,
        "failed" => PartRefusal::Failed(rest.chars().filter(|letter| !letter.is_control()).take(500).collect()),
        _ => return None,
    })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::file_part::FileEnd;
    use crate::model::files::FilePath;
    use crate::model::required_container::ContainerRefusal;

    fn part(bytes: Vec<u8>, end: Option<FileEnd>) -> FilePart {
        FilePart { path: FilePath::parse("it's/$(x)").unwrap(), token: "a1".into(), offset: 0, bytes, end }
    }

    #[test]
    fn largest_part_fits_into_a_command() {
        let dir = Directory::parse(&format!("/workspace/{}", "d".repeat(4000))).unwrap();
        let path = FilePath::parse(&"'".repeat(4000)).unwrap();
        let end =
            FileEnd { size: u64::MAX, mode: 0o7777, uid: u32::MAX, gid: u32::MAX, mtime: i64::MIN, overwrite: true };
        let part = FilePart { path, ..part(vec![0; FilePart::MAX_BYTES as usize], Some(end)) };
        let command = write_file_part(&dir, &RequiredContainer::OlderThan { millis: i64::MAX }, &part);
        assert!(command.len() < 120 * 1024, "{}", command.len());
    }

    #[test]
    fn path_is_one_word() {
        let dir = Directory::parse("/workspace").unwrap();
        let command = write_file_part(&dir, &RequiredContainer::Ready, &part(b"x".to_vec(), None));
        assert!(command.contains(r" path='it'\''s/$(x)' tmp="), "{command}");
    }

    #[test]
    fn outcome_is_a_word_with_its_details() {
        assert_eq!(read_part_outcome("stored\n"), Some(Ok(PartOutcome::Stored)));
        assert_eq!(
            read_part_outcome("young 12\n"),
            Some(Err(Refusal::Container(ContainerRefusal::TooYoung { age_millis: 120 })))
        );
        assert_eq!(read_part_outcome("failed no\tspace\n"), Some(Err(PartRefusal::Failed("nospace".into()).into())));
        for odd in ["", "young x\n", "directory\n", "sh: not found\n"] {
            assert_eq!(read_part_outcome(odd), None, "{odd:?}");
        }
    }
}
