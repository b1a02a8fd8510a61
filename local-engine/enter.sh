#!/usr/bin/env bash
# Runs as process 1 of one sandbox, in its own mount and pid namespace: builds the private root, moves into it, and
# runs the server. When process 1 ends, the kernel ends all other processes, and the files are gone.
#
#   enter.sh STATE NODE [PROGRAM…]
#
# STATE: the container's folder on the host; NODE: the node binary to run the server with; PROGRAM: runs instead of the server
set -euo pipefail
umask 022
state=$1 node=$2
shift 2
root=$state/root tools=/opt/local-engine layers=/.local-engine

# /proc is still that of the host, so this is the pid to which the engine can send a signal.
read -r pid _ </proc/self/stat
echo "$pid"

# read_only TARGET: makes a mount read-only. In a user namespace its other flags must be repeated.
read_only() {
  mount -o remount,bind,ro "$1" 2>/dev/null ||
    mount -o remount,bind,ro,nosuid,nodev "$1" 2>/dev/null ||
    mount -o remount,bind,ro,nosuid,nodev,noatime "$1"
}

# share SOURCE [TARGET]: mounts a file or a directory of the host, with all mounts below it, read-only into the private
# root.
share() {
  local target=$root${2:-$1} mounted
  if [ -d "$1" ]; then mkdir -p "$target"; else mkdir -p "${target%/*}" && : >"$target"; fi
  mount --rbind "$1" "$target"
  while read -r mounted; do
    case $mounted in "$target" | "$target"/*) read_only "$mounted" ;; esac
  done < <(mounts)
}

# mounts: prints the directories and files that are mounted.
mounts() {
  local mounted
  while read -r _ _ _ _ mounted _; do printf '%b\n' "${mounted//\\/\\0}"; done </proc/self/mountinfo
}

# layer PATH: mounts a directory of the host into the private root, where root of the host can change it. The changes are in
# $layers, and so in snapshots. Fails if the kernel does not permit it.
layer() {
  local changes=$root$layers$1 work=$root$layers/work$1 mounted
  mkdir -p "$root$1" "$changes" "$work"
  mount -t overlay overlay -o "lowerdir=$1,upperdir=$changes,workdir=$work" "$root$1" 2>/dev/null || return
  # An overlay does not have the mounts below the directory, such as Docker's of /etc/hosts.
  while read -r mounted; do
    case $mounted in "$1"/*) share "$mounted" ;; esac
  done < <(mounts)
}

mkdir "$root"
if [ -n "$LOCAL_ENGINE_DISK" ]; then
  # A change of a file through a memory map has no new time on tmpfs.
  mkdir -m 755 "$state/disk"
  mount --bind "$state/disk" "$root"
else
  mount -t tmpfs -o mode=755 tmpfs "$root"
fi
if [ -f "$state/files.tar" ]; then # the files of a snapshot
  tar -xpf "$state/files.tar" --xattrs --xattrs-include='*' --numeric-owner -C "$root"
fi
for path in /usr /etc /bin /sbin /lib /lib32 /lib64 /libx32 /nix; do
  if [ -L "$path" ]; then
    cp -P "$path" "$root$path"
  elif [ -d "$path" ]; then
    { [ $# -gt 0 ] && layer "$path"; } || share "$path"
  fi
done
for program in $LOCAL_ENGINE_HIDDEN; do
  for path in "$root"/usr/{local/,}{s,}bin/"$program"; do
    if [ -f "$path" ]; then mount --bind /dev/null "$path"; fi
  done
done
resolv=$(readlink -f /etc/resolv.conf || true)
if [ -f "$resolv" ] && [[ $resolv != /etc/* ]]; then share "$resolv"; fi

if [ $# = 0 ]; then
  share "$node" $tools/node
  cp "$state/../server.cjs" "$root$tools/server.cjs"
  mkdir "$root$tools/io"
  mount --bind "$state/io" "$root$tools/io"
fi

mkdir -p "$root"/{workspace,home,root,app,run,tmp,var/tmp,var/backups,proc,dev/pts,dev/shm}
chmod 1777 "$root/tmp" "$root/var/tmp" "$root/dev/shm"
for device in null zero full random urandom tty fuse; do
  [ -e "/dev/$device" ] || continue
  : >"$root/dev/$device"
  mount --bind "/dev/$device" "$root/dev/$device"
done
if [ -f "$state/../ca.pem" ]; then
  # Production mode. Archives and the files that change after a restore are on the host's disk, as they are on a
  # container's disk.
  share "$state/../ca.pem" $tools/ca.pem
  mkdir "$state/backups"
  mount --bind "$state/backups" "$root/var/backups"
  # As in the image: users other than root may read mounts.
  echo user_allow_other >"$state/fuse.conf"
  if [ -f /etc/fuse.conf ]; then mount --bind "$state/fuse.conf" "$root/etc/fuse.conf"; fi
fi
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts" 2>/dev/null || true
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
for stream in 0:stdin 1:stdout 2:stderr; do ln -s "/proc/self/fd/${stream%:*}" "$root/dev/${stream#*:}"; done
# Some hosts, such as most Docker containers, refuse a new /proc. The sandbox then has the host's /proc.
mount -t proc proc "$root/proc" 2>/dev/null || mount --rbind /proc "$root/proc"

cd "$root"
mkdir .host
pivot_root . .host
umount --lazy /.host
rmdir /.host

# Process 1 is bash and not the server or the program, because bash also reaps orphaned processes.
if [ $# = 0 ]; then
  cd /workspace
  exec bash -c "$tools/node $tools/server.cjs; exit \$?"
fi
cd /
# Passes signals on to the program, and ends with its exit code.
exec bash -c '"$@" & for signal in HUP INT QUIT TERM USR1 USR2; do trap "kill -$signal $!" $signal; done
  echo entered; while wait $!; code=$?; kill -0 $!; do :; done 2>/dev/null; exit $code' init "$@"
