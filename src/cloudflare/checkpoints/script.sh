# Creates, lists, restores, deletes and compares checkpoints inside a sandbox. Bash runs it with these variables set:
#
#   op       create, list, restore, delete or compare
#   dir      the directory
#   name     the name of the checkpoint
#   message  the message of its commit
#   after    where a page of a list begins: the time and the name of the checkpoint before it; empty for the first page
#   limit    the maximum size, in bytes, of a diff or of the paths that a restore changed; of a list, in checkpoints
#   expires  after how many seconds a new checkpoint expires; 0 for never
#   prune    whether a restore removes empty directories; empty if not
#   refusal  why the container is not the required one; empty if it is
#
# It prints one line of base64: fields that end in a null byte. The first field is the outcome.
#
# The user's repository provides its objects and contains the refs; everything else in it is left unchanged. Git works in a
# repository of this tool inside it, which has none of the user's hooks, filters and settings.
#
# To start a program takes longer than most of its work, so the script starts few programs, and one for several results.

export LC_ALL=C
unset "${!GIT_@}"
before= err= instead= tree= SECONDS=0

answer() { printf '%s\0' "$@" >&3; }

refuse() {
  answer "$@"
  exit 1
}

# Runs a command, and sets $err to its error output without a file on the disk.
run() { { err=$(instead=exec && "$@" 2>&1 >&4); } 4>&1; }

# Runs a command that must succeed.
must() { run "$@" || failed; }

# Runs a command that must succeed, and writes its output to a file in $work.
into() { must "${@:2}" >"$work/$1" || write_failed; }

failed() {
  local status=$?
  err=${err:0:2000}
  refuse failed "$before" "${err:-it exited with the status $status}"
}

write_failed() { refuse failed "$before" "$work can't be written; the disk may be full"; }

expired() { refuse failed "$before" "it was still running after $SECONDS s, and was terminated"; }

enter_directory() {
  [ -e "$dir" ] || [ -L "$dir" ] || refuse directory missing
  [ -d "$dir" ] && cd -L -- "$dir" 2>/dev/null || refuse directory other
  root=$PWD
  cd -P .
  [ "$root" = "$PWD" ] || refuse directory link
  type -P git >/dev/null || refuse git
}

# Waits until no other script has the lock.
lock_checkpoints() {
  local tries=0
  exec 9<>"$run.checkpoints.lock" || refuse failed '' "$run.checkpoints.lock can't be written"
  until flock -n 9; do
    [ $((tries += 1)) -le 600 ] || refuse busy
    sleep 0.1
  done
}

