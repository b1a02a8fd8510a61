//! The output of the calls about background commands.

use base64ct::{Base64, Encoding};

use crate::model::Timestamp;
use crate::model::background::{BackgroundCommand, CommandId, CommandState};
use crate::model::background_call::{
    BackgroundAction, BackgroundCall, BackgroundOutcome, BackgroundRefusal, OutputPart,
};

/// The maximum length of the output of a program that failed, in characters.
const MAX_FAILURE_CHARS: usize = 500;

/// Parses the output of [`background_command`](super::background_command).
pub(crate) fn read_background_outcome(
    output: &[u8],
    call: &BackgroundCall,
) -> Option<Result<BackgroundOutcome, BackgroundRefusal>> {
    let end = output.iter().position(|byte| *byte == b'\n')?;
    let (first, rest) = (std::str::from_utf8(output.get(..end)?).ok()?, output.get(end + 1..)?);
    match first {
        "busy" => return Some(Err(BackgroundRefusal::TooMany)),
        "missing" => return Some(Err(BackgroundRefusal::NotFound)),
        _ => {}
    }
    if first.starts_with("failed") {
        let failure = String::from_utf8_lossy(output.get("failed".len()..)?).into_owned();
        let failure = failure.chars().map(|letter| if letter.is_control() { ' ' } else { letter });
        let failure = failure.take(MAX_FAILURE_CHARS).collect::<String>().trim().to_owned();
        return Some(Err(BackgroundRefusal::Failed(failure)));
    }
    Some(Ok(match &call.action {
        BackgroundAction::Start(_) | BackgroundAction::End { .. } => BackgroundOutcome::Command(read_command(first)?),
        BackgroundAction::Read(OutputPart { length, .. }) => {
            let bytes = rest.get(..*length as usize).unwrap_or(rest).to_vec();
            BackgroundOutcome::Output(read_command(first)?, bytes)
        }
        BackgroundAction::List => {
            let mut commands = Vec::new();
            let mut lines = std::str::from_utf8(output).ok()?.lines().peekable();
            while let Some(line) = lines.next_if(|line| *line != "done") {
                commands.push(read_command(line)?);
            }
            lines.next()?;
            commands.sort_by_key(|command| std::cmp::Reverse(command.started_at));
            BackgroundOutcome::List(commands)
        }
    }))
}

/// Parses the line about a command.
fn read_command(line: &str) -> Option<BackgroundCommand> {
    let words: Vec<&str> = line.split(' ').collect();
    let ["command", id, state, code, over, begin, end, stdout, stderr, truncated, text] = words.as_slice() else {
        return None;
    };
    let known = |word: &&str| *word != "-";
    let time = |millis: &str| millis.parse().ok().map(Timestamp::from_millis);
    Some(BackgroundCommand {
        command_id: CommandId::parse(id).ok()?,
        command: String::from_utf8(Base64::decode_vec(text).ok()?).ok()?,
        state: match *state {
            "running" => CommandState::Running,
            "exited" => CommandState::Exited,
            "killed" => CommandState::Killed,
            _ => return None,
        },
        exit_code: Some(*code).filter(known).map(str::parse).transpose().ok()?,
        timed_out: *over == "1",
        started_at: time(begin)?,
        ended_at: match Some(*end).filter(known) {
            Some(end) => Some(time(end)?),
            None => None,
        },
        stdout_bytes: stdout.parse().ok()?,
        stderr_bytes: stderr.parse().ok()?,
        truncated: *truncated == "1",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Directory;
    use crate::model::exec::OutputStream;

    fn call(action: BackgroundAction) -> BackgroundCall {
        let dir = Directory::parse("/workspace").unwrap();
        BackgroundCall { id: CommandId::parse("c1").unwrap(), dir, action }
    }

    #[test]
    fn commands_are_listed_newest_first() {
        let lines = "command a exited 3 0 1000 2000 5 0 1 bWFrZQ==\ncommand b running - 0 1500 - 0 0 0 bHM=\ndone\n";
        let outcome = read_background_outcome(lines.as_bytes(), &call(BackgroundAction::List)).unwrap();
        let BackgroundOutcome::List(commands) = outcome.unwrap() else { panic!("a list") };
        let [newest, oldest] = <[_; 2]>::try_from(commands).unwrap();
        assert_eq!((newest.command_id.as_str(), newest.state, newest.exit_code), ("b", CommandState::Running, None));
        assert_eq!((oldest.command.as_str(), oldest.exit_code, oldest.truncated), ("make", Some(3), true));
        assert_eq!(oldest.ended_at, Some(Timestamp::from_millis(2000)));
    }

    #[test]
    fn list_that_was_cut_off_can_not_be_read() {
        for lines in
            ["", "command a exited 3 0 1000 2000 5 0 1 bWFrZQ==\n", "command a odd 3 0 1000 2 5 0 1 bHM=\ndone\n"]
        {
            assert_eq!(read_background_outcome(lines.as_bytes(), &call(BackgroundAction::List)), None, "{lines}");
        }
    }

    #[test]
    fn failure_has_the_output_of_the_program_in_one_line() {
        let command_id = CommandId::parse("c2").unwrap();
        let part = OutputPart { command_id, stream: OutputStream::Stdout, offset: 0, length: 10, wait_seconds: 0 };
        let read = |text: &str| read_background_outcome(text.as_bytes(), &call(BackgroundAction::Read(part.clone())));
        let failed = BackgroundRefusal::Failed("mkdir: no space cat: no".into());
        assert_eq!(read("failed mkdir: no space\ncat: no\n"), Some(Err(failed)));
        assert_eq!(read("missing\n"), Some(Err(BackgroundRefusal::NotFound)));
    }
}
