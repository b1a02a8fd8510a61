//! Whether the files of a backup are in place, for every process in the container.

use super::container::{LOCK, read_place, write_stamp};
use super::{MOUNT, NAMES, PLACE, READ_STAMP, at, quoted};
use crate::model::named::Stamp;
use crate::model::{Arrival, BackupHandle};

/// How often processes are ended that are below a mount, until none is left.
const ENDINGS: u32 = 50;

/// Makes sure that a backup has arrived in the directory, and that every process works in its files; then puts the stamp `to` in
/// the place of `from`. Prints `done`, or `other` where there is another stamp, `below <pid> <name>` where a process can't be
/// kept from working below the mount, or `place <what the directory is>` where the backup is not there.
///
/// The SDK mounts an overlay over the directory. A process that was in it before stays below: it sees none of the files, and
/// what it writes is lost. Its path says nothing of that, only the device that it is on. Such processes are those of sessions
/// that were opened since the container started, and are ended; the SDK opens them anew. The container's server works
/// with paths, whatever its own directory is.
pub(in crate::cloudflare) fn arrive(backup: &BackupHandle, from: &Stamp, to: &Stamp, may_be_empty: bool) -> String {
    let wanted = match (backup.is_local(), may_be_empty) {
        (true, true) => r#"[ "$place" = full ] || [ "$place" = empty ]"#,
        (true, false) => r#"[ "$place" = full ]"#,
        (false, _) => r#"[ "$kind" = fuse.fuse-overlayfs ] && [ -z "${lower##*/$backup[_/]*}" ] && [ -n "$lower" ]"#,
    };
    format!(
        r#"{NAMES}{dir}; backup={id}; {LOCK}{READ_STAMP}if [ "$now" != {to} ] && [ "$now" != {from} ]; then echo other; exit; fi
{MOUNT}{PLACE}if ! {{ {wanted}; }}; then echo "place $place"; exit; fi
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
      if [ "$pid" = 1 ] || [ "$pid" = "$PPID" ] || [ $((n += 1)) -gt {ENDINGS} ]; then
        read -r name <"/proc/$pid/comm"; echo "below $pid $name"; exit
      fi
      kill -KILL "$pid"
    done 2>/dev/null
    sleep 0.02
  done
fi
{write} echo "done""#,
        dir = at(backup.dir()),
        id = quoted(backup.id().as_str()),
        from = quoted(&from.to_string()),
        to = quoted(&to.to_string()),
        write = write_stamp(to),
    )
}

/// Reads what [`arrive`] prints.
pub(crate) fn read_arrive(stdout: &str) -> Option<Arrival> {
    Some(match stdout.trim_end().split_once(' ') {
        None if stdout.trim_end() == "done" => Arrival::Done,
        None if stdout.trim_end() == "other" => Arrival::OtherContainer,
        Some(("place", place)) => Arrival::NotThere(read_place(place)?),
        Some(("below", process)) => {
            Arrival::Below(process.chars().filter(|char| !char.is_control()).take(40).collect())
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Place;

    #[test]
    fn an_arrival_tells_what_is_missing() {
        assert_eq!(read_arrive("done\n"), Some(Arrival::Done));
        assert_eq!(read_arrive("other\n"), Some(Arrival::OtherContainer));
        assert_eq!(read_arrive("place empty\n"), Some(Arrival::NotThere(Place::Empty)));
        assert_eq!(read_arrive("below 9 bash\n"), Some(Arrival::Below("9 bash".into())));
        for odd in ["", "place\n", "place odd\n", "sh: not found\n"] {
            assert_eq!(read_arrive(odd), None, "{odd:?}");
        }
    }
}
