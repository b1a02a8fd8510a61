# Restores the files of a directory to a checkpoint.

restore() {
  local present wanted commit_id text micros pruned=0
  open_checkpoint
  stage "$target"
  [ -z "$references" ] || refuse gitlinks
  if [ ${#differ[@]} -gt 0 ]; then
    present=$(must in_work write-tree) || exit
    build_wanted_tree
    check_overwrites
    if [ ${#differ[@]} -gt 0 ]; then
      commit "$before_restore" "$present" "before the restore of $name"
      before=$commit_id
      must in_work read-tree --reset -u "$wanted"
      # Where git can't remove a file, it only warns.
      [[ $err != *'warning: unable to unlink '* ]] || failed
    fi
  fi
  [ -z "$prune" ] || prune_directories
  answer restored "$target" "$before" "${#differ[@]}" "$pruned"
  [ ${#differ[@]} = 0 ] || printf '%s\0' "${differ[@]}" | head -c "$limit" >&3
}

# Removes the empty directories, and those that become empty, and counts them in $pruned. The directories of git stay.
prune_directories() {
  local path
  # It skips a directory that it can't read.
  run find . -mindepth 1 -name .git -prune -o -type d -empty -print0 >"$work/empty"
  while IFS= read -r -d '' path; do
    while [ "$path" != . ] && rmdir "$path"; do
      pruned=$((pruned + 1)) path=${path%/*}
    done
  done <"$work/empty"
}

# Sets $wanted to the tree of the checkpoint plus the files that stay: those that the checkpoint would have ignored. So if
# .gitignore was deleted after the checkpoint, a restore does not delete the files that it ignored.
build_wanted_tree() {
  local path
  local -A stays=()
  wanted=$target
  [ ${#only_here[@]} -gt 0 ] && has_other_rules || return
  find_ignored
  [ ${#stays[@]} -gt 0 ] || return

  must cp "$index" "$work/wanted"
  for path in "${only_here[@]}"; do
    [ "${stays["/$path"]-}" ] || printf '0 %0*d\t%s\0' ${#target} 0 "$path" || write_failed
  done >"$work/listed"
  index=$work/wanted must in_work update-index -z --index-info <"$work/listed"
  into listed in_work ls-tree -r -z "$target"
  index=$work/wanted must in_work update-index -z --index-info <"$work/listed"
  wanted=$(index=$work/wanted must in_work write-tree) || exit
  find_differences "$wanted"
}

# Returns whether the checkpoint would have ignored other files than the present rules do, or whether files are tracked
# although they are ignored.
has_other_rules() {
  local path
  local -A recorded=()
  [ -z "$has_ignored" ] || return 0
  for path in "${differ[@]}"; do
    [[ /$path/ != */.gitignore/* ]] || return 0
  done
  # A .gitignore that is itself ignored is in no checkpoint.
  into listed in_work ls-files -z ':(glob)**/.gitignore'
  while IFS= read -r -d '' path; do recorded["/$path"]=1; done <"$work/listed"
  for path in "${only_here[@]}"; do
    path=/$path
    while [ "$path" ]; do
      path=${path%/*}
      [ "${recorded["$path/.gitignore"]-}" ] || [ ! -f ".$path/.gitignore" ] || return 0
    done
  done
  return 1
}

# Sets $stays to the files in $only_here that the checkpoint would have ignored. Checks out only its .gitignore files for that.
# A nested repository has its own rules, unless it is ignored as a whole.
find_ignored() {
  local i path nested index=$work/rules
  tree=$work/ignores run in_work checkout -q "$target" -- ':(glob)**/.gitignore' ||
    [[ $err == *'did not match any file'* ]] || failed
  # Git reads no rules from a symbolic link, and rejects paths below one.
  must find "$work/ignores" -type l -exec rm -f {} +
  for nested in "${trees[@]:1}"; do
    mkdir -p "$work/ignores/$nested"
    assign_to_tree "${nested%/}"
  done
  for path in "${only_here[@]}"; do assign_to_tree "$path"; done

  for i in "${!trees[@]}"; do
    nested=${trees[i]}
    [ -e "$work/extra.$i" ] && cd "$work/ignores/$nested" || continue
    if [ "${stays["/${nested%/}"]-}" ]; then
      while IFS= read -r -d '' path; do stays["/$nested${path#./}"]=1; done <"$work/extra.$i"
    else
      match_rules
    fi
  done
  cd "$root"
}

# Adds to $stays the files of one work tree that its rules ignore. Before 2.26, git also prints those that a rule excepts.
match_rules() {
  local pattern path
  tree=. run in_work check-ignore --no-index -v -z --stdin <"$work/extra.$i" >"$work/listed" || [ $? = 1 ] || failed
  # Four fields for each file: the file of the rule, its line, the rule and the path.
  while read -r -d '' && read -r -d '' && IFS= read -r -d '' pattern && IFS= read -r -d '' path; do
    [[ $pattern == '!'* ]] || stays["/$nested${path#./}"]=1
  done <"$work/listed"
}

# Adds a path to the list of the innermost work tree that contains it.
assign_to_tree() {
  local i innermost=0
  for i in "${!trees[@]}"; do
    [[ $1 == "${trees[i]}"* ]] && [ ${#trees[i]} -gt ${#trees[innermost]} ] && innermost=$i
  done
  # To git, a path that begins with a colon is a pathspec.
  printf './%s\0' "${1#"${trees[innermost]}"}" >>"$work/extra.$innermost" || write_failed
}

# Refuses a restore that would overwrite files that no checkpoint contains: ignored files or a nested repository where the
# checkpoint has a file, and an ignored file where the checkpoint has a directory.
check_overwrites() {
  local path blocking=()
  local -A removed=()
  for path in "${only_here[@]}"; do removed["/$path"]=1; done
  for path in "${only_there[@]}"; do
    find_blocking
    [ ${#blocking[@]} -lt 5 ] || break
  done
  [ ${#blocking[@]} = 0 ] || refuse blocked "${blocking[@]}"
}

find_blocking() {
  local part rest=$path above=
  while [[ $rest == */* ]]; do
    above=$above${rest%%/*} rest=${rest#*/}
    if [ -L "$above" ] || { [ -e "$above" ] && [ ! -d "$above" ]; }; then
      [ "${removed["/$above"]-}" ] || blocking+=("$above")
      return
    fi
    [ -e "$above" ] || return
    above=$above/
  done
  if [ -d "$path" ] && [ ! -L "$path" ]; then
    into below find "./$path" \( -name .git -prune -o ! -type d \) -print0
    while IFS= read -r -d '' part; do
      part=${part#./}
      if [ -z "${removed["/$part"]-}" ]; then
        blocking+=("$part")
        return
      fi
    done <"$work/below"
  fi
}

