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

set +efuvxC +o posix
shopt -u failglob nocasematch localvar_inherit 2>/dev/null
export LC_ALL=C
unset CDPATH POSIXLY_CORRECT "${!GIT_@}"
checkpoints=refs/sandbox/snapshots/ before_restore=refs/sandbox/before-restore
before= err= SECONDS=0

say() { printf '%s\0' "$@" >&3; }

refuse() {
  say "$@"
  exit 1
}

# It ends before the time limit of the whole, so that the end can be told: git waits without end for whoever writes to a pipe
# that is called .gitignore.
git() { timeout $((SECONDS < 110 ? 110 - SECONDS : 1)) git "$@"; }

# Runs a command. What it complains of is in $err, which needs no room on the disk.
run() { { err=$("$@" 2>&1 >&4); } 4>&1; }

# Runs what must succeed.
must() { run "$@" || failed; }

# Runs what must succeed, and writes what it prints to a file in $work.
into() { must "${@:2}" >"$work/$1" || unwritten; }

failed() {
  local status=$?
  case $status in 124 | 143) err="it was still at work after $SECONDS s, and was ended" ;; esac
  err=${err:0:2000}
  refuse failed "$before" "${err:-it ended with the status $status}"
}

unwritten() { refuse failed "$before" "$work can't be written; the disk may be full"; }

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
  export GIT_CONFIG_NOSYSTEM=1 GIT_NO_REPLACE_OBJECTS=1 GIT_NO_LAZY_FETCH=1 GIT_WORK_TREE=$root
  export HOME=/nonexistent XDG_CONFIG_HOME=/nonexistent
  if [ ! -e .git ] && [ ! -L .git ]; then
    while [ -n "$above" ]; do
      above=${above%/*}
      if [ -e "$above/.git" ] && GIT_DIR=$above/.git git rev-parse 2>/dev/null; then refuse inside "${above:-/}"; fi
    done
  elif [ ! -d .git ] || [ -e .git/HEAD ] || [ -L .git/HEAD ]; then
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
  if [ -e "$repository/commondir" ]; then
    # Work trees that are linked share all refs but these.
    checkpoints=refs/worktree/${checkpoints#refs/} before_restore=refs/worktree/${before_restore#refs/}
  fi
}

# Runs git in the user's repository.
in_users() (
  unset GIT_INDEX_FILE GIT_OBJECT_DIRECTORY
  GIT_DIR=$repository git -c core.hooksPath=/dev/null -c core.logAllRefUpdates=false -c core.fsmonitor=false \
    -c core.excludesFile="$excludes" "$@"
)

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
  rm -f "$(in_users rev-parse --git-path "${before_restore%/*}")"/{,snapshots/}*.lock
  own=$work/git
  must mkdir -p "$own/objects/info" "$own/refs" "$own/info"
  echo 'ref: refs/heads/none' >"$own/HEAD" || unwritten
  # Bytes are kept as they are: no filter runs, and no line ends are changed.
  echo '* -text -filter -ident -working-tree-encoding -eol -crlf' >"$own/info/attributes" || unwritten
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
# unless they are tracked. Repositories that are nested in it are noted in $trees: git itself would keep nothing of their
# files.
list_tree() {
  local at=$1 path own
  cd "$root/$at" || refuse failed '' "$root/$at can't be entered"
  export GIT_WORK_TREE=.
  : >"$GIT_DIR/info/exclude" || unwritten
  if own=$(GIT_DIR=.git git rev-parse --absolute-git-dir 2>/dev/null && echo .); then
    repository=${own%$'\n'.} list_tracked
  fi
  into listed git ls-files -z --others --exclude-standard
  # Git passes over directories that it can't read, and warns.
  [[ $err != *'could not open directory'* ]] || failed
  while IFS= read -r -d '' path; do
    case $path in
      */) trees+=("$at$path") ;;
      *) printf '%s\0' "$at$path" || unwritten ;;
    esac
  done <"$work/listed" >>"$work/files"
  cd "$root" && GIT_WORK_TREE=$root
}

