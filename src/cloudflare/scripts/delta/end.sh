# Completes the inventory of the base $snapshot, whose archive is stored.
seal() {
  [ -f "$base/inventory.new" ] || no inventory || return
  { find "${d%/*}/" -maxdepth 0 -printf '%D %i %C@ ..\0' && cd -- "$d" && timeout 60 find . -type d -printf '%D %i %C@ %P\0'; } >"$work/directories" 2>/dev/null || no changing || return
  tree seal "$base/inventory.new" "$work/sealed" "$snapshot" "$work/directories" || return
  mv -f -- "$work/sealed" "$base/inventory" && rm -f -- "$base/inventory.new" && inventory=$(sum <"$base/inventory")
}
if seal; then echo "sealed $inventory $answer"; else echo "full $why"; fi
