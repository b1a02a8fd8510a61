//! The commands that freeze files before a capture, and thaw them after it.
//!
//! A watchdog in a session of its own runs both, so that the thaw comes after the freeze, and also where no request for it
//! arrives. It starts before the freeze. Its directory `<run>.freeze.<snapshot id>` has:
//!
//! | file      | content                                                                                              |
//! | --------- | ---------------------------------------------------------------------------------------------------- |
//! | `request` | a FIFO: `thaw` requests the thaw after the capture, and `end` requests it for another freeze         |
//! | `frozen`  | the exit code of the freeze command, or `timeout`                                                    |
//! | `output`  | the output of the freeze command                                                                     |
//! | `thawed`  | 1 where the files were frozen until the request `thaw`, otherwise 0; and the exit code of the thaw   |
//!
//! The watchdog has a lock on `<run>.freeze-lock`, so that no two freezes overlap: another capture may begin while that of a
//! canceled call still runs, and the thaw of one freeze must not end the other one.

use super::{FILE_NAMES, shell_quote};
use crate::cloudflare::prelude::PRELUDE;
use crate::model::freeze::{Freeze, FreezeReport};
use crate::model::freeze_call::FreezeFailed;
use crate::model::{Directory, SnapshotId};

/// The maximum length of the output of a freeze that failed, in bytes.
const MAX_OUTPUT: u32 = 2048;

/// The margin of a freeze over its time limit, in milliseconds: for the end of an earlier freeze, and for the thaw where the
/// command fails.
const FREEZE_MARGIN_MILLIS: u32 = 140_000;

/// The time limit of a thaw, in milliseconds. The watchdog kills the command before.
const THAW_TIMEOUT_MILLIS: u32 = 45_000;

/// Freezes the files in the directory `$4` with the command `$5`. Thaws them with `$6` on request, or `$2` seconds after the
/// begin. `$1` is its own directory, and `$3` the time limit of the thaw. A hanging command is killed in time for the thaw.
/// The commands get neither the lock, file 8, nor the requests, file 9.
const WATCHDOG: &str = r#"our_own=$1 our_limit=$2 our_thaw_limit=$3 our_dir=$4 our_freeze=$5 our_thaw=$6
now() { read -r our_now _ </proc/uptime; our_now=$((10#${our_now/./})); }
note() { echo "$2" >"$our_own/$1.new"; mv -f "$our_own/$1.new" "$our_own/$1"; }
now; our_end=$((our_now + our_limit * 100)) our_frozen=0
cd -- "$our_dir" || { note frozen 126; note thawed "0 126"; exit; }
timeout -k 1 "$((our_limit - 1))" sh -c -- "$our_freeze" </dev/null >"$our_own/output" 2>&1 8>&- 9>&-; our_code=$?; now
case $our_code in 124 | 137 | 143) if [ $our_now -ge $((our_end - 102)) ]; then our_code=timeout; fi; esac
note frozen "$our_code"
our_left=$((our_end - our_now))
if [ "$our_code" = 0 ] && [ $our_left -gt 0 ]; then
  printf -v our_left '%d.%02d' $((our_left / 100)) $((our_left % 100))
  if LC_ALL=C read -r -t "$our_left" -u 9 our_request && [ "$our_request" = thaw ]; then our_frozen=1; fi
fi
timeout -k 2 "$our_thaw_limit" sh -c -- "$our_thaw" </dev/null >/dev/null 2>&1 8>&- 9>&-
note thawed "$our_frozen $?"
"#;

/// Waits for the file `$1` of the watchdog. Fails where the watchdog ended without it.
const AWAIT: &str = r#"await() {
  until [ -e "$own/$1" ]; do
    if [ ! -d "$own" ] || flock -n "$lock" true; then [ -e "$own/$1" ]; return; fi
    sleep 0.02
  done
}
"#;

fn own_directory(id: &SnapshotId) -> String {
    format!("{FILE_NAMES}own=$run.freeze.{id} lock=$run.freeze-lock\n{AWAIT}")
}

/// Ends an earlier freeze, and freezes the files. Prints `frozen`; or `failed` and the exit code or `timeout`, and in further
/// lines the output, once the files are thawed. Returns the command and its time limit in milliseconds.
pub(in crate::cloudflare) fn freeze(dir: &Directory, id: &SnapshotId, freeze: &Freeze) -> (String, u32) {
    let command = format!(
        r#"{own}exec 8>"$lock" || exit
if ! flock -n 8; then
  for request in "$run".freeze.*/request; do if [ -p "$request" ]; then echo end 1<>"$request"; fi; done
  flock 8
fi
rm -rf -- "$run".freeze.*
mkdir -m 700 "$own" && mkfifo "$own/request" && : >"$own/output" && exec 9<>"$own/request" || exit
setsid bash -c -- {watchdog} watchdog "$own" {limit} {thaw_limit} {dir} {freeze} {thaw} </dev/null >/dev/null 2>&1 &
exec 8>&- 9>&-
await frozen || exit; read -r code <"$own/frozen"
if [ "$code" = 0 ]; then echo frozen; exit; fi
await thawed || exit; echo "failed $code"; head -c {MAX_OUTPUT} "$own/output"; rm -rf -- "$own""#,
        own = own_directory(id),
        watchdog = shell_quote(&[PRELUDE, WATCHDOG].concat()),
        limit = freeze.timeout_seconds,
        thaw_limit = Freeze::THAW_SECONDS,
        dir = shell_quote(dir.as_str()),
        freeze = shell_quote(&freeze.freeze),
        thaw = shell_quote(&freeze.thaw),
    );
    (command, freeze.timeout_seconds.saturating_mul(1000).saturating_add(FREEZE_MARGIN_MILLIS))
}

/// Parses the output of [`freeze`].
pub(crate) fn read_frozen(stdout: &str) -> Option<Result<(), FreezeFailed>> {
    if stdout.trim() == "frozen" {
        return Some(Ok(()));
    }
    let (line, output) = stdout.split_once('\n')?;
    let exit_code = match line.strip_prefix("failed ")? {
        "timeout" => None,
        code => Some(code.parse().ok()?),
    };
    Some(Err(FreezeFailed { exit_code, output: output.to_owned() }))
}

/// Requests the thaw, and prints `thawed` with its outcome; `other` where no watchdog has one. Opens the FIFO for reading,
/// too, because otherwise it waits for a reader. Returns the command and its time limit in milliseconds.
pub(in crate::cloudflare) fn thaw(id: &SnapshotId) -> (String, u32) {
    let command = format!(
        r#"{own}if [ -p "$own/request" ] && [ ! -e "$own/thawed" ]; then echo thaw 1<>"$own/request"; fi
if await thawed && read -r outcome <"$own/thawed"; then echo "thawed $outcome"; else echo other; fi
rm -rf -- "$own""#,
        own = own_directory(id),
    );
    (command, THAW_TIMEOUT_MILLIS)
}

/// Parses the output of [`thaw`].
pub(crate) fn read_thawed(stdout: &str) -> Option<FreezeReport> {
    let words: Vec<&str> = stdout.split_whitespace().collect();
    match words.as_slice() {
        ["thawed", frozen, code] => Some(FreezeReport { consistent: *frozen == "1", thawed: *code == "0" }),
        ["other"] => Some(FreezeReport::default()),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