# Notes in $work/tracked what the work tree $at has in its own index although it is ignored, and takes over what is ignored
# by its own settings.
list_tracked() {
  local entry path exclude
  exclude=$(in_users rev-parse --git-path info/exclude)
  [ ! -f "$exclude" ] || must cat "$exclude" >"$GIT_DIR/info/exclude"
  into listed in_users ls-files -z -c -i -s --exclude-standard
  while IFS= read -r -d '' entry; do
    path=${entry#*$'\t'}
    if [[ $entry == 160000* && -e $path/.git ]] && (cd -P "./$path" && [ "$PWD" = "$root/$at$path" ]); then
      trees+=("$at$path/")
    else
      printf '%s 0\t%s\0' "${entry:0:$((${#entry} - ${#path} - 3))}" "$at$path" || unwritten
    fi
  done <"$work/listed" >>"$work/tracked"
}

# Puts the files that are there into the index, and their tree into $present. Those that the commit $1 has are among them,
# ignored or not.
stage() {
  local i path ignored
  trees=('')
  : >"$work/files" >"$work/tracked" || unwritten
  for ((i = 0; i < ${#trees[@]}; i++)); do list_tree "${trees[i]}"; done
  : >"$GIT_DIR/info/exclude"

  GIT_INDEX_FILE=$work/known
  [ -z "$1" ] || must git read-tree "$1"
  must git update-index -z --index-info <"$work/tracked"
  into listed git diff-files -z --name-only --diff-filter=d
  while IFS= read -r -d '' path; do
    if [ -L "$path" ] || [ -f "$path" ]; then printf '%s\0' "$path" || unwritten; fi
  done <"$work/listed" >>"$work/files"

  GIT_INDEX_FILE=$work/index
  run git update-index --add --remove -z --stdin <"$work/files" || not_staged
  # Git keeps some names to itself, as .GIT: it passes over them.
  mapfile -t ignored < <(sed -n 's/^Ignoring path //p' <<<"$err")
  [ ${#ignored[@]} = 0 ] || refuse names "${ignored[@]:0:5}"
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
    (unset GIT_WORK_TREE && must git init -q && GIT_DIR=.git must git symbolic-ref HEAD refs/heads/main) || exit
    open_repository
  fi
  make_own
  stage ''
  replaced=$(resolve "$checkpoints$name")
  made=$(printf '%s\n' "$message" | commit "$checkpoints$name" "$present") || exit
  say created "$replaced"
  echo "$made $name" | tell_commits
}

list() {
  local slashes=${checkpoints//[!\/]/}
  say listed
  if [ -n "$repository" ]; then
    in_users for-each-ref --format="%(objectname) %(refname:lstrip=${#slashes})" "$checkpoints" | tell_commits
  fi
}

# Tells commits with what is known of them, by lines of their ids and their names.
tell_commits() { in_users cat-file --batch='%(objectname) %(objecttype) %(objectsize) %(rest)' >&3; }

# Finds the checkpoint.
open_checkpoint() {
  [ -n "$repository" ] && target=$(resolve "$checkpoints$name") || refuse unknown
  make_own
}

compare() {
  open_checkpoint
  # Nothing is written to the user's objects.
  echo ../../user-objects >"$GIT_DIR/objects/info/alternates" || unwritten
  must ln -s "$objects" "$work/user-objects"
  GIT_OBJECT_DIRECTORY=$GIT_DIR/objects
  stage "$target"
  into diff git diff --no-ext-diff --no-textconv --no-color --src-prefix=a/ --dst-prefix=b/ "$target^{tree}" "$present"
  say compared "$target" "$(wc -c <"$work/diff")"
  head -c "$limit" "$work/diff" >&3
}

main() {
  check_container
  enter_directory
  [ "$op" = list ] || take_turn
  find_repository
  "$op"
}

main 3>&1 >/dev/null 2>&1 </dev/null | base64 | tr -d '\n'
