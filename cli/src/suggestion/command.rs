//! Suggestions for an unknown command.

use clap::Command;
use clap::error::{ContextKind, ContextValue};
use sandbox_snapshotter_client::model::similar::most_similar;

use super::{replace_tip, synonyms};

/// Suggests the command that does the same as the unknown one: of the same group, of the groups, or the one with a similar name.
pub fn suggest(error: &mut clap::Error, root: &Command, words: &[String], arguments: &[String]) {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return };
    let word = &word.clone();
    if words.first().is_some_and(|group| group == "workspace")
        && let Some(tip) = synonyms::workspace_tip(word, &operands_after(word, arguments))
    {
        error.remove(ContextKind::SuggestedSubcommand);
        replace_tip(error, &tip);
        return;
    }
    let group = words.first().and_then(|group| root.find_subcommand(group));
    let of_group = group.and_then(|group| {
        let here = synonyms::commands_of_group(word).iter().find(|here| group.find_subcommand(here).is_some());
        let names = || group.get_subcommands().map(Command::get_name);
        // A command outside of the groups, as in `workspace exec`.
        let of_root = || {
            let command = root.find_subcommand(word)?;
            let create = if command.find_subcommand("create").is_some() { " create" } else { "" };
            Some(format!("{word}{create}"))
        };
        let in_group = |here: &str| format!("{} {here}", group.get_name());
        here.map(|here| in_group(here)).or_else(of_root).or_else(|| most_similar(word, names()).map(in_group))
    });
    let mut suggested: Vec<String> = of_group.into_iter().collect();
    if suggested.is_empty() {
        suggested.extend(synonyms::commands(word).iter().map(|here| (*here).to_owned()));
    }
    if suggested.is_empty() {
        suggested = commands_named(root, word);
        // Of a group, another one may be meant only if no third one has the command.
        if group.is_some() && suggested.len() > 1 {
            suggested.clear();
        }
    }
    if suggested.is_empty() && group.is_none() {
        suggested.extend(most_similar(word, root.get_subcommands().map(Command::get_name)).map(str::to_owned));
    }
    // Without this, clap suggests names that are hardly similar.
    error.remove(ContextKind::SuggestedSubcommand);
    error.remove(ContextKind::Suggested);
    let tip = match group {
        None => synonyms::command_tip(word),
        Some(group) if suggested.is_empty() => {
            let names: Vec<_> = group.get_subcommands().map(Command::get_name).collect();
            Some(format!("the commands of '{}': {}", group.get_name(), names.join(", ")))
        }
        Some(_) => None,
    };
    if let Some(tip) = tip {
        replace_tip(error, &tip);
    }
    if !suggested.is_empty() {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(suggested));
    }
}

/// Returns the arguments after a word, which begin with no option; none if they do.
fn operands_after<'a>(word: &str, arguments: &'a [String]) -> Vec<&'a str> {
    let after: Vec<_> = arguments.iter().map(String::as_str).skip_while(|argument| *argument != word).skip(1).collect();
    if after.first().is_some_and(|first| first.starts_with('-')) { Vec::new() } else { after }
}

/// Returns the commands of this name in the groups of the root, each with its group.
fn commands_named(root: &Command, word: &str) -> Vec<String> {
    let groups = root.get_subcommands().filter(|group| group.find_subcommand(word).is_some());
    groups.map(|group| format!("{} {word}", group.get_name())).collect()
}
