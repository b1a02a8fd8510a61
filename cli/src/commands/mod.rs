//! The implementation of the commands.

mod background;
mod checkpoint;
mod confirm;
mod context;
mod copied;
mod copies;
mod deletion;
mod diff;
mod directory_copy;
mod doctor;
mod documents;
mod download;
mod exec;
mod file_hints;
mod files;
mod latest_snapshot;
mod left_out;
mod lineage;
mod lists;
mod local_files;
mod maintenance;
mod omitted;
mod patch;
mod retention;
mod revive;
mod sandbox_copy;
mod settings;
mod shell;
mod similar;
mod snapshot;
mod snapshot_search;
mod switch;
mod target;
mod tokens;
mod tools;
mod usage;
mod workspace;

use crate::args::{Cli, Command};
use crate::exit::Exit;
use crate::failure::Result;
use crate::output::Output;
use context::Context;

/// Runs the command.
pub fn run(cli: Cli, output: Output) -> Result<Exit> {
    let context = || Context::of(&cli.global, output);
    match cli.command {
        Command::Snapshot(command) => snapshot::run(&context()?, command),
        Command::Restore(command) => snapshot::restore(&context()?, "restore", command),
        Command::Branch(command) => snapshot::restore(&context()?, "branch", command),
        Command::Revive(command) => revive::run(&context()?, command),
        Command::Ls(command) => files::list(&context()?, command),
        Command::Stat(command) => files::stat(&context()?, command),
        Command::Cat(command) => files::cat(&context()?, command),
        Command::Du(command) => files::summarize(&context()?, command),
        Command::Cp(command) => download::copy(&context()?, command),
        Command::Export(command) => download::export(&context()?, command),
        Command::Diff(command) => diff::run(&context()?, command),
        Command::RestoreFiles(command) => files::restore(&context()?, command),
        Command::Exec(command) => exec::run(&context()?.without_time_limit(), command, cli.global.timeout),
        Command::Commands(command) => background::run(&context()?, command),
        Command::Workspace(command) => workspace::run(&context()?, *command),
        Command::Retention(command) => retention::run(&context()?, &command),
        Command::Checkpoint(command) => checkpoint::run(&context()?, command),
        Command::Lineage(command) => lineage::run(&context()?, &command),
        Command::Usage(command) => usage::run(&context()?, &command),
        Command::Key(command) => maintenance::key(&context()?, &command),
        Command::Sweep(command) => maintenance::sweep(&context()?, &command),
        Command::Tools(command) => tools::tools(&context()?, &command),
        Command::Tokens(command) => tokens::run(&context()?, command),
        Command::Mcp(command) => tools::mcp(&context()?, &command),
        Command::Doctor(command) => doctor::run(&cli.global, &command, output),
        Command::Completions(command) => shell::completions(&command),
        Command::Man(command) => shell::man(command.dir.as_deref()),
    }
}
