# How the files of a directory become again what they were at a checkpoint.

restore() {
  open_checkpoint
  into listed git ls-tree -r "$target"
  ! grep -q '^160000' "$work/listed" || refuse gitlinks
  stage "$target"
  choose_wanted
  into changed git diff-tree -r -z --no-renames --name-only "$present" "$wanted"
  if [ -s "$work/changed" ]; then
    check_way
    before=$(echo "before the restore of $name" | commit "$before_restore" "$present") || exit
    must git read-tree --reset -u "$wanted"
    # Where git can't remove a file, it only warns.
    [[ $err != *'warning: unable to unlink '* ]] || failed
  fi
  say restored "$target" "$before" "$(tr -dc '\0' <"$work/changed" | wc -c)"
  head -c "$limit" "$work/changed" >&3
}

# Puts the tree of the checkpoint into $wanted, with what is to stay beside it: files that it would have ignored. So whoever
# loses .gitignore does not lose everything that it stood for.
choose_wanted() {
  local path
  local -A stays=()
  wanted=$(must git rev-parse "$target^{tree}") || exit
  into extra git diff-tree -r -z --no-renames --name-only --diff-filter=D "$present" "$wanted"
  [ -s "$work/extra" ] || return
  find_ignored
  [ ${#stays[@]} -gt 0 ] || return

  must cp "$work/index" "$work/known"
  while IFS= read -r -d '' path; do
    [ "${stays["/$path"]-}" ] || printf '0 %0*d\t%s\0' ${#wanted} 0 "$path" || unwritten
  done <"$work/extra" >"$work/listed"
  must git update-index -z --index-info <"$work/listed"
  into listed git ls-tree -r -z "$wanted"
  must git update-index -z --index-info <"$work/listed"
  wanted=$(must git write-tree) || exit
}

# Notes in $stays which of the files in $work/extra the checkpoint would have ignored. Its .gitignore files are laid out for
# that, and nothing else. A nested repository goes by its own, unless it is ignored as a whole.
find_ignored() {
  local i path tree
  GIT_INDEX_FILE=$work/known
  must git read-tree "$wanted"
  into listed git ls-files -z ':(glob)**/.gitignore'
  must mkdir "$work/ignores"
  GIT_WORK_TREE=$work/ignores must git checkout-index -z --stdin <"$work/listed"
  # Git takes no rules from a link, and refuses paths that are behind one.
  must find "$work/ignores" -type l -exec rm -f {} +
  for tree in "${trees[@]:1}"; do
    mkdir -p "$work/ignores/$tree"
    sort_in "${tree%/}"
  done
  while IFS= read -r -d '' path; do sort_in "$path"; done <"$work/extra"

  for i in "${!trees[@]}"; do
    tree=${trees[i]}
    [ -e "$work/extra.$i" ] && cd "$work/ignores/$tree" || continue
    if [ "${stays["/${tree%/}"]-}" ]; then
      while IFS= read -r -d '' path; do stays["/$tree${path#./}"]=1; done <"$work/extra.$i"
    else
      match_rules
    fi
  done
  cd "$root"
}

# Notes which files of one work tree its rules ignore. Before 2.26, git names also those that a rule excepts.
match_rules() {
  local pattern path
  GIT_WORK_TREE=. run git check-ignore --no-index -v -z --stdin <"$work/extra.$i" >"$work/listed" || [ $? = 1 ] || failed
  # Each is told by the file of the rule, its line, the rule and the path.
  while read -r -d '' && read -r -d '' && IFS= read -r -d '' pattern && IFS= read -r -d '' path; do
    [[ $pattern == '!'* ]] || stays["/$tree${path#./}"]=1
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
  local path above found blocking=()
  local -A goes=()
  GIT_INDEX_FILE=$work/index
  into listed git diff-tree -r -z --no-renames --name-only --diff-filter=D "$present" "$wanted"
  while IFS= read -r -d '' path; do goes["/$path"]=1; done <"$work/listed"
  into listed git diff-tree -r -z --no-renames --name-only --diff-filter=A "$present" "$wanted"
  while IFS= read -r -d '' path; do
    find_blocking
    [ ${#blocking[@]} -lt 5 ] || break
  done <"$work/listed"
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

