# What is done about checkpoints inside of a sandbox. Bash runs it, with these set:
#
#   op       create, list, restore or compare
#   dir      the directory
#   name     of the checkpoint
#   message  of its commit
#   after    where the page of a list begins: the time and the name of the checkpoint before it; empty at the newest
#   limit    how much is told at most, in bytes: of a diff, or of the paths that a restore has changed; of a list, in checkpoints
#   oldest   how old the container has to be, in 1/100 s; empty where it has to carry a stamp instead
#
# It answers one line of base64: fields that end in a null byte. The first of them says what came of it.
#
# The user's repository gives its objects and takes refs; everything else of it is left alone. Git works in a repository of
# ours inside of it, which knows none of the user's hooks, filters and settings.
#
# Each program that is started takes longer than most of what it does, so few are, and one is asked for several things.

export LC_ALL=C
unset "${!GIT_@}"
before= err= instead= tree= SECONDS=0

say() { printf '%s\0' "$@" >&3; }

refuse() {
  say "$@"
  exit 1
}

# Runs a command. What it complains of is in $err, which needs no room on the disk.
run() { { err=$(instead=exec && "$@" 2>&1 >&4); } 4>&1; }

# Runs what must succeed.
must() { run "$@" || failed; }

# Runs what must succeed, and writes what it prints to a file in $work.
into() { must "${@:2}" >"$work/$1" || unwritten; }

failed() {
  local status=$?
  err=${err:0:2000}
  refuse failed "$before" "${err:-it ended with the status $status}"
}

unwritten() { refuse failed "$before" "$work can't be written; the disk may be full"; }

expired() { refuse failed "$before" "it was still at work after $SECONDS s, and was ended"; }

# Nothing is done in a container that was started for this, or that woke without its files.
check_container() {
  local up stat now=
  if [ -z "$oldest" ]; then
    [ -f "$stamp" ] && IFS= read -r now <"$stamp"
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
  [ -e "$dir" ] || [ -L "$dir" ] || refuse directory missing
  [ -d "$dir" ] && cd -L -- "$dir" 2>/dev/null || refuse directory other
  root=$PWD
  cd -P .
  [ "$root" = "$PWD" ] || refuse directory link
  type -P git >/dev/null || refuse git
}

# One at a time.
take_turn() {
  local tries=0
  exec 9<>"$run.checkpoints.lock" || refuse failed '' "$run.checkpoints.lock can't be written"
  until flock -n 9; do
    [ $((tries += 1)) -le 600 ] || refuse busy
    sleep 0.1
  done
}