# Finds the user's repository; $repository is empty where there is none. From here on, git uses no settings of the user.
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
  local output path paths=()
  repository=$root/.git
  # Git prints unknown arguments unchanged. None of its paths has two slashes in a row.
  output=$(in_user rev-parse --absolute-git-dir --// --git-path objects --// --git-path info/exclude --// \
    --git-path refs --// --git-path refs/worktree --// --show-object-format) ||
    refuse failed '' "$(in_user rev-parse 2>&1)"
  while [[ $output == *$'\n--//\n'* ]]; do
    path=${output%%$'\n--//\n'*} output=${output#*$'\n--//\n'}
    [ "${path:0:1}" = / ] || path=$root/$path
    paths+=("$path")
  done
  repository=${paths[0]} objects=${paths[1]} exclude=${paths[2]} refs=refs refs_at=${paths[3]} format=$output
  # Linked work trees share all refs except these.
  if [ -e "$repository/commondir" ]; then refs=refs/worktree refs_at=${paths[4]}; fi
  checkpoints=$refs/sandbox/snapshots/ before_restore=$refs/sandbox/before-restore
  # The script removes locks in these directories.
  for path in "$repository/refs" "$refs_at" "$refs_at/sandbox" "$refs_at/sandbox/snapshots"; do
    [ ! -L "$path" ] || refuse linked "$path"
  done
}

# Runs git in the user's repository.
in_user() {
  GIT_DIR=$repository GIT_WORK_TREE=${tree:-$root} $instead git -c core.hooksPath=/dev/null -c core.logAllRefUpdates=false \
    -c core.fsmonitor=false -c core.excludesFile="$excludes" "$@"
}

# Runs git in the repository of this tool.
in_work() {
  GIT_DIR=$work/git GIT_WORK_TREE=${tree:-$root} GIT_OBJECT_DIRECTORY=$store GIT_INDEX_FILE=$index $instead git "$@"
}

# Prints the commit of a ref, or nothing.
resolve() { in_user rev-parse --verify --quiet "$1^{commit}" 2>/dev/null; }

# Creates a commit and the ref $1 to it, from the tree $2 and the message $3; it expires after $4 seconds, if given. Sets $commit_id, $text to the text of the commit,
# and $micros to its time.
commit() {
  local now=${EPOCHREALTIME:-$(date +%s).000000} who author
  micros=${now/./} now=${now%.*}
  who="<$micros@sandbox-snapshotter> $now +0000" author=$who
  [ -z "$4" ] || author="<expires-$((now + $4))@sandbox-snapshotter> $now +0000"
  text="tree $2"$'\n'"author sandbox-snapshotter $author"$'\n'"committer sandbox-snapshotter $who"$'\n\n'$3$'\n'
  commit_id=$(printf %s "$text" | must in_work hash-object -t commit -w --stdin) || exit
  must in_user update-ref --no-deref "$1" "$commit_id"
}

# Creates the repository that git works in. Removes what an interrupted script left.
create_work_repository() {
  local lock left=()
  work=$repository/sandbox-snapshotter index=$work/index store=$objects
  [ -e "$work" ] && left+=("$work")
  for lock in "$refs_at"/sandbox/{,snapshots/}*.lock; do [ -e "$lock" ] && left+=("$lock"); done
  [ ${#left[@]} = 0 ] || rm -rf "${left[@]}" 2>/dev/null
  mkdir "$work" "$work"/{ignores,git,git/objects,git/objects/info,git/refs,git/info} 2>/dev/null ||
    refuse failed '' "$work can't be created"
  trap 'rm -rf "$work"' EXIT
  {
    echo 'ref: refs/heads/none' >"$work/git/HEAD"
    # Git stores bytes unchanged: it runs no filter, and converts no line endings.
    echo '* -text -filter -ident -working-tree-encoding -eol -crlf' >"$work/git/info/attributes"
    settings >"$work/git/config"
  } || write_failed
}

# Prints the settings of the repository of this tool.
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

# Adds the files of the work tree $1, a path with a slash at the end, to $work/files. Skips ignored files, unless they are
# tracked. Adds nested repositories to $trees, because git itself would store none of their files.
list_tree() {
  local IFS=/ at=$1 tree=. list=listed path paths files=() rules=()
  cd "$root/$at" || refuse failed '' "$root/$at can't be entered"
  if [ -z "$at" ]; then
    list=files
    list_tracked
  else
    local repository=.git exclude
    if exclude=$(in_user rev-parse --git-path info/exclude 2>/dev/null && echo .); then
      exclude=${exclude%$'\n'.}
      list_tracked
    fi
  fi
  [ -f "$exclude" ] && rules=(--exclude-from="$exclude")
  into "$list" in_work ls-files -z --others --exclude-standard "${rules[@]}"
  # Git skips directories that it can't read, and only warns.
  [[ $err != *'could not open directory'* ]] || failed
  mapfile -d '' -t paths <"$work/$list"
  # Usually the first work tree has no nested repositories, and its list is used unchanged.
  if [ "$at" ] || [[ ${paths[*]}/ == *//* ]]; then
    for path in "${paths[@]}"; do
      case $path in
        */) trees+=("$at$path") ;;
        *) files+=("$at$path") ;;
      esac
    done
    [ "$at" ] || : >"$work/files" || write_failed
  fi
  [ ${#files[@]} = 0 ] || printf '%s\0' "${files[@]}" >>"$work/files" || write_failed
  cd "$root"
}

# Adds the files that the work tree has in its own index although they are ignored.
list_tracked() {
  local entry path
  into listed in_user ls-files -z -c -i -s --exclude-standard
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

# Returns whether the path is a file or a symbolic link, without a symbolic link above it.
is_file() {
  local above=$1
  [ -L "$1" ] || [ -f "$1" ] || return
  while [[ $above == */* ]]; do
    above=${above%/*}
    [ ! -L "$above" ] || return
  done
}

# Adds the present files to the index. With a commit $1, includes the ignored files that the commit has, and determines how
# the index differs from it.
stage() {
  local i path ignored=()
  trees=('') has_ignored=
  for ((i = 0; i < ${#trees[@]}; i++)); do list_tree "${trees[i]}"; done
  add_files
  [ -n "$1" ] || return
  find_differences "$1"
  for path in "${only_there[@]}"; do
    if is_file "$path"; then ignored+=("$path"); fi
  done
  [ ${#ignored[@]} -gt 0 ] || return
  printf '%s\0' "${ignored[@]}" >"$work/files" || write_failed
  add_files
  find_differences "$1"
}

# Adds the files in $work/files to the index.
add_files() {
  local reserved
  run in_work update-index --add --remove -z --stdin <"$work/files" || not_added
  # Git reserves some names, such as .GIT, and skips these files.
  [[ $err == *'Ignoring path '* ]] || return
  mapfile -t reserved < <(sed -n 's/^Ignoring path //p' <<<"$err")
  refuse names "${reserved[@]:0:5}"
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

# Determines how the index differs from a tree: sets $differ to all paths that differ, $only_here and $only_there to those on
# one side, and $references if a submodule differs.
find_differences() {
  local entry path
  differ=() only_here=() only_there=() references=
  into listed in_work diff-index --cached --raw -z --no-renames --ignore-submodules=none "$1"
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
  local replaced commit_id text micros present
  if [ -z "$repository" ]; then
    # Before 2.28, `git init` has no option for the name of the branch.
    (must git init -q --template= && GIT_DIR=.git must git symbolic-ref HEAD refs/heads/main) || exit
    open_repository
  fi
  exec 5< <(resolve "$checkpoints$name")
  create_work_repository
  stage ''
  present=$(must in_work write-tree) || exit
  read -r replaced <&5
  [ "$expires" = 0 ] || remove_expired
  commit "$checkpoints$name" "$present" "$message" "${expires#0}"
  answer created "$replaced"
  printf '%s commit %s %s %s\n%s\n' "$commit_id" ${#text} "$micros" "$name" "$text" >&3
}

# Sets $target to the commit of the checkpoint.
open_checkpoint() {
  [ -n "$repository" ] && target=$(resolve "$checkpoints$name") && ! has_expired "$target" || refuse unknown
  create_work_repository
}

# Returns whether a checkpoint has expired: the address of its author contains the time.
has_expired() {
  local line now pattern='^author .*<expires-([0-9]{1,11})@'
  printf -v now '%(%s)T' -1
  while IFS= read -r line && [ -n "$line" ]; do
    [[ ! $line =~ $pattern ]] || [ "$((10#${BASH_REMATCH[1]}))" -gt "$now" ] || return 0
  done < <(in_user cat-file commit "$1")
  return 1
}

delete() {
  local target=
  [ -z "$repository" ] || target=$(resolve "$checkpoints$name")
  if [ -n "$target" ]; then
    create_work_repository
    must in_user update-ref --no-deref -d "$checkpoints$name" "$target"
  fi
  answer deleted "$target"
}

compare() {
  open_checkpoint
  # Git writes nothing to the user's objects.
  echo ../../user-objects >"$work/git/objects/info/alternates" || write_failed
  must ln -s "$objects" "$work/user-objects"
  store=$work/git/objects
  stage "$target"
  into diff in_work diff --cached --no-ext-diff --no-textconv --no-color --src-prefix=a/ --dst-prefix=b/ "$target"
  answer compared "$target" "$(wc -c <"$work/diff")"
  head -c "$limit" "$work/diff" >&3
}

main() {
  trap expired TERM
  [ -z "$refusal" ] || refuse container "$refusal"
  enter_directory
  [ "$op" = list ] || lock_checkpoints
  find_repository
  "$op"
}

# Returns whether the background job runs longer than $1 seconds. Waits for every process that it starts, because PID 1 of a
# container may not reap orphans.
runs_longer_than() {
  sleep "$1" >/dev/null </dev/null &
  wait -n
  kill -KILL "$!"
  wait "$!"
}

# The script is terminated before the time limit of the command, so that it can report this: git waits forever for a writer to a
# pipe that is named .gitignore. In a process group of its own, it can be terminated with all programs that it runs.
{
  set -m
  main 3>&1 >/dev/null 2>&1 </dev/null &
  main=$!
  # If the caller ignores TERM, all programs do.
  runs_longer_than 110 && kill -- "-$main" && runs_longer_than 5 && kill -KILL -- "-$main"
  wait "$main"
} 2>/dev/null | base64 | tr -d '\n'
