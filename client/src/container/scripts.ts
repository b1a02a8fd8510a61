/** The scripts that capture and restore a directory. They need a POSIX shell, and the programs of Debian's base image. */
import { ASSERT_CONTAINER } from './identity.ts';
import { scratch } from './process.ts';

/**
 * The folder of archives in a container. It is outside of every directory that can be captured. Captures and restores run one
 * after the other, so each begins with an empty one: a script that was killed can't clean up.
 */
const WORK_DIR = '/var/backups/sandbox-snapshotter';

/** The exit code of a script for which the disk is too small. */
export const NO_SPACE = 114;

/** The exit code of a restore that did not get all of the archive. */
export const INCOMPLETE = 115;

/**
 * The begin of the scripts: asserts the container, and creates the folder `$w`, which is deleted at the end. Traps the signal of
 * a time limit because dash would skip the trap of the end.
 */
const BEGIN = `${ASSERT_CONTAINER}
fail() { echo "$2" >&2; exit "$1"; }
failed() { fail 1 "$(tail -n 3 "$w/log")"; }
need() {
  free=$(($(stat -f -c '%a * %S / 1024' "$1" || echo 0)))
  [ "$free" -gt "$2" ] || fail ${NO_SPACE} "$2 kB are needed in $1, and $free kB are free"
}
rm -rf ${WORK_DIR}; mkdir -p ${WORK_DIR} 2>/dev/null; ${scratch(`${WORK_DIR}/XXXXXX`)}
trap 'rm -rf "$w" "$new"' EXIT; trap 'exit 1' TERM
`;

/**
 * Captures the directory `$1`. The standard input has the patterns to exclude. With `$2` = 1, excludes the files that git
 * ignores. The other arguments are options of mksquashfs or tar. Refuses a symbolic link: mksquashfs would capture only the link.
 * Prints the size of the files in kB to the standard error.
 */
const prepare = (escaped: string) => `${BEGIN}d=$1 ignored=$2; shift 2
[ -d "$d" ] || fail 1 "there is no such directory"
cat >"$w/exclude"
[ "$ignored" = 0 ] ||
  git -C "$d" -c core.quotePath=false ls-files --others -i --exclude-standard --directory -- . 2>/dev/null |
  sed '${escaped}' >>"$w/exclude"
tree=$(du -sk -- "$d" | cut -f 1)
[ "$(realpath -- "$d")" = "$(realpath -s -- "$d")" ] || fail 1 "it is reached through a symbolic link"
`;

/** Prints an archive of squashfs. It needs a seekable output, and so a file that is as large as the archive. */
export const CAPTURE_SQUASHFS = `${prepare(String.raw`s/\/$//; s/[][\\*?]/\\&/g`)}need ${WORK_DIR} "$tree"
mksquashfs "$d" "$w/archive" "$@" -no-progress -noappend -wildcards -ef "$w/exclude" >"$w/log" 2>&1 ||
  failed
echo "$tree" >&2
cat "$w/archive"`;

/**
 * Prints an archive of tar, which it need not store first; and the number of its entries, after the size of the files. The exit
 * code 1 of tar means that a file changed while it was read. tar fails where the program that compresses does.
 */
export const CAPTURE_TAR = `${prepare(String.raw`s/\/$//; s/[][\\*?]/\\&/g; s/^/.\//`)}
tar -C "$d" -S --numeric-owner --exclude-from="$w/exclude" --index-file="$w/names" "$@" -cvf - . 2>"$w/log"
[ $? -le 1 ] || failed
echo "$tree $(wc -l <"$w/names")" >&2`;

/** How an archive is unpacked into `$new`. tar recognizes how it is compressed. */
export const UNPACK = {
  unsquashfs: 'unsquashfs -f -no-progress -d "$new"',
  tar: 'tar --numeric-owner -C "$new" -xpf',
};

/**
 * Replaces the directory `$3` with the files of the archive on the standard input, which has `$1` bytes and one more: the last
 * one shows that the archive is complete and verified. The files need `$2` kB. `unpack` is in {@link UNPACK}.
 *
 * Unpacks beside the directory, where it first deletes what a restore left that was killed. Ends all processes that have the
 * directory, or a file in it, as their working directory, their root or an open file: they would continue in files that are
 * gone. Where a process can't be ended, a file system is mounted in the directory, or a later capture or restore has begun,
 * changes nothing. Process 1 may work in the directory, because its end is the end of the container.
 */
export const restoring = (unpack: string) => `${BEGIN}size=$1 tree=$2 d=$(realpath -m -- "$3")
need ${WORK_DIR} $((size / 1024))
cat >"$w/archive" || exit 1
[ "$(stat -c %s "$w/archive")" = $((size + 1)) ] || exit ${INCOMPLETE}
truncate -s "$size" "$w/archive"
while read -r _ _ _ _ mount _; do
  case $mount/ in "$d"/*) fail 1 "a file system is mounted at $mount" ;; esac
done </proc/self/mountinfo
beside=\${d%/*}/.snapshotter; mkdir -p -- "\${d%/*}/" || exit 1
rm -rf -- "$beside".??????
need "\${d%/*}/" "$tree"
new=$(mktemp -d "$beside.XXXXXX") || exit 1
old="$new.old"
${unpack} "$w/archive" >"$w/log" 2>&1 || failed
[ -e "$w" ] || exit ${INCOMPLETE}
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
[ -e "$d" ] || mkdir -- "$d" || exit 1
end_inside "$d"
trap '' TERM
mv -T -- "$d" "$old" || exit 1
mv -T -- "$new" "$d" || { mv -T -- "$old" "$d"; exit 1; }
end_inside "$old"
rm -rf -- "$beside".??????.old`;
