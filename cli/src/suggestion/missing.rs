//! Tips for a command without an argument that it needs.

use clap::{Arg, Command};
use sandbox_snapshotter_client::model::{Runtime, ShortRef, SnapshotId};

use crate::quoting::shell_words;

/// Returns how to find out what the argument `missing` of a command can be, such as `<NAME>`.
pub fn list_tip(words: &[String], arguments: &[String], missing: &str) -> Option<String> {
    let group = words.first()?.as_str();
    let last_word = words.last()?;
    let given =
        arguments.iter().skip_while(|argument| *argument != last_word).nth(1).filter(|word| !word.starts_with('-'));
    let target = given
        .map(|given| if group == "workspace" { format!("@{}", given.trim_start_matches('@')) } else { given.clone() });
    let list = |command: &str, of: Option<&String>| {
        let of = of.map_or_else(|| "SANDBOX|@NAME".to_owned(), |target| shell_words([target.as_str()]));
        format!("`snapshotter {command} list {of}`")
    };
    Some(match missing.trim_end_matches('.').trim_matches(['<', '>']) {
        "NAME" if group == "workspace" && last_word == "create" => {
            "choose a name, as in `snapshotter workspace create notebook`".to_owned()
        }
        "NAME" if group == "checkpoint" && last_word == "create" => {
            format!(
                "choose a name, as in `snapshotter checkpoint create {} tests-pass`",
                shell_words([target?.as_str()])
            )
        }
        "NAME" if group == "checkpoint" => format!("{} lists the checkpoints", list("checkpoint", target.as_ref())),
        "NAME" => "`snapshotter workspace list` lists the workspaces".to_owned(),
        "SANDBOX|@NAME" => {
            "a workspace is named as @NAME: `snapshotter workspace list` lists the workspaces".to_owned()
        }
        "ID|LABEL" if group == "tokens" => "`snapshotter tokens list` lists the tokens".to_owned(),
        "COMMAND" => format!(
            "pass a program and its arguments, as in `snapshotter exec {} ls -l`",
            shell_words([target?.as_str()])
        ),
        operand if group == "cp" && operand.contains("TO") => {
            "pass FROM and TO, as in `snapshotter cp notes.txt @notebook:notes.txt`".to_owned()
        }
        "SANDBOX" if group == "revive" => {
            "pass the id of a sandbox. A workspace is started instead: `snapshotter workspace start NAME`".to_owned()
        }
        option if option.starts_with("--from") => format!(
            "`snapshotter workspace list` lists the workspaces, {} the snapshots",
            list("snapshot", target.as_ref())
        ),
        option if option.starts_with("--runtime") => {
            Runtime::ALL.map(|runtime| format!("'--runtime {runtime}'")).join(" or ")
        }
        "ID" if group == "commands" => format!("{} lists the commands", list("commands", target.as_ref())),
        "ID|LABEL" | "ID|REF|LABEL" | "FROM" => {
            match target.filter(|target| target.starts_with('@') || group == "workspace") {
                Some(target) => format!("{} lists the snapshots", list("snapshot", Some(&target))),
                None => format!(
                    "the sandbox or the workspace comes first, then the snapshot: {} lists the snapshots",
                    list("snapshot", None)
                ),
            }
        }
        _ => return None,
    })
}

/// Returns the tip for an id whose sandbox is missing, that of a snapshot or of a background command, and for a snapshot that is not
/// an argument of its own.
pub fn tip(root: &Command, words: &[String], arguments: &[String]) -> Option<String> {
    let command = words.iter().try_fold(root, |command, word| command.find_subcommand(word))?;
    let names: Vec<_> = command.get_positionals().filter_map(Arg::get_value_names).flatten().collect();
    let [first, second, ..] = names.as_slice() else { return None };
    let last_word = words.last()?;
    let id = arguments.iter().skip_while(|argument| *argument != last_word).nth(1)?;
    let line =
        |arguments: &[&str]| format!("`snapshotter {} {}`", words.join(" "), shell_words(arguments.iter().copied()));
    if second.contains("LABEL")
        && let Some((target, snapshot)) = id.split_once([':', '/']).filter(|(target, _)| target.starts_with('@'))
    {
        return Some(format!("the snapshot is an argument of its own: {}", line(&[target, snapshot])));
    }
    if id.starts_with(ShortRef::PREFIX) && command.get_opts().any(|option| option.get_long() == Some("ref")) {
        return Some(format!("a ref selects a snapshot by itself: {}", line(&["--ref", id])));
    }
    if first.as_str() != "SANDBOX|@NAME" {
        return None;
    }
    let is_of_commands = words.first().is_some_and(|group| group == "commands");
    let is_id = match second.as_str() {
        "ID" if is_of_commands => !id.starts_with(['-', '@']),
        _ => SnapshotId::parse(id).is_ok(),
    };
    is_id.then(|| format!("the sandbox comes first: `snapshotter {} {first} {id}`", words.join(" ")))
}
