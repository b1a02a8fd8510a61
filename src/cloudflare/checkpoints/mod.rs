//! Checkpoints inside of a sandbox: the script that does the work with git, and what it answers.

mod commits;
mod read;

pub(crate) use read::read;

use super::scripts::{NAMES, quoted};
use crate::model::Directory;
use crate::model::checkpoint::RestoredCheckpoint;
use crate::model::checkpoint_call::{CheckpointCall, Meant};

/// How long it may take, in milliseconds. The script ends a while before that, to tell why.
pub(super) const MILLIS: u32 = 120_000;

/// The script, without what it is about. The part that begins stands last.
const SCRIPT: &str = concat!(include_str!("restore.sh"), include_str!("list.sh"), include_str!("script.sh"));

/// How long the paths may be on average that a restore has changed, in bytes, so that all are told that can be.
const PATH: usize = 200;

/// The command for a call.
pub(super) fn command(dir: &Directory, meant: Meant, call: &CheckpointCall) -> String {
    let (op, name, message, limit) = match call {
        CheckpointCall::Create { name, description } => ("create", name.as_str(), description.as_str(), 0),
        CheckpointCall::List { limit, .. } => ("list", "", "", *limit as usize),
        CheckpointCall::Restore { name } => ("restore", name.as_str(), "", RestoredCheckpoint::MAX_CHANGED * PATH),
        CheckpointCall::Diff { name, max_bytes } => ("compare", name.as_str(), "", *max_bytes as usize),
    };
    let after = match call {
        CheckpointCall::List { after: Some(after), .. } => format!("{} {}", after.micros, after.name),
        _ => String::new(),
    };
    let oldest = match meant {
        // It counts in hundredths of a second.
        Meant::Aged(millis) => (millis.max(0) / 10).to_string(),
        Meant::HandedOut => String::new(),
    };
    format!(
        "{NAMES}op={op} dir={dir} name={name} message={message} after={after} limit={limit} oldest={oldest}\n{SCRIPT}",
        dir = quoted(dir.as_str()),
        name = quoted(name),
        message = quoted(message),
        after = quoted(&after),
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
    fn what_is_named_in_the_command_stays_one_word() {
        let dir = Directory::parse("/workspace/it's $(here)").unwrap();
        let description = CheckpointDescription::parse("it's\n`odd`").unwrap();
        let create = CheckpointCall::Create { name: name(), description };
        let command = command(&dir, Meant::Aged(1234), &create);
        let (_, about) = command.split_once("op=create ").unwrap();
        let expected =
            "dir='/workspace/it'\\''s $(here)' name='s1' message='it'\\''s\n`odd`' after='' limit=0 oldest=123\n";
        assert!(about.starts_with(expected), "{about}");
    }

    #[test]
    fn a_page_begins_after_a_time_and_a_name() {
        let dir = Directory::parse("/workspace").unwrap();
        let after = Some(CheckpointCursor { micros: 1_795_150_800_123_456, name: name() });
        let command = command(&dir, Meant::HandedOut, &CheckpointCall::List { after, limit: 7 });
        assert!(command.contains(" after='1795150800123456 s1' limit=7 oldest=\n"), "{command}");
    }

    #[test]
    fn a_container_that_was_handed_out_may_have_any_age() {
        let dir = Directory::parse("/workspace").unwrap();
        let call = CheckpointCall::Diff { name: name(), max_bytes: 7 };
        assert!(command(&dir, Meant::HandedOut, &call).contains(" limit=7 oldest=\n"));
        assert!(command(&dir, Meant::Aged(-5), &call).contains(" limit=7 oldest=0\n"));
    }
}
