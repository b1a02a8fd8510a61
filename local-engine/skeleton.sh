#!/usr/bin/env bash
# Creates the directories, links and empty files that the private roots of all sandboxes have, so that a start copies them with
# one command.
#
#   skeleton.sh FOLDER
#
# FOLDER: the engine's folder, with server.cjs. Gets `skeleton`, `server` with what only sandboxes with a server have, and
# `resolv` with the path of a file to share.
set -euo pipefail
umask 022
folder=$1 root=$1/skeleton tools=$1/server/opt/local-engine

mkdir -p "$root"/{workspace,home,root,app,run,tmp,var/tmp,var/backups,proc,dev/pts,dev/shm,.host}
chmod 1777 "$root/tmp" "$root/var/tmp" "$root/dev/shm"
for path in /usr /etc /bin /sbin /lib /lib32 /lib64 /libx32 /nix; do
  if [ -L "$path" ]; then
    cp -P "$path" "$root$path"
  elif [ -d "$path" ]; then
    mkdir "$root$path"
  fi
done
for device in null zero full random urandom tty fuse; do
  if [ -e "/dev/$device" ]; then : >"$root/dev/$device"; fi
done
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
for stream in 0:stdin 1:stdout 2:stderr; do ln -s "/proc/self/fd/${stream%:*}" "$root/dev/${stream#*:}"; done
# /etc/resolv.conf may be a link to a file elsewhere.
: >"$folder/resolv"
resolv=$(readlink -f /etc/resolv.conf || true)
if [ -f "$resolv" ] && [[ $resolv != /etc/* ]]; then
  mkdir -p "$root${resolv%/*}"
  : >"$root$resolv"
  echo "$resolv" >"$folder/resolv"
fi

mkdir -p "$tools/io"
: >"$tools/node"
: >"$tools/ca.pem"
cp "$folder/server.cjs" "$tools/server.cjs"
