//! What a container is: how old, whose, and what the directory is in it.

use super::files::{hashes, read_hashes, read_survey, survey};
use super::{LOOK, MOUNT, NAMES, PLACE, READ_STAMP, at, quoted};
use crate::model::named::Stamp;
use crate::model::named::standing::Begun;
use crate::model::{Directory, Failure, Place, Probe, StampOutcome, Stamping};

/// How often the clock of `/proc/1/stat` ticks in a second (`USER_HZ`), on every processor that containers run on.
const TICKS: f64 = 100.0;

/// How exact the uptime of the system is, in milliseconds.
const TICK_MILLIS: i64 = 10;

/// Sets `$up` to the uptime of the system, in seconds, and `$start` to the start of PID 1, in ticks.
const AGE: &str = "read -r up _ </proc/uptime; read -r stat </proc/1/stat; set -- ${stat##*) }; start=${20}\n";

/// Prints `<uptime of the system in s> <start of PID 1 in ticks> <what dir is> <1 if the note is there> <uptime at the end>`,
/// and the stamp on a line of its own. With the shell's own means where that can be: every program that is started takes a
/// millisecond of each snapshot.
pub(in crate::cloudflare) fn probe(dir: &Directory) -> String {
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

pub(super) fn read_place(text: &str) -> Option<Place> {
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
pub(in crate::cloudflare) fn note(note: bool) -> String {
    let change = if note { ": >\"$took_place\"" } else { "rm -f \"$took_place\"" };
    format!("{NAMES}{change} && echo done")
}

/// Keeps two scripts apart that change the stamp.
pub(super) const LOCK: &str = "exec 8<>\"$stamp.lock\"; flock 8\n";

/// Puts the stamp `to` in the place of `from`, in a container that is so old at least and carries no note, and prints the age as [`probe`] does
/// and `done`; or else `young`, or `other` and the stamp that is there.
pub(in crate::cloudflare) fn stamp(from: Option<&Stamp>, to: &Stamp, older_than_millis: Option<i64>) -> String {
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
pub(super) fn write_stamp(to: &Stamp) -> String {
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
pub(in crate::cloudflare) fn begin(from: Option<&Stamp>, to: &Stamp, dir: &Directory, files: &[String]) -> String {
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::model::named::standing::Survey;

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
}
