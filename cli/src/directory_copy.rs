//! The command lines that copy directories between this machine and a running sandbox, for tips.

use crate::args::files::split_place;
use crate::quoting::shell_words;

/// Returns the command line that copies the files of a local directory to a directory of a sandbox, which it creates.
pub fn upload_of_directory(local: &str, sandbox: &str, path: &str) -> String {
    let unpack = unpack_into(path);
    format!("{} | snapshotter exec {}", shell_words(["tar", "c", "-C", local, "."]), shell_words([sandbox, &unpack]))
}

/// Returns the command line that copies the files of a directory of a sandbox to a local directory, which it creates.
fn download_of_directory(sandbox: &str, path: &str, local: &str) -> String {
    let tar = shell_words([sandbox, "tar", "c", "-C", or_working_directory(path), "."]);
    format!("mkdir -p {0} && snapshotter exec {tar} | tar x -C {0}", shell_words([local]))
}

/// Returns the command line that copies a directory, if one of both operands of `cp` is in a sandbox.
pub fn copy_of_directory(from: &str, to: &str) -> Option<String> {
    match (split_place(from), split_place(to)) {
        (None, Some((sandbox, path))) => Some(upload_of_directory(from, sandbox, path)),
        (Some((sandbox, path)), None) => Some(download_of_directory(sandbox, path, to)),
        (Some((sandbox, from)), Some((other, to))) if sandbox == other => {
            let paths = [or_working_directory(from), or_working_directory(to)];
            Some(format!("snapshotter exec {}", shell_words([sandbox, "cp", "-r"].into_iter().chain(paths))))
        }
        (Some((sandbox, from)), Some((other, to))) => {
            let tar = shell_words([sandbox, "tar", "c", "-C", or_working_directory(from), "."]);
            Some(format!("snapshotter exec {tar} | snapshotter exec {}", shell_words([other, &unpack_into(to)])))
        }
        (None, None) => None,
    }
}

fn unpack_into(path: &str) -> String {
    let path = shell_words([or_working_directory(path)]);
    format!("mkdir -p {path} && tar x -C {path}")
}

fn or_working_directory(path: &str) -> &str {
    match path.trim_end_matches('/') {
        "" if path.starts_with('/') => "/",
        "" => ".",
        path => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_copied_to_the_path_that_the_user_gave() {
        let line = |local: &str, to: &str| upload_of_directory(local, "@ws", to);
        assert_eq!(line("/tmp/d", "w"), "tar c -C /tmp/d . | snapshotter exec @ws 'mkdir -p w && tar x -C w'");
        assert_eq!(line("my d", "w/"), "tar c -C 'my d' . | snapshotter exec @ws 'mkdir -p w && tar x -C w'");
        assert_eq!(line("d", ""), "tar c -C d . | snapshotter exec @ws 'mkdir -p . && tar x -C .'");
    }

    #[test]
    fn a_directory_is_copied_from_and_between_sandboxes() {
        for (from, to, expected) in [
            ("@ws:src/", "my d", "mkdir -p 'my d' && snapshotter exec @ws tar c -C src . | tar x -C 'my d'"),
            ("@ws:/", "d", "mkdir -p d && snapshotter exec @ws tar c -C / . | tar x -C d"),
            ("@ws:a", "@ws:b", "snapshotter exec @ws cp -r a b"),
            ("@a:x", "@b:", "snapshotter exec @a tar c -C x . | snapshotter exec @b 'mkdir -p . && tar x -C .'"),
        ] {
            assert_eq!(copy_of_directory(from, to).as_deref(), Some(expected));
        }
        assert_eq!(copy_of_directory("a", "b"), None);
    }
}
