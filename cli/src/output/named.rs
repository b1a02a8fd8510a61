//! The sandbox or the workspace of a call in the commands of its remediation.

use sandbox_snapshotter_client::model::SnapshotId;

use crate::quoting::shell_words;

/// What a remediation of the server says before the quoted name of a workspace that is to be started, without the first letter, which
/// may be a capital.
const START: &str = "tart the workspace \"";

/// Replaces the start of a workspace by its name with the command for it, with the option of the start if the text has one.
pub fn with_start_commands(text: &str) -> String {
    let Some((before, rest)) = text.split_once(START) else { return text.to_owned() };
    let Some((name, rest)) = rest.split_once('"') else { return text.to_owned() };
    let rest = rest.strip_prefix(" with `snapshotter workspace start`").unwrap_or(rest);
    let with_option = rest.strip_prefix(" with `--").and_then(|rest| rest.split_once('`'));
    let (option, rest) = with_option.map_or((String::new(), rest), |(option, rest)| (format!(" --{option}"), rest));
    let rest = with_start_commands(rest);
    format!("{before}tart the workspace with `snapshotter workspace start {}{option}`{rest}", shell_words([name]))
}

/// Replaces the placeholders in the commands of a text with a sandbox, or with a workspace as `@name`.
pub fn with_target(text: &str, target: &str) -> String {
    let name = target.strip_prefix('@');
    let word = |word: &str| match (word, name) {
        ("SANDBOX|@NAME", _) | ("SANDBOX", None) | ("@NAME", Some(_)) => shell_words([target]),
        ("NAME", Some(name)) => shell_words([name]),
        _ => word.to_owned(),
    };
    let replace = |(index, part): (usize, &str)| {
        // Parts with an odd index are between backticks.
        let is_command = index % 2 == 1 && part.starts_with("snapshotter ");
        if is_command { part.split(' ').map(word).collect::<Vec<_>>().join(" ") } else { part.to_owned() }
    };
    text.split('`').enumerate().map(replace).collect::<Vec<_>>().join("`")
}

/// What a message says before the id of the snapshot to go back to.
const NEWEST: &str = "The newest one is ";

/// Replaces the `ID` at the end of a command with the snapshot that a message names as the newest one.
pub fn with_newest(text: &str, message: &str) -> String {
    let named = message.split_once(NEWEST).and_then(|(_, rest)| rest.split_once(' '));
    match named.and_then(|(id, _)| SnapshotId::parse(id).ok()) {
        Some(id) => text.replace(" ID`", &format!(" {id}`")),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use sandbox_snapshotter_client::model::named::Address;
    use sandbox_snapshotter_client::model::{Error, Label, SandboxId};

    use super::*;
    use crate::output::render::with_flags;

    #[test]
    fn the_newest_snapshot_that_a_message_names_is_in_the_command() {
        let address = Address::parse("default/m3").unwrap();
        let (id, label) = ("snap-aaaaaaaaaaaaaaaa", Label::parse("half").unwrap());
        let error = Error::only_partial_restorable(&address, &SnapshotId::parse(id).unwrap(), &label);
        let text = with_target(&with_flags(error.remediation()), "@m3");
        let filled = with_newest(&text, error.message());
        assert!(filled.contains("`snapshotter workspace rollback m3 snap-aaaaaaaaaaaaaaaa`"), "{filled}");
        assert_eq!(with_newest(&text, "There is no snap-bbbbbbbbbbbbbbbb."), text);
    }

    #[test]
    fn a_start_by_name_is_a_command() {
        let id = SandboxId::parse("agent-42").unwrap();
        let address = |text| Address::parse(text).unwrap();
        let replaced = Error::container_replaced(&id, "was replaced").of_workspace(&address("default/m3"));
        let adopted = Error::adopt_of_workspace(&id).of_workspace(&address("default/m3"));
        for (error, expected) in [
            (
                replaced,
                "Start the workspace with `snapshotter workspace start m3`, which restores its newest snapshot, then",
            ),
            (
                Error::start_unfinished(&id).of_workspace(&address("team/m3")),
                "`snapshotter workspace start team/m3`, then",
            ),
            (Error::workspace_not_running(&address("default/m3")), "with `snapshotter workspace start m3`, which"),
            (
                Error::nothing_to_fork(&address("default/m3")),
                "with `snapshotter workspace start m3 --allow-empty`, which",
            ),
            (
                Error::start_unfinished(&id).of_lost_workspace(&address("default/m3")),
                "Start the workspace with `snapshotter workspace start m3 --allow-empty`, which starts it without files",
            ),
            (
                Error::workspace_not_running(&address("team/m3")).of_lost_workspace(&address("team/m3")),
                "Start the workspace with `snapshotter workspace start team/m3 --allow-empty`, which starts it",
            ),
            (adopted.clone().of_lost_workspace(&address("default/m3")), "start m3 --on-diverged adopt` to continue"),
            (adopted, "with `snapshotter workspace start m3 --on-diverged adopt` to continue"),
            (Error::revive_of_workspace(&id, &address("default/m3")), "with `snapshotter workspace start m3`."),
            (Error::fork_not_searchable(&address("default/m3")), "`snapshotter workspace start m3` first, or omit"),
        ] {
            let text = with_flags(error.remediation());
            assert!(text.contains(expected) && !text.contains("()"), "{text}");
        }
    }

    #[test]
    fn placeholders_in_commands_are_the_target_of_the_call() {
        let text =
            "Use `snapshotter workspace start NAME --allow-empty`, or `snapshotter exec SANDBOX|@NAME`. NAME stays.";
        assert_eq!(
            with_target(text, "@m3"),
            "Use `snapshotter workspace start m3 --allow-empty`, or `snapshotter exec @m3`. NAME stays."
        );
        assert_eq!(with_target("Use `snapshotter revive SANDBOX`.", "agent-42"), "Use `snapshotter revive agent-42`.");
        assert_eq!(
            with_target(text, "agent-42"),
            "Use `snapshotter workspace start NAME --allow-empty`, or `snapshotter exec agent-42`. NAME stays."
        );
    }
}
