//! The first lines of every command that runs in a sandbox, except hooks.

/// Resets the shell to its defaults.
///
/// A command inherits the sandbox's variables, and bash runs the file in `BASH_ENV` before it. Shell options, functions
/// and these variables change what a script does, or how bash finds programs. Hooks are commands of the user and keep
/// all of them.
pub(crate) const PRELUDE: &str = "\
set +abefkmuvxCP -B +o posix +o pipefail
shopt -u dotglob expand_aliases failglob lastpipe localvar_inherit nocaseglob nocasematch nullglob xpg_echo 2>/dev/null
unset -f cd echo printf read kill wait base64 cat chmod chown find flock git head ln ls mapfile mkdir mv readlink rm rmdir sed sha256sum sleep sort stat tail timeout touch tr
unset BASH_COMPAT CDPATH EXECIGNORE FUNCNEST GLOBIGNORE POSIXLY_CORRECT TMOUT
";
