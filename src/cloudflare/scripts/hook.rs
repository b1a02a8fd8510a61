//! Hooks: commands of the application that run in the container.

use super::{FILE_NAMES, READ_MARKER, shell_quote};
use crate::model::named::ContainerMarker;
use crate::model::named::answer::HookRun;
use crate::model::named::settings::Hook;
use crate::model::{Directory, Failure};

/// The prefix of the outcome of a hook. The output of the hook cannot be mistaken for it, because it comes later.
const OUTCOME_PREFIX: &str = "sandbox-snapshotter ";

/// Runs a hook in the container with the marker `marker`. Prints a line with the exit code, and 1 where the hook
/// exceeded its time limit, and then the output of the hook. Prints `other` where the container has another marker.
///
/// A relay passes the output of the hook to two readers: one for the first 2048 bytes, and one for the last 2048 bytes,
/// which are known only at the end. Processes that the hook leaves behind may never close their output. The relay then
/// ends the input of the readers and discards further output, so that none of these processes fails or blocks.
/// Variables have names that no hook uses.
///
/// The script opens and removes all its files before the hook starts, so that the hook can neither remove nor replace
/// them. Each background process has its own process group and closes the output of the script first, so that nothing
/// keeps the output open after the script is killed.
pub(in crate::cloudflare) fn run_hook(marker: &ContainerMarker, dir: &Directory, hook: &Hook) -> String {
    format!(
        r#"exec 2>/dev/null; unset EXECIGNORE
if ! ({FILE_NAMES}{READ_MARKER}[ "$now" = {expected} ]); then echo '{OUTCOME_PREFIX}other'; exit; fi
our_dir=$(mktemp -d /run/sandbox-snapshotter.hook.XXXXXX) && cd "$our_dir" && mkfifo all kept end || exit
exec 9<>end 8<>head 7<>tail 3<>all 4<all 5>all 3<>kept 6<kept || exit
cd / && rm -rf "$our_dir"
set -m
{{ trap : TERM; cat >&3; exec cat >/dev/null 3>&-; }} >/dev/null <&4 4<&- 5>&- 6<&- 7<&- 8<&- 9<&- & our_relay=$!
{{ dd bs=1 count=2048 >&8; tail -c 2049 >&7; echo >&9; }} >/dev/null <&6 3>&- 4<&- 5>&- 6<&- &
read -r our_begin _ </proc/uptime
{{ cd -- {dir} && exec timeout -k 5 {limit} sh -c -- {command}; }} >&5 2>&1 </dev/null 3>&- 4<&- 5>&- 6<&- 7<&- 8<&- 9<&- & hook=$!
exec 3>&- 4<&- 5>&- 6<&-
wait "$hook"; code=$?
read -r end _ </proc/uptime; over=0
case $code in 124 | 137 | 143)
  if [ $((10#${{end/./}} - 10#${{our_begin/./}})) -ge $(({limit} * 100 - 2)) ]; then over=1; kill -KILL -- "-$hook"; fi
esac
patience=2; if kill -0 -- "-$hook"; then patience=0.2; fi
LC_ALL=C read -r -t "$patience" -u 9 _ || {{ kill -TERM -- "-$our_relay"; read -r -t 2 -u 9 _; }}
echo "{OUTCOME_PREFIX}$code $over"
cat /proc/self/fd/8
if [ "$(wc -c </proc/self/fd/7)" -gt 2048 ]; then printf '\n…\n'; fi
tail -c 2048 /proc/self/fd/7"#,
        expected = shell_quote(&marker.to_string()),
        dir = shell_quote(dir.as_str()),
        limit = hook.timeout_seconds,
        command = shell_quote(&hook.command),
    )
}

/// Parses the output of [`run_hook`]; `None` where the container has another marker.
pub(crate) fn read_hook(stdout: &str, name: &str) -> Result<Option<HookRun>, Failure> {
    let unexpected = || Failure::protocol("the hook", "it has no outcome");
    let (_, outcome) = stdout.split_once(OUTCOME_PREFIX).ok_or_else(unexpected)?;
    let (line, output) = outcome.split_once('\n').ok_or_else(unexpected)?;
    if line == "other" {
        return Ok(None);
    }
    let (code, timed_out) = line.split_once(' ').ok_or_else(unexpected)?;
    let (code, timed_out): (i32, bool) = (code.parse().map_err(|_| unexpected())?, timed_out == "1");
    Ok(Some(HookRun {
        hook: name.to_owned(),
        ok: code == 0,
        exit_code: Some(code).filter(|_| !timed_out),
        timed_out,
        output: output.to_owned(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hook_reports_its_exit_code_and_its_output() {
        let run = |ok, exit_code, timed_out, output: &str| {
            Ok(Some(HookRun { hook: "afterStart".into(), ok, exit_code, timed_out, output: output.into() }))
        };
        let read = |stdout| read_hook(stdout, "afterStart");
        assert_eq!(read("sandbox-snapshotter 0 0\n"), run(true, Some(0), false, ""));
        assert_eq!(read("sandbox-snapshotter 3 0\na\n\nb"), run(false, Some(3), false, "a\n\nb"));
        assert_eq!(read("sandbox-snapshotter 137 1\na"), run(false, None, true, "a"));
        assert_eq!(read("sandbox-snapshotter 124 0\n"), run(false, Some(124), false, ""));
        assert_eq!(read("sandbox-snapshotter other\n"), Ok(None));
    }

    #[test]
    fn hook_cannot_fake_its_outcome() {
        let stdout = "sandbox-snapshotter 1 0\nsandbox-snapshotter 0 0\n";
        assert_eq!(read_hook(stdout, "beforeStop").unwrap().unwrap().exit_code, Some(1));
        for stdout in ["", "sandbox-snapshotter", "sandbox-snapshotter x 0\n", "sandbox-snapshotter 0\n"] {
            assert!(read_hook(stdout, "beforeStop").unwrap_err().is_protocol(), "{stdout:?}");
        }
    }
}
