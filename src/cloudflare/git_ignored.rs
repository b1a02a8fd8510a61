//! The command that lists the names of what git ignores in a directory.
//!
//! It calls git as the SDK does for `gitignore: true`: with the settings of the user, except those that run programs. If an
//! ignored directory is listed, what it contains is not. Then `find` looks for paths of the same names that git does not ignore.
//! An empty directory does not count: git does not know it.

use super::scripts::shell_quote;
use crate::model::Directory;
use crate::model::exclude::{IgnoredNames, MAX_IGNORED_NAMES, MAX_QUOTED};

/// The maximum length of a printed path, in bytes.
const MAX_PATH_BYTES: usize = 400;

/// Prints the names and the paths that are kept, one a line, and then `end`, unless a program failed. Prints nothing before `end`
/// where git is missing, and outside of repositories. In a name, `?` replaces a character that is special in a pattern.
pub(super) fn list_ignored(dir: &Directory) -> String {
    format!(
        r#"d={dir}; end=end; unset CDPATH; unset -f git find
set -- git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c safe.directory='*'
if type -P git && cd -- "$d" && [ "$("$@" rev-parse --is-inside-work-tree)" = true ]; then
  export LC_ALL=C; paths=() named=(); declare -A ignored=() names=()
  mapfile -d '' -t listed < <("$@" ls-files -z --others --ignored --exclude-standard --directory -- . && printf 'end\0')
  if [ "${{listed[-1]}}" = end ]; then unset 'listed[-1]'; else end=; fi
  for path in "${{listed[@]}}"; do
    # A directory without other files precedes what git ignores in it.
    [ "${{#paths[@]}}" -gt 0 ] && [ "${{path#"${{paths[-1]}}"/}}" != "$path" ] && unset 'paths[-1]'
    paths+=("${{path%/}}")
  done
  for path in "${{paths[@]}}"; do
    ignored["/$path"]=1; name=${{path##*/}}
    name=${{name//[][*?()|\\[:cntrl:][:blank:]]/?}}; name=${{name/#\#/?}}
    [ -z "${{names["/$name"]-}}" ] || continue
    names["/$name"]=1; named+=(-o -name "$name"); printf 'name %s\n' "$name" >&3
    [ "${{#names[@]}}" -le {names} ] || break
  done
  if [ "${{#names[@]}}" -gt 0 ] && [ "${{#names[@]}}" -le {names} ]; then
    mapfile -d '' -t found < <(find . -mindepth 1 \( "${{named[@]:1}}" \) -prune ! \( -type d -empty \) -printf '%P\0' && printf 'end\0')
    if [ "${{found[-1]}}" = end ]; then unset 'found[-1]'; else end=; fi
    kept=0
    for path in "${{found[@]}}"; do
      [ -z "${{ignored["/$path"]-}}" ] || continue
      path=${{path//[[:cntrl:]]/?}}; printf 'kept %s\n' "${{path:0:{MAX_PATH_BYTES}}}" >&3
      kept=$((kept + 1)); [ "$kept" -le {MAX_QUOTED} ] || break
    done
  fi
fi 3>&1 >/dev/null 2>&1
echo "$end""#,
        dir = shell_quote(dir.as_str()),
        names = MAX_IGNORED_NAMES,
    )
}

/// Parses the output of [`list_ignored`].
pub(crate) fn read_ignored(stdout: &str) -> Option<IgnoredNames> {
    let mut lines: Vec<&str> = stdout.lines().collect();
    if lines.pop()? != "end" {
        return None;
    }
    let mut ignored = IgnoredNames::default();
    for line in lines {
        match line.split_once(' ')? {
            ("name", name) => ignored.names.push(name.to_owned()),
            ("kept", path) => ignored.kept.push(path.to_owned()),
            _ => return None,
        }
    }
    (ignored.names.len() <= MAX_IGNORED_NAMES + 1 && ignored.kept.len() <= MAX_QUOTED + 1).then_some(ignored)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::*;

    /// Returns what the script prints for a repository that `prepare` makes.
    fn list(prepare: &str) -> IgnoredNames {
        let dir = tempfile::tempdir().unwrap();
        let made = Command::new("bash").args(["-ec", prepare]).current_dir(dir.path()).output().unwrap();
        assert!(made.status.success(), "{made:?}");
        let fixed = Directory::parse("/workspace").unwrap();
        let script = list_ignored(&fixed).replacen("d='/workspace'", &format!("d='{}'", dir.path().display()), 1);
        fs::create_dir(dir.path().join(".empty")).unwrap();
        let run = Command::new("bash").args(["-c", &script]).output().unwrap();
        read_ignored(&String::from_utf8(run.stdout).unwrap()).unwrap()
    }

    fn ignored(names: &[&str], kept: &[&str]) -> IgnoredNames {
        let texts = |texts: &[&str]| texts.iter().map(ToString::to_string).collect();
        IgnoredNames { names: texts(names), kept: texts(kept) }
    }

    #[test]
    fn script_quotes_the_directory_as_one_word() {
        let script = list_ignored(&Directory::parse("/workspace/it's $(here)").unwrap());
        assert!(script.starts_with(r"d='/workspace/it'\''s $(here)'; "), "{script}");
    }

    #[test]
    fn directories_of_nested_packages_have_one_name() {
        let packages = "git init -q; echo node_modules/ > .gitignore; mkdir -p node_modules/x a/node_modules/y a/src
            touch node_modules/x/1 a/node_modules/y/2 a/src/3";
        assert_eq!(list(packages), ignored(&["node_modules"], &[]));
        assert_eq!(list("mkdir -p a; touch a/b"), ignored(&[], &[]), "no repository");
        assert_eq!(list("git init -q; touch a"), ignored(&[], &[]));
    }

    #[test]
    fn paths_that_git_keeps_are_listed() {
        let anchored =
            "git init -q; printf '/out\\n*.log\\n' > .gitignore; mkdir -p out src/out lib/out logs .git/refs/heads
            touch out/1 src/out/2 logs/a.log";
        assert_eq!(list(anchored), ignored(&["a.log", "out"], &["src/out"]), "an empty directory does not count");
        let tracked = "git init -q; echo out > .gitignore; mkdir out; touch out/1 out/kept; git add -f out/kept";
        assert_eq!(list(tracked), ignored(&["1"], &[]));
        let branch = "git init -q; echo dist > .gitignore; mkdir dist; touch dist/1; touch .git/refs/heads/dist";
        assert_eq!(list(branch), ignored(&["dist"], &[".git/refs/heads/dist"]));
    }

    #[test]
    fn special_characters_match_any_one() {
        let special = r#"git init -q; echo '*.log' > .gitignore; touch 'a[1].log' 'x y.log' '#c.log' '$(touch pwned).log' '"q".log'"#;
        let names = ["\"q\".log", "?c.log", "$?touch?pwned?.log", "a?1?.log", "x?y.log"];
        let found = list(special);
        assert_eq!((found.names.len(), found.kept), (names.len(), Vec::new()));
        assert!(names.iter().all(|name| found.names.iter().any(|found| found == name)), "{:?}", found.names);
    }

    #[test]
    fn lists_are_limited() {
        let many = format!("git init -q; echo '*.o' > .gitignore; touch {{1..{}}}.o", MAX_IGNORED_NAMES + 5);
        assert_eq!(list(&many).names.len(), MAX_IGNORED_NAMES + 1);
        let kept = "git init -q; echo /x > .gitignore; touch x; for n in {1..30}; do mkdir $n; touch $n/x; done";
        assert_eq!(list(kept).kept.len(), MAX_QUOTED + 1);
    }

    #[test]
    fn incomplete_list_is_not_read() {
        assert_eq!(read_ignored("end\n"), Some(ignored(&[], &[])));
        assert_eq!(read_ignored("name a b\nkept c/a b\nend"), Some(ignored(&["a b"], &["c/a b"])));
        let long = format!("{}end\n", "kept a\n".repeat(MAX_QUOTED + 2));
        for odd in ["", "name a\n", "\n", "name a\n\n", "end\nname a\n", "odd a\nend\n", "a\nend\n", &long] {
            assert_eq!(read_ignored(odd), None, "{odd}");
        }
    }
}
