//! Sizes, ages and durations as text, and the server's messages in the terms of the command line.

use sandbox_snapshotter_client::model::Timestamp;

use super::named::with_start_commands;

/// Formats a size, such as `4.1 MB`.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["kB", "MB", "GB", "TB", "PB", "EB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let (mut tenths, mut unit) = ((u128::from(bytes) + 50) / 100, 0);
    // 999.95 kB rounds up to 1.0 MB.
    while tenths >= 10_000 && unit + 1 < UNITS.len() {
        tenths = (tenths + 500) / 1000;
        unit += 1;
    }
    let unit = UNITS.get(unit).copied().unwrap_or_default();
    format!("{}.{} {unit}", tenths / 10, tenths % 10)
}

/// Formats a time relative to `now`, such as `3 min ago` or `in 2 days`.
pub fn relative_time(time: Timestamp, now: Timestamp) -> String {
    let millis = now.millis_since(time);
    match millis / 1000 {
        0 => "now".to_owned(),
        passed @ 1.. => format!("{} ago", rounded_duration(passed.unsigned_abs())),
        // Rounds up: a remaining time of 30 days is slightly shorter when it is printed.
        _ => format!("in {}", approximately(millis.unsigned_abs().div_ceil(1000), u64::div_ceil)),
    }
}

/// Formats a time, absolute and relative to `now`.
pub fn exact_time(time: Timestamp, now: Timestamp) -> String {
    format!("{time} ({})", relative_time(time, now))
}

/// Formats a duration in its largest unit, rounded down, such as `3 min` or `2 days`.
pub fn rounded_duration(seconds: u64) -> String {
    approximately(seconds, |seconds, length| seconds / length)
}

fn approximately(seconds: u64, divide: impl Fn(u64, u64) -> u64) -> String {
    let fits = UNITS.iter().find(|(length, ..)| seconds >= *length);
    let (length, one, many) = fits.copied().unwrap_or((1, "s", "s"));
    in_units(divide(seconds, length), one, many)
}

/// Formats an exact duration, such as `1 h 30 min`.
pub fn duration(seconds: u64) -> String {
    let (mut left, mut parts) = (seconds, Vec::new());
    // A year is 365 days, as in a retention policy.
    for (length, one, many) in UNITS {
        if left >= length {
            parts.push(in_units(left / length, one, many));
            left %= length;
        }
    }
    if parts.is_empty() { "0 s".to_owned() } else { parts.join(" ") }
}

/// Formats a time limit, where 0 means never.
pub fn time_limit(seconds: u64) -> String {
    if seconds == 0 { "never".to_owned() } else { duration(seconds) }
}

const UNITS: [(u64, &str, &str); 5] =
    [(365 * 86_400, "year", "years"), (86_400, "day", "days"), (3600, "h", "h"), (60, "min", "min"), (1, "s", "s")];

