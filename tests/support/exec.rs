//! The commands of callers in containers.

use std::collections::VecDeque;
use std::rc::Rc;

use sandbox_snapshotter::model::exec::OutputStream;
use sandbox_snapshotter::model::exec_call::{
    CommandEvent, CommandInput, CommandRefusal, ContainerCommand, MAX_COMMANDS, Program,
};
use sandbox_snapshotter::model::named::ContainerMarker;
use sandbox_snapshotter::model::required_container::{ContainerRefusal, Refusal, RequiredContainer};
use sandbox_snapshotter::model::{Failure, SandboxId};
use sandbox_snapshotter::ports::RunningCommand;

use super::commands::{HookCall, run_default};
use super::{Event, Scheduler, World};

/// A command that runs: its events, which are known from the start.
pub struct MemoryCommand<S: Scheduler> {
    world: Rc<World<S>>,
    id: SandboxId,
    /// The number of the container; `None` if the command was refused.
    container: Option<u64>,
    events: VecDeque<CommandEvent>,
}

impl<S: Scheduler> RunningCommand for MemoryCommand<S> {
    async fn next(&mut self) -> Result<Option<CommandEvent>, Failure> {
        if let Some(number) = self.container {
            S::work(&self.world, super::Work::Command).await?;
            self.world.check_same_container(&self.id, number)?;
        }
        let event = self.events.pop_front();
        if matches!(event, Some(CommandEvent::Ended { .. })) {
            self.world
                .with_container(&self.id, |container, _| container.commands = container.commands.saturating_sub(1));
        }
        Ok(event)
    }
}

impl<S: Scheduler> World<S> {
    /// Starts a command in the container, unless the script refuses to run it. Its effect takes place at once.
    pub(super) async fn start_command(
        self: &Rc<Self>,
        id: &SandboxId,
        required: &RequiredContainer,
        command: &ContainerCommand,
    ) -> Result<MemoryCommand<S>, Failure> {
        let number = self.enter_required_container(id, required).await?;
        let started = |container, events| MemoryCommand { world: Rc::clone(self), id: id.clone(), container, events };
        if let Err(refusal) = self.check_command(id, required, command) {
            return Ok(started(None, [CommandEvent::Refused(refusal)].into()));
        }
        let env = self.with_sandbox(id, |sandbox, _| sandbox.env.clone()).into_iter().chain(command.env.clone());
        let line = match &command.program {
            Program::Shell(line) => line.clone(),
            Program::Argv(words) => words.join(" "),
        };
        let stdin = match &command.stdin {
            CommandInput::Text(text) => text.clone(),
            CommandInput::File(path) => self.with_container(id, |container, _| container.files.remove(path).unwrap()),
        };
        let dir = command.cwd.clone().unwrap_or_else(|| command.dir.to_string());
        let call = HookCall { sandbox: id.to_string(), name: stdin, dir, env: env.collect() };
        S::observe(self, Event::Command(&call));
        self.with_container(id, |container, _| container.commands += 1);
        let planned = self.commands.borrow().get(&line).cloned();
        let result = planned.map_or_else(|| run_default(&line), |effect| effect(self, &call));
        let (exit_code, timed_out) = (result.exit_code.unwrap_or(124), result.exit_code.is_none());
        let mut events = VecDeque::from([CommandEvent::Started]);
        if !result.output.is_empty() {
            events.push_back(CommandEvent::Output(OutputStream::Stdout, result.output.into_bytes()));
        }
        events.push_back(CommandEvent::Ended { exit_code, timed_out });
        Ok(started(Some(number), events))
    }

    /// Enters the container in which a script runs, and returns its number. Starts one, unless it has an identity.
    pub(super) async fn enter_required_container(
        self: &Rc<Self>,
        id: &SandboxId,
        required: &RequiredContainer,
    ) -> Result<u64, Failure> {
        match required.identity() {
            Some(identity) => self.expect_container(id, |world| world.identity(id) == Some(identity)).await,
            None => self.enter_container(id).await,
        }
    }

    /// Returns why the script refuses its container.
    pub(super) fn check_container(&self, id: &SandboxId, required: &RequiredContainer) -> Result<(), ContainerRefusal> {
        let refused = Err(ContainerRefusal::OtherContainer);
        self.with_container(id, |container, now| {
            let age_millis = container.age_millis(now);
            match required {
                RequiredContainer::Ready if !container.marker.as_ref().is_some_and(ContainerMarker::is_ready) => {
                    refused
                }
                RequiredContainer::Marked(nonce) if container.marker != Some(ContainerMarker::Ready(nonce.clone())) => {
                    refused
                }
                RequiredContainer::OlderThan { .. } if container.is_replacement => refused,
                RequiredContainer::OlderThan { millis } if age_millis < *millis => {
                    Err(ContainerRefusal::TooYoung { age_millis })
                }
                _ => Ok(()),
            }
        })
    }

    /// Returns why the script refuses to run a command.
    pub(super) fn check_command(
        &self,
        id: &SandboxId,
        required: &RequiredContainer,
        command: &ContainerCommand,
    ) -> Result<(), Refusal<CommandRefusal>> {
        self.check_container(id, required).map_err(Refusal::Container)?;
        let is_absolute = command.cwd.as_deref().is_some_and(|cwd| cwd.starts_with('/'));
        self.with_container(id, |container, _| {
            if container.cancelled.remove(&command.id) {
                Err(CommandRefusal::Cancelled.into())
            } else if container.commands >= MAX_COMMANDS {
                Err(CommandRefusal::TooMany.into())
            } else if container.marker_below_mount.is_some() && !is_absolute {
                Err(CommandRefusal::Hidden.into())
            } else if command.cwd.as_deref() == Some("missing")
                || command.cwd.is_none() && container.kind_of(command.dir.as_str()).is_none()
            {
                Err(CommandRefusal::NoDirectory.into())
            } else {
                Ok(())
            }
        })
    }
}
