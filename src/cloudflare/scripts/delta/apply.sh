# Applies the carrier to $d, which has the files of the base.
apply() {
  local name value lists= payload= expected= version= of=
  [ "$(sum <"$carrier/head")" = "$head" ] || no carrier || return
  while read -r name value; do
    case $name in delta) version=$value ;; base) of=$value ;; lists) lists=$value ;; payload) payload=$value ;; digest) expected=$value ;; esac
  done <"$carrier/head"
  [ "$version" = 1 ] && [ "$of" = "$snapshot" ] && [ -n "$expected" ] || no carrier || return
  [ "$(sum <"$carrier/lists")" = "$lists" ] && [ "$(sum <"$carrier/payload.tar")" = "$payload" ] || no carrier || return
  (cd -- "$d" && tree apply "$carrier/lists") || no failed || return
  tar -C "$d" --numeric-owner --same-owner --xattrs --xattrs-include='*' --delay-directory-restore -xpf "$carrier/payload.tar" 2>/dev/null || no failed || return
  scan "$work/now" && tree listing "$work/now" "$work/listing" && digest_listing || return
  [ "$digest" = "$expected" ] || no digest
}
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
[ -z "$carrier" ] || rm -rf -- "$carrier"
