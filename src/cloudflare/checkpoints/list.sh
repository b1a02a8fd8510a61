# Lists the checkpoints of a directory, one page at a time.

# Prints a page of the checkpoints, newest first: those after $after, at most $limit of them and at most 1 MiB, but at least
# one.
list() {
  local line id name size micros since=${after%% *} behind=${after#* } count=0 bytes=0 cut more= listed ordered
  local -A times=() expired=()
  local -a lines=() page=() large=()
  if [ -n "$repository" ]; then
    listed=$(must list_refs) || exit
    find_checkpoints
    [ ${#lines[@]} = 0 ] || find_times
  fi
  ordered=$(print_known | sort -k1,1nr -k2,2)
  while read -r micros name id size; do
    [[ -z $after || $micros -lt $since || ($micros -eq $since && $name > $behind) ]] || continue
    # Longer commits are truncated: no description of this tool needs more.
    cut=
    if [ "$size" -gt 65536 ]; then cut=1 size=65536; fi
    if ((++count > limit || ((bytes += size) > 1048576 && count > 1))); then
      more=1
      break
    fi
    if [ "$cut" ]; then large+=("$id $micros $name"); else page+=("$id $micros $name"); fi
  done < <([ -z "$ordered" ] || printf '%s\n' "$ordered")
  answer listed "$more"
  print_page
}

# Prints all refs below $checkpoints with the objects that they name. The line of a missing object has two fields only.
list_refs() {
  local slashes=${checkpoints//[!\/]/}
  set -o pipefail
  in_user for-each-ref --format="%(objectname) %(refname:lstrip=${#slashes})" "$checkpoints" |
    in_user cat-file --batch-check='%(objectname) %(objecttype) %(objectsize) %(rest)'
}

# Sets $lines to the commits in $listed whose names are valid names of checkpoints.
find_checkpoints() {
  local kind
  while read -r id kind size name; do
    if [[ $kind = commit && $name = [A-Za-z0-9_]* && $name != *[!A-Za-z0-9_.-]* && ${#name} -le 100 &&
      ${name,,} != *.lock ]]; then lines+=("$id $size $name"); fi
  done < <([ -z "$listed" ] || printf '%s\n' "$listed")
}

# Sets $times to the times of the commits, in microseconds, and $expired to those that have expired. Git records seconds, which are too coarse to order commits, so this
# tool writes the microseconds into the address of the committer. Malformed commits have no time.
find_times() {
  local output seconds address author exact now
  printf -v now '%(%s)T' -1
  output=$(printf '%s\n' "${lines[@]%% *}" | must in_user rev-list --no-walk=unsorted --ignore-missing --encoding=none \
    --format='%H %ct %ae %ce' --stdin) || exit
  while read -r id seconds author address; do
    [[ $id != commit && -n $seconds && $seconds != *[!0-9]* && ${#seconds} -le 11 ]] || continue
    if [[ $author =~ ^expires-([0-9]{1,11})@ ]] && [ "$((10#${BASH_REMATCH[1]}))" -le "$now" ]; then
      expired[$id]=1
      continue
    fi
    exact=${address%%@*} seconds=$((10#$seconds))
    if [[ -n $exact && $exact != *[!0-9]* && ${#exact} -le 17 ]] && [ "$((10#$exact / 1000000))" = "$seconds" ]; then
      times[$id]=$((10#$exact))
    else
      times[$id]=${seconds}000000
    fi
  done < <(printf '%s\n' "$output")
}

# Prints the checkpoints that have a time.
print_known() {
  for line in "${lines[@]}"; do
    id=${line%% *} name=${line##* } size=${line#* }
    [ -z "${times[$id]-}" ] || printf '%s %s %s %s\n' "${times[$id]}" "$name" "$id" "${size%% *}"
  done
}

# Prints the commits of the page, in any order.
print_page() {
  if [ ${#page[@]} -gt 0 ]; then
    printf '%s\n' "${page[@]}" | in_user cat-file --batch='%(objectname) %(objecttype) %(objectsize) %(rest)' >&3
  fi
  for line in "${large[@]}"; do
    printf '%s commit 65536 %s\n' "${line%% *}" "${line#* }"
    in_user cat-file commit "${line%% *}" | head -c 65536
    echo
  done >&3
}

# Removes the checkpoints that have expired.
remove_expired() {
  local line id name size listed
  local -A times=() expired=()
  local -a lines=()
  listed=$(must list_refs) || exit
  find_checkpoints
  [ ${#lines[@]} = 0 ] || find_times
  for line in "${lines[@]}"; do
    id=${line%% *} name=${line##* }
    [ -z "${expired[$id]-}" ] || must in_user update-ref --no-deref -d "$checkpoints$name" "$id"
  done
}
