# What is done about checkpoints inside of a sandbox. Bash runs it, with these set:
#
#   op       create, list, restore or diff
#   dir      the directory
#   name     of the checkpoint
#   message  of its commit
#   limit    how much is told at most, in bytes: of a diff, or of the paths that a restore has changed
#   oldest   how old the container has to be, in 1/100 s; empty where it has to carry a stamp instead
#
# It answers one line of base64: fields that end in a null byte. The first of them says what came of it.
#
# The user's repository gives its objects and takes refs; everything else of it is left alone. Git works in a repository of
# ours inside of it, which knows none of the user's hooks, filters and settings.

export LC_ALL=C
unset CDPATH "${!GIT_@}"
namespace=refs/sandbox/snapshots/
before=

say() { printf '%s\0' "$@" >&3; }

refuse() {
  say "$@"
  exit 1
}

# Runs what must succeed. What it complains of is in $err.
must() { "$@" 2>"$err" || failed; }

failed() { refuse failed "$before" "$(head -c 2000 "$err")"; }

# Nothing is done in a container that was started for this, or that woke without its files.
check_container() {
  local up stat now=
  if [ -z "$oldest" ]; then
    [ -e "$stamp" ] && IFS= read -r now <"$stamp"
    [[ $now == 'ready '* ]] || refuse woken
    return
  fi
  [ ! -e "$took_place" ] || refuse replaced
  read -r up _ </proc/uptime
  read -r stat </proc/1/stat
  # shellcheck disable=SC2086
  set -- ${stat##*) }
  up=$((10#${up/./} - ${20}))
  [ "$up" -ge "$oldest" ] || refuse young "$up"
}

enter_directory() {
  [ -e "$dir" ] || refuse directory missing
  [ -d "$dir" ] || refuse directory other
  cd -P -- "$dir" 2>/dev/null || refuse directory other
  root=$PWD
  type -P git >/dev/null || refuse git
}

# Finds the user's repository; $repository is empty where there is none. From here on git has no settings of the user.
find_repository() {
  local above=$root
  repository=
  excludes=$(GIT_DIR=.git git config --path core.excludesFile 2>/dev/null) ||
    excludes=${XDG_CONFIG_HOME:-$HOME/.config}/git/ignore
  [ "${excludes:0:1}" = / ] || excludes=$root/$excludes
  [ -f "$excludes" ] && [ -r "$excludes" ] || excludes=/dev/null
  export GIT_CONFIG_NOSYSTEM=1 GIT_NO_REPLACE_OBJECTS=1 GIT_WORK_TREE=$root HOME=/nonexistent XDG_CONFIG_HOME=/nonexistent
  if [ ! -e .git ] && [ ! -L .git ]; then
    while [ -n "$above" ]; do
      above=${above%/*}
      if [ -e "$above/.git" ] && GIT_DIR=$above/.git git rev-parse 2>/dev/null; then refuse inside "${above:-/}"; fi
    done
  elif [ ! -d .git ] || [ -e .git/HEAD ]; then
    open_repository
  fi
}

open_repository() {
  local found
  repository=$root/.git
  found=$(in_users rev-parse --absolute-git-dir && echo .) || refuse failed '' "$(in_users rev-parse 2>&1)"
  repository=${found%$'\n'.}
  objects=$(in_users rev-parse --git-path objects && echo .)
  objects=${objects%$'\n'.}
  [ "${objects:0:1}" = / ] || objects=$root/$objects
}

# Runs git in the user's repository.
in_users() {
  GIT_DIR=$repository git -c core.hooksPath=/dev/null -c core.logAllRefUpdates=false -c core.fsmonitor=false \
    -c core.excludesFile="$excludes" "$@"
}

# Prints the commit of a ref, or nothing.
resolve() { in_users rev-parse --verify --quiet "$1^{commit}" 2>/dev/null; }

# Names a commit. What is said of it goes to standard input.
commit() {
  local now=${EPOCHREALTIME:-$(date +%s).000000} commit
  export GIT_AUTHOR_NAME=sandbox-snapshotter GIT_AUTHOR_EMAIL=${now/./}@sandbox-snapshotter GIT_AUTHOR_DATE="${now%.*} +0000"
  export GIT_COMMITTER_NAME=$GIT_AUTHOR_NAME GIT_COMMITTER_EMAIL=$GIT_AUTHOR_EMAIL GIT_COMMITTER_DATE=$GIT_AUTHOR_DATE
  commit=$(must git commit-tree "$2") || exit
  must in_users update-ref "$1" "$commit"
  echo "$commit"
}

# One at a time.
take_turn() {
  local tries=0
  exec 9>"$run.checkpoints.lock" || refuse failed '' "$run.checkpoints.lock can't be written"
  until flock -n 9; do
    [ $((tries += 1)) -le 600 ] || refuse busy
    sleep 0.1
  done
}

# Makes the repository that git works in. What those left who were cut off is removed.
make_own() {
  local own
  work=$repository/sandbox-snapshotter
  { rm -rf "$work" && mkdir "$work"; } 2>/dev/null || refuse failed '' "$work can't be made"
  trap 'rm -rf "$work"' EXIT
  rm -f "$(in_users rev-parse --git-path refs/sandbox)"/{,snapshots/}*.lock
  err=$work/err own=$work/git
  mkdir -p "$own/objects/info" "$own/refs" "$own/info"
  echo 'ref: refs/heads/none' >"$own/HEAD"
  # Bytes are kept as they are: no filter runs, and no line ends are changed.
  echo '* -text -filter -ident -working-tree-encoding -eol -crlf' >"$own/info/attributes"
  set_own() { must git config --file "$own/config" "$@"; }
  set_own core.repositoryFormatVersion 0
  if [ "$(in_users rev-parse --show-object-format 2>/dev/null)" = sha256 ]; then
    set_own core.repositoryFormatVersion 1
    set_own extensions.objectFormat sha256
  fi
  set_own core.bare false
  set_own core.hooksPath /dev/null
  set_own core.excludesFile "$excludes"
  set_own core.protectNTFS false
  export GIT_DIR=$own GIT_OBJECT_DIRECTORY=$objects GIT_INDEX_FILE=$work/index
}

# Notes the files of one work tree in $work/files, by its path with a slash at the end. Those that are ignored are left out,
# unless they are tracked, which $work/tracked notes. Repositories that are nested in it are noted in $trees: git itself
# would keep nothing of their files.
list_tree() {
  local at=$1 entry path own
  cd "$root/$at" 2>"$err" || failed
  export GIT_WORK_TREE=.
  : >"$GIT_DIR/info/exclude"
  if own=$(GIT_DIR=.git git rev-parse --absolute-git-dir 2>/dev/null && echo .); then
    own=${own%$'\n'.}
    cat "$(repository=$own in_users rev-parse --git-path info/exclude)" >"$GIT_DIR/info/exclude" 2>/dev/null
    (
      unset GIT_INDEX_FILE GIT_OBJECT_DIRECTORY
      repository=$own in_users ls-files -z -c -i -s --exclude-standard
    ) >"$work/listed" 2>/dev/null
    while IFS= read -r -d '' entry; do
      path=${entry#*$'\t'}
      [[ $entry == 160000* ]] || printf '%s 0\t%s\0' "${entry:0:$((${#entry} - ${#path} - 3))}" "$at$path"
    done <"$work/listed" >>"$work/tracked"
  fi
  must git ls-files -z --others --exclude-standard >"$work/listed"
  # Git passes over directories that it can't read, and warns.
  ! grep -q 'could not open directory' "$err" || failed
  while IFS= read -r -d '' path; do
    case $path in
      */) trees+=("$at$path") ;;
      *) printf '%s\0' "$at$path" ;;
    esac
  done <"$work/listed" >>"$work/files"
  cd "$root" && GIT_WORK_TREE=$root
}

# Puts the files that are there into the index, and their tree into $present. Those that the commit $1 has are among them,
# ignored or not.
stage() {
  local i path
  trees=('')
  : >"$work/files" >"$work/tracked"
  for ((i = 0; i < ${#trees[@]}; i++)); do list_tree "${trees[i]}"; done
  : >"$GIT_DIR/info/exclude"

  GIT_INDEX_FILE=$work/known
  [ -z "$1" ] || must git read-tree "$1"
  must git update-index -z --index-info <"$work/tracked"
  must git diff-files -z --name-only --diff-filter=d >"$work/listed"
  while IFS= read -r -d '' path; do
    [ -d "$path" ] && [ ! -L "$path" ] || printf '%s\0' "$path"
  done <"$work/listed" >>"$work/files"

  GIT_INDEX_FILE=$work/index
  git update-index --add --remove -z --stdin <"$work/files" 2>"$err" || not_staged
  present=$(must git write-tree) || exit
}

not_staged() {
  local path unreadable=()
  while IFS= read -r -d '' path; do
    if [ ! -L "$path" ] && [ -e "$path" ] && [ ! -r "$path" ]; then unreadable+=("$path"); fi
    [ ${#unreadable[@]} -lt 5 ] || break
  done <"$work/files"
  [ ${#unreadable[@]} -gt 0 ] && refuse unreadable "${unreadable[@]}"
  failed
}

create() {
  local replaced made
  if [ -z "$repository" ]; then
    # Before 2.28, init can't be told the name of the branch.
    (unset GIT_WORK_TREE && git init -q && GIT_DIR=.git git symbolic-ref HEAD refs/heads/main)
    open_repository
  fi
  make_own
  stage ''
  replaced=$(resolve "$namespace$name")
  made=$(printf '%s\n' "$message" | commit "$namespace$name" "$present") || exit
  say created "$replaced"
  echo "$made $namespace$name" | tell_commits
}

list() {
  say listed
  if [ -n "$repository" ]; then
    in_users for-each-ref --format='%(objectname) %(refname)' "$namespace" | tell_commits
  fi
}

# Tells commits with what is known of them, by lines of their ids and the refs that name them.
tell_commits() { in_users cat-file --batch='%(objectname) %(objecttype) %(objectsize) %(rest)' >&3; }

# Finds the checkpoint.
open_checkpoint() {
  [ -n "$repository" ] && target=$(resolve "$namespace$name") || refuse unknown
  make_own
}

compare() {
  open_checkpoint
  # Nothing is written to the user's objects.
  echo ../../user-objects >"$GIT_DIR/objects/info/alternates"
  ln -s "$objects" "$work/user-objects"
  GIT_OBJECT_DIRECTORY=$GIT_DIR/objects
  stage "$target"
  must git diff --no-ext-diff --no-textconv --no-color --src-prefix=a/ --dst-prefix=b/ "$target^{tree}" "$present" \
    >"$work/diff"
  say compared "$target" "$(wc -c <"$work/diff")"
  head -c "$limit" "$work/diff" >&3
}

restore() {
  open_checkpoint
  must git ls-tree -r "$target" >"$work/listed"
  ! grep -q '^160000' "$work/listed" || refuse gitlinks
  stage "$target"
  choose_wanted
  must git diff-tree -r -z --no-renames --name-only "$present" "$wanted" >"$work/changed"
  if [ -s "$work/changed" ]; then
    check_way
    before=$(echo "before the restore of $name" | commit refs/sandbox/before-restore "$present") || exit
    must git read-tree --reset -u "$wanted"
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
  must git diff-tree -r -z --no-renames --name-only --diff-filter=D "$present" "$wanted" >"$work/extra"
  [ -s "$work/extra" ] || return
  find_ignored
  [ ${#stays[@]} -gt 0 ] || return

  cp "$work/index" "$work/known"
  while IFS= read -r -d '' path; do
    [ "${stays["/$path"]-}" ] || printf '0 %0*d\t%s\0' ${#wanted} 0 "$path"
  done <"$work/extra" >"$work/listed"
  must git ls-tree -r -z "$wanted" >>"$work/listed"
  must git update-index -z --index-info <"$work/listed"
  wanted=$(must git write-tree) || exit
}

# Notes in $stays which of the files in $work/extra the checkpoint would have ignored. Its .gitignore files are laid out for
# that, and nothing else. A nested repository goes by its own, unless it is ignored as a whole.
find_ignored() {
  local i path tree
  GIT_INDEX_FILE=$work/known
  must git read-tree "$wanted"
  must git ls-files -z ':(glob)**/.gitignore' >"$work/listed"
  mkdir "$work/ignores"
  GIT_WORK_TREE=$work/ignores must git checkout-index -z --stdin <"$work/listed"
  for tree in "${trees[@]:1}"; do
    mkdir -p "$work/ignores/$tree"
    sort_in "${tree%/}"
  done
  while IFS= read -r -d '' path; do sort_in "$path"; done <"$work/extra"

  for i in "${!trees[@]}"; do
    tree=${trees[i]}
    [ -e "$work/extra.$i" ] && cd "$work/ignores/$tree" || continue
    if [ "${stays["/${tree%/}"]-}" ]; then
      mv "$work/extra.$i" "$work/listed"
    else
      GIT_WORK_TREE=. git check-ignore --no-index -z --stdin <"$work/extra.$i" >"$work/listed" 2>"$err" || [ $? = 1 ] || failed
    fi
    while IFS= read -r -d '' path; do stays["/$tree$path"]=1; done <"$work/listed"
  done
  cd "$root"
}

# Notes a path in the list of the innermost work tree that it is in.
sort_in() {
  local i innermost=0
  for i in "${!trees[@]}"; do
    [[ $1 == "${trees[i]}"* ]] && [ ${#trees[i]} -gt ${#trees[innermost]} ] && innermost=$i
  done
  printf '%s\0' "${1#"${trees[innermost]}"}" >>"$work/extra.$innermost"
}

# Makes sure that nothing is lost which is kept nowhere: what is ignored, or a nested repository, where the checkpoint has a
# file; and what is ignored where the checkpoint has a directory.
check_way() {
  local path above found blocking=()
  local -A goes=()
  GIT_INDEX_FILE=$work/index
  must git diff-tree -r -z --no-renames --name-only --diff-filter=D "$present" "$wanted" >"$work/listed"
  while IFS= read -r -d '' path; do goes["/$path"]=1; done <"$work/listed"
  must git diff-tree -r -z --no-renames --name-only --diff-filter=A "$present" "$wanted" >"$work/listed"
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
    while IFS= read -r -d '' part; do
      part=${part#./}
      if [ -z "${goes["/$part"]-}" ]; then
        blocking+=("$part")
        return
      fi
    done < <(find "./$path" \( -name .git -prune -o ! -type d \) -print0)
  fi
}

main() {
  check_container
  enter_directory
  [ "$op" = list ] || take_turn
  find_repository
  "$op"
}

main 3>&1 >/dev/null 2>&1 </dev/null | base64 | tr -d '\n'