fn in_units(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// Texts of the API, and those with the commands of this program.
const COMMANDS: [(&str, &str); 28] = [
    ("With the `name` of a workspace, `commands.start` starts", "With @NAME, `snapshotter exec --detach` starts"),
    ("again: `commands.start` starts", "again: `snapshotter exec --detach @NAME COMMAND` starts"),
    ("Start the workspace first.", "Start the workspace first: `snapshotter workspace start NAME`."),
    ("with start() or getOrCreate()", "with `snapshotter workspace start`"),
    ("with `workspaces/start` or `workspaces/getOrCreate`", "with `snapshotter workspace start`"),
    ("a cursor that `list` returned", "a cursor that `snapshotter snapshot list` printed"),
    ("Unpin it with `unpin`", "Unpin it with `snapshotter snapshot unpin SANDBOX|@NAME ID`"),
    ("Unpin it with unpin()", "Unpin it with `snapshotter snapshot unpin SANDBOX|@NAME ID`"),
    ("Pass an id that `tokens/list` returns", "Pass an id that `snapshotter tokens list` prints"),
    ("Pass an id that tokens.list() returns", "Pass an id that `snapshotter tokens list` prints"),
    ("Pass the `snapshotId` of the snapshot.", "Pass the id of the snapshot."),
    ("`image: null`", "`--default-image`"),
    ("`rollback` (`workspaces/update` with `currentSnapshotId`)", "`snapshotter workspace rollback`"),
    (
        "run it again: by the `name` of its workspace, which is started first with the files of its newest snapshot, if there is \
         one, or else with `revive: true`. `started` in the answer says what was restored, and whether files may be lost.",
        "run it again: a workspace is started first with the files of its newest snapshot, if there is one, a sandbox only with \
         `--revive`. A warning then says whether files may be lost.",
    ),
    ("Pass the `name` of its workspace,", "Pass @NAME for its workspace,"),
    ("Otherwise pass `revive: true` to restore", "Otherwise use `snapshotter revive SANDBOX` to restore"),
    ("Pass `revive: true` to restore", "Use `snapshotter revive SANDBOX` to restore"),
    ("`revive` is only for", "`snapshotter revive` is only for"),
    ("For the files of another directory, pass it as `dir`.", "For other files, use `snapshotter exec SANDBOX|@NAME`."),
    (
        "Pass `allowEmpty: true` to `workspaces/start` to start",
        "Use `snapshotter workspace start NAME --allow-empty` to start",
    ),
    (
        "or pass `allowEmpty: true` to `workspaces/start` to start",
        "or use `snapshotter workspace start NAME --allow-empty` to start",
    ),
    (
        "To continue without the files that it leaves out, pass its id as `currentSnapshotId` to `workspaces/update`.",
        "To continue without the files that it leaves out: `snapshotter workspace rollback NAME ID`.",
    ),
    (
        "if `list` by the name of the workspace has one: pass its id as `currentSnapshotId` to `workspaces/update`.",
        "if `snapshotter snapshot list @NAME` has one: `snapshotter workspace rollback NAME ID`.",
    ),
    (
        "Otherwise pass `allowEmpty: true` to `workspaces/start` to start",
        "Otherwise use `snapshotter workspace start NAME --allow-empty` to start",
    ),
    ("`timeoutSeconds` must be", "`--timeout` must be"),
    ("`timeoutSeconds` of 1–600", "`--hook-timeout` of 1s to 10m"),
    ("has an expiration, in seconds, above the maximum of 3153600000", "has an expiration above the maximum of 36500d"),
    ("and seconds up to 3153600000; 0 seconds means never", "and times up to 36500d; 0 means never"),
];

/// Replaces the options of the API in a message of the server with the flags of this program: `force: true` becomes
/// `--force`. Replaces calls with commands.
pub fn with_flags(text: &str) -> String {
    let text = COMMANDS.iter().fold(text.to_owned(), |text, (call, command)| text.replace(call, command));
    let replace = |(index, part): (usize, &str)| {
        // Parts with an odd index are between backticks.
        let name = part.split_once(": ").map_or(part, |(name, _)| name);
        match flag_of(name).filter(|_| index % 2 == 1) {
            Some(flag) => match part.split_once(": ") {
                Some((_, value)) if value != "true" => format!("{flag} {}", value.trim_matches('"')),
                _ => flag.to_owned(),
            },
            None => part.to_owned(),
        }
    };
    with_start_commands(&text.split('`').enumerate().map(replace).collect::<Vec<_>>().join("`"))
}

/// Returns the flag for an option of the API.
fn flag_of(argument: &str) -> Option<&'static str> {
    Some(match argument {
        "acceptStale" => "--accept-stale",
        "adopt" => "--adopt",
        "afterStart" => "--after-start",
        "allowCrossLineage" => "--allow-cross-lineage",
        "allowEmpty" => "--allow-empty",
        "autosave.everySeconds" => "--autosave-every",
        "autosave.keepLast" => "--autosave-keep",
        "beforeStop" => "--before-stop",
        "compression.threads" => "--compression-threads",
        "count" => "--count",
        "currentSnapshotId" => "--back-to",
        "cursor" => "--cursor",
        "cwd" => "--cwd",
        "dependsOn.files" => "--depends-on",
        "dependsOn.fingerprint" => "--fingerprint",
        "dir" => "--dir",
        "durable" => "--durable",
        "excludes" => "--exclude",
        "expirationSeconds" => "--expires",
        "expiry.idleSeconds" => "--idle",
        "expiry.maxSeconds" => "--max-age",
        "force" => "--force",
        "freeze.freeze" => "--freeze",
        "freeze.thaw" => "--thaw",
        "freeze.timeoutSeconds" => "--freeze-timeout",
        "fresh" => "--fresh",
        "from" => "--from",
        "gitignore" => "--gitignore",
        "graceSeconds" => "--grace",
        "idempotencyKey" => "--idempotency-key",
        "incremental" => "--incremental",
        "labelPrefix" => "--label-prefix",
        "killSignal" => "--signal",
        "limit" => "--limit",
        "maxBytes" => "--max-bytes",
        "newName" => "--new-name",
        "onDiverged" => "--on-diverged",
        "onFailure" => "--hook-failure",
        "onImageChange" => "--on-image-change",
        "onTimeout" => "--on-timeout",
        "overwrite" => "--overwrite",
        "permissions" => "--permission",
        "persistent" => "--persistent",
        "replace" => "--replace",
        "revive" => "--revive",
        "runtime" => "--runtime",
        "secrets" => "--secrets",
        "sourceSnapshot" => "--from-snapshot",
        "sourceWorkspace" => "--from-workspace",
        "storage" => "--storage",
        "timeoutSeconds" => "--hook-timeout",
        "wake" => "--wake",
        "workspaces" => "--workspace",
        _ => return None,
    })
}

