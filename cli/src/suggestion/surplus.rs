//! Tips for a word that a command does not take.

use clap::{Arg, Command};

use crate::quoting::shell_words;

/// The units of times on the command line, and what people write.
const UNITS: [(&str, &[&str]); 5] = [
    ("s", &["s", "sec", "secs", "second", "seconds"]),
    ("m", &["m", "min", "mins", "minute", "minutes"]),
    ("h", &["h", "hr", "hrs", "hour", "hours"]),
    ("d", &["d", "day", "days"]),
    ("w", &["w", "week", "weeks"]),
];

/// Returns the tip for a word too many: the time that it is a part of, or the option that takes a name, if the user may have left
/// it out. A command for one workspace says that it takes no second one.
pub fn tip(command: &Command, words: &[String], arguments: &[String], word: &str) -> Option<String> {
    if word.starts_with('-') {
        return None;
    }
    if let Some((option, number)) = number_before(arguments, word) {
        let unit = UNITS.iter().find(|(_, names)| names.contains(&word.to_lowercase().as_str()));
        let takes_time = command.get_arguments().any(|known| {
            known.get_long() == option.strip_prefix("--")
                && known.get_value_names().is_some_and(|names| names == ["TIME"])
        });
        return unit.filter(|_| takes_time).map(|(unit, _)| format!("write '{option} {number}{unit}'"));
    }
    if let Some(source) = source_before(command, arguments, word) {
        return Some(format!("you may mean '--from-snapshot {}'", shell_words([source, word])));
    }
    if is_number(word) && command.get_opts().any(|option| option.get_long() == Some("count")) {
        return Some(format!("you may mean '--count {word}'"));
    }
    let again = |word: &str| format!("run `snapshotter {} {}`", words.join(" "), shell_words([word]));
    let takes_one = command.get_positionals().count() == 1;
    let Some(option) = option_for(command, arguments, word) else {
        let may_be_workspace = word.starts_with('@') || words.first().is_some_and(|group| group == "workspace");
        let is_second = takes_one && may_be_workspace && takes_workspace(command);
        return is_second.then(|| format!("the command takes one workspace; for another, {}", again(word)));
    };
    let last_word = words.last();
    let given: Vec<_> = arguments.iter().skip_while(|argument| Some(*argument) != last_word).skip(1).collect();
    if let Some(tip) = promotion_tip(words, &given, word).or_else(|| forks_tip(words, &given, word)) {
        return Some(tip);
    }
    let tip = format!("you may mean '--{} {}'", option.get_long().unwrap_or_default(), shell_words([word]));
    // The name of another workspace must not become the label of a snapshot.
    let may_be_workspace = takes_one && words.first().is_some_and(|group| group == "workspace");
    let is_certain = option.is_required_set() || value_name(option).is_some_and(|name| name.ends_with("NAME"));
    Some(if may_be_workspace && !is_certain { format!("{tip}; for another workspace, {}", again(word)) } else { tip })
}

/// Returns the tip for two workspaces of a promotion: either may be the one that gets the files.
fn promotion_tip(words: &[String], given: &[&String], word: &str) -> Option<String> {
    let name = given.first().filter(|_| words == ["workspace", "promote"])?.trim_start_matches('@');
    let other = shell_words([word, "--from", &format!("@{name}")]);
    Some(format!(
        "you may mean '--from {}': {name} gets the files of {word}. For the other direction, \
         `snapshotter workspace promote {other}`",
        shell_words([word])
    ))
}

/// Returns the tip for several names of forks: the command numbers the forks.
fn forks_tip(words: &[String], given: &[&String], word: &str) -> Option<String> {
    let count = given.iter().skip(1).filter(|name| !name.starts_with('-')).count();
    let is_several = words == ["workspace", "fork"] && !word.starts_with('@') && count > 1;
    is_several.then(|| {
        let name = shell_words([word]);
        format!(
            "'--new-name {name}' names one fork. '--count {count}' makes {count} forks, whose names end with a number"
        )
    })
}

/// Returns the option of a command that takes a name, if the user may have left it out before the word.
fn option_for<'a>(command: &'a Command, arguments: &[String], word: &str) -> Option<&'a Arg> {
    let is_given = |option: &Arg| {
        option.get_long().is_some_and(|long| arguments.iter().any(|given| given.strip_prefix("--") == Some(long)))
    };
    let own = || command.get_opts().filter(|option| !option.is_global_set() && !is_given(option));
    let takes_name = |option: &&Arg| {
        let accepts = |name: &str| {
            let names = ["NAME", "LABEL", "TENANT"];
            let is_name = !name.contains("SANDBOX") && names.iter().any(|known| name.contains(known));
            is_name && (!word.starts_with('@') || name.contains("@NAME"))
        };
        value_name(option).is_some_and(accepts)
    };
    let accepts = |option: &&Arg| {
        let values = option.get_possible_values();
        values.is_empty() || values.iter().any(|value| value.matches(word, false))
    };
    let is_label = |option: &&Arg| option.get_long() == Some("label");
    let required = own().find(|option| option.is_required_set() && accepts(option));
    required.or_else(|| own().filter(takes_name).find(is_label)).or_else(|| own().find(takes_name))
}

/// Returns the name of the single value of an option.
fn value_name(option: &Arg) -> Option<&str> {
    match option.get_value_names() {
        Some([name]) => Some(name.as_str()),
        _ => None,
    }
}

fn takes_workspace(command: &Command) -> bool {
    let mut names = command.get_positionals().filter_map(Arg::get_value_names).flatten();
    names.any(|name| matches!(name.as_str(), "NAME" | "SANDBOX|@NAME"))
}

/// Returns the option and its value before a word, if the value is a number without a unit.
fn number_before<'a>(arguments: &'a [String], word: &str) -> Option<(&'a str, &'a str)> {
    let mut windows = arguments.windows(3);
    windows.find_map(|window| match window {
        [option, number, last] if last == word && option.starts_with("--") && is_number(number) => {
            Some((option.as_str(), number.as_str()))
        }
        _ => None,
    })
}

/// Returns the workspace or the sandbox before a word that may be the name of its snapshot, if the command starts from one.
fn source_before<'a>(command: &Command, arguments: &'a [String], word: &str) -> Option<&'a str> {
    command.get_opts().find(|option| option.get_long() == Some("from-snapshot"))?;
    let mut windows = arguments.windows(3);
    windows.find_map(|window| match window {
        [option, source, last] if last == word && ["--from", "--from-workspace"].contains(&option.as_str()) => {
            Some(source.as_str())
        }
        _ => None,
    })
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
