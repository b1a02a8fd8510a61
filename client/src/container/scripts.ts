/** The scripts that capture and restore a directory. They need a POSIX shell, and the programs of Debian's base image. */
import { ASSERT_CONTAINER } from './identity.ts';

/** The folder of archives in a container. It is outside of every directory that can be captured. */
const WORK_DIR = '/var/backups/sandbox-snapshotter';

/** The exit code of a script for which the disk is too small. */
export const NO_SPACE = 114;

const FAIL = `fail() { echo "$2" >&2; exit "$1"; }
free() { df -Pk "$1" | tail -n 1 | tr -s ' ' | cut -d ' ' -f 4; }
`;

/**
 * Captures the directory `$1`. The standard input has the patterns to exclude. With `$2` = 1, excludes the files that git
 * ignores. The other arguments are options of mksquashfs, or the program that compresses. Prints the size of the files in kB
 * to the standard error.
 */
const prepare = (escaped: string) => `${ASSERT_CONTAINER}${FAIL}d=$1 ignored=$2; shift 2
[ -d "$d" ] || fail 1 "there is no such directory"
mkdir -p ${WORK_DIR} && w=$(mktemp -d ${WORK_DIR}/XXXXXX) || exit 1
trap 'rm -rf "$w"' EXIT
cat >"$w/exclude"
if [ "$ignored" = 1 ] && git -C "$d" rev-parse --is-inside-work-tree >/dev/null 2>&1; then
  git -C "$d" -c core.quotePath=false ls-files --others -i --exclude-standard --directory -- . |
    sed '${escaped}' >>"$w/exclude"
fi
tree=$(du -sk -- "$d" | cut -f 1)
`;

/** Prints an archive of squashfs. It needs a seekable output, and so a file that is as large as the archive. */
export const CAPTURE_SQUASHFS = `${prepare(String.raw`s/\/$//; s/[][\\*?]/\\&/g`)}free=$(free "$w")
[ "$free" -gt "$tree" ] || fail ${NO_SPACE} "the archive needs up to $tree kB in ${WORK_DIR}, and $free kB are free"
mksquashfs "$d" "$w/archive" "$@" -no-progress -noappend -wildcards -ef "$w/exclude" >"$w/log" 2>&1 ||
  fail 1 "mksquashfs: $(tail -n 3 "$w/log")"
echo "$tree" >&2
exec 3<"$w/archive"; rm -rf "$w"; trap - EXIT
cat <&3`;

/** Prints an archive of tar, which it need not store first. */
export const CAPTURE_TAR = `${prepare(String.raw`s/\/$//; s/[][\\*?]/\\&/g; s/^/.\//`)}echo "$tree" >&2
{ tar -C "$d" --numeric-owner --exclude-from="$w/exclude" -cf - . || echo >"$w/failed"; } | "$@" || exit 1
[ ! -e "$w/failed" ] || exit 1`;

/** Stores the standard input as the archive `$1`. */
export const RECEIVE = `${ASSERT_CONTAINER}${FAIL}mkdir -p ${WORK_DIR} && free=$(free ${WORK_DIR}) || exit 1
[ "$free" -gt "$2" ] || fail ${NO_SPACE} "the archive needs $2 kB in ${WORK_DIR}, and $free kB are free"
cat >"${WORK_DIR}/$1"`;

/** Deletes the archive `$1`. */
export const DISCARD = `${ASSERT_CONTAINER}rm -f "${WORK_DIR}/$1"`;

/**
 * Replaces the directory `$2` with the files of the archive `$1`. The files need `$3` kB. The other arguments are the command
 * that unpacks: its input is the archive, and it creates `$new`.
 *
 * Unpacks beside the directory. Ends all processes that have the directory, or a file in it, as their working directory, their
 * root or an open file: they would continue in files that are gone. Where a process can't be ended, changes nothing. Process 1
may work in the directory, because its end is the end of the container.
 */
export const RESTORE = `${ASSERT_CONTAINER}${FAIL}archive="${WORK_DIR}/$1" d=$(realpath -m -- "$2") tree=$3; shift 3
parent=$(dirname -- "$d"); mkdir -p -- "$parent" || exit 1
free=$(free "$parent")
[ "$free" -gt "$tree" ] || fail ${NO_SPACE} "the files need $tree kB in $parent, and $free kB are free"
new=$(mktemp -d "\${parent%/}/.snapshotter.XXXXXX") || exit 1
old="$new.old"; export archive new
trap 'rm -rf "$new" "$archive"' EXIT
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
  mv -T -- "$d" "$old" || exit 1
  mv -T -- "$new" "$d" || { mv -T -- "$old" "$d"; exit 1; }
  end_inside "$old"
  rm -rf -- "$old"
else
  mv -T -- "$new" "$d"
fi`;

/** Unpacks `$archive` into `$new`, by format. */
export const UNPACK = {
  squashfs: 'unsquashfs -f -no-progress -d "$new" "$archive"',
  tar: 'tar -xpf "$archive" --numeric-owner -C "$new"',
  'tar+gzip': 'gzip -dc "$archive" | tar -xpf - --numeric-owner -C "$new"',
  'tar+zstd': 'zstd -dc "$archive" | tar -xpf - --numeric-owner -C "$new"',
};
