//! The commands that are run inside of sandboxes, and what they print.
//!
//! The SDK's server runs them by `bash -c`. The programs that they start are those of Debian, or of Alpine's busybox.

use std::collections::BTreeMap;

use crate::model::named::Stamp;
use crate::model::named::answer::HookRun;
use crate::model::named::settings::Hook;
use crate::model::named::standing::{Begun, Survey, UNKNOWN_LISTING};
use crate::model::{Arrival, BackupHandle, Directory, Failure, Place, Probe, StampOutcome, Stamping};

/// How often the clock of `/proc/1/stat` ticks in a second (`USER_HZ`), on every processor that containers run on.
const TICKS: f64 = 100.0;

/// How exact the uptime of the system is, in milliseconds.
const TICK_MILLIS: i64 = 10;

/// The length of a SHA-256 in hexadecimal.
const SHA256: usize = 64;

/// How much is kept of what an image says it is, in characters: its version is whatever the container's environment says.
const MAX_IMAGE: usize = 100;

/// What stands before the outcome of a hook: what it printed can't be taken for it, since that comes later.
const OUTCOME: &str = "sandbox-snapshotter ";

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

/// Sets `$up` to the uptime of the system, in seconds, and `$start` to the start of PID 1, in ticks.
const AGE: &str = "read -r up _ </proc/uptime; read -r stat </proc/1/stat; set -- ${stat##*) }; start=${20}\n";

/// Prints `<uptime of the system in s> <start of PID 1 in ticks> <what dir is> <1 if the note is there> <uptime at the end>`,
/// and the stamp on a line of its own. With the shell's own means where that can be: every program that is started takes a
/// millisecond of each snapshot.
pub(super) fn probe(dir: &Directory) -> String {
    let dir = at(dir);
    format!(
        r#"{NAMES}{dir}; {AGE}if [ -e "$took_place" ]; then note=1; else note=0; fi
{READ_STAMP}{MOUNT}{PLACE}read -r end _ </proc/uptime
echo "$up $start $place $note $end"
printf '%s\n' "$now""#
    )
}

/// Reads what [`probe`] prints.
pub(crate) fn read_probe(stdout: &str) -> Option<Probe> {
    let (facts, stamp) = stdout.split_once('\n')?;
    let fields: Vec<&str> = facts.split_whitespace().collect();
    let [uptime, start, place, note, end] = fields.as_slice() else { return None };
    let (age_millis, took_millis) = read_age(uptime, start, end)?;
    let stamp = match stamp.trim() {
        "" => None,
        stamp => Some(Stamp::parse(stamp)?),
    };
    Some(Probe { age_millis, took_millis, place: read_place(place)?, took_place: *note == "1", stamp })
}

/// The age of the container when a script began, and how long that took at least, in milliseconds.
fn read_age(uptime: &str, start: &str, end: &str) -> Option<(i64, i64)> {
    let number = |text: &str| text.parse::<f64>().ok();
    #[allow(clippy::cast_possible_truncation)] // It saturates.
    let millis = |seconds: f64| (seconds * 1000.0) as i64;
    let uptime = number(uptime)?;
    let took = millis((number(end)? - uptime + 0.0005).max(0.0));
    Some((millis(uptime - number(start)? / TICKS), (took - TICK_MILLIS).max(0)))
}

fn read_place(text: &str) -> Option<Place> {
    Some(match text {
        "full" => Place::Full,
        "empty" => Place::Empty,
        "missing" => Place::Missing,
        "link" => Place::Link,
        "other" => Place::NotDirectory,
        _ => return None,
    })
}

/// Leaves the note, or takes it away, and prints `done`.
pub(super) fn note(note: bool) -> String {
    let change = if note { ": >\"$took_place\"" } else { "rm -f \"$took_place\"" };
    format!("{NAMES}{change} && echo done")
}

/// Keeps two scripts apart that change the stamp.
const LOCK: &str = "exec 8<>\"$stamp.lock\"; flock 8\n";

