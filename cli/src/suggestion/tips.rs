//! The arguments of other programs that commands here do not take, and how to reach the same.

/// Commands, with their group or in every group; the arguments that they do not take, and how to reach the same.
const TIPS: [(&[&str], &[&str], &str); 34] = [
    (
        &["exec"],
        &["-i", "-t", "-it", "-ti", "--interactive", "--tty", "--stdin"],
        "a command has no terminal. Its standard input is that of this program: `echo ls | snapshotter exec @NAME bash`",
    ),
    (
        &["restore", "branch"],
        &["--as", "--to", "--name", "--id", "--new-name"],
        "the new sandbox has a generated id, which the command prints",
    ),
    (
        &["restore", "branch"],
        &["--count"],
        "run the command several times, or `snapshotter workspace fork NAME --count N`",
    ),
    (
        &["restore", "branch", "rollback"],
        &["--latest", "--newest", "--last"],
        "in the place of a snapshot, the word `latest` is the newest one of the present files",
    ),
    (&["rollback"], &["--to", "--snapshot", "--label", "--id", "--from"], "pass the snapshot without an option"),
    (
        &["update"],
        &["--name", "--new-name", "--rename"],
        "a workspace can't be renamed. `snapshotter workspace fork NAME --new-name OTHER` makes another one with its files",
    ),
    (&["cat"], &["-o", "--output"], "the content goes to the standard output: append `> FILE`"),
    (
        &["restore", "branch"],
        &["-o", "--output"],
        "to copy the files of a snapshot to this machine: `snapshotter cp SANDBOX|@NAME ID|LABEL PATH LOCAL`",
    ),
    (
        &["retention set", "retention apply"],
        &["--dry-run"],
        "`snapshotter retention plan SANDBOX|@NAME` shows what a policy would delete",
    ),
    (
        &["workspace delete"],
        &["--dry-run"],
        "without `--yes`, the command shows its effect on a terminal, and asks first. `snapshotter snapshot list @NAME` lists \
         the snapshots of the workspace",
    ),
    (
        &["snapshot delete"],
        &["--dry-run"],
        "without `--yes`, the command shows its effect on a terminal, and asks first. \
         `snapshotter snapshot show SANDBOX|@NAME ID|LABEL` shows what needs it",
    ),
    (&["checkpoint delete"], &["--dry-run"], "`snapshotter checkpoint list SANDBOX|@NAME` lists the checkpoints"),
    (
        &["checkpoint restore"],
        &["--dry-run"],
        "`snapshotter checkpoint diff SANDBOX|@NAME NAME` shows what the restore would change",
    ),
    (
        &["workspace rollback", "restore-files"],
        &["--dry-run"],
        "`snapshotter diff @NAME ID|LABEL` lists the files that differ from the snapshot",
    ),
    (
        &["workspace promote"],
        &["--dry-run"],
        "the present files are saved first: then `snapshotter workspace show NAME` names the snapshot, to roll back to",
    ),
    (
        &["ls"],
        &["-l", "-a", "-A", "--all", "--long"],
        "the list has modes, sizes and times, and hidden files, without an option",
    ),
    (
        &["ls"],
        &["-R", "-r", "--recursive", "--tree"],
        "the list is that of one directory. For all below it: `snapshotter exec @NAME ls -R`; for a snapshot, \
         `snapshotter export SANDBOX|@NAME ID|LABEL | tar t`",
    ),
    (
        &["workspace list"],
        &["-a", "-A", "--all"],
        "the list has all workspaces of a tenant, also those that are stopped. `--tenant TENANT` selects another tenant",
    ),
    (
        &["snapshot list", "commands list", "checkpoint list", "tokens list"],
        &["-a", "-A", "--all"],
        "the list is complete without an option",
    ),
    (
        &["workspace stop"],
        &["--no-snapshot", "--no-save", "--discard", "--force"],
        "to stop without a snapshot: `snapshotter workspace update NAME --persistent false`, then stop it. Files that are in no \
         snapshot are lost",
    ),
    (
        &["commands output"],
        &["--tail", "-n", "--lines"],
        "append `| tail -n N`; with `--follow`, the output begins with its first byte",
    ),
    (
        &["workspace rollback", "workspace promote"],
        &["--yes", "-y", "--force", "-f"],
        "the command asks nothing: it saves the present files in a snapshot first",
    ),
    (&["diff"], &["-u", "--unified", "--text", "--lines"], "`--patch` prints the changed lines"),
    (&["diff"], &["--stat"], "the list has the sizes of each file without an option"),
    (&["diff"], &["--name-only", "--name-status"], "`--quiet` prints the paths only"),
    (
        &["checkpoint create"],
        &["--label", "--title"],
        "the name is an argument without an option; `--message` describes the checkpoint",
    ),
    (
        &["workspace delete", "workspace stop", "workspace start"],
        &["-a", "-A", "--all"],
        "pass names: `snapshotter workspace list --quiet` lists those of all workspaces",
    ),
    (
        &["exec"],
        &["-u", "--user"],
        "a command runs as the user of the image. As another one: `snapshotter exec @NAME su USER -c COMMAND`",
    ),
    (
        &["exec"],
        &["--rm"],
        "the workspace stays: `snapshotter workspace delete NAME` deletes it. It is stopped when it is not used",
    ),
    (
        &["workspace create"],
        &["--rm"],
        "`--idle` sets when it is stopped, and `snapshotter workspace delete NAME` deletes it",
    ),
    (
        &["snapshot list"],
        &["--last", "--latest", "--newest"],
        "the newest snapshot is the first: '--limit 1' prints it alone",
    ),
    (
        &["snapshot list", "commands list", "checkpoint list", "tokens list"],
        &["--filter"],
        "the list is complete: append `| grep TEXT`",
    ),
    (&["list"], &["-w", "--watch"], "the list is printed once: `watch` in front of the command repeats it"),
    (&["create"], &["--pin"], "pin it then: `snapshotter snapshot pin SANDBOX|@NAME ID|LABEL`"),
];

