//! The commands that run in containers, and the parsers of their output.
//!
//! The SDK's server runs each command with `bash -c`. The programs that it starts are those of Debian or of Alpine's
//! busybox.
//!
//! - [`background`]: background commands; [`background_outcome`]: the output of a call about them
//! - [`container`]: the age and the marker of a container, and the content of its directory
//! - [`arrival`]: the check that the files of a backup are in place
//! - [`file_call`]: a call of a caller about files; [`file_outcome`]: its output
//! - [`file_walk`]: the list of all files, and the hashes of some
//! - [`file_part`]: files, links and directories of a snapshot
//! - [`files`]: the content of the image, hashes of files, and the watch for changes
//! - [`freeze`]: the commands that freeze files during a capture
//! - [`required_container`]: the check of the container at the begin of each call
//! - [`secrets`]: the search for files with secrets
//! - [`hook`]: a command of the application
//! - [`exec`]: a command of a caller; [`exec_output`]: its output
//! - [`delta`]: incremental snapshots

mod arrival;
mod background;
mod background_outcome;
mod container;
pub(crate) mod delta;
mod exec;
mod exec_output;
mod file_call;
mod file_outcome;
mod file_part;
mod file_walk;
mod files;
mod freeze;
mod hook;
mod input;
mod required_container;
mod secrets;

pub(crate) use arrival::read_arrival;
pub(super) use arrival::verify_arrival;
pub(super) use background::background_command;
pub(crate) use background_outcome::read_background_outcome;
pub(super) use container::{begin_restore, probe, set_replaced_note, update_marker, write_disk_token};
pub(crate) use container::{read_marker_update, read_probe, read_restore_begun};
pub(crate) use delta::{read_capture_begun, read_carrier_released, read_inventory, read_restore_finished};
pub(super) use exec::{kill_command, run_command};
pub(super) use exec_output::CommandOutput;
pub(super) use file_call::file_command;
pub(super) use file_outcome::collect_output;
pub(crate) use file_outcome::read_file_outcome;
pub(crate) use file_part::read_part_outcomes;
pub(super) use file_part::write_file_parts;
pub(super) use files::{changed_since_save, changed_since_watch, hash_files, list_directory, read_watch, watch};
pub(crate) use files::{read_hashes, read_listing};
pub(super) use freeze::{freeze, thaw};
pub(crate) use freeze::{read_frozen, read_thawed};
pub(crate) use hook::read_hook;
pub(super) use hook::run_hook;
pub(crate) use input::read_joined;
pub(super) use input::{input_interrupted, input_part, join_input, remove_input};
pub(super) use required_container::{check_container, read_container_refusal};
pub(super) use secrets::find_secrets;
pub(crate) use secrets::read_secrets;

use crate::model::{ContainerId, Directory};

/// Sets shell variables to the paths of the Worker's own files in a container. They are outside of every directory that
/// can be captured.
///
/// - `replaced_note`: the note that the container replaced another one without a request
/// - `marker`: the container marker
/// - `watch_file`: the watch file, whose time is that of the last check for changes
/// - `disk_token`: the token of a platform snapshot, which does not contain `/run`
pub(super) const FILE_NAMES: &str = "run=/run/sandbox-snapshotter; replaced_note=$run.took-place marker=$run.stamp \
     watch_file=$run.looked disk_token=/var/lib/sandbox-snapshotter.disk\n";

/// Sets `$up` to the uptime of the system, in seconds, and `$start` to the start of PID 1, in ticks.
const READ_AGE: &str = "read -r up _ </proc/uptime; read -r stat </proc/1/stat; set -- ${stat##*) }; start=${20}\n";

/// Sets `$now` to the container marker; empty where there is none.
const READ_MARKER: &str = "now=; [ -f \"$marker\" ] && IFS= read -r now <\"$marker\"\n";

/// Prints a line with `container` and the id of the container, which only a class over `ctx.container` writes.
const PRINT_CONTAINER_ID: &str = r#"id=; [ -f "$run.container" ] && IFS= read -r id <"$run.container"; echo "container $id"
"#;

/// Splits the output of a script after the line of [`PRINT_CONTAINER_ID`].
fn read_container_id(stdout: &str) -> Option<(Option<ContainerId>, &str)> {
    let (line, rest) = stdout.split_once('\n')?;
    Some((ContainerId::parse(line.strip_prefix("container ")?), rest))
}

