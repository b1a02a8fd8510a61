//! The background commands of containers.

use std::collections::BTreeMap;
use std::rc::Rc;

use sandbox_snapshotter::model::background::{BackgroundCommand, CommandId, CommandState};
use sandbox_snapshotter::model::background_call::{
    BackgroundAction, BackgroundCall, BackgroundOutcome, BackgroundRefusal, BackgroundStart, MAX_BACKGROUND,
};
use sandbox_snapshotter::model::exec::OutputStream;
use sandbox_snapshotter::model::exec_call::{CommandInput, ContainerCommand, Program};
use sandbox_snapshotter::model::required_container::{Refusal, RequiredContainer};
use sandbox_snapshotter::model::{Failure, SandboxId, Timestamp};

use super::commands::{HookCall, run_default};
use super::{Container, Event, Scheduler, World};

/// The begins of the command lines that run until they are ended. Others end at once.
const ENDLESS: [&str; 2] = ["serve", "npm run dev"];

/// A background command, and its standard output.
pub(super) struct MemoryBackgroundCommand {
    pub command: BackgroundCommand,
    output: String,
}

impl<S: Scheduler> World<S> {
    /// Carries out a call, unless the script refuses to run.
    pub(super) async fn run_background_call(
        self: &Rc<Self>,
        id: &SandboxId,
        required: &RequiredContainer,
        call: &BackgroundCall,
    ) -> Result<Result<BackgroundOutcome, Refusal<BackgroundRefusal>>, Failure> {
        self.enter_required_container(id, required).await?;
        let cwd = match &call.action {
            BackgroundAction::Start(start) => start.cwd.clone(),
            _ => None,
        };
        let command = ContainerCommand {
            id: call.id.as_str().to_owned(),
            program: Program::Argv(Vec::new()),
            dir: call.dir.clone(),
            cwd,
            env: BTreeMap::new(),
            stdin: CommandInput::Text(String::new()),
            timeout_seconds: 1,
        };
        if let Err(refusal) = self.check_command(id, required, &command) {
            return Ok(Err(refusal.map(BackgroundRefusal::Command)));
        }
        let outcome = match &call.action {
            BackgroundAction::Start(start) => self.start_background(id, call, start),
            action => self.with_container(id, |container, now| container.call_background(action, now)),
        };
        Ok(outcome.map_err(Refusal::Call))
    }

    fn start_background(
        self: &Rc<Self>,
        id: &SandboxId,
        call: &BackgroundCall,
        start: &BackgroundStart,
    ) -> Result<BackgroundOutcome, BackgroundRefusal> {
        if self.with_container(id, |container, _| container.running_in_background()) >= MAX_BACKGROUND {
            return Err(BackgroundRefusal::TooMany);
        }
        let line = match &start.program {
            Program::Shell(line) => line.clone(),
            Program::Argv(words) => words.join(" "),
        };
        let env = self.with_sandbox(id, |sandbox, _| sandbox.env.clone()).into_iter().chain(start.env.clone());
        let dir = start.cwd.clone().unwrap_or_else(|| call.dir.to_string());
        let hook = HookCall { sandbox: id.to_string(), name: start.stdin.clone(), dir, env: env.collect() };
        S::observe(self, Event::Command(&hook));
        let planned = self.commands.borrow().get(&line).cloned();
        let result = planned.map_or_else(|| run_default(&line), |effect| effect(self, &hook));
        Ok(self.with_container(id, |container, now| {
            let now = Timestamp::from_millis(now);
            let (state, ended_at) = match (ENDLESS.iter().any(|begin| line.starts_with(begin)), result.exit_code) {
                (true, _) => (CommandState::Running, None),
                (false, None) => (CommandState::Killed, Some(now)),
                (false, Some(_)) => (CommandState::Exited, Some(now)),
            };
            let command = BackgroundCommand {
                command_id: call.id.clone(),
                command: line.clone(),
                state,
                exit_code: ended_at.map(|_| result.exit_code.unwrap_or(124)),
                timed_out: state == CommandState::Killed,
                started_at: now,
                ended_at,
                stdout_bytes: result.output.len() as u64,
                stderr_bytes: 0,
                truncated: false,
            };
            container.background.insert(0, MemoryBackgroundCommand { command: command.clone(), output: result.output });
            BackgroundOutcome::Command(command)
        }))
    }
}

impl<S: Scheduler> Container<S> {
    /// Adds a background command that runs.
    #[allow(dead_code)] // Some suites do not use it.
    pub fn run_in_background(&mut self, id: &str, now: i64) {
        let command = BackgroundCommand {
            command_id: CommandId::parse(id).unwrap(),
            command: "serve".into(),
            state: CommandState::Running,
            exit_code: None,
            timed_out: false,
            started_at: Timestamp::from_millis(now),
            ended_at: None,
            stdout_bytes: 0,
            stderr_bytes: 0,
            truncated: false,
        };
        self.background.insert(0, MemoryBackgroundCommand { command, output: String::new() });
    }

    /// Returns the number of background commands that run.
    pub(super) fn running_in_background(&self) -> usize {
        self.background.iter().filter(|own| own.command.state == CommandState::Running).count()
    }

    fn call_background(&mut self, action: &BackgroundAction, now: i64) -> Result<BackgroundOutcome, BackgroundRefusal> {
        match action {
            BackgroundAction::Start(_) | BackgroundAction::List => {
                Ok(BackgroundOutcome::List(self.background.iter().map(|own| own.command.clone()).collect()))
            }
            BackgroundAction::Read(part) => {
                let own = self.find_background(&part.command_id)?;
                let output = if part.stream == OutputStream::Stdout { own.output.as_str() } else { "" };
                let offset = usize::try_from(part.offset).unwrap();
                let bytes = output.bytes().skip(offset).take(part.length as usize).collect();
                Ok(BackgroundOutcome::Output(own.command.clone(), bytes))
            }
            BackgroundAction::End { command_id, .. } => {
                let own = self.find_background(command_id)?;
                if own.command.state == CommandState::Running {
                    own.command.state = CommandState::Killed;
                    own.command.exit_code = Some(143);
                    own.command.ended_at = Some(Timestamp::from_millis(now));
                }
                Ok(BackgroundOutcome::Command(own.command.clone()))
            }
        }
    }

    fn find_background(&mut self, id: &CommandId) -> Result<&mut MemoryBackgroundCommand, BackgroundRefusal> {
        let own = self.background.iter_mut().find(|own| own.command.command_id == *id);
        own.ok_or(BackgroundRefusal::NotFound)
    }
}
