//! The command that lists which paths git ignores below the subdirectories of a directory.
//!
//! It asks git as the SDK does for `gitignore: true`, with the user's settings but for those that run programs, and answers no
//! more lines than a message can name.

use super::scripts::quoted;
use crate::model::Directory;
use crate::model::exclude::MAX_NAMED;

/// How much of each path is printed, in bytes.
const LENGTH: usize = 400;

/// Prints the paths, a line each, and `end`. Without git, and outside of repositories, there are none.
pub(super) fn list(dir: &Directory) -> String {
    format!(
        r#"d={dir}; unset CDPATH; unset -f git
set -- git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c safe.directory='*' -c core.quotePath=false
if type -P git && cd -- "$d" && [ "$("$@" rev-parse --is-inside-work-tree)" = true ]; then
  "$@" ls-files --others --ignored --exclude-standard -- . |
    LC_ALL=C sed -n 's|/*$||; /\//p' | head -n {count} | cut -b 1-{LENGTH} >&3
fi 3>&1 >/dev/null 2>&1
echo end"#,
        dir = quoted(dir.as_str()),
        count = MAX_NAMED + 1,
    )
}

/// Reads what [`list`] prints.
pub(crate) fn read(stdout: &str) -> Option<Vec<String>> {
    let mut lines: Vec<String> = stdout.lines().map(str::to_owned).collect();
    (lines.pop()? == "end" && lines.len() <= MAX_NAMED + 1).then_some(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_stays_one_word() {
        let script = list(&Directory::parse("/workspace/it's $(here)").unwrap());
        assert!(script.starts_with(r"d='/workspace/it'\''s $(here)'; "), "{script}");
    }

    #[test]
    fn a_list_that_was_cut_off_is_not_read() {
        assert_eq!(read("end\n"), Some(Vec::new()));
        assert_eq!(read("a/b\nend"), Some(vec!["a/b".to_owned()]));
        for odd in ["", "a/b\n", "end\na/b\n", &format!("{}end\n", "a/b\n".repeat(MAX_NAMED + 2))] {
            assert_eq!(read(odd), None, "{odd}");
        }
    }
}