# Finds the user's repository; $repository is empty where there is none. From here on git has no settings of the user.
find_repository() {
  local above=$root
  repository=
  excludes=$(GIT_DIR=.git exec git config --path core.excludesFile 2>/dev/null) ||
    excludes=${XDG_CONFIG_HOME:-$HOME/.config}/git/ignore
  [ "${excludes:0:1}" = / ] || excludes=$root/$excludes
  [ -f "$excludes" ] && [ -r "$excludes" ] || excludes=/dev/null
  export GIT_CONFIG_NOSYSTEM=1 GIT_NO_REPLACE_OBJECTS=1 GIT_NO_LAZY_FETCH=1
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
  local told path paths=()
  repository=$root/.git
  # Git prints what it does not know as it is. No path of its own has two slashes in a row.
  told=$(in_users rev-parse --absolute-git-dir --// --git-path objects --// --git-path info/exclude --// \
    --git-path refs --// --git-path refs/worktree --// --show-object-format) ||
    refuse failed '' "$(in_users rev-parse 2>&1)"
  while [[ $told == *$'\n--//\n'* ]]; do
    path=${told%%$'\n--//\n'*} told=${told#*$'\n--//\n'}
    [ "${path:0:1}" = / ] || path=$root/$path
    paths+=("$path")
  done
  repository=${paths[0]} objects=${paths[1]} exclude=${paths[2]} refs=refs refs_at=${paths[3]} format=$told
  # Work trees that are linked share all refs but these.
  if [ -e "$repository/commondir" ]; then refs=refs/worktree refs_at=${paths[4]}; fi
  checkpoints=$refs/sandbox/snapshots/ before_restore=$refs/sandbox/before-restore
  # Locks are removed in these.
  for path in "$repository/refs" "$refs_at" "$refs_at/sandbox" "$refs_at/sandbox/snapshots"; do
    [ ! -L "$path" ] || refuse linked "$path"
  done
}

# Runs git in the user's repository.
in_users() {
  GIT_DIR=$repository GIT_WORK_TREE=${tree:-$root} $instead git -c core.hooksPath=/dev/null -c core.logAllRefUpdates=false \
    -c core.fsmonitor=false -c core.excludesFile="$excludes" "$@"
}

# Runs git in the repository of ours.
in_ours() {
  GIT_DIR=$work/git GIT_WORK_TREE=${tree:-$root} GIT_OBJECT_DIRECTORY=$store GIT_INDEX_FILE=$index $instead git "$@"
}

# Prints the commit of a ref, or nothing.
resolve() { in_users rev-parse --verify --quiet "$1^{commit}" 2>/dev/null; }

# Makes a commit of a tree with what is said of it, and names it. It is in $made then, its text in $text, and when it was made
# in $micros.
commit() {
  local now=${EPOCHREALTIME:-$(date +%s).000000} who
  micros=${now/./}
  who="sandbox-snapshotter <$micros@sandbox-snapshotter> ${now%.*} +0000"
  text="tree $2"$'\n'"author $who"$'\n'"committer $who"$'\n\n'$3$'\n'
  made=$(printf %s "$text" | must in_ours hash-object -t commit -w --stdin) || exit
  must in_users update-ref --no-deref "$1" "$made"
}

# Makes the repository that git works in. What those left who were cut off is removed.
make_own() {
  local lock left=()
  work=$repository/sandbox-snapshotter index=$work/index store=$objects
  [ -e "$work" ] && left+=("$work")
  for lock in "$refs_at"/sandbox/{,snapshots/}*.lock; do [ -e "$lock" ] && left+=("$lock"); done
  [ ${#left[@]} = 0 ] || rm -rf "${left[@]}" 2>/dev/null
  mkdir "$work" "$work"/{ignores,git,git/objects,git/objects/info,git/refs,git/info} 2>/dev/null ||
    refuse failed '' "$work can't be made"
  trap 'rm -rf "$work"' EXIT
  {
    echo 'ref: refs/heads/none' >"$work/git/HEAD"
    # Bytes are kept as they are: no filter runs, and no line ends are changed.
    echo '* -text -filter -ident -working-tree-encoding -eol -crlf' >"$work/git/info/attributes"
    settings >"$work/git/config"
  } || unwritten
}

# Prints the settings of the repository of ours.
settings() {
  local file=${excludes//\\/\\\\}
  file=${file//\"/\\\"} file=${file//$'\n'/\\n}
  echo '[core]
    bare = false
    hooksPath = /dev/null
    protectNTFS = false
    excludesFile = "'"$file"'"'
  if [ "$format" = sha256 ]; then
    echo '    repositoryFormatVersion = 1
[extensions]
    objectFormat = sha256'
  else
    echo '    repositoryFormatVersion = 0'
  fi
}

# Notes the files of one work tree in $work/files, by its path with a slash at the end. Those that are ignored are left out,
# unless they are tracked. Repositories that are nested in it are noted in $trees: git itself would keep nothing of their
# files.
list_tree() {
  local IFS=/ at=$1 tree=. list=listed path paths files=() rules=()
  cd "$root/$at" || refuse failed '' "$root/$at can't be entered"
  if [ -z "$at" ]; then
    list=files
    list_tracked
  else
    local repository=.git exclude
    if exclude=$(in_users rev-parse --git-path info/exclude 2>/dev/null && echo .); then
      exclude=${exclude%$'\n'.}
      list_tracked
    fi
  fi
  [ -f "$exclude" ] && rules=(--exclude-from="$exclude")
  into "$list" in_ours ls-files -z --others --exclude-standard "${rules[@]}"
  # Git passes over directories that it can't read, and warns.
  [[ $err != *'could not open directory'* ]] || failed
  mapfile -d '' -t paths <"$work/$list"
  # Mostly there are none nested in the first, and its list is what is wanted.
  if [ "$at" ] || [[ ${paths[*]}/ == *//* ]]; then
    for path in "${paths[@]}"; do
      case $path in
        */) trees+=("$at$path") ;;
        *) files+=("$at$path") ;;
      esac
    done
    [ "$at" ] || : >"$work/files" || unwritten
  fi
  [ ${#files[@]} = 0 ] || printf '%s\0' "${files[@]}" >>"$work/files" || unwritten
  cd "$root"
}

# Notes what the work tree has in its own index although it is ignored.
list_tracked() {
  local entry path
  into listed in_users ls-files -z -c -i -s --exclude-standard
  while IFS= read -r -d '' entry; do
    path=${entry#*$'\t'}
    if [[ $entry == 160000* && -e $path/.git ]] && (cd -P "./$path" && [ "$PWD" = "$root/$at$path" ]); then
      trees+=("$at$path/")
    elif is_file "$path"; then
      files+=("$at$path")
    fi
    has_ignored=1
  done <"$work/listed"
}

# Whether there is a file or a link of that path, which does not lead through a link.
is_file() {
  local above=$1
  [ -L "$1" ] || [ -f "$1" ] || return
  while [[ $above == */* ]]; do
    above=${above%/*}
    [ ! -L "$above" ] || return
  done
}

# Puts the files that are there into the index. Those that the commit $1 has are among them, ignored or not, and how they
# differ from it is noted.
stage() {
  local i path ignored=()
  trees=('') has_ignored=
  for ((i = 0; i < ${#trees[@]}; i++)); do list_tree "${trees[i]}"; done
  add_files
  [ -n "$1" ] || return
  note_differences "$1"
  for path in "${only_there[@]}"; do
    if is_file "$path"; then ignored+=("$path"); fi
  done
  [ ${#ignored[@]} -gt 0 ] || return
  printf '%s\0' "${ignored[@]}" >"$work/files" || unwritten
  add_files
  note_differences "$1"
}

# Puts the files that are noted into the index.
add_files() {
  local kept
  run in_ours update-index --add --remove -z --stdin <"$work/files" || not_added
  # Git keeps some names to itself, as .GIT: it passes over them.
  [[ $err == *'Ignoring path '* ]] || return
  mapfile -t kept < <(sed -n 's/^Ignoring path //p' <<<"$err")
  refuse names "${kept[@]:0:5}"
}

not_added() {
  local path unreadable=()
  while IFS= read -r -d '' path; do
    if [ ! -L "$path" ] && [ -e "$path" ] && [ ! -r "$path" ]; then unreadable+=("$path"); fi
    [ ${#unreadable[@]} -lt 5 ] || break
  done <"$work/files"
  [ ${#unreadable[@]} -gt 0 ] && refuse unreadable "${unreadable[@]}"
  failed
}

# Notes how the index differs from a tree: all paths that do, and those that are only here or only there.
note_differences() {
  local entry path
  differ=() only_here=() only_there=() references=
  into listed in_ours diff-index --cached --raw -z --no-renames --ignore-submodules=none "$1"
  while IFS= read -r -d '' entry && IFS= read -r -d '' path; do
    differ+=("$path")
    case $entry in
      *A) only_here+=("$path") ;;
      *D) only_there+=("$path") ;;
    esac
    [[ $entry != :160000* ]] || references=1
  done <"$work/listed"
}

create() {
  local replaced made text micros present
  if [ -z "$repository" ]; then
    # Before 2.28, init can't be told the name of the branch.
    (must git init -q && GIT_DIR=.git must git symbolic-ref HEAD refs/heads/main) || exit
    open_repository
  fi
  exec 5< <(resolve "$checkpoints$name")
  make_own
  stage ''
  present=$(must in_ours write-tree) || exit
  read -r replaced <&5
  commit "$checkpoints$name" "$present" "$message"
  say created "$replaced"
  printf '%s commit %s %s %s\n%s\n' "$made" ${#text} "$micros" "$name" "$text" >&3
}

# Finds the checkpoint.
open_checkpoint() {
  [ -n "$repository" ] && target=$(resolve "$checkpoints$name") || refuse unknown
  make_own
}

compare() {
  open_checkpoint
  # Nothing is written to the user's objects.
  echo ../../user-objects >"$work/git/objects/info/alternates" || unwritten
  must ln -s "$objects" "$work/user-objects"
  store=$work/git/objects
  stage "$target"
  into diff in_ours diff --cached --no-ext-diff --no-textconv --no-color --src-prefix=a/ --dst-prefix=b/ "$target"
  say compared "$target" "$(wc -c <"$work/diff")"
  head -c "$limit" "$work/diff" >&3
}

main() {
  trap expired TERM
  check_container
  enter_directory
  [ "$op" = list ] || take_turn
  find_repository
  "$op"
}

# Whether that many seconds pass before the job that runs is over. All that was started is waited for: the first process of a
# container may not clear away what others leave.
outlasts() {
  sleep "$1" >/dev/null </dev/null &
  wait -n
  kill -KILL "$!"
  wait "$!"
}

# It is ended before the time limit of the whole, so that the end can be told: git waits without end for whoever writes to a
# pipe that is called .gitignore. In a group of its own, it can be ended with all programs that it runs.
{
  set -m
  main 3>&1 >/dev/null 2>&1 </dev/null &
  main=$!
  # Where the caller ignores TERM, so do all programs.
  outlasts 110 && kill -- "-$main" && outlasts 5 && kill -KILL -- "-$main"
  wait "$main"
} 2>/dev/null | base64 | tr -d '\n'
