//! Checkpoints in a sandbox: the git script that creates, lists, restores and compares them, and the parser of its
//! output.

mod commits;
mod read;

pub(crate) use read::read_answer;

use super::scripts::{FILE_NAMES, check_container, shell_quote};
use crate::model::Directory;
use crate::model::checkpoint::RestoredCheckpoint;
use crate::model::checkpoint_call::CheckpointCall;
use crate::model::required_container::RequiredContainer;

/// The time limit of the command, in milliseconds. The script ends before that, so that it can report why.
pub(super) const TIMEOUT_MILLIS: u32 = 120_000;

/// The script, without its arguments. The part that runs first is the last one.
const SCRIPT: &str = concat!(include_str!("restore.sh"), include_str!("list.sh"), include_str!("script.sh"));

/// The average length of a changed path for which a restore can report the maximum number of them, in bytes.
const AVERAGE_PATH_BYTES: usize = 200;

/// Returns the command for a call.
pub(super) fn command(dir: &Directory, required: &RequiredContainer, call: &CheckpointCall) -> String {
    let (op, name, message, limit) = match call {
        CheckpointCall::Create { name, description, .. } => ("create", name.as_str(), description.as_str(), 0),
        CheckpointCall::List { limit, .. } => ("list", "", "", *limit as usize),
        CheckpointCall::Delete { name } => ("delete", name.as_str(), "", 0),
        CheckpointCall::Restore { name, .. } => {
            ("restore", name.as_str(), "", RestoredCheckpoint::MAX_CHANGED * AVERAGE_PATH_BYTES)
        }
        CheckpointCall::Diff { name, max_bytes } => ("compare", name.as_str(), "", *max_bytes as usize),
    };
    let after = match call {
        CheckpointCall::List { after: Some(after), .. } => format!("{} {}", after.micros, after.name),
        _ => String::new(),
    };
    let expires = match call {
        CheckpointCall::Create { expiration_seconds, .. } => *expiration_seconds,
        _ => 0,
    };
    let prune = matches!(call, CheckpointCall::Restore { prune: true, .. });
    format!(
        "{FILE_NAMES}refusal=$(\n{check}) op={op} dir={dir} name={name} message={message} after={after} limit={limit} expires={expires} \
         prune={prune}\n{SCRIPT}",
        check = check_container(required),
        dir = shell_quote(dir.as_str()),
        name = shell_quote(name),
        message = shell_quote(message),
        after = shell_quote(&after),
        prune = if prune { "1" } else { "" },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::checkpoint::CheckpointCursor;
    use crate::model::{CheckpointDescription, CheckpointName};

    fn name() -> CheckpointName {
        CheckpointName::parse("s1").unwrap()
    }

    #[test]
    fn command_quotes_each_argument_as_one_word() {
        let dir = Directory::parse("/workspace/it's $(here)").unwrap();
        let description = CheckpointDescription::parse("it's\n`odd`").unwrap();
        let create = CheckpointCall::Create { name: name(), description, expiration_seconds: 60 };
        let command = command(&dir, &RequiredContainer::OlderThan { millis: 1234 }, &create);
        let (_, arguments) = command.split_once("op=create ").unwrap();
        let expected = "dir='/workspace/it'\\''s $(here)' name='s1' message='it'\\''s\n`odd`' after='' limit=0 expires=60 prune=\n";
        assert!(arguments.starts_with(expected), "{arguments}");
    }

    #[test]
    fn list_command_starts_after_the_time_and_name_of_the_cursor() {
        let dir = Directory::parse("/workspace").unwrap();
        let after = Some(CheckpointCursor { micros: 1_795_150_800_123_456, name: name() });
        let command = command(&dir, &RequiredContainer::Ready, &CheckpointCall::List { after, limit: 7 });
        assert!(command.contains(" after='1795150800123456 s1' limit=7 expires=0 prune=\n"), "{command}");
    }
}
