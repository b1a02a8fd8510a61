//! A command of the application's that runs in the container.

use super::{NAMES, READ_STAMP, quoted};
use crate::model::named::Stamp;
use crate::model::named::answer::HookRun;
use crate::model::named::settings::Hook;
use crate::model::{Directory, Failure};

/// What stands before the outcome of a hook: what it printed can't be taken for it, since that comes later.
const OUTCOME: &str = "sandbox-snapshotter ";

/// Runs a hook in the container with that stamp. Prints a line with its exit code, and 1 where its time was over, and behind
/// that what the hook printed. Or `other`.
///
/// What the hook prints goes through a relay to two readers: of the first 2048 bytes, and of the last ones, which are known
/// at the end only. Processes that it left behind may never end their output. Then the relay ends what the readers get, and
/// goes on to throw away what comes: none of those processes breaks, or waits. Variables have names that no hook looks for.
///
/// All files are opened and removed before the hook starts, so it can neither remove nor replace them. Every process in
/// the background, each in a group of its own, gives up the output of the script before anything else: once the script is
/// killed, nothing holds that open.
pub(in crate::cloudflare) fn hook(stamp: &Stamp, dir: &Directory, hook: &Hook) -> String {
    format!(
        r#"exec 2>/dev/null; unset EXECIGNORE
if ! ({NAMES}{READ_STAMP}[ "$now" = {stamp} ]); then echo '{OUTCOME}other'; exit; fi
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
echo "{OUTCOME}$code $over"
cat /proc/self/fd/8
if [ "$(wc -c </proc/self/fd/7)" -gt 2048 ]; then printf '\n…\n'; fi
tail -c 2048 /proc/self/fd/7"#,
        stamp = quoted(&stamp.to_string()),
        dir = quoted(dir.as_str()),
        limit = hook.timeout_seconds,
        command = quoted(&hook.command),
    )
}

/// Reads what [`hook`] prints; `None` where it is another container.
pub(crate) fn read_hook(stdout: &str, name: &str) -> Result<Option<HookRun>, Failure> {
    let unexpected = || Failure::unexpected("the hook", "it has no outcome");
    let (_, outcome) = stdout.split_once(OUTCOME).ok_or_else(unexpected)?;
    let (line, output) = outcome.split_once('\n').ok_or_else(unexpected)?;
    if line == "other" {
        return Ok(None);
    }
    let (code, over) = line.split_once(' ').ok_or_else(unexpected)?;
    let (code, timed_out): (i32, bool) = (code.parse().map_err(|_| unexpected())?, over == "1");
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
    fn a_hook_tells_how_it_ended_and_what_it_printed() {
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
    fn a_hook_cant_fake_its_outcome() {
        let stdout = "sandbox-snapshotter 1 0\nsandbox-snapshotter 0 0\n";
        assert_eq!(read_hook(stdout, "beforeStop").unwrap().unwrap().exit_code, Some(1));
        for stdout in ["", "sandbox-snapshotter", "sandbox-snapshotter x 0\n", "sandbox-snapshotter 0\n"] {
            assert!(read_hook(stdout, "beforeStop").unwrap_err().is_unexpected(), "{stdout:?}");
        }
    }
}
