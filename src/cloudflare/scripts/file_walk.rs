//! The commands that list all files of a directory, and hash some of them.
//!
//! The list is a file in the container, so that all pages of a comparison have the same one. It has the form that
//! [`Listing`](snapshot_archive::Listing) reads, and is complete: a walk that misses anything fails.

use base64ct::{Base64, Encoding};

use super::shell_quote;
use crate::model::exclude::normalized;
use crate::model::file_call::{ListingBytes, ListingPosition, Omitted};

/// The number of lists that a container keeps beside a new one.
const MAX_KEPT: usize = 2;

/// The number of paths that git may ignore one by one.
const MAX_IGNORED: usize = 1000;

/// Adds the paths that git ignores to `omit`. The settings are those of [`list_ignored`](crate::cloudflare::git_ignored).
const OMIT_IGNORED: &str = r#"while IFS= read -r name; do omit+=(-o -path "./$name"); done < <(
  git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c safe.directory='*' -c core.quotePath=false \
    ls-files --others --ignored --exclude-standard --directory -- . 2>/dev/null | sed 's/\/$//; s/[][\\*?]/\\&/g')
"#;

/// Completes `omit`.
const CLOSE_OMIT: &str = r#"if [ ${#omit[@]} -gt 0 ]; then omit=('(' "${omit[@]:1}" ')' -prune -o); fi
"#;

/// Defines `walk`, which prints the list. `find` of busybox has no `-printf`: then the records are lines of `stat`, and a line
/// break in a name or in the target of a link is refused.
const DEFINE_WALK: &str = r#"escape=$'s/\001/\001\002/g\ns|/|\001\001|g'
if [ "$(find . -maxdepth 0 -printf 'b\0a\0' 2>/dev/null | sed -z 's/a/c/' 2>/dev/null | sort -z -S 1M 2>/dev/null | tr '\0' .)" = b.c. ]; then
  walk() {
    find . -ignore_readdir_race -mindepth 1 "${omit[@]}" -printf '%P//%y %m %U %G %s %Ts %l\0' |
      sed -z "$escape" | head -c $((most + 1)) | sort -z -S 32M -T "${part%/*}"
  }
else
  walk() {
    [ -z "$(find . -mindepth 1 -name $'*\n*' | head -n 1)" ] || { echo "a name has a line break" >&2; return 1; }
    { find . -mindepth 1 "${omit[@]}" ! -type l -exec stat -c '%n//x %f %u %g %s %Y' -- {} + &&
      find . -mindepth 1 "${omit[@]}" -type l -exec bash -c 'for link; do
        target=$(readlink -- "$link") && line=$(stat -c "%f %u %g %s %Y" -- "$link") && [[ $target != *"$0"* ]] || exit 1
        printf "%s//x %s %s\n" "$link" "$line" "$target"; done' $'\n' {} +
    } | sed "$escape" | head -c $((most + 1)) | sort | tr '\n' '\0'
  }
fi
"#;

/// Prints a part of a list, after its id, the offset of the part, and the size of the list. Without a position, makes the list
/// first.
pub(super) fn walk(id: &str, position: Option<&ListingPosition>, omitted: &Omitted) -> String {
    let (list, offset) = position.map_or((id, 0), |position| (&*position.id, position.offset));
    let make = if position.is_some() { String::new() } else { make_list(omitted) };
    format!(
        r#"list=$run.files.{list}
{make}size=$(stat -c %s -- "$list" 2>/dev/null) || no ended
printf 'listing\n%s %s %s\n' {list} {offset} "$size"
tail -c +{first} -- "$list" | head -c {most}
"#,
        first = offset.saturating_add(1),
        most = ListingBytes::MAX_BYTES,
    )
}

/// Sets `omit` to the begin of an expression of `find`: it skips what an archive leaves out.
pub(super) fn define_omit(omitted: &Omitted) -> String {
    format!("{}{CLOSE_OMIT}", collect_omit(omitted))
}

fn collect_omit(omitted: &Omitted) -> String {
    let names: String = omitted.excludes.iter().filter_map(|pattern| omission(pattern)).collect();
    format!("omit=(){names}\n{}", if omitted.ignored { OMIT_IGNORED } else { "" })
}

fn make_list(omitted: &Omitted) -> String {
    format!(
        r#"export LC_ALL=C; set -o pipefail; part=$list.part most={most}; trap 'rm -f -- "$part" "$part.log"' EXIT
ls -t "$run".files.* 2>/dev/null | tail -n +{kept} | while IFS= read -r old; do rm -f -- "$old"; done
{omit}[ ${{#omit[@]}} -le {limit} ] || no "failed git ignores more than {MAX_IGNORED} paths"
{CLOSE_OMIT}{DEFINE_WALK}try=0; until walk >"$part" 2>"$part.log"; do
  [ "$(stat -c %s -- "$part")" -le $most ] || no many
  [ $((try += 1)) -lt 3 ] || no "failed $(head -c 400 "$part.log")"
done
[ "$(stat -c %s -- "$part")" -le $most ] || no many
mv -f -- "$part" "$list" || no "failed the disk is full"
"#,
        most = ListingBytes::MAX_LIST_BYTES,
        kept = MAX_KEPT + 1,
        omit = collect_omit(omitted),
        limit = 3 * MAX_IGNORED + 7 * omitted.excludes.len(),
    )
}

/// Returns the command that adds a pattern to `omit`, as mksquashfs applies it: a name at any depth, where no wildcard matches a
/// leading dot.
fn omission(pattern: &str) -> Option<String> {
    let pattern = normalized(pattern);
    let pattern = pattern.trim_matches('/');
    if pattern.is_empty() || pattern == "**" {
        return None;
    }
    Some(if pattern.contains('/') {
        format!("\nomit+=(-o -path {})", shell_quote(&format!("./{pattern}")))
    } else if pattern.starts_with(['*', '?', '[']) {
        format!("\nomit+=(-o '(' -name {} ! -name '.*' ')')", shell_quote(pattern))
    } else {
        format!("\nomit+=(-o -name {})", shell_quote(pattern))
    })
}

/// Prints the hash of each file on a line; `-` where there is no regular file. Then prints `end`. A file that is larger than the
/// limit is not read further.
pub(super) fn hash(paths: &[Vec<u8>], limit: u64) -> String {
    let paths = paths.join(&0);
    format!(
        r#"echo hashes
while IFS= read -r -d '' file; do
  sum=-; if [ -f "./$file" ] && [ ! -L "./$file" ]; then sum=$(head -c {limit} -- "./$file" | sha256sum); sum=${{sum%% *}}; fi
  printf '%s\n' "$sum"
done 2>/dev/null < <(base64 -d <<'PATHS'
{paths}
PATHS
)
echo end
"#,
        limit = limit.saturating_add(1),
        paths = Base64::encode_string(&[&paths[..], b"\0"].concat()),
    )
}

#[cfg(test)]
mod tests;
