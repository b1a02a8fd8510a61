# How the files of a directory become again what they were at a checkpoint.

restore() {
  local present wanted made text micros
  open_checkpoint
  stage "$target"
  [ -z "$references" ] || refuse gitlinks
  if [ ${#differ[@]} -gt 0 ]; then
    present=$(must in_ours write-tree) || exit
    choose_wanted
    check_way
    if [ ${#differ[@]} -gt 0 ]; then
      commit "$before_restore" "$present" "before the restore of $name"
      before=$made
      must in_ours read-tree --reset -u "$wanted"
      # Where git can't remove a file, it only warns.
      [[ $err != *'warning: unable to unlink '* ]] || failed
    fi
  fi
  say restored "$target" "$before" "${#differ[@]}"
  [ ${#differ[@]} = 0 ] || printf '%s\0' "${differ[@]}" | head -c "$limit" >&3
}

# Names in $wanted the tree of the checkpoint, with what is to stay beside it: files that it would have ignored. So whoever
# loses .gitignore does not lose everything that it stood for.
choose_wanted() {
  local path
  local -A stays=()
  wanted=$target
  [ ${#only_here[@]} -gt 0 ] && has_other_rules || return
  find_ignored
  [ ${#stays[@]} -gt 0 ] || return

  must cp "$index" "$work/wanted"
  for path in "${only_here[@]}"; do
    [ "${stays["/$path"]-}" ] || printf '0 %0*d\t%s\0' ${#target} 0 "$path" || unwritten
  done >"$work/listed"
  index=$work/wanted must in_ours update-index -z --index-info <"$work/listed"
  into listed in_ours ls-tree -r -z "$target"
  index=$work/wanted must in_ours update-index -z --index-info <"$work/listed"
  wanted=$(index=$work/wanted must in_ours write-tree) || exit
  note_differences "$wanted"
}

# Whether the checkpoint would have ignored other files than are ignored now, or some are here although they are.
has_other_rules() {
  local path
  local -A kept=()
  [ -z "$has_ignored" ] || return 0
  for path in "${differ[@]}"; do
    [[ /$path/ != */.gitignore/* ]] || return 0
  done
  # Rules that are ignored themselves are in no checkpoint.
  into listed in_ours ls-files -z ':(glob)**/.gitignore'
  while IFS= read -r -d '' path; do kept["/$path"]=1; done <"$work/listed"
  for path in "${only_here[@]}"; do
    path=/$path
    while [ "$path" ]; do
      path=${path%/*}
      [ "${kept["$path/.gitignore"]-}" ] || [ ! -f ".$path/.gitignore" ] || return 0
    done
  done
  return 1
}

# Notes in $stays which of the files that are only here the checkpoint would have ignored. Its .gitignore files are laid out
# for that, and nothing else. A nested repository goes by its own, unless it is ignored as a whole.
find_ignored() {
  local i path nested index=$work/rules
  tree=$work/ignores run in_ours checkout -q "$target" -- ':(glob)**/.gitignore' ||
    [[ $err == *'did not match any file'* ]] || failed
  # Git takes no rules from a link, and refuses paths that are behind one.
  must find "$work/ignores" -type l -exec rm -f {} +
  for nested in "${trees[@]:1}"; do
    mkdir -p "$work/ignores/$nested"
    sort_in "${nested%/}"
  done
  for path in "${only_here[@]}"; do sort_in "$path"; done

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

# Notes which files of one work tree its rules ignore. Before 2.26, git names also those that a rule excepts.
match_rules() {
  local pattern path
  tree=. run in_ours check-ignore --no-index -v -z --stdin <"$work/extra.$i" >"$work/listed" || [ $? = 1 ] || failed
  # Each is told by the file of the rule, its line, the rule and the path.
  while read -r -d '' && read -r -d '' && IFS= read -r -d '' pattern && IFS= read -r -d '' path; do
    [[ $pattern == '!'* ]] || stays["/$nested${path#./}"]=1
  done <"$work/listed"
}

# Notes a path in the list of the innermost work tree that it is in.
sort_in() {
  local i innermost=0
  for i in "${!trees[@]}"; do
    [[ $1 == "${trees[i]}"* ]] && [ ${#trees[i]} -gt ${#trees[innermost]} ] && innermost=$i
  done
  # Git would take more than a path from one that begins with a colon.
  printf './%s\0' "${1#"${trees[innermost]}"}" >>"$work/extra.$innermost" || unwritten
}

# Makes sure that nothing is lost which is kept nowhere: what is ignored, or a nested repository, where the checkpoint has a
# file; and what is ignored where the checkpoint has a directory.
check_way() {
  local path blocking=()
  local -A goes=()
  for path in "${only_here[@]}"; do goes["/$path"]=1; done
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
      [ "${goes["/$above"]-}" ] || blocking+=("$above")
      return
    fi
    [ -e "$above" ] || return
    above=$above/
  done
  if [ -d "$path" ] && [ ! -L "$path" ]; then
    into below find "./$path" \( -name .git -prune -o ! -type d \) -print0
    while IFS= read -r -d '' part; do
      part=${part#./}
      if [ -z "${goes["/$part"]-}" ]; then
        blocking+=("$part")
        return
      fi
    done <"$work/below"
  fi
}

