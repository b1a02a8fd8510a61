//! The commands that read and change files for callers.
//!
//! Each runs as a command of a caller does: in the expected container, and with an output of any bytes. It goes from
//! directory to directory, so that no path leads through a symbolic link. Programs in the container may exchange a
//! directory for a link in the meantime: that is no boundary, because callers of these commands may run programs there too.

use std::collections::BTreeMap;
use std::fmt::Write;

use base64ct::{Base64, Encoding};

use super::{COMPARE_MOUNTS, FILE_NAMES, READ_MARKER, dir_vars, file_walk, shell_quote};
use crate::cloudflare::prelude::PRELUDE;
use crate::model::exec_call::{CommandInput, ContainerCommand, Program};
use crate::model::file_call::{FileAction, FileCall, FileInput};

/// The time limit, in seconds.
const TIMEOUT_SECONDS: u32 = 120;

/// The prefix of the names of incomplete files.
const PART_PREFIX: &str = ".sandbox-snapshotter-write-";

/// The permission bits of a new file.
const DEFAULT_MODE: &str = "0644";

/// The attributes that `stat` prints.
const ATTRIBUTES: &str = "%f %s %u %g %Y";

/// Defines functions. `enter` goes to the directory `$d`, and `go` to the one of a path; `$file` is the last name of the path.
/// They create missing directories if `$create` is set. `no` prints why the call is refused.
const FUNCTIONS: &str = r#"no() { printf '%s\n' "$*"; exit; }
exists() { [ -e "$1" ] || [ -L "$1" ]; }
is_directory() { [ -d "$1" ] && [ ! -L "$1" ]; }
step() {
  if [ -L "./$1" ]; then no "${at}directory"; fi
  if [ ! -e "./$1" ]; then
    [ -n "$create" ] || no missing
    err=$(mkdir -- "./$1" 2>&1) || [ -d "./$1" ] || no "failed $err"
  fi
  { [ -d "./$1" ] && cd -P -- "./$1" 2>/dev/null; } || no "${at}directory"
}
enter() {
  if [ -n "$create" ] && ! exists "$d"; then [ -z "$has_dir" ] || no gone; mkdir -p -- "$d" 2>/dev/null; fi
  exists "$d" || no missing
  { [ -d "$d" ] && cd -L -- "$d" 2>/dev/null; } || no directory
  named=$PWD; cd -P .; [ "$named" = "$PWD" ] || no directory
}
go() {
  rest=$1; while [ "${rest#*/}" != "$rest" ]; do step "${rest%%/*}"; rest=${rest#*/}; done
  file=./$rest
}
lock() {
  exec 6>>"$run.write"; tries=0
  until flock -n 6; do [ $((tries += 1)) -le 200 ] || no busy; sleep 0.05; done
}
hash() { sum=$(sha256sum <"$1"); sum=${sum%% *}; }
"#;

/// Prints the attributes of `$file`, its etag `$sum`, and the target of a link.
const PRINT_ENTRY: &str = r#"printf 'entry\n%s\n%s\n' "$line" "${sum:--}"; if [ -L "$file" ]; then readlink -- "$file"; fi
"#;

/// Returns the command of a call.
pub(in crate::cloudflare) fn file_command(call: &FileCall) -> ContainerCommand {
    let stdin = match &call.action {
        FileAction::Write { content: FileInput::File(path), .. } => CommandInput::File(path.clone()),
        _ => CommandInput::Text(String::new()),
    };
    ContainerCommand {
        id: call.id.clone(),
        program: Program::Shell(file_script(call)),
        dir: call.dir.clone(),
        cwd: Some("/".to_owned()),
        env: BTreeMap::new(),
        stdin,
        timeout_seconds: TIMEOUT_SECONDS,
    }
}

/// Returns the script of a call.
fn file_script(call: &FileCall) -> String {
    let creates = matches!(call.action, FileAction::Write { if_match: None, .. } | FileAction::MakeDirectory);
    let stat = format!(
        r#"line=$(stat -c '{ATTRIBUTES}' -- "$file" 2>&1) || no "failed $line"
"#
    );
    let work = match &call.action {
        FileAction::List { after, limit } => list(after.as_deref(), *limit),
        FileAction::Stat => format!("exists \"$file\" || no missing\n{stat}{PRINT_ENTRY}"),
        FileAction::Read { offset, length } => read(*offset, *length),
        FileAction::Write { content, mode, if_match } => {
            let content = match content {
                FileInput::Bytes(bytes) => {
                    format!("base64 -d 2>&1 >\"$part\" <<'PART'\n{}\nPART\n", Base64::encode_string(bytes))
                }
                FileInput::File(_) => "cat 2>&1 >\"$part\"".to_owned(),
            };
            let write = write(&content, &call.id, mode.as_deref(), if_match.as_deref());
            let limit = FileCall::MAX_HASHED;
            format!("{write}{stat}set -- $line; if [ \"$2\" -le {limit} ]; then hash \"$file\"; fi\n{PRINT_ENTRY}")
        }
        FileAction::MakeDirectory => {
            format!("[ \"$file\" = ./ ] || step \"${{file#./}}\"\nfile=.\n{stat}{PRINT_ENTRY}")
        }
        FileAction::Move { to, overwrite } => format!("{}{stat}{PRINT_ENTRY}", move_file(to.as_str(), *overwrite)),
        FileAction::Remove { recursive } => remove(*recursive),
        FileAction::Walk { position, omitted } => file_walk::walk(&call.id, position.as_ref(), omitted),
        FileAction::Hash { paths, limit } => file_walk::hash(paths, *limit),
    };
    format!(
        "{PRELUDE}{FILE_NAMES}{READ_MARKER}{dir}\n{COMPARE_MOUNTS}{FUNCTIONS}if has_other_mounts; then no hidden; fi
at= sum= create={create} has_dir={has_dir}\nenter; go {path}\n{work}",
        dir = dir_vars(&call.dir),
        create = if creates { "1" } else { "" },
        has_dir = if call.has_dir { "1" } else { "" },
        path = shell_quote(call.path.as_str()),
    )
}

/// Prints the names of a page, each with a null byte; then their attributes, for those that still exist; and then the
/// targets of the links, each with the position of the name.
fn list(after: Option<&[u8]>, limit: u32) -> String {
    let skip = after.map_or_else(String::new, |after| {
        let mut name = String::new();
        for byte in after {
            // Writing to a string cannot fail.
            let _ = write!(name, "\\x{byte:02x}");
        }
        format!(
            r"after=$'{name}'
while [ $begin -lt $end ]; do
  middle=$(((begin + end) / 2))
  if [[ ${{names[middle]}} > $after ]]; then end=$middle; else begin=$((middle + 1)); fi
done
"
        )
    });
    format!(
        r#"[ "$file" = ./ ] || step "${{file#./}}"
LC_ALL=C; shopt -s dotglob nullglob; names=(*); begin=0 end=${{#names[@]}}
{skip}page=("${{names[@]:begin:{limit}}}"); more=0; if [ $((begin + {limit})) -lt ${{#names[@]}} ]; then more=1; fi
printf 'page\n%s %s\n' "${{#page[@]}}" "$more"
if [ ${{#page[@]}} -gt 0 ]; then
  printf '%s\0' "${{page[@]}}"; stat -c '{ATTRIBUTES} %n' -- "${{page[@]/#/./}}" 2>/dev/null; printf '\0'
  for at in "${{!page[@]}}"; do
    if [ -L "./${{page[at]}}" ]; then printf '%s ' "$at"; readlink -- "./${{page[at]}}"; printf '\0'; fi
  done
fi
"#
    )
}

/// Prints the attributes and the etag of a file, and then a range of it. The hash is computed first: if the file changes
/// in the meantime, a write with the etag is refused.
fn read(offset: u64, length: u32) -> String {
    format!(
        r#"exists "$file" || no missing
{{ [ -f "$file" ] && [ ! -L "$file" ]; }} || no file
exec 7<"$file" || no "failed it can't be opened"
line=$(stat -L -c '{ATTRIBUTES}' -- /proc/self/fd/7 2>&1) || no "failed $line"
set -- $line; if [ "$2" -le {limit} ]; then hash /proc/self/fd/7; fi
printf 'entry\n%s\n%s\n' "$line" "${{sum:--}}"
if [ {offset} -lt "$2" ]; then tail -c +{first} /proc/self/fd/7 | head -c {length}; fi
"#,
        limit = FileCall::MAX_HASHED,
        first = offset.saturating_add(1),
    )
}

/// Writes the file next to its place, and renames it. Removes the incomplete files of calls that were killed.
fn write(content: &str, id: &str, mode: Option<&str>, if_match: Option<&str>) -> String {
    let expected = if_match.unwrap_or_default();
    format!(
        r#"expected={expected} mode={DEFAULT_MODE} owner= part=./{PART_PREFIX}{id}; lock
if exists "$file"; then
  {{ [ -f "$file" ] && [ ! -L "$file" ]; }} || no file
  if [ -n "$expected" ]; then hash "$file"; [ "$sum" = "$expected" ] || no changed; sum=; fi
  line=$(stat -c '%a %u:%g' -- "$file") && mode=${{line% *}} owner=${{line#* }}
elif [ -n "$expected" ]; then no changed; fi
rm -f -- ./{PART_PREFIX}* 2>/dev/null; trap 'rm -f -- "$part"' EXIT
err=$(umask 077; {content}) || no "failed $err"
if [ -n "$owner" ]; then chown -- "$owner" "$part" 2>/dev/null; fi
err=$(chmod -- {mode} "$part" 2>&1 && mv -f -T -- "$part" "$file" 2>&1) || no "failed $err"
"#,
        mode = mode.unwrap_or("\"$mode\""),
    )
}

/// Moves a file or a directory. Replaces a file only on request, and never a directory.
fn move_file(to: &str, overwrite: bool) -> String {
    let (may_replace, option) = if overwrite { ("! is_directory", "-f") } else { ("false", "-n") };
    format!(
        r#"exists "$file" || no missing
from=$PWD/${{file#./}}; lock
create=1 at=new-; enter; go {to}
if exists "$file"; then {may_replace} "$file" || no exists; if is_directory "$from"; then no exists; fi; fi
err=$(mv {option} -T -- "$from" "$file" 2>&1) || no "failed $err"
if exists "$from"; then no exists; fi
"#,
        to = shell_quote(to),
    )
}

fn remove(recursive: bool) -> String {
    let directory = if recursive {
        r#"err=$(rm -rf -- "$file" 2>&1) || no "failed $err""#
    } else {
        r#"err=$(rmdir -- "$file" 2>&1) || { [ -n "$(find "$file" -maxdepth 0 -empty)" ] || no full; no "failed $err"; }"#
    };
    format!(
        r#"exists "$file" || no missing
if is_directory "$file"; then {directory}
else err=$(rm -f -- "$file" 2>&1) || no "failed $err"; fi
no removed
"#
    )
}

#[cfg(test)]
pub(super) mod tests;
