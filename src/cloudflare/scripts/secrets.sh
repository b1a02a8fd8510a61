# Prints `secrets`, the number of files with secrets, and 1 if the list is complete; the list in Base64; and `end`. A record of
# the list is a letter and a path: f for a file with secrets, l for a link and o for anything else that has the name of one.
#
# With the programs of GNU, reads the content of a file once: `$known` has the files in which no secret was found, with their
# inodes and times, and those in which one was found, which are read again. What changed after `$new`, also while it was read,
# is not in the list.
#
# A list that is not written completely, as on a full disk, would hide files, so every program that fails ends the search.
export LC_ALL=C; set -o pipefail; unset -f cksum comm grep head xargs
t=$run.secrets.$$ known=$run.secrets; trap 'rm -f -- "$t".* "$new"' EXIT
exec 3>&1
fail() { why=$(head -c 400 "$t.log" 2>/dev/null | tr '\n' ' '); printf 'failed %s\n' "${why:-a list is not complete}" >&3; exit; }
trap fail ERR; exec 2>"$t.log"
printf '%s\n' "$patterns" >"$t.patterns"
if [ "$(find . -maxdepth 0 -printf 'b\0a\0' 2>/dev/null | sed -z 's/a/c/' 2>/dev/null | sort -z -S 1M 2>/dev/null |
  comm -z -13 /dev/null - 2>/dev/null | tr '\0' .)" = b.c. ] &&
  [ "$(grep -lIZE -D skip -d skip -e . -- "$t.patterns" 2>/dev/null | tr '\0' .)" = "$t.patterns." ]; then
  find . -ignore_readdir_race -mindepth 1 "${omit[@]}" -type f '(' "${names[@]}" -printf 'n%p\0' -o -size "$small" \
    '(' -cnewer "$new" -printf c -o -printf s ')' -printf '%i %C@ %s %p\0' ')' >"$t.all"
  sed -zn 's/^s//p' "$t.all" | sort -z -S 32M -T "${t%/*}" >"$t.now"
  key=$(printf '%s\n' "$d" "${omit[@]}" "${names[@]}" | cat - "$t.patterns" | cksum); : >"$t.was"; : >"$t.todo"
  if [ -z "$ignored" ] && IFS= read -r -d '' first 2>/dev/null <"$known" && [ "$first" = "k$key" ]; then
    sed -zn 's/^s//p' "$known" >"$t.was"; sed -zn 's/^h//p' "$known" >"$t.todo"
  fi
  comm -z -13 "$t.was" "$t.now" >"$t.fresh"; sed -zn 's/^c//p' "$t.all" >>"$t.fresh"
  sed -z 's/^[0-9]* [0-9.-]* [0-9]* //' "$t.fresh" >>"$t.todo"
  # xargs ends with 123 where grep finds nothing, or a file is gone.
  { xargs -0 -r grep -lIZE -D skip -d skip -f "$t.patterns" -- <"$t.todo" 2>/dev/null || [ $? = 123 ]; } | sort -zu >"$t.hits"
  if [ -z "$ignored" ]; then
    { printf 'k%s\0' "$key" && sed -z 's/^/h/' "$t.hits" && sed -z 's/^/s/' "$t.now"; } >"$t.next" && mv -f -- "$t.next" "$known"
  fi 2>/dev/null || :
  sed -zn 's/^n//p' "$t.all" | sort -zu - "$t.hits" >"$t.list"
else
  [ -z "$(find . -mindepth 1 -name $'*\n*' | head -n 1)" ] || { echo "a name has a line break" >&2; fail; }
  find . -mindepth 1 "${omit[@]}" -type f "${names[@]}" -print >"$t.all"
  { find . -mindepth 1 "${omit[@]}" -type f ! "${names[@]}" -size "$small" -exec grep -lE -f "$t.patterns" -- {} + 2>/dev/null || :
  } | cat >>"$t.all"
  sort "$t.all" | tr '\n' '\0' >"$t.list"
fi
count=$(tr -dc '\0' <"$t.list" | wc -c) complete=1
[ "$(wc -c <"$t.list")" -le "$most" ] || complete=0
declare -A found=() named=(); same=()
{
  while IFS= read -r -d '' file; do
    printf 'f%s\0' "$file"; found[$file]=1; name=${file##*/}
    case $name in *[][*?\\]*) ;; *) [ -n "${named[n$name]}" ] || same+=(-o -name "$name") ;; esac
    named[n$name]=1
  done < <(head -c "$most" "$t.list")
  if [ -n "$namesakes" ] && [ $complete = 1 ] && [ ${#same[@]} -gt 0 ]; then
    { find . -mindepth 1 "${omit[@]}" '(' "${same[@]:1}" ')' -type l -print0 2>/dev/null || :; } |
      while IFS= read -r -d '' file; do printf 'l%s\0' "$file" || exit; done
    { find . -mindepth 1 "${omit[@]}" '(' "${same[@]:1}" ')' ! -type l -print0 2>/dev/null || :; } |
      while IFS= read -r -d '' file; do [ -n "${found[$file]}" ] || printf 'o%s\0' "$file" || exit; done
  fi
} >"$t.out"
[ "$(wc -c <"$t.out")" -le $((2 * most)) ] || complete=0
printf 'secrets %s %s\n' "$count" "$complete"
head -c $((2 * most)) "$t.out" | base64 | tr -d '\n'
printf '\nend\n'
