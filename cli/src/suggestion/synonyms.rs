//! The commands and options of other programs, and those here that do the same.

use crate::quoting::shell_words;

/// Commands outside of a group, and the commands here, in the order in which they are suggested.
const COMMANDS: [(&[&str], &[&str]); 24] = [
    (&["rollback", "undo", "revert"], &["workspace rollback"]),
    (&["logs"], &["commands output"]),
    (&["ps", "jobs"], &["commands list"]),
    (&["kill"], &["commands end"]),
    (&["run", "ssh", "shell", "sh", "bash", "attach", "connect"], &["exec"]),
    (&["health", "ping", "check"], &["doctor"]),
    (&["status"], &["doctor", "workspace show"]),
    (&["write", "put", "upload", "download"], &["cp"]),
    (&["read"], &["cat"]),
    (&["df"], &["du"]),
    (&["tree", "dir", "find"], &["ls"]),
    (&["save", "backup", "commit", "stash"], &["snapshot create"]),
    (&["tag"], &["snapshot label"]),
    (&["checkout", "switch", "reset"], &["workspace rollback", "branch"]),
    (&["config", "settings"], &["doctor"]),
    (&["rm", "remove", "destroy"], &["workspace delete", "snapshot delete", "checkpoint delete"]),
    (&["new", "init"], &["workspace create"]),
    (&["info", "describe", "inspect", "get"], &["workspace show", "snapshot show"]),
    (&["log", "history"], &["snapshot list", "lineage"]),
    (&["login", "auth", "whoami"], &["tokens current"]),
    (&["ws"], &["workspace"]),
    (&["images", "backups"], &["snapshot list"]),
    (&["clone"], &["workspace fork", "branch"]),
    (&["rename"], &["workspace fork", "snapshot label"]),
];

/// Commands in a group, and the commands here, of which the first that the group has is suggested.
const COMMANDS_OF_GROUPS: [(&[&str], &[&str]); 10] = [
    (&["rm", "remove", "del", "delete", "destroy"], &["delete", "revoke", "end"]),
    (&["stop", "cancel", "abort", "kill"], &["end", "stop"]),
    (&["pause", "suspend", "sleep"], &["stop"]),
    (&["ls", "ps"], &["list"]),
    (&["new", "add", "save", "take"], &["create"]),
    (&["info", "describe", "inspect", "get", "status", "show"], &["show", "current", "output", "list"]),
    (&["logs", "tail", "cat"], &["output"]),
    (&["undo", "revert", "checkout", "rollback"], &["rollback", "restore"]),
    (&["rename", "tag"], &["label", "fork"]),
    (&["set", "edit", "config"], &["update"]),
];

/// Options, without their dashes, and the options here, of which the first that the command has is suggested.
const OPTIONS: [(&[&str], &[&str]); 17] = [
    (&["description", "desc", "comment", "note"], &["message", "label"]),
    (&["tag", "title", "name"], &["label", "message"]),
    (&["message", "m"], &["message", "label"]),
    (&["label"], &["to"]),
    (&["f"], &["follow", "force", "yes"]),
    (&["force", "overwrite", "replace"], &["overwrite", "force", "replace", "yes"]),
    (&["output", "format", "o"], &["json"]),
    (&["e", "env-file"], &["env"]),
    (&["n", "max"], &["limit", "count"]),
    (&["times", "copies", "number"], &["count"]),
    (&["filter"], &["prefix"]),
    (&["ttl", "expiry", "expire", "expiration", "lifetime"], &["expires"]),
    (&["directory", "path", "workdir", "workspace", "w"], &["dir", "cwd"]),
    (&["ignore", "excludes"], &["exclude"]),
    (&["background", "daemon"], &["detach"]),
    (&["url", "host", "server", "endpoint"], &["address"]),
    (&["api-token", "api-key", "key"], &["token-file"]),
];

/// Values of options, and the values here, of which the first that the option has is suggested.
const VALUES: [(&[&str], &[&str]); 3] = [
    (&["exec", "run", "write", "execute", "files"], &["work"]),
    (&["all", "root", "owner", "full"], &["admin"]),
    (&["list", "view", "get", "readonly", "read-only"], &["read"]),
];

/// Programs that people run in a sandbox.
const PROGRAMS: [&str; 22] = [
    "rm", "mv", "mkdir", "rmdir", "touch", "chmod", "ln", "echo", "grep", "sed", "find", "tree", "tail", "head", "git",
    "npm", "node", "python", "pip", "cargo", "make", "curl",
];

