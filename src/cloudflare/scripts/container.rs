//! The probe of a container: its age, its marker, and the content of its directory.

use super::files::{PRINT_IMAGE, hash_files, list_directory, read_hashes, read_image, read_listing, skip_listing};
use super::{
    COMPARE_MOUNTS, CREATE_WATCH_FILE, DETECT_CONTENT, DETECT_MOUNT, FILE_NAMES, PRINT_CONTAINER_ID, READ_AGE,
    READ_MARKER, RECORD_MOUNTS, dir_vars, read_container_id, shell_quote,
};
use crate::model::change_cursor::SAVED_AT_START;
use crate::model::named::ContainerMarker;
use crate::model::named::binding::RestoreBegun;
use crate::model::{Directory, DirectoryContent, Failure, MarkerOutcome, MarkerUpdate, Probe, Provenance};

/// Ticks per second of the times in `/proc/1/stat` (`USER_HZ`), on every processor that containers run on.
const TICKS_PER_SECOND: f64 = 100.0;

/// The resolution of the system uptime, in milliseconds.
const TICK_MILLIS: i64 = 10;

/// Prints `<uptime of the system in s> <start of PID 1 in ticks> <kind of dir> <1 if the note exists> <uptime at the
/// end>`, and the container marker on a line of its own. Uses shell builtins where it can, because each program that it
/// starts adds a millisecond to each snapshot.
pub(in crate::cloudflare) fn probe(dir: &Directory) -> String {
    let dir = dir_vars(dir);
    format!(
        r#"{FILE_NAMES}{dir}; {READ_AGE}if [ -e "$replaced_note" ]; then note=1; else note=0; fi
{READ_MARKER}{DETECT_MOUNT}{COMPARE_MOUNTS}{DETECT_CONTENT}read -r end _ </proc/uptime
echo "$up $start $place $note $end"
printf '%s\n' "$now""#
    )
}

/// Parses the output of [`probe`].
pub(crate) fn read_probe(stdout: &str) -> Option<Probe> {
    let (facts, marker) = stdout.split_once('\n')?;
    let fields: Vec<&str> = facts.split_whitespace().collect();
    let [uptime, start, place, note, end] = fields.as_slice() else { return None };
    let (age_millis, elapsed_millis) = read_age(uptime, start, end)?;
    let marker = match marker.trim() {
        "" => None,
        marker => Some(ContainerMarker::parse(marker)?),
    };
    Some(Probe {
        age_millis,
        elapsed_millis,
        directory_content: read_content(place)?,
        is_replacement: *note == "1",
        marker,
    })
}

/// Returns the age of the container at the start of a script, and the minimum duration of the script, in milliseconds.
fn read_age(uptime: &str, start: &str, end: &str) -> Option<(i64, i64)> {
    let number = |text: &str| text.parse::<f64>().ok();
    #[allow(clippy::cast_possible_truncation)] // The conversion saturates.
    let millis = |seconds: f64| (seconds * 1000.0) as i64;
    let uptime = number(uptime)?;
    let duration = millis((number(end)? - uptime + 0.0005).max(0.0));
    Some((millis(uptime - number(start)? / TICKS_PER_SECOND), (duration - TICK_MILLIS).max(0)))
}

pub(super) fn read_content(text: &str) -> Option<DirectoryContent> {
    Some(match text {
        "full" => DirectoryContent::NonEmpty,
        "empty" => DirectoryContent::Empty,
        "missing" => DirectoryContent::Missing,
        "link" => DirectoryContent::Symlink,
        "other" => DirectoryContent::NotDirectory,
        "unmounted" => DirectoryContent::Unmounted,
        _ => return None,
    })
}

/// Writes or removes the note that the container replaced another one, and prints `done`.
pub(in crate::cloudflare) fn set_replaced_note(note: bool) -> String {
    let change = if note { ": >\"$replaced_note\"" } else { "rm -f \"$replaced_note\"" };
    format!("{FILE_NAMES}{change} && echo done")
}

/// Locks the container marker, so that only one script at a time changes it.
pub(super) const LOCK_MARKER: &str = "exec 8<>\"$marker.lock\"; flock 8\n";

