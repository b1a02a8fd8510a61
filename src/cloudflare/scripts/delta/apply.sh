# Applies the carrier to $d, which has the files of the base.
apply() {
  local name value lists= payload= expected= version= of=
  has_no_mount || return
  [ "$(sum <"$carrier/head")" = "$head" ] || no carrier || return
  while read -r name value; do
    case $name in delta) version=$value ;; base) of=$value ;; lists) lists=$value ;; payload) payload=$value ;; digest) expected=$value ;; esac
  done <"$carrier/head"
  [ "$kind" != fuse.fuse-overlayfs ] || is_mounted "$mounted" || no carrier || return
  [ "$version" = 1 ] && [ "$of" = "$snapshot" ] && [ -n "$expected" ] || no carrier || return
  [ "$(sum <"$carrier/lists")" = "$lists" ] && [ "$(sum <"$carrier/payload.tar")" = "$payload" ] || no carrier || return
  (cd -- "$d" && tree apply "$carrier/lists") || no failed || return
  tar -C "$d" --numeric-owner --same-owner --xattrs --xattrs-include='*' --delay-directory-restore -xpf "$carrier/payload.tar" 2>/dev/null || no failed || return
  is_as_captured || no digest
}
# Verifies the files: on a disk by the digest of all of them. A walk through an overlay takes seconds, and the mounted base can't
# have changed. So there, and without a digest, compares what the delta has.
is_as_captured() {
  if [ "$kind" != fuse.fuse-overlayfs ] && [ "$expected" != none ]; then
    scan "$work/now" && tree listing "$work/now" "$work/listing" && digest_listing && [ "$digest" = "$expected" ]
  else
    (cd -- "$d" && tree check "$carrier/lists") && tar -C "$d" --numeric-owner --compare -f "$carrier/payload.tar" >/dev/null 2>&1
  fi
}
# Deletes the carrier, and its mount if there is one.
drop_carrier() (
  d=$carrier raw=$carrier; detect_mount
  release() { fusermount3 -uz "$1" || fusermount -uz "$1" || umount -l "$1"; }
  if [ "$kind" = fuse.fuse-overlayfs ] && release "$carrier" && [ -n "$lower" ] && release "$lower"; then
    case $lower in */backups/*/lower) rm -rf -- "${lower%/lower}" ;; esac
  fi 2>/dev/null
  rm -rf -- "$carrier"
)
# Writes the inventory of the base, before its files change. A process may have changed them since the restore.
trace() {
  is_traceable && identify && take_inventory "$base/inventory" && [ "$digest" = "$traced" ] && inventory=$(sum <"$base/inventory")
}
if [ "$now" != "$marker_text" ]; then echo other; exit; fi
inventory=; have_tools || { echo "failed $why"; exit; }
rm -f -- "$base/inventory" "$base/inventory.new"
if [ -n "$traced" ]; then trace || { inventory=; rm -f -- "$base/inventory"; }; fi
traced_facts=$answer
if [ -z "$carrier" ] || apply; then echo "done ${inventory:-none} $traced_facts"; else echo "failed $why"; fi
[ -z "$carrier" ] || drop_carrier
