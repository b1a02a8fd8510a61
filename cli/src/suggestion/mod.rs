//! Suggestions for a command without its group, such as `snapshotter fork` instead of `snapshotter workspace fork`; for an
//! unknown option, such as `--name` instead of `--new-name`; for a name without its option; and for commands and options that
//! have another name in other products.
//!
//! - `synonyms`: the commands and options of other programs
//! - `surplus`: words that a command does not take

mod surplus;
mod synonyms;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command};
use sandbox_snapshotter_client::model::similar::most_similar;

use crate::args::help;

/// Options of other programs that copy directories.
const RECURSIVE: [&str; 4] = ["-r", "-R", "-a", "--recursive"];

/// How to copy a directory.
const RECURSIVE_TIP: &str = "a directory of a snapshot needs no option. For one of a running sandbox, run \
    `tar c DIR | snapshotter exec @NAME tar x`, or `snapshotter exec @NAME tar c DIR | tar x`";

/// Adds suggestions to the error of a command with these arguments.
pub fn add(mut error: clap::Error, arguments: &[String]) -> clap::Error {
    let root = help::command();
    let words = crate::command_words(arguments.iter().cloned());
    match error.kind() {
        ErrorKind::InvalidSubcommand => suggest_command(&mut error, &root, &words),
        ErrorKind::UnknownArgument => suggest_argument(&mut error, &root, &words, arguments),
        _ => {}
    }
    error
}

/// Suggests the command that does the same as the unknown one: of the same group, of the groups, or the one with a similar name.
fn suggest_command(error: &mut clap::Error, root: &Command, words: &[String]) {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return };
    let word = &word.clone();
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
    }
    if suggested.is_empty() && group.is_none() {
        suggested.extend(most_similar(word, root.get_subcommands().map(Command::get_name)).map(str::to_owned));
    }
    // Without this, clap suggests names that are hardly similar.
    error.remove(ContextKind::SuggestedSubcommand);
    error.remove(ContextKind::Suggested);
    if group.is_none() && synonyms::is_program(word) {
        replace_tip(error, &format!("to run a program in a sandbox: `snapshotter exec @NAME {word} …`"));
    }
    if !suggested.is_empty() {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(suggested));
    }
}

/// Returns the commands of this name in the groups of the root, each with its group.
fn commands_named(root: &Command, word: &str) -> Vec<String> {
    let groups = root.get_subcommands().filter(|group| group.find_subcommand(word).is_some());
    groups.map(|group| format!("{} {word}", group.get_name())).collect()
}

/// Suggests an option for an unknown one or for a word too many.
fn suggest_argument(error: &mut clap::Error, root: &Command, words: &[String], arguments: &[String]) {
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else { return };
    let unknown = unknown.clone();
    if words == ["cp"] && RECURSIVE.contains(&unknown.as_str()) {
        replace_tip(error, RECURSIVE_TIP);
        return;
    }
    let command = words.iter().try_fold(root, |command, word| command.find_subcommand(word));
    let Some(command) = command else { return };
    if let Some(tip) = synonyms::tip(words, &unknown) {
        error.remove(ContextKind::SuggestedArg);
        replace_tip(error, tip);
        return;
    }
    match unknown.strip_prefix("--") {
        Some(name) => {
            suggest_option(error, root, command, name);
            // The usage that clap prints contains the option that it suggests.
            let mut built = root.clone();
            built.build();
            if let Some(command) = words.iter().try_fold(&built, |command, word| command.find_subcommand(word)) {
                error.insert(ContextKind::Usage, ContextValue::StyledStr(command.clone().render_usage()));
            }
        }
        None if unknown.starts_with('-') => suggest_option(error, root, command, unknown.trim_start_matches('-')),
        None => {
            if let Some(tip) = surplus::tip(command, words, arguments, &unknown) {
                replace_tip(error, &tip);
            }
        }
    }
}

