#!/usr/bin/env bash
# Runs as process 1 of one sandbox, in its own mount and pid namespace: builds the private root, moves into it, and
# runs the server. When process 1 ends, the kernel ends all other processes, and the files are gone.
#
#   enter.sh STATE NODE [PROGRAM…]
#
# STATE: the container's folder on the host, beside what skeleton.ts made; NODE: the node binary to run the server with;
# PROGRAM: runs instead of the server
#
# Each program that a shell runs costs more than a mount, so this runs few: most mounts are lines of one table.
set -euo pipefail
umask 022
state=$1 node=$2
shift 2
root=$state/root tools=/opt/local-engine layers=/.local-engine

# /proc is still that of the host, so this is the pid to which the engine can send a signal.
read -r pid _ </proc/self/stat
echo "$pid"

# The mounts of the host, and their options.
mounted=() options_of=()
while read -r _ _ _ _ path options _; do
  printf -v path '%b' "${path//\\/\\0}"
  mounted+=("$path") options_of+=(",$options,")
done </proc/self/mountinfo

# find_kept PATH: sets `kept` to those options of a file's mount that a user namespace can't remove.
find_kept() {
  local i option length=0 options=
  for i in "${!mounted[@]}"; do
    case $1/ in
      "${mounted[i]%/}"/*) if ((${#mounted[i]} >= length)); then length=${#mounted[i]} options=${options_of[i]}; fi ;;
    esac
  done
  kept=
  for option in nosuid nodev noexec noatime nodiratime; do
    case $options in *,"$option",*) kept+=,$option ;; esac
  done
}

table= # the mounts to make, in the form of fstab

# add SOURCE TARGET OPTIONS [TYPE]: adds a mount of the private root to the table.
add() {
  local source=${1// /'\040'} target=$root$2 options=${3// /'\040'}
  table+="$source ${target// /'\040'} ${4-none} $options 0 0"$'\n'
}

# share SOURCE [TARGET]: adds a read-only mount of a file or a directory of the host.
share() {
  local kept
  find_kept "$1"
  add "$1" "${2:-$1}" "rbind,ro$kept"
}

# make_mounts: makes the mounts of the table.
make_mounts() {
  printf '%s' "$table" >"$state/fstab"
  table=
  mount --all --fstab "$state/fstab"
}

# read_only_below PATH: mounts what the host has mounted below a directory read-only: an overlay does not have it, such as
# Docker's mount of /etc/hosts, and otherwise it is writable.
read_only_below() {
  local path kept
  for path in "${mounted[@]}"; do
    case $path in
      "$1"/*)
        find_kept "$path"
        mount -o "bind,ro$kept" "$path" "$root$path"
        ;;
    esac
  done
}

mkdir "$root"
if [ -n "$LOCAL_ENGINE_DISK" ]; then
  # A change of a file through a memory map has no new time on tmpfs.
  mkdir -m 755 "$state/disk"
  mount --bind "$state/disk" "$root"
else
  mount -t tmpfs -o mode=755 tmpfs "$root"
fi
skeletons=("$state/../skeleton/.")
if [ $# = 0 ]; then skeletons+=("$state/../server/."); fi
cp -a "${skeletons[@]}" "$root"
if [ -f "$state/files.tar" ]; then # the files of a snapshot
  tar -xpf "$state/files.tar" --xattrs --xattrs-include='*' --numeric-owner -C "$root"
fi

directories=()
for path in /usr /etc /bin /sbin /lib /lib32 /lib64 /libx32 /nix; do
  if [ -d "$path" ] && [ ! -L "$path" ]; then directories+=("$path"); fi
done
overlays=
if [ $# -gt 0 ]; then
  # Overlays, so that root of the host can change the directories. The changes are in $layers, and so in snapshots.
  mkdir -p "${directories[@]/#/$root$layers}" "${directories[@]/#/$root$layers/work}"
  for path in "${directories[@]}"; do
    add overlay "$path" "lowerdir=$path,upperdir=$root$layers$path,workdir=$root$layers/work$path" overlay
  done
  # The kernel may not permit overlays.
  if make_mounts 2>/dev/null; then overlays=1; fi
fi
if [ -z "$overlays" ]; then
  for path in "${directories[@]}"; do share "$path"; done
fi
for program in $LOCAL_ENGINE_HIDDEN; do
  for path in /usr/{local/,}{s,}bin/"$program"; do
    if [ -f "$path" ]; then add /dev/null "$path" bind; fi
  done
done
for path in "$state"/../skeleton/dev/*; do
  if [ -f "$path" ] && [ ! -L "$path" ]; then add "/dev/${path##*/}" "/dev/${path##*/}" bind; fi
done
if read -r path <"$state/../resolv"; then share "$path"; fi
if [ $# = 0 ]; then
  share "$node" $tools/node
  add "$state/io" $tools/io bind
fi
if [ -f "$state/../ca.pem" ]; then
  # Production mode. Archives and the files that change after a restore are on the host's disk, as they are on a
  # container's disk.
  share "$state/../ca.pem" $tools/ca.pem
  mkdir "$state/backups"
  add "$state/backups" /var/backups bind
  # As in the image: users other than root may read mounts.
  echo user_allow_other >"$state/fuse.conf"
  if [ -f /etc/fuse.conf ]; then add "$state/fuse.conf" /etc/fuse.conf bind; fi
fi
make_mounts
for path in "${directories[@]}"; do read_only_below "$path"; done

add devpts /dev/pts newinstance,ptmxmode=0666 devpts
add proc /proc defaults proc
# Some hosts, such as most Docker containers, refuse a new /proc. The sandbox then has the host's /proc.
make_mounts 2>/dev/null || [ -e "$root/proc/self" ] || mount --rbind /proc "$root/proc"

cd "$root"
pivot_root . .host
umount --lazy /.host
rmdir /.host

# Process 1 is bash and not the server or the program, because bash also reaps orphaned processes.
if [ $# = 0 ]; then
  cd /workspace
  exec bash -c "$tools/node $tools/server.cjs; exit \$?"
fi
cd /
# Passes signals on to the program, and ends with its exit code. A signal also ends `wait`, so only a second `wait` has the code
# of a program that ended meanwhile.
exec bash -c 'printf init >/proc/self/comm; "$@" & for signal in HUP INT QUIT TERM USR1 USR2; do trap "kill -$signal $!" $signal; done
  echo entered; while wait $!; kill -0 $!; do :; done 2>/dev/null; wait $!' init "$@"
