//! The commands that are run inside of sandboxes, and what they print.
//!
//! The SDK's server runs them by `bash -c`. The programs that they start are those of Debian, or of Alpine's busybox.

use std::collections::BTreeMap;

use crate::model::named::Stamp;
use crate::model::named::answer::HookRun;
use crate::model::named::settings::Hook;
use crate::model::named::standing::Survey;
use crate::model::{Directory, Failure, Place, Probe};

/// How often the clock of `/proc/1/stat` ticks in a second (`USER_HZ`), on every processor that containers run on.
const TICKS: f64 = 100.0;

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

/// Prints `<uptime of the system in s> <start of PID 1 in ticks> <what dir is> <1 if the note is there>`, and the stamp on
/// a line of its own. With the shell's own means where that can be: every program that is started takes a millisecond of
/// each snapshot.
pub(super) fn probe(dir: &Directory) -> String {
    let dir = quoted(dir.as_str());
    format!(
        r#"{NAMES}d={dir}; read -r up _ </proc/uptime; read -r stat </proc/1/stat; set -- ${{stat##*) }}; start=${{20}}
if [ -e "$took_place" ]; then note=1; else note=0; fi
{READ_STAMP}if [ ! -e "$d" ] && [ ! -L "$d" ]; then place=missing
elif [ ! -d "$d" ]; then if [ -L "$d" ]; then place=link; else place=other; fi
elif ! cd -L -- "$d"; then place=other
else
  named=$PWD; cd -P .
  if [ "$named" != "$PWD" ]; then place=link
  elif [ -n "$(find . -maxdepth 0 -empty)" ]; then place=empty
  else place=full; fi
fi
echo "$up $start $place $note"
printf '%s\n' "$now""#
    )
}

/// Reads what [`probe`] prints.
pub(crate) fn read_probe(stdout: &str) -> Option<Probe> {
    let (facts, stamp) = stdout.split_once('\n')?;
    let fields: Vec<&str> = facts.split_whitespace().collect();
    let [uptime, start, place, note] = fields.as_slice() else { return None };
    let number = |text: &str| text.parse::<f64>().ok();
    #[allow(clippy::cast_possible_truncation)] // It saturates.
    let age_millis = ((number(uptime)? - number(start)? / TICKS) * 1000.0) as i64;
    let place = match *place {
        "full" => Place::Full,
        "empty" => Place::Empty,
        "missing" => Place::Missing,
        "link" => Place::Link,
        "other" => Place::NotDirectory,
        _ => return None,
    };
    let stamp = match stamp.trim() {
        "" => None,
        stamp => Some(Stamp::parse(stamp)?),
    };
    Some(Probe { age_millis, place, took_place: *note == "1", stamp })
}

/// Leaves the note, or takes it away, and prints `done`.
pub(super) fn note(note: bool) -> String {
    let change = if note { ": >\"$took_place\"" } else { "rm -f \"$took_place\"" };
    format!("{NAMES}{change} && echo done")
}

/// Puts the stamp `to` in the place of `from`, and prints `done`; or `other` where that is not there. The lock keeps two of
/// them apart.
pub(super) fn stamp(from: Option<&Stamp>, to: &Stamp) -> String {
    let from = quoted(&from.map(Stamp::to_string).unwrap_or_default());
    let to = quoted(&to.to_string());
    format!(
        r#"{NAMES}exec 8<>"$stamp.lock"; flock 8
{READ_STAMP}if [ "$now" != {from} ]; then echo other; exit; fi
{LOOK}mv -f "$new" "$looked" && printf '%s\n' {to} >"$stamp.new" && mv -f "$stamp.new" "$stamp" && echo done"#
    )
}

/// Prints lines of `image <version> <hash>`, `listing <hash>` and `end`. A hash of nothing is `none`.
pub(super) fn survey(dir: &Directory) -> String {
    format!(
        r#"d={dir}; version=${{SANDBOX_VERSION//[![:graph:]]/}}
sum() {{ sum=$(sha256sum); sum=${{sum%% *}}; }}
sum < <(cat /etc/os-release /var/lib/dpkg/status /lib/apk/db/installed 2>/dev/null)
echo "image ${{version:-unknown}} ${{sum:0:16}}"
mkdir -p -- "$d" 2>/dev/null
sum=none; if [ -d "$d" ] && cd -- "$d" && [ -n "$(ls -A)" ]; then
  sum < <({{ find . -type f -exec cksum {{}} +; find . ! -type f; }} 2>/dev/null | LC_ALL=C sort)
fi
echo "listing $sum"; echo end"#,
        dir = quoted(dir.as_str()),
    )
}

/// Reads what [`survey`] prints.
pub(crate) fn read_survey(stdout: &str) -> Option<Survey> {
    let lines: Vec<&str> = stdout.lines().collect();
    let [image, listing, "end"] = lines.as_slice() else { return None };
    let listing = Some(read_hash(listing.strip_prefix("listing ")?)?).filter(|hash| !hash.is_empty());
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

/// Prints `stirred` when anything in the directory is newer than the last look, and else `still`.
///
/// It goes by the time of the status where it can: files that are unpacked or moved bring that of their content with them.
/// Busybox can't, and knows whole seconds only. There, what is as old as the last look counts as newer.
pub(super) fn stirred(dir: &Directory) -> String {
    format!(
        r#"{NAMES}d={dir}
{LOOK}found=; if [ ! -e "$looked" ]; then found=$looked
elif [ -d "$d" ] && cd -- "$d"; then
  since=-cnewer; if ! find "$looked" -cnewer "$looked" >/dev/null 2>&1; then
    since=-newer; touch -d "@$(($(stat -c %Y "$looked") - 1))" "$looked"
  fi
  found=$(find . "$since" "$looked" 2>/dev/null | head -n 1)
fi
mv -f "$new" "$looked" && if [ -n "$found" ]; then echo stirred; else echo still; fi"#,
        dir = quoted(dir.as_str())
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
        let probe = Probe { age_millis: 100_500, place: Place::Full, took_place: false, stamp: None };
        assert_eq!(read_probe("1000.50 90000 full 0\n\n"), Some(probe));
    }

    #[test]
    fn a_probe_tells_the_stamp() {
        let stamp = |stdout: &str| read_probe(stdout).unwrap().stamp;
        assert_eq!(stamp("1000.50 90000 full 1\nready nonce\n"), Some(ready()));
        assert_eq!(stamp("1000.50 90000 full 1\nfilling a b\n"), Some(Stamp::Filling("a b".into())));
    }

    #[test]
    fn a_probe_that_prints_something_else_tells_nothing() {
        let odd_stamp = "1000.50 90000 full 0\nodd nonce\n";
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
        assert!(stamp(None, &ready()).contains(r#"[ "$now" != '' ]"#));
        assert!(stamp(Some(&ready()), &ready()).contains(r#"[ "$now" != 'ready nonce' ]"#));
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
