# Verifies that the carrier is as it was written, so that its archive is too. Then deletes it.
intact() {
  local name value
  [ "$(sum <"$carrier/head")" = "$head" ] || return
  while read -r name value; do
    case $name in
      lists) [ "$(sum <"$carrier/lists")" = "$value" ] || return ;;
      payload) [ "$(sum <"$carrier/payload.tar")" = "$value" ] || return ;;
    esac
  done <"$carrier/head"
}
if intact 2>/dev/null; then echo intact; else echo changed; fi
rm -rf -- "$carrier"