/// Suggests the option that ends with the words of the unknown one or does the same, or else the argument of this name, or the
/// option with a similar name. Does not suggest to pass the unknown option as a value, which no command takes.
fn suggest_option(error: &mut clap::Error, root: &Command, command: &Command, name: &str) {
    let of_root = || root.get_arguments().filter(|argument| argument.is_global_set());
    let options = || command.get_arguments().chain(of_root()).filter_map(Arg::get_long);
    let ending = format!("-{name}");
    let longer = options().find(|long| long.ends_with(&ending));
    let synonym = || synonyms::options(name).iter().copied().find(|here| options().any(|long| long == *here));
    let tip = argument_tip(command, name);
    error.remove(ContextKind::Suggested);
    if let Some(long) = longer.or_else(synonym) {
        error.insert(ContextKind::SuggestedArg, ContextValue::String(format!("--{long}")));
    } else if let Some(tip) = tip {
        error.remove(ContextKind::SuggestedArg);
        replace_tip(error, &tip);
    } else if let Some(long) = most_similar(name, options()) {
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
    let is_workspace = |name: &&clap::builder::Str| name.split('|').any(|name| matches!(name, "@NAME" | "NAME"));
    let workspace = value_names().next().filter(is_workspace).filter(|_| name == "tenant")?;
    let at = if workspace.contains('@') { "@" } else { "" };
    Some(format!("write {at}TENANT/NAME in place of {at}NAME, without '--tenant'"))
}

/// Replaces the tips of an error.
fn replace_tip(error: &mut clap::Error, tip: &str) {
    let tips = ContextValue::StyledStrs(vec![StyledStr::from(tip.to_owned())]);
    error.insert(ContextKind::Suggested, tips);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suggested(line: &str) -> String {
        let error = help::command().try_get_matches_from(line.split(' ')).unwrap_err();
        let arguments: Vec<_> = line.split(' ').skip(1).map(str::to_owned).collect();
        add(error, &arguments).render().to_string()
    }

    #[test]
    fn a_command_without_its_group_suggests_the_group() {
        assert!(suggested("snapshotter fork notebook").contains("exists: 'workspace fork'"));
        let listed = suggested("snapshotter list");
        for command in ["'snapshot list'", "'workspace list'", "'checkpoint list'"] {
            assert!(listed.contains(command), "{listed}");
        }
    }

    #[test]
    fn an_unknown_option_suggests_the_longer_one() {
        let fork = suggested("snapshotter workspace fork notebook --name attempt");
        assert!(fork.contains("exists: '--new-name'"), "{fork}");
        assert!(!fork.contains("as a value"), "{fork}");
    }

    #[test]
    fn what_a_command_does_not_do_is_said_with_what_does() {
        for (line, expected) in [
            ("exec -it @notebook bash", "tip: a command has no terminal."),
            ("exec --stdin @notebook bash", "tip: a command has no terminal."),
            ("restore agent-42 before --as agent-43", "tip: the new sandbox has a generated id"),
            ("branch agent-42 before --count 3", "`snapshotter workspace fork NAME --count N`"),
            ("snapshot create agent-42 --pin", "`snapshotter snapshot pin SANDBOX|@NAME ID|LABEL`"),
            ("snapshot create agent-42 -m text", "exists: '--label'"),
            ("snapshot create agent-42 --name text", "exists: '--label'"),
            ("commands stop @notebook x", "exists: 'commands end'"),
            ("commands show @notebook x", "exists: 'commands output'"),
            ("checkout before", "'workspace rollback', 'branch'"),
            ("config", "exists: 'doctor'"),
            ("workspace exec notebook ls", "exists: 'exec'"),
            ("workspace update notebook --name other", "a workspace can't be renamed."),
            ("ls @notebook -la", "error: unexpected argument '-l' found\n\nUsage"),
            ("checkpoint rollback @notebook cp1", "exists: 'checkpoint restore'"),
            ("tokens delete ci", "exists: 'tokens revoke'"),
            ("workspace delete notebook --force", "exists: '--yes'"),
            ("workspace list -o json", "exists: '--json'"),
            ("workspace create notebook -e A=1", "exists: '--env'"),
            ("rm @notebook:a.txt", "to run a program in a sandbox: `snapshotter exec @NAME rm …`"),
            ("rm @notebook:a.txt", "'workspace delete'"),
            ("npm test", "`snapshotter exec @NAME npm …`"),
            ("snapshot restore agent-42 before", "exists: 'restore'"),
            ("workspace snapshot notebook", "exists: 'snapshot create'"),
            ("restore-files @notebook before a --force", "exists: '--overwrite'"),
        ] {
            let text = suggested(&format!("snapshotter {line}"));
            assert!(text.contains(expected) && !text.contains("as a value"), "{line}: {text}");
        }
        assert!(suggested("snapshotter nonsense").starts_with("error: unrecognized subcommand 'nonsense'\n\nUsage"));
    }

    #[test]
    fn a_name_without_its_option_suggests_the_option() {
        for (line, option) in [
            ("workspace fork notebook try-1", "'--new-name try-1'"),
            ("snapshot label @notebook snap-9rbk8d2dduhnwf6u keep", "'--to keep'"),
            ("snapshot create @notebook before", "'--label before'"),
            ("workspace promote notebook @try-1", "'--from @try-1'"),
        ] {
            let text = suggested(&format!("snapshotter {line}"));
            assert!(text.contains(&format!("tip: you may mean {option}")), "{line}: {text}");
        }
        let delete = suggested("snapshotter snapshot delete agent-42 before after");
        assert!(!delete.contains("tip"), "{delete}");
    }

    #[test]
    fn an_option_with_the_name_of_an_argument_suggests_the_argument() {
        let create = suggested("snapshotter workspace create --name notebook");
        assert!(create.contains("tip: pass NAME without '--name'"), "{create}");
        assert!(!create.contains("as a value"), "{create}");
    }

    #[test]
    fn an_unknown_option_is_not_suggested_as_a_value() {
        let restore = suggested("snapshotter restore agent-42 before --lable x");
        assert!(restore.contains("'--lable'") && !restore.contains("as a value"), "{restore}");
        let create = suggested("snapshotter snapshot create agent-42 --lable x");
        assert!(create.contains("'--label'") && !create.contains("as a value"), "{create}");
    }

    #[test]
    fn the_option_to_copy_directories_suggests_tar() {
        for option in RECURSIVE {
            let text = suggested(&format!("snapshotter cp {option} src @proj:src"));
            assert!(text.contains("tip: a directory") && text.contains("tar c DIR | snapshotter exec"), "{text}");
            assert!(!text.contains("as a value") && text.matches("<FROM> <TO>").count() == 1, "{text}");
        }
    }

    #[test]
    fn a_command_of_another_program_suggests_the_one_here() {
        for (line, expected) in [
            ("snapshotter rollback", "'workspace rollback'"),
            ("snapshotter undo", "'workspace rollback'"),
            ("snapshotter workspace undo", "'workspace rollback'"),
            ("snapshotter logs", "'commands output'"),
            ("snapshotter ps", "'commands list'"),
            ("snapshotter run @proj ls", "'exec'"),
            ("snapshotter ssh @proj", "'exec'"),
            ("snapshotter health", "'doctor'"),
            ("snapshotter write @proj:x", "'cp'"),
            ("snapshotter status", "'doctor', 'workspace show'"),
            ("snapshotter save @proj", "'snapshot create'"),
            ("snapshotter rm proj", "'workspace delete', 'snapshot delete', 'checkpoint delete'"),
            ("snapshotter workspace rm proj", "exists: 'workspace delete'"),
            ("snapshotter snapshot rm proj", "exists: 'snapshot delete'"),
            ("snapshotter checkpoint rm proj", "exists: 'checkpoint delete'"),
            ("snapshotter tokens rm x", "exists: 'tokens revoke'"),
            ("snapshotter commands rm x", "exists: 'commands end'"),
        ] {
            let text = suggested(line);
            assert!(text.contains(expected), "{text}");
        }
    }

    #[test]
    fn an_option_of_another_program_suggests_the_one_here() {
        for (line, expected) in [
            ("checkpoint create @proj a --description x", "'--message'"),
            ("snapshot create @proj --description x", "'--label'"),
            ("snapshot create @proj --tag x", "'--label'"),
            ("snapshot create @proj --ttl 1d", "'--expires'"),
            ("exec @proj --background ls", "'--detach'"),
            ("snapshot list @proj --adress x", "'--address'"),
            ("snapshot create @proj --frsh", "'--fresh'"),
        ] {
            let text = suggested(&format!("snapshotter {line}"));
            assert!(text.contains(&format!("tip: a similar argument exists: {expected}")), "{line}: {text}");
        }
    }

    #[test]
    fn an_option_that_is_hardly_similar_is_not_suggested() {
        for line in ["checkpoint create @proj a --incision x", "snapshot create @proj --tap x", "doctor --versio"] {
            let text = suggested(&format!("snapshotter {line}"));
            assert!(!text.contains("tip:"), "{line}: {text}");
        }
    }

    #[test]
    fn a_tenant_is_a_part_of_the_name_where_the_command_has_no_option_for_it() {
        for (line, expected) in [
            ("exec @proj --tenant acme ls", "write @TENANT/NAME in place of @NAME, without '--tenant'"),
            ("snapshot list @proj --tenant acme", "write @TENANT/NAME in place of @NAME, without '--tenant'"),
            ("workspace show proj --tenant acme", "write TENANT/NAME in place of NAME, without '--tenant'"),
        ] {
            let text = suggested(&format!("snapshotter {line}"));
            assert!(text.contains(&format!("tip: {expected}")) && !text.contains("--token"), "{line}: {text}");
        }
    }

    #[test]
    fn a_unit_after_its_number_suggests_one_word() {
        for (line, expected) in [
            ("workspace create own --idle 2 hours", Some("'--idle 2h'")),
            ("workspace update own --idle 2 min", Some("'--idle 2m'")),
            ("snapshot create @own --expires 14 Days --label x", Some("'--expires 14d'")),
            ("workspace update own --autosave-keep 3 snapshots", None),
            ("workspace update own --idle 2 moons", None),
        ] {
            let text = suggested(&format!("snapshotter {line}"));
            assert!(expected.is_none_or(|expected| text.contains(&format!("tip: write {expected}"))), "{line}: {text}");
            assert!(expected.is_some() || !text.contains("tip:"), "{line}: {text}");
        }
    }

    #[test]
    fn a_second_workspace_is_no_label() {
        for (line, expected) in [
            (
                "workspace stop notebook before",
                "you may mean '--label before'; for another workspace, run `snapshotter workspace stop before`",
            ),
            (
                "workspace start notebook before",
                "you may mean '--from before'; for another workspace, run `snapshotter workspace start before`",
            ),
            (
                "workspace stop notebook @other",
                "the command takes one workspace; for another, run `snapshotter workspace stop @other`",
            ),
            (
                "snapshot create @notebook @other",
                "the command takes one workspace; for another, run `snapshotter snapshot create @other`",
            ),
        ] {
            let text = suggested(&format!("snapshotter {line}"));
            assert!(text.contains(&format!("tip: {expected}\n")), "{line}: {text}");
        }
    }

    #[test]
    fn other_errors_stay_as_they_are() {
        assert!(suggested("snapshotter workspace strat").contains("'workspace start'"));
        assert!(!suggested("snapshotter nonsense").contains("tip"));
    }
}