/// Returns how to reach what an option means that no command takes.
pub fn tip_of_all(argument: &str) -> Option<&'static str> {
    let is_verbose = ["-v", "-vv", "-vvv", "--verbose", "--debug"].contains(&argument);
    is_verbose.then_some("`--json` prints all details, and `snapshotter doctor` checks the server")
}

/// Returns how to reach what an argument means that a command does not take.
pub fn tip(words: &[String], argument: &str) -> Option<&'static str> {
    let (command, in_group) = (words.last()?.as_str(), words.join(" "));
    let is_of = |commands: &[&str]| commands.contains(&command) || commands.contains(&in_group.as_str());
    let name = argument.split_once('=').map_or(argument, |(name, _)| name);
    let found = TIPS.iter().find(|(commands, others, _)| is_of(commands) && others.contains(&name));
    found.map(|(.., tip)| *tip)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, help};

    #[test]
    fn tips_are_for_existing_commands() {
        let root = help::command();
        let exists =
            |path: &str| path.split(' ').try_fold(&root, |command, word| command.find_subcommand(word)).is_some();
        let in_group = |name: &str| root.get_subcommands().any(|group| group.find_subcommand(name).is_some());
        for command in TIPS.iter().flat_map(|(commands, ..)| commands.iter()) {
            assert!(exists(command) || in_group(command), "{command}");
        }
    }

    #[test]
    fn commands_in_tips_are_accepted() {
        use clap::Parser;
        let lines = TIPS.iter().flat_map(|(.., tip)| tip.split('`').skip(1).step_by(2));
        let lines: Vec<_> =
            lines.filter_map(|line| line.split(" | ").find(|part| part.starts_with("snapshotter "))).collect();
        assert!(lines.len() > 15, "{lines:?}");
        for line in lines {
            let words = line
                .replace("SANDBOX|@NAME", "@notebook")
                .replace("ID|LABEL", "before")
                .replace("PATH", "a.txt")
                .replace("--count N", "--count 2");
            let parsed = Cli::try_parse_from(words.split(' '));
            assert!(parsed.is_ok(), "{line}: {:?}", parsed.err());
        }
    }
}
