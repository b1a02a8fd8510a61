//! The check that the files of a backup are in place, for every process in the container.

use super::container::{LOCK_MARKER, read_content, write_marker};
use super::{COMPARE_MOUNTS, DETECT_CONTENT, DETECT_MOUNT, FILE_NAMES, READ_MARKER, dir_vars, shell_quote};
use crate::model::named::ContainerMarker;
use crate::model::{Arrival, BackupHandle};

/// The maximum number of processes below a mount that the script kills.
const MAX_KILLS: u32 = 50;

/// The file in the containers of the class of the client, which contains the id of the container.
const CLASS_FILE: &str = "/run/sandbox-snapshotter.container";

/// Verifies that a backup has arrived in the directory and that every process works in its files, and then replaces the
/// container marker `from` with `to`. Prints `done`; `other` where the container has another marker; `below <pid>
/// <name>` where the script cannot kill a process below the mount; or `place <kind of the directory>` where the backup
/// is missing.
///
/// The SDK mounts an overlay over the directory. A process that was in the directory before stays below the mount: it
/// sees none of the files, and what it writes is lost. Its path does not show this; only its device does. Such
/// processes belong to shell sessions that were opened since the container started. The script kills them, and the SDK
/// opens the sessions again. The container's server uses paths, so its own working directory does not matter.
///
/// A class over `ctx.container` unpacks every archive, also one of a handle that the SDK would mount.
pub(in crate::cloudflare) fn verify_arrival(
    backup: &BackupHandle,
    from: &ContainerMarker,
    to: &ContainerMarker,
    may_be_empty: bool,
) -> String {
    let unpacked =
        if may_be_empty { r#"[ "$place" = full ] || [ "$place" = empty ]"# } else { r#"[ "$place" = full ]"# };
    let mounted = r#"[ "$kind" = fuse.fuse-overlayfs ] && [ -z "${lower##*/$backup[_/]*}" ] && [ -n "$lower" ]"#;
    let wanted = if backup.is_extracted() {
        unpacked.to_owned()
    } else {
        format!("if [ -e {CLASS_FILE} ]; then {unpacked}; else {mounted}; fi")
    };
    format!(
        r#"{FILE_NAMES}{dir}; backup={id}; {LOCK_MARKER}{READ_MARKER}if [ "$now" != {to} ] && [ "$now" != {from} ]; then echo other; exit; fi
{DETECT_MOUNT}{COMPARE_MOUNTS}{DETECT_CONTENT}if ! {{ {wanted}; }}; then echo "place $place"; exit; fi
below() {{
  below=; device=$(stat -L -c %d -- "$d") || return 1
  while read -r link; do
    path=${{link#* -> }} link=${{link%% -> *}} link=${{link#\'}} link=${{link%\'}} path=${{path#\'}} path=${{path%\'}}
    pid=${{link#/proc/}} what=${{pid#*/}} pid=${{pid%%/*}}
    case $path in "$d" | "$d"/*) ;; *) continue ;; esac
    case $pid:$what in 1:cwd | 1:root | $PPID:cwd | $PPID:root) continue ;; esac
    on=$(stat -L -c %d -- "$link") && [ "$on" != "$device" ] && below="$below $pid"
  done < <(QUOTING_STYLE=literal stat -c %N /proc/[0-9]*/cwd /proc/[0-9]*/root /proc/[0-9]*/fd/*)
  return 0
}}
if [ -n "$kind" ]; then n=0
  until below 2>/dev/null || {{ echo "place other"; exit; }}; [ -z "$below" ]; do
    for pid in $below; do
      if [ "$pid" = 1 ] || [ "$pid" = "$PPID" ] || [ $((n += 1)) -gt {MAX_KILLS} ]; then
        read -r name <"/proc/$pid/comm"; echo "below $pid $name"; exit
      fi
      kill -KILL "$pid"
    done 2>/dev/null
    sleep 0.02
  done
fi
if [ "$kind" = fuse.fuse-overlayfs ]; then printf '%s\n' "$d" >"$run.mounted"; else rm -f "$run.mounted"; fi &&
{write} echo "done""#,
        dir = dir_vars(backup.dir()),
        id = shell_quote(backup.id().as_str()),
        from = shell_quote(&from.to_string()),
        to = shell_quote(&to.to_string()),
        write = write_marker(to),
    )
}

/// Parses the output of [`verify_arrival`].
pub(crate) fn read_arrival(stdout: &str) -> Option<Arrival> {
    Some(match stdout.trim_end().split_once(' ') {
        None if stdout.trim_end() == "done" => Arrival::Complete,
        None if stdout.trim_end() == "other" => Arrival::OtherContainer,
        Some(("place", place)) => Arrival::FilesMissing(read_content(place)?),
        Some(("below", process)) => {
            Arrival::ProcessBelowMount(process.chars().filter(|char| !char.is_control()).take(40).collect())
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::DirectoryContent;

    #[test]
    fn arrival_reports_the_directory_content_or_the_process_below_the_mount() {
        assert_eq!(read_arrival("done\n"), Some(Arrival::Complete));
        assert_eq!(read_arrival("other\n"), Some(Arrival::OtherContainer));
        assert_eq!(read_arrival("place empty\n"), Some(Arrival::FilesMissing(DirectoryContent::Empty)));
        assert_eq!(read_arrival("below 9 bash\n"), Some(Arrival::ProcessBelowMount("9 bash".into())));
        for odd in ["", "place\n", "place odd\n", "sh: not found\n"] {
            assert_eq!(read_arrival(odd), None, "{odd:?}");
        }
    }
}