/// Writes `$new`, which later replaces the watch file. Waits for the next tick of the clock, because a later change
/// would otherwise have the same time, and not a newer one. The file contains the difference of the clock and the uptime of
/// the system, in microseconds, which gets smaller where the clock is set back; nothing where bash has no clock.
const CREATE_WATCH_FILE: &str = r#"new=$watch_file.$$ tick=$watch_file.$$.tick n=0 ran=0; read -r ran _ </proc/uptime
skew=${EPOCHREALTIME:+$((10#0${EPOCHREALTIME//[!0-9]/} - 10#0${ran//[!0-9]/} * 10000))}; echo "$skew" >"$new" || exit
until echo >"$tick"; [ "$tick" -nt "$new" ] || [ $((n += 1)) -gt 5000 ]; do :; done
rm -f "$tick"
"#;

/// Detects the mount on `$d`. Sets `$kind` to the type of its file system; empty where `$d` is not a mount. For the
/// overlay of a restored backup, sets `$lower` and `$upper` to its directories. Lists no directory, because the first
/// listing of an overlay reads all directories in it.
const DETECT_MOUNT: &str = r#"kind= lower= upper=
while read -r _ _ _ _ at rest; do
  if printf -v at %b "${at//\\/\\0}" && [ "$at" = "$d" ]; then rest=${rest#*- } kind=${rest%% *}; fi
done </proc/self/mountinfo
if [ "$kind" = fuse.fuse-overlayfs ]; then
  for line in /proc/[0-9]*/cmdline; do
    mapfile -d '' -t line <"$line"; [ ${#line[@]} -ge 3 ] && [ "${line[0]##*/}" = fuse-overlayfs ] && [ "${line[-1]}" = "$raw" ] || continue
    for option in "${line[@]}"; do case $option in *upperdir=*)
      lower=${option#*lowerdir=} lower=${lower%%,*} upper=${option#*upperdir=} upper=${upper%%,*}
    esac; done
  done 2>/dev/null
fi
"#;

/// Writes the marker `$ready` and the mounts of the container to `$run.mounts`. Ends in `&&`.
const RECORD_MOUNTS: &str = r#"printf '%s\n' "$ready" "$(</proc/self/mountinfo)" >"$run.mounts" && "#;

/// Defines `has_other_mounts`, which is true in a container with the marker `$now` where other file systems are mounted on or
/// above `$d` than [`RECORD_MOUNTS`] wrote.
const COMPARE_MOUNTS: &str = r#"read_hiding() {
  hiding=; while read -r _ _ _ _ at rest; do
    printf -v at %b "${at//\\/\\0}"
    case $d/ in "$at"/*) rest=${rest#*- } hiding+=" $at ${rest%% *}" ;; esac
  done
}
has_other_mounts() {
  [ -n "$now" ] && [ -f "$run.mounts" ] || return
  { IFS= read -r recorded && [ "$recorded" = "$now" ] && read_hiding; } <"$run.mounts" || return
  recorded=$hiding; read_hiding </proc/self/mountinfo
  [ "$hiding" != "$recorded" ]
}
"#;

/// Sets `$place` to the kind of `$d`, in a container with the marker `$now`: `missing`, `link`, `other`, `empty` or `full`.
/// A mounted directory counts as `full`. `unmounted` is one that does not show the files that it had when the container
/// became ready: it [has other mounts](COMPARE_MOUNTS), or the program that shows the restored files has ended.
const DETECT_CONTENT: &str = r#"mounted=; [ -f "$run.mounted" ] && IFS= read -r mounted <"$run.mounted"
if has_other_mounts; then place=unmounted
elif [ "$mounted" = "$d" ] && { [ "$kind" != fuse.fuse-overlayfs ] || { [ -z "$upper" ] && ! find "$d" -maxdepth 0 -empty >/dev/null; }; }; then place=unmounted
elif [ ! -e "$d" ] && [ ! -L "$d" ]; then place=missing
elif [ ! -d "$d" ]; then if [ -L "$d" ]; then place=link; else place=other; fi
elif ! cd -L -- "$d"; then place=other
else
  named=$PWD; cd -P .
  if [ "$named" != "$PWD" ]; then place=link
  elif [ -z "$kind" ] && [ -n "$(find . -maxdepth 0 -empty)" ]; then place=empty
  else place=full; fi
  cd /
fi
"#;

/// Returns assignments of a directory: to `$raw` as the caller spells it, and to `$d` as the kernel spells it.
fn dir_vars(dir: &Directory) -> String {
    let parts: Vec<&str> = dir.as_str().split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    format!("raw={} d={}", shell_quote(dir.as_str()), shell_quote(&format!("/{}", parts.join("/"))))
}

/// Quotes a text as one word of the shell.
pub(super) fn shell_quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::container::probe;
    use super::files::{changed_since_save, changed_since_watch, hash_files, list_directory};
    use super::hook::run_hook;
    use super::*;
    use crate::model::ChangeCursor;
    use crate::model::named::ContainerMarker;
    use crate::model::named::settings::{Hook, OnFailure};

    fn ready() -> ContainerMarker {
        ContainerMarker::Ready("nonce".into())
    }

    fn dir(path: &str) -> Directory {
        Directory::parse(path).unwrap()
    }

    #[test]
    fn script_quotes_each_argument_as_one_word() {
        let odd = dir("/workspace/it's $(here)");
        let hook = Hook { command: "echo 'it'\n$x".into(), timeout_seconds: 7, on_failure: OnFailure::Fail };
        for script in [
            probe(&odd),
            list_directory(&odd),
            changed_since_watch(&odd, &ChangeCursor::Idle),
            changed_since_save(&odd, None, "k"),
            run_hook(&ready(), &odd, &hook),
        ] {
            assert!(script.contains(r"'/workspace/it'\''s $(here)'"), "{script}");
        }
        let files = ["a'b".to_owned(), "/etc/$c".to_owned(), "-n".to_owned()];
        let script = hash_files(&odd, &files);
        assert!(script.contains("file \"$d\"/'a'\\''b'\nfile '/etc/$c'\nfile \"$d\"/'-n'\n"), "{script}");
        let script = run_hook(&ready(), &odd, &hook);
        assert!(script.contains("timeout -k 5 7 sh -c -- 'echo '\\''it'\\''\n$x';"), "{script}");
    }

    #[test]
    fn directory_is_normalized_as_the_kernel_spells_it() {
        assert_eq!(dir_vars(&dir("/workspace//a/./b/")), "raw='/workspace//a/./b/' d='/workspace/a/b'");
    }
}
