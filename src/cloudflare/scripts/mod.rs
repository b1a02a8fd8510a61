//! The commands that are run inside of sandboxes, and what they print.
//!
//! The SDK's server runs them by `bash -c`. The programs that they start are those of Debian, or of Alpine's busybox.
//!
//! - [`container`]: how old it is, whose, and what the directory is in it
//! - [`arrive`]: whether the files of a backup are in place
//! - [`files`]: what its image brings, and whether anything was changed
//! - [`hook`]: a command of the application's

mod arrive;
mod container;
mod files;
mod hook;

pub(super) use arrive::arrive;
pub(crate) use arrive::read_arrive;
pub(super) use container::{begin, note, probe, stamp};
pub(crate) use container::{read_begin, read_probe, read_stamp};
pub(super) use files::{hashes, stirred, survey, watch};
pub(crate) use files::{read_hashes, read_survey};
pub(super) use hook::hook;
pub(crate) use hook::read_hook;

use crate::model::Directory;

/// The files of ours in a container. They are outside of every directory that can be captured.
///
/// - `took_place`: the note that the container took the place of another one unasked
/// - `stamp`: whose files are in it
/// - `looked`: somebody looked for changes when this was written
pub(super) const NAMES: &str =
    "run=/run/sandbox-snapshotter; took_place=$run.took-place stamp=$run.stamp looked=$run.looked\n";

/// Reads the stamp; empty where there is none.
const READ_STAMP: &str = "now=; [ -f \"$stamp\" ] && IFS= read -r now <\"$stamp\"\n";

/// Writes `$new`, which takes the place of `$looked` later. It waits for the next tick of the clock: a change that is still to
/// come would else be as old, and not newer.
const LOOK: &str = r#"new=$looked.$$ tick=$looked.$$.tick n=0; : >"$new" || exit
until echo >"$tick"; [ "$tick" -nt "$new" ] || [ $((n += 1)) -gt 5000 ]; do :; done
rm -f "$tick"
"#;

/// Finds out what is mounted on `$d`: `$kind` is the type of that file system, and empty where `$d` is no mount. For the overlay
/// of a restored backup, `$lower` and `$upper` are the directories that it is made of. Lists no directory: the first listing of
/// an overlay reads all directories in it.
const MOUNT: &str = r#"kind= lower= upper=
while read -r _ _ _ _ at rest; do
  if printf -v at %b "${at//\\/\\0}" && [ "$at" = "$d" ]; then rest=${rest#*- } kind=${rest%% *}; fi
done </proc/self/mountinfo
if [ "$kind" = fuse.fuse-overlayfs ]; then
  for line in /proc/[0-9]*/cmdline; do
    mapfile -d '' -t line <"$line"; [ ${#line[@]} -ge 3 ] && [ "${line[0]##*/}" = fuse-overlayfs ] && [ "${line[-1]}" = "$raw" ] || continue
    for option in "${line[@]}"; do case $option in *upperdir=*)
      lower=${option#*lowerdir=} lower=${lower%%,*} upper=${option#*upperdir=} upper=${upper%%,*}
    esac; done
  done 2>/dev/null
fi
"#;

/// Sets `$place` to what `$d` is. A mounted directory counts as one with something in it.
const PLACE: &str = r#"if [ ! -e "$d" ] && [ ! -L "$d" ]; then place=missing
elif [ ! -d "$d" ]; then if [ -L "$d" ]; then place=link; else place=other; fi
elif ! cd -L -- "$d"; then place=other
else
  named=$PWD; cd -P .
  if [ "$named" != "$PWD" ]; then place=link
  elif [ -z "$kind" ] && [ -n "$(find . -maxdepth 0 -empty)" ]; then place=empty
  else place=full; fi
  cd /
fi
"#;

/// Sets `$raw` to a directory as it is spelled, and `$d` to it as the kernel does.
fn at(dir: &Directory) -> String {
    let parts: Vec<&str> = dir.as_str().split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    format!("raw={} d={}", quoted(dir.as_str()), quoted(&format!("/{}", parts.join("/"))))
}

/// A text as one word of the shell.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::container::probe;
    use super::files::{hashes, stirred, survey};
    use super::hook::hook;
    use super::*;
    use crate::model::named::Stamp;
    use crate::model::named::settings::{Hook, OnFailure};

    fn ready() -> Stamp {
        Stamp::Ready("nonce".into())
    }

    fn dir(path: &str) -> Directory {
        Directory::parse(path).unwrap()
    }

    #[test]
    fn what_is_named_in_a_script_stays_one_word() {
        let odd = dir("/workspace/it's $(here)");
        let hook_of = Hook { command: "echo 'it'\n$x".into(), timeout_seconds: 7, on_failure: OnFailure::Fail };
        for script in [probe(&odd), survey(&odd), stirred(&odd), hook(&ready(), &odd, &hook_of)] {
            assert!(script.contains(r"'/workspace/it'\''s $(here)'"), "{script}");
        }
        let files = ["a'b".to_owned(), "/etc/$c".to_owned(), "-n".to_owned()];
        let script = hashes(&odd, &files);
        assert!(script.contains("file \"$d\"/'a'\\''b'\nfile '/etc/$c'\nfile \"$d\"/'-n'\n"), "{script}");
        let script = hook(&ready(), &odd, &hook_of);
        assert!(script.contains("timeout -k 5 7 sh -c -- 'echo '\\''it'\\''\n$x';"), "{script}");
    }

    #[test]
    fn a_directory_is_compared_as_the_kernel_spells_it() {
        assert_eq!(at(&dir("/workspace//a/./b/")), "raw='/workspace//a/./b/' d='/workspace/a/b'");
    }
}
