//! The command that lists the paths that git ignores below the subdirectories of a directory.
//!
//! It calls git as the SDK does for `gitignore: true`: with the settings of the user, except those that run programs.
//! It prints at most one more path than an error message can name.

use super::scripts::shell_quote;
use crate::model::Directory;
use crate::model::exclude::MAX_QUOTED;

/// The maximum length of a printed path, in bytes.
const MAX_PATH_BYTES: usize = 400;

/// Prints the paths, one a line, and then `end`. Prints no paths where git is missing, and outside of repositories.
pub(super) fn list_ignored(dir: &Directory) -> String {
    format!(
        r#"d={dir}; unset CDPATH; unset -f git
set -- git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c safe.directory='*' -c core.quotePath=false
if type -P git && cd -- "$d" && [ "$("$@" rev-parse --is-inside-work-tree)" = true ]; then
  "$@" ls-files --others --ignored --exclude-standard -- . |
    LC_ALL=C sed -n 's|/*$||; /\//p' | head -n {count} | cut -b 1-{MAX_PATH_BYTES} >&3
fi 3>&1 >/dev/null 2>&1
echo end"#,
        dir = shell_quote(dir.as_str()),
        count = MAX_QUOTED + 1,
    )
}

/// Parses the output of [`list_ignored`].
pub(crate) fn read_ignored(stdout: &str) -> Option<Vec<String>> {
    let mut lines: Vec<String> = stdout.lines().map(str::to_owned).collect();
    (lines.pop()? == "end" && lines.len() <= MAX_QUOTED + 1).then_some(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn script_quotes_the_directory_as_one_word() {
        let script = list_ignored(&Directory::parse("/workspace/it's $(here)").unwrap());
        assert!(script.starts_with(r"d='/workspace/it'\''s $(here)'; "), "{script}");
    }

    #[test]
    fn truncated_list_is_not_read() {
        assert_eq!(read_ignored("end\n"), Some(Vec::new()));
        assert_eq!(read_ignored("a/b\nend"), Some(vec!["a/b".to_owned()]));
        for odd in ["", "a/b\n", "end\na/b\n", &format!("{}end\n", "a/b\n".repeat(MAX_QUOTED + 2))] {
            assert_eq!(read_ignored(odd), None, "{odd}");
        }
    }
}
