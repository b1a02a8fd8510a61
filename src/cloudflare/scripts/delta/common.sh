unset -f chmod command cut grep perl sha256sum sync tar tee tr 2>/dev/null
unset PERL5OPT PERL5LIB PERLLIB PERLIO PERL_UNICODE TAR_OPTIONS
set -o pipefail; export LC_ALL=C; umask 077
base=$run.base work=$run.base/work
exec 9<>"$run.base.lock"; flock 9
rm -rf -- "$work"; mkdir -p "$work" || { echo "full disk"; exit; }
trap 'rm -rf -- "$work"' EXIT
why=
# Sets $why to `$1`, and fails.
no() { why=$1; return 1; }
# Runs the program tree.pl. Fails, and sets $why, where it refuses.
tree() {
  answer=$(perl -e "$tree" -- "$@" 2>/dev/null) || no tools || return
  case $answer in ok | ok\ *) answer=${answer#ok}; answer=${answer# } ;; full\ *) no "${answer#full }" ;; *) no tools ;; esac
}
# Prints the SHA-256 of the standard input.
sum() { local sum; sum=$(sha256sum) && printf '%s' "${sum%% *}"; }
# Sets $digest to the SHA-256 of the sorted lines of the listing.
digest_listing() { digest=$(sort -z -T "$work" "$work/listing" | sum) || no disk; }
# Lists $d, and writes an inventory to `$1`. Sets $digest, and prints what `tree` does to $answer.
take_inventory() {
  set_fence && { [ -z "$2" ] || sync -f -- "$d" || no disk; } && scan "$work/now" && tree listing "$work/now" "$work/listing" && digest_listing &&
    tree inventory "$work/now" "$1" "$snapshot" "$identity" "$d" "$began" "$digest" && is_clock_steady
}
# Sets $identity to what distinguishes the run of this container from all others.
identify() {
  local stat id= boot; read -r stat </proc/1/stat && read -r boot </proc/sys/kernel/random/boot_id || no container || return
  [ -f "$run.container" ] && IFS= read -r id <"$run.container"
  set -- ${stat##*) }; identity="$boot ${20} $id"
}
# Fails where an image lacks a program, or has another version of it.
have_tools() {
  local tool
  for tool in perl tar find sha256sum sync stat sort timeout; do command -v "$tool" >/dev/null || no tools || return; done
  [[ $(tar --version 2>/dev/null) == *GNU* && $(find --version 2>/dev/null) == *GNU* ]] || no tools
}
# Fails where $d is not an overlay over the archive of the backup `$1` alone.
is_mounted() {
  local line count=0 lowers=0
  [ "$kind" = fuse.fuse-overlayfs ] && [ -n "$1" ] && [ -n "$lower" ] && [ -z "${lower##*/$1[_/]*}" ] && [ -z "${lower##/*}" ] && [ "${lower#*:}" = "$lower" ] || no overlay || return
  for line in /proc/[0-9]*/cmdline; do
    mapfile -d '' -t line <"$line"
    [ "${line[0]##*/}" = fuse-overlayfs ] && [ "${line[-1]}" = "$raw" ] && count=$((count + 1))
  done 2>/dev/null
  while read -r _ _ _ _ line _; do [ "$line" != "$lower" ] || lowers=$((lowers + 1)); done </proc/self/mountinfo
  [ "$count $lowers" = "1 1" ] && [ -d "$upper" ] || no overlay
}
# Fails where the changes of the files in $d can't be seen with certainty.
is_traceable() {
  [ "$kind" != fuse.fuse-overlayfs ] || no overlay || return
  is_plain_path || return
  case $(stat -f -c %T -- "$d") in ext2/ext3 | xfs | btrfs | overlayfs) ;; *) no fileSystem ;; esac
}
# Fails where $d is reached through a symbolic link, or a file system is mounted in it.
is_plain_path() {
  [ -d "$d" ] && [ "$(realpath -- "$d")" = "$d" ] || no directory || return
  has_no_mount
}
# Fails where a file system is mounted in $d: its files are not those of the snapshot.
has_no_mount() {
  local at
  while read -r _ _ _ _ at _; do printf -v at %b "${at//\\/\\0}"; case $at in "$d"/*) no mount; return ;; esac; done </proc/self/mountinfo
}
# The difference of the two clocks, in microseconds.
skew() { local up; read -r up _ </proc/uptime; printf '%s' $((10#${EPOCHREALTIME/./} - 10#${up/./} * 10000)); }
# Sets $fence to a file and $began to its time: a change from now on has a later ctime.
set_fence() {
  local n=0; fence=$work/fence; : >"$fence" || no disk || return
  until echo >"$work/tick"; [ "$work/tick" -nt "$fence" ]; do [ $((n += 1)) -le 5000 ] || no clock || return; done
  began=$(find "$fence" -printf %T@) && skew=$(skew)
}
# Fails where the clock was set since set_fence.
is_clock_steady() { local change=$(($(skew) - skew)); [ "${change#-}" -lt 100000 ] || no clock; }
# Writes the records of all entries in $d to `$1`, except sockets, which no archive contains.
scan() { (cd -- "$d" && timeout 60 find . ! -type s -printf '%y %D %i %n %m %U %G %s %T@ %C@ %P//%l\0' 2>/dev/null) >"$1" || no changing; }
