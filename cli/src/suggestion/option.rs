//! Suggestions for an unknown option, or for a word too many.

use clap::error::{ContextKind, ContextValue};
use clap::{Arg, Command};
use sandbox_snapshotter_client::model::similar::most_similar;

use super::{replace_tip, surplus, synonyms, tips};

/// Suggests an option for an unknown one or for a word too many.
pub fn suggest(error: &mut clap::Error, root: &Command, words: &[String], arguments: &[String]) {
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else { return };
    let unknown = unknown.clone();
    let command = words.iter().try_fold(root, |command, word| command.find_subcommand(word));
    let Some(command) = command else { return };
    if unknown.starts_with('-') {
        replace_usage(error, root, words);
    }
    let tip = tips::tip(words, &unknown).or_else(|| tips::tip_of_all(&unknown)).map(str::to_owned);
    if let Some(tip) = tip.or_else(|| value_tip(root, command, arguments, &unknown)) {
        error.remove(ContextKind::SuggestedArg);
        replace_tip(error, &tip);
        return;
    }
    match unknown.strip_prefix("--") {
        Some(name) => suggest_option(error, root, command, name),
        None if unknown.starts_with('-') => suggest_option(error, root, command, unknown.trim_start_matches('-')),
        None => {
            if let Some(tip) = surplus::tip(command, words, arguments, &unknown) {
                replace_tip(error, &tip);
            }
        }
    }
}

/// Replaces the usage, which contains the option that clap suggests.
fn replace_usage(error: &mut clap::Error, root: &Command, words: &[String]) {
    let mut built = root.clone();
    built.build();
    if let Some(command) = words.iter().try_fold(&built, |command, word| command.find_subcommand(word)) {
        error.insert(ContextKind::Usage, ContextValue::StyledStr(command.clone().render_usage()));
    }
}

/// Returns the tip for the value of an option that begins with a dash.
fn value_tip(root: &Command, command: &Command, arguments: &[String], unknown: &str) -> Option<String> {
    let mut pairs = arguments.windows(2);
    let (option, value) = pairs.find_map(|pair| match pair {
        [option, value] if value.starts_with(unknown) => Some((option, value)),
        _ => None,
    })?;
    let mut known = command.get_arguments().chain(root.get_arguments());
    let takes_value = known.any(|known| {
        known.get_long().is_some_and(|long| option.strip_prefix("--") == Some(long))
            && known.get_action().takes_values()
    });
    takes_value.then(|| format!("write '{option}={value}' for a value that begins with a dash"))
}

/// Suggests the option that begins or ends with the words of the unknown one, or else the argument of this name, the option that does
/// the same, or the one with a similar name. Does not suggest to pass the unknown option as a value, which no command takes.
fn suggest_option(error: &mut clap::Error, root: &Command, command: &Command, name: &str) {
    let of_root = || root.get_arguments().filter(|argument| argument.is_global_set());
    // Clap adds these two to every command later.
    let of_clap =
        || ["help", "version"].into_iter().filter(|long| *long == "help" || command.get_name() == root.get_name());
    let options = || command.get_arguments().chain(of_root()).filter_map(Arg::get_long).chain(of_clap());
    let (beginning, ending) = (format!("{name}-"), format!("-{name}"));
    let longer = options().find(|long| long.starts_with(&beginning));
    let longer = longer.or_else(|| options().find(|long| long.ends_with(&ending)));
    let synonym = || synonyms::options(name).iter().copied().find(|here| options().any(|long| long == *here));
    let tip = argument_tip(command, name);
    error.remove(ContextKind::Suggested);
    if let Some(long) = longer {
        error.insert(ContextKind::SuggestedArg, ContextValue::String(format!("--{long}")));
    } else if let Some(tip) = tip {
        error.remove(ContextKind::SuggestedArg);
        replace_tip(error, &tip);
    } else if let Some(long) = synonym().or_else(|| most_similar(name, options())) {
        error.insert(ContextKind::SuggestedArg, ContextValue::String(format!("--{long}")));
    } else if error.get(ContextKind::SuggestedSubcommand).is_none() {
        // The option that clap suggests is hardly similar.
        error.remove(ContextKind::SuggestedArg);
    }
}

/// Returns the tip for an option in the place of an argument, or of a part of one.
fn argument_tip(command: &Command, name: &str) -> Option<String> {
    let value_names = || command.get_positionals().filter_map(Arg::get_value_names).flatten();
    let value_name = name.to_uppercase();
    if value_names().any(|other| **other == *value_name) {
        return Some(format!("pass {value_name} without '--{name}'"));
    }
    let first = value_names().next();
    if let Some(first) = first.filter(|first| first.contains("@NAME") && matches!(name, "workspace" | "sandbox")) {
        return Some(format!("pass {first} without '--{name}'"));
    }
    let is_workspace = |name: &&clap::builder::Str| name.split('|').any(|name| matches!(name, "@NAME" | "NAME"));
    let workspace = first.filter(is_workspace).filter(|_| name == "tenant")?;
    let at = if workspace.contains('@') { "@" } else { "" };
    Some(format!("write {at}TENANT/NAME in place of {at}NAME, without '--tenant'"))
}
