rm -rf -- {/var,}/tmp/.sandbox-snapshotter.delta.* "$base/inventory.new" "$base/fence.new"
# Writes the carrier of a delta against the base $of.
write_delta() {
  [ -f "$base/inventory" ] || no container || return
  [ "$(sum <"$base/inventory")" = "$of_inventory" ] || no inventory || return
  local attempt
  for attempt in 1 2 3; do
    rm -rf -- "$carrier"; mkdir -p -- "$carrier" || no disk || return
    set_fence && scan "$work/now" || { [ "$why" = changing ] && continue; return 1; }
    tree delta "$work/now" "$base/inventory" "$of" "$identity" "$d" "$percent" "$carrier/lists" "$work/names" "$work/listing" || return
    tar -C "$d" --format=posix --pax-option=delete=atime,delete=ctime --numeric-owner --xattrs --xattrs-include='*' -S --no-recursion \
      --null --verbatim-files-from -T "$work/names" -cf "$carrier/payload.tar" 2>/dev/null || { no changing; continue; }
    [ -z "$(find "$d" ! -type s -cnewer "$fence" -print -quit 2>&1)" ] || { no changing; continue; }
    is_clock_steady || return
    digest_listing && lists=$(sum <"$carrier/lists") && payload=$(sum <"$carrier/payload.tar") || no disk || return
    printf '%s\n' "delta 1" "base $of" "lists $lists" "payload $payload" "digest $digest" >"$carrier/head" || no disk || return
    head=$(sum <"$carrier/head") && size=$(stat -c %s "$carrier/payload.tar") || no disk; return
  done
  return 1
}
# Writes the inventory of $d, which end.sh completes.
write_inventory() {
  [ -z "$(cd -- "$d" && find . -type d -print0 | tar --format=posix --xattrs --xattrs-include='*' --no-recursion --null --verbatim-files-from -T - -cf - 2>/dev/null |
    grep -a -m 1 -o 'SCHILY\.xattr')" ] || no attributes || return
  take_inventory "$base/inventory.new" synced
}
if have_tools && is_traceable && identify; then
  if [ -n "$of" ] && write_delta; then echo "delta $head $size $answer"; exit; fi
  delta=$why why=
  rm -rf -- "$carrier"
  write_inventory || rm -f -- "$base/inventory.new"
  echo "full ${delta:-none} ${why:-none}"
else
  echo "full $why $why"
fi