/// Replaces the container marker `from` with `to`. With `older_than_millis`, only in a container that has at least this
/// age and no note: its application may mount what it then captures, so its mounts are not recorded. Prints the id of
/// the container; then the age as [`probe`] does, and `done`; otherwise `young`, or `other` and the current marker.
pub(in crate::cloudflare) fn update_marker(
    from: Option<&ContainerMarker>,
    to: &ContainerMarker,
    older_than_millis: Option<i64>,
    with_image: bool,
) -> String {
    let image = if with_image { PRINT_IMAGE } else { "" };
    let from = shell_quote(&from.map(ContainerMarker::to_string).unwrap_or_default());
    let (is_replacement, is_young) = match older_than_millis {
        Some(millis) => (r#"[ -e "$replaced_note" ]"#, format!("[ $(((10#${{up/./}} - start) * 10)) -lt {millis} ]")),
        None => ("false", "false".to_owned()),
    };
    format!(
        r#"{FILE_NAMES}{PRINT_CONTAINER_ID}{image}{LOCK_MARKER}{READ_AGE}{READ_MARKER}if {is_replacement}; then outcome=young
elif [ "$now" != {from} ]; then outcome="other $now"
elif {is_young}; then outcome=young
else {write} outcome="done"; fi
read -r end _ </proc/uptime; echo "$up $start $end $outcome""#,
        write = if older_than_millis.is_some() { write_marker_with(to, "") } else { write_marker(to) },
    )
}

/// Returns the commands that write a container marker. They end in `&&`: what follows runs when the marker is written.
pub(super) fn write_marker(to: &ContainerMarker) -> String {
    write_marker_with(to, if to.is_ready() { RECORD_MOUNTS } else { "" })
}

fn write_marker_with(to: &ContainerMarker, record_mounts: &str) -> String {
    let to = shell_quote(&to.to_string());
    format!(
        r#"ready={to}; {CREATE_WATCH_FILE}{record_mounts}mv -f "$new" "$watch_file" && ln -f "$watch_file" "$watch_file.saved.{SAVED_AT_START}" && printf '%s\n' "$ready" >"$marker.new" && mv -f "$marker.new" "$marker" &&"#
    )
}

/// Parses the output of [`update_marker`].
pub(crate) fn read_marker_update(stdout: &str) -> Option<MarkerUpdate> {
    let (container_id, update) = read_container_id(stdout)?;
    let (provenance, update) = match update.split_once('\n') {
        Some((line, update)) if line.starts_with("image ") => (Provenance::parse(&read_image(line)?), update),
        _ => (None, update),
    };
    let mut fields = update.trim_end().splitn(4, ' ');
    let (uptime, start, end) = (fields.next()?, fields.next()?, fields.next()?);
    let (age_millis, elapsed_millis) = read_age(uptime, start, end)?;
    let outcome = match fields.next()? {
        "done" => MarkerOutcome::Updated,
        "young" => MarkerOutcome::TooYoung,
        other => match other.strip_prefix("other")?.trim() {
            "" => MarkerOutcome::OtherMarker(None),
            marker => MarkerOutcome::OtherMarker(Some(ContainerMarker::parse(marker)?)),
        },
    };
    Some(MarkerUpdate { age_millis, elapsed_millis, outcome, container_id, provenance })
}

/// Replaces the container marker `from` with `to`, and prints the id of the container, and the output of
/// [`list_directory`] and of [`hash_files`]. Prints `other` where the container has another marker, or another disk than
/// the one with the token. With a token, the directory is not listed: nothing depends on it, and it has all files.
pub(in crate::cloudflare) fn begin_restore(
    from: Option<&ContainerMarker>,
    to: &ContainerMarker,
    token: Option<&str>,
    dir: &Directory,
    files: &[String],
) -> String {
    let from = shell_quote(&from.map(ContainerMarker::to_string).unwrap_or_default());
    format!(
        r#"{FILE_NAMES}{LOCK_MARKER}{READ_MARKER}if [ "$now" != {from} ]{other_disk}; then echo other; exit; fi
{write} :
{PRINT_CONTAINER_ID}({listing}
{hashes})"#,
        write = write_marker(to),
        other_disk = token
            .map(|token| format!(r#" || [ "$(cat "$disk_token" 2>/dev/null)" != {} ]"#, shell_quote(token)))
            .unwrap_or_default(),
        listing = if token.is_some() { skip_listing(dir) } else { list_directory(dir) },
        hashes = hash_files(dir, files),
    )
}

/// Writes the token to the disk of the container with the marker, and prints `done`; `other` where the container has another
/// marker.
pub(in crate::cloudflare) fn write_disk_token(marker: &ContainerMarker, token: &str) -> String {
    format!(
        r#"{FILE_NAMES}{LOCK_MARKER}{READ_MARKER}if [ "$now" != {marker} ]; then echo other; exit; fi
mkdir -p "${{disk_token%/*}}" && echo {token} >"$disk_token.new" && mv -f "$disk_token.new" "$disk_token" && echo "done""#,
        marker = shell_quote(&marker.to_string()),
        token = shell_quote(token),
    )
}

/// Parses the output of [`begin_restore`]; `None` where the container has another marker.
pub(crate) fn read_restore_begun(stdout: &str, files: &[String]) -> Result<Option<RestoreBegun>, Failure> {
    if stdout.trim() == "other" {
        return Ok(None);
    }
    let begun = || {
        let (container_id, content) = read_container_id(stdout)?;
        let at = content.find("\nend\n")? + "\nend\n".len();
        let (listing, hashes) = content.split_at_checked(at)?;
        Some(RestoreBegun { listing: read_listing(listing)?, hashes: read_hashes(hashes, files)?, container_id })
    };
    let unreadable = || Failure::protocol("the sandbox", "what is in the container can't be read");
    begun().map(Some).ok_or_else(unreadable)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::model::ContainerId;
    use crate::model::named::binding::DirectoryListing;

    fn ready() -> ContainerMarker {
        ContainerMarker::Ready("nonce".into())
    }

    #[test]
    fn probe_derives_the_container_age_from_the_start_of_pid_1() {
        let probe = Probe {
            age_millis: 100_500,
            elapsed_millis: 10,
            directory_content: DirectoryContent::NonEmpty,
            is_replacement: false,
            marker: None,
        };
        assert_eq!(read_probe("1000.50 90000 full 0 1000.52\n\n"), Some(probe));
    }

    #[test]
    fn probe_reports_the_container_marker() {
        let marker = |stdout: &str| read_probe(stdout).unwrap().marker;
        assert_eq!(marker("1000.50 90000 full 1 1000.50\nready nonce\n"), Some(ready()));
        assert_eq!(
            marker("1000.50 90000 full 1 1000.50\nfilling a b\n"),
            Some(ContainerMarker::Restoring("a b".into()))
        );
    }

    #[test]
    fn malformed_probe_output_is_not_read() {
        let malformed_marker = "1000.50 90000 full 0 1000.50\nodd nonce\n";
        for stdout in
            ["", "1000.50\n", "1000.50 x full 0\n", "1000.50 90000 odd 0\n", "sh: not found\n", malformed_marker]
        {
            assert_eq!(read_probe(stdout), None, "{stdout:?}");
        }
    }

    #[test]
    fn missing_marker_is_compared_as_an_empty_text() {
        assert!(update_marker(None, &ready(), None, false).contains(r#"[ "$now" != '' ]"#));
        assert!(update_marker(Some(&ready()), &ready(), Some(5), false).contains(r#"[ "$now" != 'ready nonce' ]"#));
    }

    #[test]
    fn marker_update_reports_the_container_age_and_the_outcome() {
        let update = |outcome| {
            let (container_id, provenance) = (None, None);
            Some(MarkerUpdate { age_millis: 100_500, elapsed_millis: 1490, outcome, container_id, provenance })
        };
        let read = |outcome: &str| read_marker_update(&format!("container \n1000.50 90000 1002.00 {outcome}\n"));
        assert_eq!(read("done"), update(MarkerOutcome::Updated));
        assert_eq!(read("young"), update(MarkerOutcome::TooYoung));
        assert_eq!(read("other "), update(MarkerOutcome::OtherMarker(None)));
        assert_eq!(read("other ready nonce"), update(MarkerOutcome::OtherMarker(Some(ready()))));
        for odd in ["", "other odd nonce", "x"] {
            assert_eq!(read(odd), None, "{odd:?}");
        }
        for odd in ["done\n", "container\n", "1000.50 90000 1002.00 done\n"] {
            assert_eq!(read_marker_update(odd), None, "{odd:?}");
        }
        let id = |line: &str| read_marker_update(&format!("{line}\n1000.50 90000 1002.00 done\n"))?.container_id;
        assert_eq!(id("container 5-b"), ContainerId::parse("5-b"));
        let known = read_marker_update("container \nimage 0.12.10 0123\n1000.50 90000 1002.00 done\n").unwrap();
        assert_eq!(known.provenance, Provenance::parse("0.12.10 0123"));
    }

    #[test]
    fn begun_restore_reports_the_listing_and_the_hashes() {
        let files = ["/etc/x".to_owned()];
        let begun = RestoreBegun {
            listing: DirectoryListing { image: "0.12.10 0123".into(), content_hash: None },
            hashes: BTreeMap::from([("/etc/x".to_owned(), String::new())]),
            container_id: ContainerId::parse("5-b"),
        };
        let content = "image 0.12.10 0123\nlisting none\nend\nnone\nend\n";
        assert_eq!(read_restore_begun(&format!("container 5-b\n{content}"), &files), Ok(Some(begun)));
        assert!(read_restore_begun(content, &files).is_err());
        assert_eq!(read_restore_begun("other\n", &files), Ok(None));
        for odd in
            ["", "container \nimage 0.12.10 0123\nlisting none\nend\n", "container \nlisting none\nend\nnone\nend\n"]
        {
            assert!(read_restore_begun(odd, &files).is_err(), "{odd:?}");
        }
    }
}
