/** The scripts that capture and restore a directory. They need a POSIX shell, and the programs of Debian's base image. */
import { ASSERT_CONTAINER } from './identity.ts';

/**
 * The folder of archives in a container. It is outside of every directory that can be captured. Captures and restores run one
 * after the other, so each begins with an empty one: a script that was killed can't clean up.
 */
export const WORK_DIR = '/var/backups/sandbox-snapshotter';

/** The exit code of a script for which the disk is too small. */
export const NO_SPACE = 114;

/** The functions of the scripts. `at_end` traps the signal of a time limit because dash would skip the trap of the end. */
const FUNCTIONS = `fail() { echo "$2" >&2; exit "$1"; }
need() {
  free=$(df -Pk "$1" | tail -n 1 | tr -s ' ' | cut -d ' ' -f 4)
  [ "$free" -gt "$2" ] || fail ${NO_SPACE} "$3 $2 kB in $1, and $free kB are free"
}
clean() { rm -rf ${WORK_DIR}; mkdir -p ${WORK_DIR} || exit 1; }
at_end() { trap "$1" EXIT; trap 'exit 1' TERM; }
`;

/**
 * Captures the directory `$1`. The standard input has the patterns to exclude. With `$2` = 1, excludes the files that git
 * ignores. The other arguments are options of mksquashfs or tar. Refuses a symbolic link: mksquashfs would capture only the link.
 * Prints the size of the files in kB to the standard error.
 */
const prepare = (escaped: string) => `${ASSERT_CONTAINER}${FUNCTIONS}d=$1 ignored=$2; shift 2
[ -d "$d" ] || fail 1 "there is no such directory"
clean; w=$(mktemp -d ${WORK_DIR}/XXXXXX) || exit 1
at_end 'rm -rf "$w"'
cat >"$w/exclude"
if [ "$ignored" = 1 ] && git -C "$d" rev-parse --is-inside-work-tree >/dev/null 2>&1; then
  git -C "$d" -c core.quotePath=false ls-files --others -i --exclude-standard --directory -- . |
    sed '${escaped}' >>"$w/exclude"
fi
tree=$(du -sk -- "$d" | cut -f 1)
[ "$(realpath -- "$d")" = "$(realpath -s -- "$d")" ] || fail 1 "it is reached through a symbolic link"
`;

/** Prints an archive of squashfs. It needs a seekable output, and so a file that is as large as the archive. */
export const CAPTURE_SQUASHFS = `${prepare(String.raw`s/\/$//; s/[][\\*?]/\\&/g`)}need ${WORK_DIR} "$tree" "the archive needs up to"
mksquashfs "$d" "$w/archive" "$@" -no-progress -noappend -wildcards -ef "$w/exclude" >"$w/log" 2>&1 ||
  fail 1 "mksquashfs: $(tail -n 3 "$w/log")"
echo "$tree" >&2
exec 3<"$w/archive"; rm -rf "$w"; trap - EXIT
cat <&3`;

/**
 * Prints an archive of tar, which it need not store first; and the number of its entries, after the size of the files. The exit
 * code 1 of tar means that a file changed while it was read. tar fails where the program that compresses does.
 */
export const CAPTURE_TAR = `${prepare(String.raw`s/\/$//; s/[][\\*?]/\\&/g; s/^/.\//`)}
tar -C "$d" --numeric-owner --exclude-from="$w/exclude" --index-file="$w/names" "$@" -cvf - . 2>"$w/log"
[ $? -le 1 ] || fail 1 "tar: $(tail -n 3 "$w/log")"
echo "$tree $(wc -l <"$w/names")" >&2`;

/** Stores the standard input as the archive `$1`. */
export const RECEIVE = `${ASSERT_CONTAINER}${FUNCTIONS}clean; need ${WORK_DIR} "$2" "the archive needs"
trap clean TERM
cat >"${WORK_DIR}/$1"`;

/**
 * Replaces the directory `$2` with the files of the archive `$1`. The files need `$3` kB. The other arguments are the command
 * that unpacks: its input is the archive, and it creates `$new`.
 *
 * Unpacks beside the directory, where it first deletes what a restore left that was killed. Ends all processes that have the directory, or a file in it, as their working directory, their
 * root or an open file: they would continue in files that are gone. Where a process can't be ended, changes nothing. Process 1
 * may work in the directory, because its end is the end of the container.
 */
export const RESTORE = `${ASSERT_CONTAINER}${FUNCTIONS}archive="${WORK_DIR}/$1" d=$(realpath -m -- "$2") tree=$3; shift 3
parent=$(dirname -- "$d"); mkdir -p -- "$parent" || exit 1
rm -rf -- "\${parent%/}"/.snapshotter.??????
need "$parent" "$tree" "the files need"
new=$(mktemp -d "\${parent%/}/.snapshotter.XXXXXX") || exit 1
old="$new.old"; export archive new
at_end 'rm -rf "$new" "$archive"'
"$@" >"$archive.log" 2>&1 || { tail -n 3 "$archive.log" >&2; rm -f "$archive.log"; exit 1; }
rm -f "$archive.log"
inside() {
  glob=$(printf '%s' "$1" | sed 's/[][\\\\*?]/\\\\&/g')
  find /proc/[0-9]*/cwd /proc/[0-9]*/root /proc/[0-9]*/fd ! -path /proc/1/cwd \\
    \\( -lname "$glob" -o -lname "$glob/*" \\) 2>/dev/null |
    cut -d / -f 3 | sort -u
}
end_inside() {
  n=0
  while p=$(inside "$1") && [ -n "$p" ]; do
    [ $((n += 1)) -le 100 ] || fail 1 "process $(cat "/proc/\${p%%[!0-9]*}/comm") uses $d and can't be ended"
    for pid in $p; do [ "$pid" = 1 ] || kill -KILL "$pid"; done 2>/dev/null
    sleep 0.02
  done
}
if [ -e "$d" ] || [ -L "$d" ]; then
  end_inside "$d"
  trap '' TERM
  mv -T -- "$d" "$old" || exit 1
  mv -T -- "$new" "$d" || { mv -T -- "$old" "$d"; exit 1; }
  end_inside "$old"
  rm -rf -- "$old"
else
  mv -T -- "$new" "$d"
fi`;

/** Unpacks `$archive` into `$new`. tar recognizes how the archive is compressed. */
export const UNPACK = {
  squashfs: 'unsquashfs -f -no-progress -d "$new" "$archive"',
  tar: 'tar -xpf "$archive" --numeric-owner -C "$new"',
};
