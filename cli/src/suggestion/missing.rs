//! Tips for a command without an argument that it needs.

use clap::{Arg, Command};
use sandbox_snapshotter_client::model::SnapshotId;

/// Returns the tip for an id whose sandbox is missing: that of a snapshot, or of a background command.
pub fn tip(root: &Command, words: &[String], arguments: &[String]) -> Option<String> {
    let command = words.iter().try_fold(root, |command, word| command.find_subcommand(word))?;
    let names: Vec<_> = command.get_positionals().filter_map(Arg::get_value_names).flatten().collect();
    let [first, second, ..] = names.as_slice() else { return None };
    if first.as_str() != "SANDBOX|@NAME" {
        return None;
    }
    let last_word = words.last()?;
    let id = arguments.iter().skip_while(|argument| *argument != last_word).nth(1)?;
    let is_of_commands = words.first().is_some_and(|group| group == "commands");
    let is_id = match second.as_str() {
        "ID" if is_of_commands => !id.starts_with(['-', '@']),
        _ => SnapshotId::parse(id).is_ok(),
    };
    is_id.then(|| format!("the sandbox comes first: `snapshotter {} {first} {id}`", words.join(" ")))
}