/// Puts the stamp `to` in the place of `from`, in a container that is so old at least and carries no note, and prints the age as [`probe`] does
/// and `done`; or else `young`, or `other` and the stamp that is there.
pub(super) fn stamp(from: Option<&Stamp>, to: &Stamp, older_than_millis: Option<i64>) -> String {
    let from = quoted(&from.map(Stamp::to_string).unwrap_or_default());
    let (is_noted, is_young) = match older_than_millis {
        Some(millis) => (r#"[ -e "$took_place" ]"#, format!("[ $(((10#${{up/./}} - start) * 10)) -lt {millis} ]")),
        None => ("false", "false".to_owned()),
    };
    format!(
        r#"{NAMES}{LOCK}{AGE}{READ_STAMP}if {is_noted}; then outcome=young
elif [ "$now" != {from} ]; then outcome="other $now"
elif {is_young}; then outcome=young
else {write} outcome="done"; fi
read -r end _ </proc/uptime; echo "$up $start $end $outcome""#,
        write = write_stamp(to),
    )
}

/// The end of a script that writes a stamp, for what follows when it is written.
fn write_stamp(to: &Stamp) -> String {
    let to = quoted(&to.to_string());
    format!(r#"{LOOK}mv -f "$new" "$looked" && printf '%s\n' {to} >"$stamp.new" && mv -f "$stamp.new" "$stamp" &&"#)
}

/// Reads what [`stamp`] prints.
pub(crate) fn read_stamp(stdout: &str) -> Option<Stamping> {
    let mut fields = stdout.trim_end().splitn(4, ' ');
    let (uptime, start, end) = (fields.next()?, fields.next()?, fields.next()?);
    let (age_millis, took_millis) = read_age(uptime, start, end)?;
    let outcome = match fields.next()? {
        "done" => StampOutcome::Done,
        "young" => StampOutcome::TooYoung,
        other => match other.strip_prefix("other")?.trim() {
            "" => StampOutcome::Other(None),
            stamp => StampOutcome::Other(Some(Stamp::parse(stamp)?)),
        },
    };
    Some(Stamping { age_millis, took_millis, outcome })
}

/// Puts the stamp `to` in the place of `from`, and prints `<what there is of the container as [`contents`] does>` and `done`; or
/// `other`.
pub(super) fn begin(from: Option<&Stamp>, to: &Stamp, dir: &Directory, files: &[String]) -> String {
    let from = quoted(&from.map(Stamp::to_string).unwrap_or_default());
    format!(
        r#"{NAMES}{LOCK}{READ_STAMP}if [ "$now" != {from} ]; then echo other; exit; fi
{write} :
({survey}
{hashes})"#,
        write = write_stamp(to),
        survey = survey(dir),
        hashes = hashes(dir, files),
    )
}

/// Reads what [`begin`] prints; `None` within where another stamp was there.
pub(crate) fn read_begin(stdout: &str, files: &[String]) -> Result<Option<Begun>, Failure> {
    if stdout.trim() == "other" {
        return Ok(None);
    }
    let begun = || {
        let at = stdout.find("\nend\n")? + "\nend\n".len();
        let (found, hashes) = stdout.split_at_checked(at)?;
        Some(Begun { survey: read_survey(found)?, hashes: read_hashes(hashes, files)? })
    };
    let unreadable = || Failure::unexpected("the sandbox", "what is in the container can't be read");
    begun().map(Some).ok_or_else(unreadable)
}

/// How often processes are ended that are below a mount, until none is left.
const ENDINGS: u32 = 50;

/// Makes sure that a backup has arrived in the directory, and that every process works in its files; then puts the stamp `to` in
/// the place of `from`. Prints `done`, or `other` where there is another stamp, `below <pid> <name>` where a process can't be
/// kept from working below the mount, or `place <what the directory is>` where the backup is not there.
///
/// The SDK mounts an overlay over the directory. A process that was in it before stays below: it sees none of the files, and
/// what it writes is lost. Its path says nothing of that, only the device that it is on. Such processes are those of sessions
/// that were opened since the container started, and are ended; the SDK opens them anew. The container's server works
/// with paths, whatever its own directory is.
pub(super) fn arrive(backup: &BackupHandle, from: &Stamp, to: &Stamp, may_be_empty: bool) -> String {
    let wanted = match (backup.is_local(), may_be_empty) {
        (true, true) => r#"[ "$place" = full ] || [ "$place" = empty ]"#,
        (true, false) => r#"[ "$place" = full ]"#,
        (false, _) => r#"[ "$kind" = fuse.fuse-overlayfs ] && [ -z "${lower##*/$backup[_/]*}" ] && [ -n "$lower" ]"#,
    };
    format!(
        r#"{NAMES}{dir}; backup={id}; {LOCK}{READ_STAMP}if [ "$now" != {to} ] && [ "$now" != {from} ]; then echo other; exit; fi
{MOUNT}{PLACE}if ! {{ {wanted}; }}; then echo "place $place"; exit; fi
below() {{
  below=; device=$(stat -L -c %d -- "$d") || return 1
  while read -r link; do
    path=${{link#* -> }} link=${{link%% -> *}} link=${{link#\'}} link=${{link%\'}} path=${{path#\'}} path=${{path%\'}}
    pid=${{link#/proc/}} what=${{pid#*/}} pid=${{pid%%/*}}
    case $path in "$d" | "$d"/*) ;; *) continue ;; esac
    case $pid:$what in 1:cwd | 1:root | $PPID:cwd | $PPID:root) continue ;; esac
    on=$(stat -L -c %d -- "$link") && [ "$on" != "$device" ] && below="$below $pid"
  done < <(QUOTING_STYLE=literal stat -c %N /proc/[0-9]*/cwd /proc/[0-9]*/root /proc/[0-9]*/fd/*)
  return 0
}}
if [ -n "$kind" ]; then n=0
  until below 2>/dev/null || {{ echo "place other"; exit; }}; [ -z "$below" ]; do
    for pid in $below; do
      if [ "$pid" = 1 ] || [ "$pid" = "$PPID" ] || [ $((n += 1)) -gt {ENDINGS} ]; then
        read -r name <"/proc/$pid/comm"; echo "below $pid $name"; exit
      fi
      kill -KILL "$pid"
    done 2>/dev/null
    sleep 0.02
  done
fi
{write} echo "done""#,
        dir = at(backup.dir()),
        id = quoted(backup.id().as_str()),
        from = quoted(&from.to_string()),
        to = quoted(&to.to_string()),
        write = write_stamp(to),
    )
}

/// Reads what [`arrive`] prints.
pub(crate) fn read_arrive(stdout: &str) -> Option<Arrival> {
    Some(match stdout.trim_end().split_once(' ') {
        None if stdout.trim_end() == "done" => Arrival::Done,
        None if stdout.trim_end() == "other" => Arrival::OtherContainer,
        Some(("place", place)) => Arrival::NotThere(read_place(place)?),
        Some(("below", process)) => {
            Arrival::Below(process.chars().filter(|char| !char.is_control()).take(40).collect())
        }
        _ => return None,
    })
}

/// How long a walk through all files may take, in seconds.
const WALK_SECONDS: u32 = 20;

/// Prints lines of `image <version> <hash>`, `listing <hash>` and `end`. A hash of nothing is `none`; of what could not be
/// listed in time, `unknown`. The listing has names, sizes and times, and no content: it tells what an image brings from what
/// came later, and must not cost more where files are large.
pub(super) fn survey(dir: &Directory) -> String {
    format!(
        r#"{dir}; version=${{SANDBOX_VERSION//[![:graph:]]/}}
sum() {{ sum=$(sha256sum); sum=${{sum%% *}}; }}
sum < <(cat /etc/os-release /var/lib/dpkg/status /lib/apk/db/installed 2>/dev/null)
echo "image ${{version:-unknown}} ${{sum:0:16}}"
mkdir -p -- "$d" 2>/dev/null
{MOUNT}sum=none; if [ -n "$kind" ]; then sum=unknown; elif [ -d "$d" ] && cd -- "$d" && [ -z "$(find . -maxdepth 0 -empty)" ]; then
  sum=$(timeout {WALK_SECONDS} find . ! -path . -exec stat -c '%n %f %s %Y' -- {{}} + 2>/dev/null | LC_ALL=C sort | sha256sum
    [ "${{PIPESTATUS[0]}}" -lt 124 ] || echo unknown)
  case $sum in *unknown) sum=unknown ;; *) sum=${{sum%% *}} ;; esac
fi
echo "listing $sum"; echo end"#,
        dir = at(dir),
    )
}

/// Reads what [`survey`] prints.
pub(crate) fn read_survey(stdout: &str) -> Option<Survey> {
    let lines: Vec<&str> = stdout.lines().collect();
    let [image, listing, "end"] = lines.as_slice() else { return None };
    let listing = match listing.strip_prefix("listing ")? {
        "unknown" => Some(UNKNOWN_LISTING.to_owned()),
        hash => Some(read_hash(hash)?).filter(|hash| !hash.is_empty()),
    };
    let image = image.strip_prefix("image ")?.chars().take(MAX_IMAGE).collect();
    Some(Survey { image, listing })
}

/// Prints the hashes of the files in their order, a line each, and `end`. That of no file is `none`.
pub(super) fn hashes(dir: &Directory, files: &[String]) -> String {
    let path = |file: &String| {
        let parent = if file.starts_with('/') { "" } else { "\"$d\"/" };
        format!("file {parent}{}\n", quoted(file))
    };
    let files: Vec<String> = files.iter().map(path).collect();
    format!(
        r#"d={dir}
file() {{ sum=; if [ -f "$1" ]; then sum=$(sha256sum <"$1"); sum=${{sum%% *}}; fi; echo "${{sum:-none}}"; }}
{files}echo end"#,
        dir = quoted(dir.as_str()),
        files = files.concat(),
    )
}

/// Reads what [`hashes`] prints.
pub(crate) fn read_hashes(stdout: &str, files: &[String]) -> Option<BTreeMap<String, String>> {
    let mut lines = stdout.lines();
    let hash_of = |file: &String| Some((file.clone(), read_hash(lines.next()?)?));
    let hashes = files.iter().map(hash_of).collect::<Option<_>>()?;
    (lines.next()? == "end").then_some(hashes)
}

/// A hash; empty for `none`.
fn read_hash(text: &str) -> Option<String> {
    let is_hash = text.len() == SHA256 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if text == "none" { Some(String::new()) } else { is_hash.then(|| text.to_owned()) }
}

/// Notes that changes count from now on, and prints `still`.
pub(super) fn watch() -> String {
    format!(r#"{NAMES}{LOOK}mv -f "$new" "$looked" && echo still"#)
}

/// Prints `stirred` when anything in the directory is newer than the last look, and else `still`. What can't be told in time
/// counts as stirred.
///
/// It goes by the time of the status where it can: files that are unpacked or moved bring that of their content with them.
/// Busybox can't, and knows whole seconds only. There, what is as old as the last look counts as newer. Of an overlay, the upper
/// directory has all that was changed since the backup was restored.
pub(super) fn stirred(dir: &Directory) -> String {
    format!(
        r#"{NAMES}{dir}
{MOUNT}{LOOK}found=; if [ ! -e "$looked" ]; then found=$looked
elif [ -d "$d" ] && cd -- "${{upper:-$d}}"; then
  since=-cnewer; if ! find "$looked" -cnewer "$looked" >/dev/null 2>&1; then
    since=-newer; touch -d "@$(($(stat -c %Y "$looked") - 1))" "$looked"
  fi
  found=$({{ timeout {WALK_SECONDS} find . "$since" "$looked" 2>/dev/null; [ $? -lt 124 ] || echo unknown; }} | head -n 1)
fi
mv -f "$new" "$looked" && if [ -n "$found" ]; then echo stirred; else echo still; fi"#,
        dir = at(dir)
    )
}

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
pub(super) fn hook(stamp: &Stamp, dir: &Directory, hook: &Hook) -> String {
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
    use super::*;
    use crate::model::named::settings::OnFailure;

    fn dir(path: &str) -> Directory {
        Directory::parse(path).unwrap()
    }

    fn ready() -> Stamp {
        Stamp::Ready("nonce".into())
    }

    #[test]
    fn a_probe_tells_the_age_of_the_container_from_its_first_process() {
        let probe = Probe { age_millis: 100_500, took_millis: 10, place: Place::Full, took_place: false, stamp: None };
        assert_eq!(read_probe("1000.50 90000 full 0 1000.52\n\n"), Some(probe));
    }

    #[test]
    fn a_probe_tells_the_stamp() {
        let stamp = |stdout: &str| read_probe(stdout).unwrap().stamp;
        assert_eq!(stamp("1000.50 90000 full 1 1000.50\nready nonce\n"), Some(ready()));
        assert_eq!(stamp("1000.50 90000 full 1 1000.50\nfilling a b\n"), Some(Stamp::Filling("a b".into())));
    }

    #[test]
    fn a_probe_that_prints_something_else_tells_nothing() {
        let odd_stamp = "1000.50 90000 full 0 1000.50\nodd nonce\n";
        for stdout in ["", "1000.50\n", "1000.50 x full 0\n", "1000.50 90000 odd 0\n", "sh: not found\n", odd_stamp] {
            assert_eq!(read_probe(stdout), None, "{stdout:?}");
        }
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
    fn no_stamp_is_an_empty_one() {
        assert!(stamp(None, &ready(), None).contains(r#"[ "$now" != '' ]"#));
        assert!(stamp(Some(&ready()), &ready(), Some(5)).contains(r#"[ "$now" != 'ready nonce' ]"#));
    }

    #[test]
    fn a_stamp_tells_the_age_of_its_container_and_what_came_of_it() {
        let told = |outcome| Some(Stamping { age_millis: 100_500, took_millis: 1490, outcome });
        let read = |outcome: &str| read_stamp(&format!("1000.50 90000 1002.00 {outcome}\n"));
        assert_eq!(read("done"), told(StampOutcome::Done));
        assert_eq!(read("young"), told(StampOutcome::TooYoung));
        assert_eq!(read("other "), told(StampOutcome::Other(None)));
        assert_eq!(read("other ready nonce"), told(StampOutcome::Other(Some(ready()))));
        for odd in ["", "other odd nonce", "x"] {
            assert_eq!(read(odd), None, "{odd:?}");
        }
        assert_eq!(read_stamp("done\n"), None);
    }

    #[test]
    fn the_beginning_tells_what_is_in_the_container() {
        let files = ["/etc/x".to_owned()];
        let begun = Begun {
            survey: Survey { image: "0.12.10 0123".into(), listing: None },
            hashes: BTreeMap::from([("/etc/x".to_owned(), String::new())]),
        };
        assert_eq!(read_begin("image 0.12.10 0123\nlisting none\nend\nnone\nend\n", &files), Ok(Some(begun)));
        assert_eq!(read_begin("other\n", &files), Ok(None));
        for odd in ["", "image 0.12.10 0123\nlisting none\nend\n", "listing none\nend\nnone\nend\n"] {
            assert!(read_begin(odd, &files).is_err(), "{odd:?}");
        }
    }

    #[test]
    fn an_arrival_tells_what_is_missing() {
        assert_eq!(read_arrive("done\n"), Some(Arrival::Done));
        assert_eq!(read_arrive("other\n"), Some(Arrival::OtherContainer));
        assert_eq!(read_arrive("place empty\n"), Some(Arrival::NotThere(Place::Empty)));
        assert_eq!(read_arrive("below 9 bash\n"), Some(Arrival::Below("9 bash".into())));
        for odd in ["", "place\n", "place odd\n", "sh: not found\n"] {
            assert_eq!(read_arrive(odd), None, "{odd:?}");
        }
    }

    #[test]
    fn a_directory_is_compared_as_the_kernel_spells_it() {
        assert_eq!(at(&dir("/workspace//a/./b/")), "raw='/workspace//a/./b/' d='/workspace/a/b'");
    }

    #[test]
    fn a_survey_tells_what_the_image_and_the_directory_are() {
        let hash = "1".repeat(SHA256);
        let survey = |listing| Some(Survey { image: "0.12.10 0123456789abcdef".into(), listing });
        let stdout = |listing: &str| format!("image 0.12.10 0123456789abcdef\nlisting {listing}\nend\n");
        assert_eq!(read_survey(&stdout("none")), survey(None));
        assert_eq!(read_survey(&stdout(&hash)), survey(Some(hash.clone())));
        for odd in ["", "listing none\nend\n", "image a b\nlisting none\n", &stdout("1"), &stdout("")] {
            assert_eq!(read_survey(odd), None, "{odd}");
        }
    }

    #[test]
    fn an_image_that_says_much_of_itself_is_told_by_the_beginning_of_that() {
        let survey = read_survey(&format!("image {} 0123456789abcdef\nlisting none\nend\n", "x".repeat(60_000)));
        assert_eq!(survey, Some(Survey { image: "x".repeat(MAX_IMAGE), listing: None }));
    }

    #[test]
    fn hashes_are_told_by_the_order_of_files() {
        let hash = "2".repeat(SHA256);
        let files = ["b".to_owned(), "a\"'".to_owned()];
        let expected = BTreeMap::from([("b".to_owned(), String::new()), ("a\"'".to_owned(), hash.clone())]);
        assert_eq!(read_hashes(&format!("none\n{hash}\nend\n"), &files), Some(expected));
        for odd in ["", "none\n", "none\nnone\n", "none\nend\n", "none\n2\nend\n", "none\nnone\nnone\nend\n"] {
            assert_eq!(read_hashes(odd, &files), None, "{odd}");
        }
    }

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
