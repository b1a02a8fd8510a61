rm -rf -- {/var,}/tmp/.sandbox-snapshotter.delta.* "$base/inventory.new" "$base/fence.new"
# Writes the lists and the names of a delta against the inventory of the base $of, and sets $digest.
compare_inventory() {
  scan "$work/now" && tree delta "$work/now" "$base/inventory" "$of" "$identity" "$d" "$percent" "$carrier/lists" "$work/names" "$work/listing" && digest_listing
}
# The same for the base that is mounted below the overlay on $d. There is no digest of all files.
compare_overlay() {
  digest=none; sync -f -- "$d" || no disk || return
  (cd -- "$upper" && timeout 60 find . ! -type s -printf '%P\0' 2>/dev/null) >"$work/upper" || no changing || return
  have_no_attributes "$lower" < <(cd -- "$upper" && find . -type d -print0 2>/dev/null) || return
  cd -- "$d" || no changing || return
  tree overlay "$work/upper" "$lower" "$of_bytes" "$percent" "$carrier/lists" "$work/names"; set -- $?
  cd / && return "$1"
}
# Writes the carrier of a delta against the base $of. `$1` compares, and changes are new entries of `$2`.
write_delta() {
  local attempt
  for attempt in 1 2 3; do
    rm -rf -- "$carrier"; mkdir -p -- "$carrier" || no disk || return
    set_fence && "$1" || { [ "$why" = changing ] && continue; return 1; }
    tar -C "$d" --format=posix --pax-option=delete=atime,delete=ctime --numeric-owner --xattrs --xattrs-include='*' -S --no-recursion \
      --null --verbatim-files-from -T "$work/names" -cf "$carrier/payload.tar" 2>/dev/null || { no changing; continue; }
    [ -z "$(find "$2" ! -type s -cnewer "$fence" -print -quit 2>&1)" ] || { no changing; continue; }
    is_clock_steady || return
    lists=$(sum <"$carrier/lists") && payload=$(sum <"$carrier/payload.tar") || no disk || return
    printf '%s\n' "delta 1" "base $of" "lists $lists" "payload $payload" "digest $digest" >"$carrier/head" || no disk || return
    head=$(sum <"$carrier/head") && size=$(stat -c %s "$carrier/payload.tar") || no disk; return
  done
  return 1
}
# Fails where the files are too small for an archive that is worth a delta.
is_large() {
  ! (cd -- "$d" && find . -type f -printf '%s\n' 2>/dev/null | perl -ne "\$bytes += \$_; exit 1 if \$bytes >= $min_bytes") || no baseSmall
}
# Fails where one of the directories of `$1` whose names are read has extended attributes. Ignores names that do not exist.
have_no_attributes() {
  [ -z "$(tar -C "$1" --format=posix --xattrs --xattrs-include='*' --no-recursion --null --verbatim-files-from -T - -cf - 2>/dev/null |
    grep -a -m 1 -o 'SCHILY\.xattr')" ] || no attributes
}
# Writes the inventory of $d, which end.sh completes.
write_inventory() {
  [ "$min_bytes" = 0 ] || is_large || return
  have_no_attributes "$d" < <(cd -- "$d" && find . -type d -print0 2>/dev/null) || return
  take_inventory "$base/inventory.new" synced
}
# Fails where the container does not have the inventory of the base $of.
has_inventory() {
  [ -f "$base/inventory" ] || no container || return
  [ "$(sum <"$base/inventory")" = "$of_inventory" ] || no inventory
}
if [ "$kind" = fuse.fuse-overlayfs ]; then
  if have_tools && is_plain_path && is_mounted "$of_mounted" && write_delta compare_overlay "$upper"; then echo "delta $head $size $answer"; exit; fi
  rm -rf -- "$carrier"
  [ -n "$of" ] || why=none
  echo "full $why overlay"
elif have_tools && is_traceable && identify; then
  if [ -n "$of" ] && has_inventory && write_delta compare_inventory "$d"; then echo "delta $head $size $answer"; exit; fi
  delta=$why why=
  rm -rf -- "$carrier"
  write_inventory || rm -f -- "$base/inventory.new"
  # Files that are too small have not had a base either.
  [ -n "$of" ] || [ "$why" != baseSmall ] || delta=$why
  echo "full ${delta:-none} ${why:-none}"
else
  echo "full $why $why"
fi