/// Returns how to reach what a word means that is no command.
pub fn command_tip(word: &str) -> Option<String> {
    if word == "version" {
        return Some("`snapshotter --version` prints the version".to_owned());
    }
    let of_program = match word {
        "import" | "load" | "untar" | "unpack" => Some(
            "to unpack the files of a tar in a workspace: `snapshotter exec @NAME tar x < FILE.tar`; for one file: \
             `snapshotter cp FILE @NAME:PATH`",
        ),
        "login" => {
            Some("there is no login: the token is that of `--token-file`, SNAPSHOTTER_TOKEN or the configuration file")
        }
        "config" | "settings" => Some("`snapshotter doctor` shows the settings, and which of them are wrong"),
        "restart" | "reboot" => Some(RESTART),
        "push" => Some(
            "`snapshotter snapshot create @NAME` saves the files of a workspace, and `snapshotter cp FILE @NAME:PATH` copies a \
             file to it",
        ),
        "pull" => Some(
            "`snapshotter cp @NAME:PATH FILE` copies a file of a workspace, and `snapshotter export @NAME ID|LABEL | tar x` the \
             files of a snapshot",
        ),
        "rename" => Some(
            "nothing is renamed in place: `snapshotter workspace fork NAME --new-name OTHER` makes a workspace with the same files",
        ),
        _ => None,
    };
    if let Some(tip) = of_program {
        return Some(tip.to_owned());
    }
    PROGRAMS.contains(&word).then(|| format!("to run a program in a sandbox: `snapshotter exec @NAME {word} …`"))
}

/// How to restart a workspace.
const RESTART: &str = "there is no restart: `snapshotter workspace stop NAME`, then `snapshotter workspace start NAME`";

/// Commands that begin with a sandbox or a workspace, and that people search among those of workspaces.
const OF_TARGETS: [&str; 11] =
    ["exec", "ls", "stat", "cat", "cp", "du", "export", "diff", "restore-files", "branch", "lineage"];

/// Returns how to reach what a word means that is no command for workspaces. `operands` are the words after it.
pub fn workspace_tip(word: &str, operands: &[&str]) -> Option<String> {
    let with_at = |command: &str| match operands {
        [name, others @ ..] => {
            let target = format!("@{}", name.trim_start_matches('@'));
            let words = std::iter::once(target.as_str()).chain(others.iter().copied());
            format!("write an @ before the name: `snapshotter {command} {}`", shell_words(words))
        }
        [] => format!("write an @ before the name: `snapshotter {command} @NAME …`"),
    };
    let tip = match word {
        "restart" | "reboot" => RESTART.to_owned(),
        "rename" | "mv" | "move" => {
            "a workspace can't be renamed: `snapshotter workspace fork NAME --new-name NEW`, then \
                                     `snapshotter workspace delete NAME`"
                .to_owned()
        }
        "restore" | "reset" => "`snapshotter workspace rollback NAME ID|LABEL` goes back to a snapshot, and \
                                `snapshotter workspace start NAME` restores the newest one"
            .to_owned(),
        "run" => with_at("exec"),
        "ssh" | "shell" | "sh" | "bash" => "a command runs with `snapshotter exec @NAME …`".to_owned(),
        "snapshot" | "save" => with_at("snapshot create"),
        "checkpoint" => with_at("checkpoint create"),
        "ls" if operands.is_empty() => {
            "`snapshotter workspace list` lists the workspaces, and `snapshotter ls @NAME` the files of one".to_owned()
        }
        word if OF_TARGETS.contains(&word) => with_at(word),
        _ => return None,
    };
    Some(tip)
}

/// Returns the commands that do the same as a command outside of a group.
pub fn commands(word: &str) -> &'static [&'static str] {
    of(&COMMANDS, word)
}

/// Returns the commands that do the same as a command of a group, if the group has them.
pub fn commands_of_group(word: &str) -> &'static [&'static str] {
    of(&COMMANDS_OF_GROUPS, word)
}

/// Returns the options that do the same, without their dashes, if the command has them.
pub fn options(name: &str) -> &'static [&'static str] {
    of(&OPTIONS, name)
}

/// Returns the values that mean the same, if the option has them.
pub fn values(value: &str) -> &'static [&'static str] {
    of(&VALUES, value)
}

fn of(table: &[(&[&str], &'static [&'static str])], word: &str) -> &'static [&'static str] {
    table.iter().find(|(others, _)| others.contains(&word)).map_or(&[], |(_, here)| here)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::help;

    #[test]
    fn synonyms_name_existing_commands() {
        for here in COMMANDS.iter().flat_map(|(_, here)| here.iter()) {
            assert_eq!(crate::command_words(here.split(' ').map(str::to_owned)).join(" "), *here);
        }
        let root = help::command();
        for here in COMMANDS_OF_GROUPS.iter().flat_map(|(_, here)| here.iter()) {
            assert!(root.get_subcommands().any(|group| group.find_subcommand(here).is_some()), "{here}");
        }
    }

    #[test]
    fn synonyms_are_no_commands_themselves() {
        let root = help::command();
        for word in COMMANDS.iter().flat_map(|(words, _)| words.iter()) {
            assert!(root.find_subcommand(word).is_none(), "{word}");
        }
    }
}