/// Joins lines. Each line ends with a line break.
pub fn lines(lines: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    lines.into_iter().fold(String::new(), |text, line| text + line.as_ref() + "\n")
}

/// Formats a number of objects.
pub fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use sandbox_snapshotter_client::model::{Error, SandboxId, SnapshotId};

    use super::*;

    #[test]
    fn sizes_have_one_decimal_digit() {
        let cases = [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1.0 kB"),
            (4_096, "4.1 kB"),
            (4_123_456, "4.1 MB"),
            (999_949, "999.9 kB"),
            (999_950, "1.0 MB"),
            (1_500_000_000, "1.5 GB"),
            (u64::MAX, "18.4 EB"),
        ];
        for (bytes, text) in cases {
            assert_eq!(size(bytes), text, "{bytes}");
        }
    }

    #[test]
    fn remediations_of_the_server_name_commands() {
        use sandbox_snapshotter_client::model::named::Address;

        let id = SandboxId::parse("agent-42").unwrap();
        let snapshot = SnapshotId::parse("snap-9rbk8d2dduhnwf6u").unwrap();
        for (error, expected) in [
            (
                Error::snapshot_has_dependents(&snapshot, true, &[]),
                "Unpin it with `snapshotter snapshot unpin SANDBOX|@NAME ID`, or pass `--force` to delete it anyway.",
            ),
            (
                Error::snapshot_has_dependents(&snapshot, true, &[SandboxId::parse("agent-43").unwrap()]),
                "Unpin it with `snapshotter snapshot unpin SANDBOX|@NAME ID`, and take a snapshot",
            ),
            (Error::commands_not_running(&id), "With @NAME, `snapshotter exec --detach` starts the workspace first."),
            (
                Error::exec_interrupted(&id),
                "a sandbox only with `--revive`. A warning then says whether files may be lost.",
            ),
            (Error::token_id_invalid("nope"), "Pass an id that `snapshotter tokens list` prints."),
            (
                Error::nothing_restorable(&Address::parse("default/notebook").unwrap()),
                "has one: `snapshotter workspace rollback NAME ID`. Otherwise use `snapshotter",
            ),
            (
                Error::platform_snapshot_lost(&id, "x", None),
                "Use `snapshotter workspace start NAME --allow-empty` to start",
            ),
        ] {
            let text = with_flags(error.remediation());
            assert!(text.contains(expected) && !text.contains("()"), "{text}");
        }
    }

    #[test]
    fn starts_in_remediations_are_commands() {
        for (text, expected) in [
            (
                "Start the command again: `commands.start` starts the workspace first.",
                "`snapshotter exec --detach @NAME",
            ),
            ("Start the workspace first.", "first: `snapshotter workspace start NAME`."),
            (
                "Pass `revive: true` to restore the newest snapshot of the sandbox first.",
                "Use `snapshotter revive SANDBOX` to restore the newest",
            ),
        ] {
            assert!(with_flags(text).contains(expected), "{}", with_flags(text));
        }
    }

    #[test]
    fn limits_of_settings_have_the_options_and_times_of_the_command_line() {
        use sandbox_snapshotter_client::model::policy::{MAX_EXPIRATION, Policy};
        let policy = Policy { expiration_seconds: MAX_EXPIRATION + 1, ..Policy::default() }.check().unwrap_err();
        assert_eq!(
            (with_flags(policy.message()).as_str(), with_flags(policy.remediation()).as_str()),
            (
                "The retention policy has an expiration above the maximum of 36500d.",
                "Pass counts up to 10000, and times up to 36500d; 0 means never."
            )
        );
    }

    #[test]
    fn ages_have_one_unit() {
        let now = Timestamp::from_millis(100_000_000_000);
        let cases = [
            (0, "now"),
            (-999, "now"),
            (999, "now"),
            (-1_000, "1 s ago"),
            (-180_000, "3 min ago"),
            (-3_599_000, "59 min ago"),
            (-7_200_000, "2 h ago"),
            (-86_400_000, "1 day ago"),
            (2 * 86_400_000, "in 2 days"),
            (2 * 86_400_000 - 1, "in 2 days"),
            (30_500, "in 31 s"),
            (-400 * 86_400_000, "1 year ago"),
        ];
        for (millis, text) in cases {
            assert_eq!(relative_time(now.plus_millis(millis), now), text, "{millis}");
        }
    }

    #[test]
    fn durations_are_exact() {
        let cases =
            [(0, "0 s"), (90, "1 min 30 s"), (5400, "1 h 30 min"), (30 * 86_400, "30 days"), (86_401, "1 day 1 s")];
        for (seconds, text) in cases {
            assert_eq!(duration(seconds), text);
        }
        assert_eq!((time_limit(0), time_limit(600)), ("never".into(), "10 min".into()));
    }

    #[test]
    fn api_options_are_replaced_with_flags() {
        assert_eq!(
            with_flags("Pass `force: true`, or `allowCrossLineage: true`."),
            "Pass `--force`, or `--allow-cross-lineage`."
        );
        assert_eq!(
            with_flags("`count` must be 1–100; `onFailure: \"warn\"`."),
            "`--count` must be 1–100; `--hook-failure warn`."
        );
        assert_eq!(with_flags("It requires `durable: false`."), "It requires `--durable false`.");
        assert_eq!(
            with_flags("Pass `secrets: \"exclude\"`, or `image: null`."),
            "Pass `--secrets exclude`, or `--default-image`."
        );
        assert_eq!(
            with_flags("Go back with `rollback` (`workspaces/update` with `currentSnapshotId`)."),
            "Go back with `snapshotter workspace rollback`."
        );
        for text in ["Send force: true.", "`wrangler deploy`: true", "Call `list`.", ""] {
            assert_eq!(with_flags(text), text);
        }
    }
}
