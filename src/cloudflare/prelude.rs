//! What every command begins with that runs in a sandbox, hooks excepted.

/// Returns the shell to its defaults.
///
/// A command inherits the sandbox's variables, and `BASH_ENV` runs before it: options, functions and these variables change
/// what a script does, or how programs are found. Hooks are the user's own commands and keep all of them.
pub(super) const PRELUDE: &str = "\
set +abefkmuvxCP -B +o posix +o pipefail
shopt -u dotglob expand_aliases failglob lastpipe localvar_inherit nocaseglob nocasematch nullglob xpg_echo 2>/dev/null
unset -f cd echo printf read kill wait cat find flock git head mapfile mkdir mv rm sed sha256sum sleep sort stat timeout touch
unset BASH_COMPAT CDPATH EXECIGNORE FUNCNEST GLOBIGNORE POSIXLY_CORRECT TMOUT
";
