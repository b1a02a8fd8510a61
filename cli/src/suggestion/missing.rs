//! Tips for a command without an argument that it needs.

use clap::{Arg, Command};
use sandbox_snapshotter_client::model::{ShortRef, SnapshotId};

use crate::quoting::shell_words;

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
