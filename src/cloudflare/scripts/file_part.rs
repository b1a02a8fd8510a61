//! The script that writes parts of files, links and directories.

use base64ct::{Base64, Encoding};

use super::required_container::{check_container, read_container_refusal};
use super::{FILE_NAMES, dir_vars, shell_quote};
use crate::model::file_part::{
    FileEnd, FileOwner, FilePart, FileParts, PartContent, PartOutcome, PartRefusal, PartsRefusal,
};
use crate::model::required_container::{Refusal, RequiredContainer};
use crate::model::{Directory, DirectoryContent};

/// Goes to the directory. Follows no symbolic link.
const ENTER: &str = r#"if [ ! -e "$d" ] && [ ! -L "$d" ]; then echo "directory missing"; exit; fi
if ! { [ -d "$d" ] && cd -L -- "$d"; }; then echo "directory other"; exit; fi
named=$PWD; cd -P .
if [ "$named" != "$PWD" ]; then echo "directory link"; exit; fi
"#;

/// The functions that write a part each, in a subshell: `bytes`, `link` and `directory`. The first argument is the path. Each prints
/// `stored`, `placed` or `exists`, or why it did neither, and fails then.
///
/// A file or a link is made next to its place. A link fails where something is in the place, and a rename replaces it: both are
/// atomic. An incomplete file of an earlier call is removed.
const FUNCTIONS: &str = r#"fail() { rm -f -- "$tmp"; err=$1; echo "failed ${err:0:500}"; exit 1; }
blocked() { echo blocked; exit 1; }
enter() {
  file=$1
  while case $file in */*) ;; *) false ;; esac; do
    name=${file%%/*} file=${file#*/}
    if [ -L "./$name" ]; then blocked; fi
    [ -d "./$name" ] || [ -e "./$name" ] || err=$(mkdir -- "./$name" 2>&1) || fail "$err"
    if ! { [ -d "./$name" ] && cd -P -- "./$name"; }; then blocked; fi
  done
}
is_directory() { [ -d "./$file" ] && [ ! -L "./$file" ]; }
is_there() { [ -e "./$file" ] || [ -L "./$file" ]; }
place() {
  if [ "$overwrite" ]; then
    err=$(mv -f -T -- "$tmp" "./$file" 2>&1) || fail "$err"
  else
    if is_there; then rm -f -- "$tmp"; echo exists; exit; fi
    err=$(ln -T -- "$tmp" "./$file" 2>&1) || fail "$err"
    rm -f -- "$tmp"
  fi
  echo placed
}
bytes() (
  enter "$1"; if is_directory; then blocked; fi
  if [ "$2" = 0 ]; then rm -f -- "$prefix"* 2>/dev/null; (umask 077; : >"$tmp") 2>/dev/null; fi
  size=$(stat -c %s -- "$tmp" 2>/dev/null)
  [ "$size" = "$2" ] || fail "the incomplete file has ${size:-no} bytes instead of $2"
  err=$(base64 -d 2>&1 >>"$tmp") || fail "$err"
  if [ $# = 2 ]; then echo stored; exit; fi
  chown "$5" -- "$tmp" 2>/dev/null; chmod "$4" -- "$tmp" 2>/dev/null; touch -d "@$6" -- "$tmp" 2>/dev/null
  size=$(stat -c %s -- "$tmp" 2>/dev/null); [ "$size" = "$3" ] || fail "it has ${size:-no} bytes instead of $3"
  place
)
link() (
  enter "$1"; if is_directory; then blocked; fi
  rm -f -- "$tmp" 2>/dev/null; err=$(ln -s -- "$2" "$tmp" 2>&1) || fail "$err"
  chown -h "$3" -- "$tmp" 2>/dev/null; touch -h -d "@$4" -- "$tmp" 2>/dev/null
  place
)
directory() (
  enter "$1"; if is_directory; then echo exists; exit; fi
  if is_there; then blocked; fi
  err=$(mkdir -- "./$file" 2>&1) || fail "$err"
  chown "$3" -- "./$file" 2>/dev/null; chmod "$2" -- "./$file" 2>/dev/null
  [ "$EUID" = 0 ] || chmod u+rwx -- "./$file" 2>/dev/null
  echo placed
)
"#;

/// The prefix of the names of incomplete files.
const PART_PREFIX: &str = ".sandbox-snapshotter-part-";

/// Writes parts until one is refused. Prints a line for each.
pub(in crate::cloudflare) fn write_file_parts(
    dir: &Directory,
    required: &RequiredContainer,
    parts: &FileParts,
) -> String {
    let FileParts { token, overwrite, parts } = parts;
    format!(
        r#"{FILE_NAMES}{dir} prefix=./{PART_PREFIX} tmp=./{PART_PREFIX}{token} overwrite={overwrite}
refusal=$(
{check}); if [ -n "$refusal" ]; then echo "$refusal"; exit; fi
{ENTER}{FUNCTIONS}{calls}"#,
        check = check_container(required),
        dir = dir_vars(dir),
        overwrite = if *overwrite { "1" } else { "" },
        calls = parts.iter().map(call).collect::<String>(),
    )
}

/// Returns the call of the function that writes a part.
fn call(FilePart { path, content }: &FilePart) -> String {
    let path = shell_quote(path.as_str());
    match content {
        PartContent::Bytes { offset, bytes, end } => {
            let end = end.map_or_else(String::new, |FileEnd { size, mode, owner: FileOwner { uid, gid }, mtime }| {
                format!(" {size} {mode:o} {uid}:{gid} {mtime}")
            });
            let content = Base64::encode_string(bytes);
            format!("bytes {path} {offset}{end} <<'PART' || exit 0\n{content}\nPART\n")
        }
        PartContent::Link { target, owner: FileOwner { uid, gid }, mtime } => {
            format!("link {path} {target} {uid}:{gid} {mtime} || exit 0\n", target = shell_quote(target))
        }
        PartContent::Directory { mode, owner: FileOwner { uid, gid } } => {
            format!("directory {path} {mode:o} {uid}:{gid} || exit 0\n")
        }
    }
}

/// Parses the output of [`write_file_parts`].
pub(crate) fn read_part_outcomes(stdout: &str) -> Option<Result<Vec<PartOutcome>, Refusal<PartsRefusal>>> {
    let mut rest = stdout.trim_end();
    if let Some(refusal) = read_container_refusal(rest) {
        return Some(Err(Refusal::Container(refusal)));
    }
    let mut before = Vec::new();
    loop {
        let (line, others) = rest.split_once('\n').unwrap_or((rest, ""));
        let why = match line.split_once(' ').unwrap_or((line, "")) {
            ("stored", "") => Ok(PartOutcome::Stored),
            ("placed", "") => Ok(PartOutcome::Placed),
            ("exists", "") => Ok(PartOutcome::Exists),
            ("blocked", "") => Err(PartRefusal::Blocked),
            ("failed", _) => {
                let output = rest.chars().skip("failed ".len()).filter(|letter| !letter.is_control());
                Err(PartRefusal::Failed(output.take(500).collect()))
            }
            ("directory", content) if before.is_empty() => {
                let content = match content {
                    "missing" => DirectoryContent::Missing,
                    "link" => DirectoryContent::Symlink,
                    "other" => DirectoryContent::NotDirectory,
                    _ => return None,
                };
                return Some(Err(Refusal::Call(PartsRefusal::NotADirectory(content))));
            }
            _ => return None,
        };
        match why {
            Ok(outcome) => before.push(outcome),
            Err(why) => return Some(Err(Refusal::Call(PartsRefusal::Part { before, why }))),
        }
        if others.is_empty() {
            return Some(Ok(before));
        }
        rest = others;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::files::FilePath;
    use crate::model::required_container::ContainerRefusal;

    fn part(path: &str, content: PartContent) -> FilePart {
        FilePart { path: FilePath::parse(path).unwrap(), content }
    }

    fn parts(part: FilePart) -> FileParts {
        FileParts { token: "a1".into(), overwrite: true, parts: vec![part] }
    }

    #[test]
    fn longest_parts_fit_into_a_command() {
        let dir = Directory::parse(&format!("/workspace/{}", "d".repeat(4000))).unwrap();
        let owner = FileOwner { uid: u32::MAX, gid: u32::MAX };
        let end = FileEnd { size: u64::MAX, mode: 0o7777, owner, mtime: i64::MIN };
        let bytes = vec![0; FilePart::MAX_BYTES as usize];
        let longest = part(&"'".repeat(4000), PartContent::Bytes { offset: 0, bytes, end: Some(end) });
        assert!(longest.length() <= FileParts::MAX_LENGTH);
        let mut parts = parts(longest);
        while parts.parts.iter().map(FilePart::length).sum::<usize>() < FileParts::MAX_LENGTH {
            let content = PartContent::Link { target: "'".into(), owner, mtime: i64::MIN };
            parts.parts.push(part("'", content));
        }
        let command = write_file_parts(&dir, &RequiredContainer::OlderThan { millis: i64::MAX }, &parts);
        assert!(command.len() < 120 * 1024, "{}", command.len());
    }

    #[test]
    fn texts_are_one_word() {
        let dir = Directory::parse("/workspace").unwrap();
        let owner = FileOwner { uid: 0, gid: 1 };
        let link = part("it's/$(x)", PartContent::Link { target: "$(y)".into(), owner, mtime: 5 });
        let command = write_file_parts(&dir, &RequiredContainer::Ready, &parts(link));
        assert!(command.ends_with("\nlink 'it'\\''s/$(x)' '$(y)' 0:1 5 || exit 0\n"), "{command}");
    }

    #[test]
    fn outcome_of_each_part_is_a_word_with_its_details() {
        assert_eq!(read_part_outcomes("stored\n"), Some(Ok(vec![PartOutcome::Stored])));
        let outcomes = vec![PartOutcome::Placed, PartOutcome::Exists];
        assert_eq!(read_part_outcomes("placed\nexists\n"), Some(Ok(outcomes.clone())));
        assert_eq!(
            read_part_outcomes("young 12\n"),
            Some(Err(Refusal::Container(ContainerRefusal::TooYoung { age_millis: 120 })))
        );
        let failed = PartRefusal::Failed("nospace".into());
        for (end, why) in [("blocked", PartRefusal::Blocked), ("failed no\tsp\nace", failed)] {
            let refusal = PartsRefusal::Part { before: outcomes.clone(), why };
            assert_eq!(read_part_outcomes(&format!("placed\nexists\n{end}\n")), Some(Err(refusal.into())), "{end}");
        }
        for odd in ["", "young x\n", "directory\n", "placed\ndirectory missing\n", "sh: not found\n"] {
            assert_eq!(read_part_outcomes(odd), None, "{odd:?}");
        }
    }
}
