//! `commands`: lists, reads and ends background commands.

use sandbox_snapshotter_client::model::background::{
    BackgroundCommand, CommandDescription, CommandId, CommandList, CommandOutput, CommandState, Signal,
};
use sandbox_snapshotter_client::model::escape::escape;
use sandbox_snapshotter_client::model::exec::OutputStream;
use sandbox_snapshotter_client::model::request::{CommandOutputRequest, EndCommandRequest, SandboxSelection};

use super::context::Context;
use super::target::check_order;
use crate::args::commands::{self, Commands, CommandsOf};
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::output::{is_terminal, print, print_bytes, print_note};

/// How long a call waits for further output, in seconds.
const WAIT_SECONDS: u32 = 20;

/// `commands`
pub fn run(context: &Context, command: Commands) -> Result<Exit> {
    match command {
        Commands::List(of) => {
            context.show::<CommandList>(&context.call_read_only("commands/list", &select(context, &of)?)?)
        }
        Commands::Output(command) => {
            let printed = output(context, &command);
            // Other statuses would be taken for those of the command.
            printed.map_err(|failure| match failure.exit() {
                Exit::Invalid | Exit::OutputClosed => failure,
                _ if command.follow && !context.output.json => failure.with_exit(Exit::NotRun),
                _ => failure,
            })
        }
        Commands::End(command) => end(context, &command),
    }
}

fn select(context: &Context, of: &CommandsOf) -> Result<SandboxSelection> {
    context.selection(&of.target, &of.lineage_scope)
}

/// Parses the id of a command of a sandbox.
fn command_id(of: &CommandsOf, text: &str) -> Result<CommandId> {
    check_order(&of.target, text)?;
    let remediation = || format!("`snapshotter commands list {}` lists the ids of the commands.", of.target);
    CommandId::parse(text).map_err(|error| Failure::from(error).with_remediation(remediation()))
}

/// Prints the output part by part. In JSON mode, prints the answer with the first part. If it follows the command to its end, this
/// program ends with the exit status of the command, as after `exec`.
fn output(context: &Context, command: &commands::CommandOutput) -> Result<Exit> {
    let id = command_id(&command.commands, &command.command_id)?;
    let mut request = CommandOutputRequest::of(select(context, &command.commands)?, id);
    request.stream = if command.stderr { OutputStream::Stderr } else { OutputStream::Stdout };
    loop {
        let answer = context.call_read_only::<CommandOutput>("commands/output", &request)?;
        if context.output.json {
            return context.show(&answer);
        }
        let part = answer.value;
        let bytes = part.bytes().ok_or_else(|| Failure::foreign_answer("an output that is not valid"))?;
        // A terminal would execute control characters.
        if is_terminal() { print(&escape(&String::from_utf8_lossy(&bytes))) } else { print_bytes(&bytes) }?;
        let own = &part.description.command;
        let total = if command.stderr { own.stderr_bytes } else { own.stdout_bytes };
        let continues = command.follow && own.state == CommandState::Running;
        if part.next_offset >= total && !continues {
            return Ok(if command.follow { end_as(own) } else { Exit::Done });
        }
        request.offset = part.next_offset;
        request.wait_seconds = if command.follow { WAIT_SECONDS } else { 0 };
    }
}

/// Ends this program with the exit status of a background command that has ended. One other than 0 is reported.
fn end_as(command: &BackgroundCommand) -> Exit {
    let Some(report) = report_of_end(command) else { return Exit::Done };
    print_note(&format!("snapshotter: {report}\n"));
    std::process::exit(command.exit_code.unwrap_or(Exit::NotRun.number().into()));
}

/// Returns how a command ended, unless it succeeded.
fn report_of_end(command: &BackgroundCommand) -> Option<String> {
    let status = command.exit_code.map_or_else(String::new, |code| format!(", with the exit status {code}"));
    match command.state {
        _ if command.timed_out => Some(format!("the command exceeded its time limit and was killed{status}")),
        CommandState::Killed => Some(format!("the command was killed{status}")),
        CommandState::Exited if command.exit_code == Some(0) => None,
        CommandState::Exited | CommandState::Running => Some(format!("the command ended{status}")),
    }
}

fn end(context: &Context, command: &commands::EndCommand) -> Result<Exit> {
    let id = command_id(&command.commands, &command.command_id)?;
    let mut request = EndCommandRequest::of(select(context, &command.commands)?, id);
    if let Some(signal) = &command.signal {
        request.kill_signal = Signal::parse(signal.strip_prefix("SIG").unwrap_or(signal))?;
    }
    if let Some(grace) = command.grace {
        request.grace_seconds = u32::try_from(grace.0).unwrap_or(u32::MAX);
    }
    context.show::<CommandDescription>(&context.call_mutating("commands/end", &request)?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_end_of_a_command_is_reported_unless_it_succeeded() {
        let report = |state: &str, exit_code: Option<i32>, timed_out: bool| {
            let command = json!({
                "commandId": "c1", "command": "make", "state": state, "exitCode": exit_code, "timedOut": timed_out,
                "startedAt": "2026-11-20T05:00:00.000Z", "stdoutBytes": 0, "stderrBytes": 0, "truncated": false,
            });
            report_of_end(&serde_json::from_value(command).unwrap())
        };
        assert_eq!(report("exited", Some(0), false), None);
        for (state, exit_code, timed_out, expected) in [
            ("exited", Some(7), false, "the command ended, with the exit status 7"),
            ("killed", Some(143), false, "the command was killed, with the exit status 143"),
            ("killed", Some(124), true, "the command exceeded its time limit and was killed, with the exit status 124"),
            ("killed", None, false, "the command was killed"),
        ] {
            assert_eq!(report(state, exit_code, timed_out).as_deref(), Some(expected));
        }
    }
}
