//! `commands`: lists, reads and ends background commands.

use sandbox_snapshotter_client::model::background::{
    CommandDescription, CommandId, CommandList, CommandOutput, CommandState, Signal,
};
use sandbox_snapshotter_client::model::escape::escape;
use sandbox_snapshotter_client::model::exec::OutputStream;
use sandbox_snapshotter_client::model::request::{CommandOutputRequest, EndCommandRequest, SandboxSelection};

use super::context::Context;
use super::target::check_order;
use crate::args::commands::{self, Commands, CommandsOf};
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::output::{is_terminal, print, print_bytes};

/// How long a call waits for further output, in seconds.
const WAIT_SECONDS: u32 = 20;

/// `commands`
pub fn run(context: &Context, command: Commands) -> Result<Exit> {
    match command {
        Commands::List(of) => {
            context.show::<CommandList>(&context.call_read_only("commands/list", &select(context, &of)?)?)
        }
        Commands::Output(command) => output(context, &command),
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

/// Prints the output part by part. In JSON mode, prints the answer with the first part.
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
            return Ok(Exit::Done);
        }
        request.offset = part.next_offset;
        request.wait_seconds = if command.follow { WAIT_SECONDS } else { 0 };
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
