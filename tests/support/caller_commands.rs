//! What callers do in the containers of sandboxes: commands, and calls about files and checkpoints.

use std::rc::Rc;

use sandbox_snapshotter::model::background_call::{BackgroundCall, BackgroundOutcome, BackgroundRefusal};
use sandbox_snapshotter::model::checkpoint_call::{CheckpointCall, CheckpointOutcome, CheckpointRefusal};
use sandbox_snapshotter::model::exec_call::ContainerCommand;
use sandbox_snapshotter::model::file_call::{FileCall, FileOutcome, FileRefusal};
use sandbox_snapshotter::model::file_part::{FileParts, PartOutcome, PartsRefusal};
use sandbox_snapshotter::model::required_container::{Refusal, RequiredContainer};
use sandbox_snapshotter::model::{ContainerIdentity, Directory, Failure, SandboxId};
use sandbox_snapshotter::ports::CallerCommands;

use super::exec::MemoryCommand;
use super::{Container, Method, Namespace, Scheduler, World};

impl<S: Scheduler> CallerCommands for Namespace<S> {
    type RunningCommand = MemoryCommand<S>;
    type Input = String;

    async fn write_file_parts(
        &self,
        id: &SandboxId,
        dir: &Directory,
        required: &RequiredContainer,
        parts: &FileParts,
    ) -> Result<Result<Vec<PartOutcome>, Refusal<PartsRefusal>>, Failure> {
        let (dir, parts, own) = (dir.clone(), parts.clone(), required.clone());
        let write = move |world: &Rc<World<S>>, id: &SandboxId| {
            world.check_container(id, &own).map_err(Refusal::Container)?;
            world.with_container(id, |container, _| container.write_parts(dir.as_str(), &parts)).map_err(Refusal::Call)
        };
        self.run_expected_script(Method::WriteFileParts, id, required.identity(), write).await
    }

    async fn run_command(
        &self,
        id: &SandboxId,
        required: &RequiredContainer,
        command: &ContainerCommand,
    ) -> Result<MemoryCommand<S>, Failure> {
        let (required, command) = (required.clone(), command.clone());
        let run = |world: Rc<World<S>>, id| async move { world.start_command(&id, &required, &command).await };
        self.call(Method::RunCommand, id, run).await
    }

    async fn write_input(&self, id: &SandboxId, path: &str, input: String) -> Result<(), Failure> {
        let path = path.to_owned();
        let write = move |container: &mut Container<S>, _| drop(container.files.insert(path, input));
        self.in_container(Method::WriteInput, id, write).await
    }

    async fn kill_command(
        &self,
        id: &SandboxId,
        command_id: &str,
        expected: Option<ContainerIdentity>,
    ) -> Result<(), Failure> {
        let command_id = command_id.to_owned();
        let kill = |container: &mut Container<S>, _| {
            if container.commands > 0 {
                container.commands -= 1;
            } else {
                container.cancelled.insert(command_id);
            }
        };
        let kill = move |world: &Rc<World<S>>, id: &SandboxId| world.with_container(id, kill);
        self.run_expected_script(Method::KillCommand, id, expected, kill).await
    }

    async fn call_background(
        &self,
        id: &SandboxId,
        required: &RequiredContainer,
        call: &BackgroundCall,
    ) -> Result<Result<BackgroundOutcome, Refusal<BackgroundRefusal>>, Failure> {
        let (required, call) = (required.clone(), call.clone());
        let run = |world: Rc<World<S>>, id| async move { world.run_background_call(&id, &required, &call).await };
        self.call(Method::CallBackground, id, run).await
    }

    async fn call_files(
        &self,
        id: &SandboxId,
        required: &RequiredContainer,
        call: &FileCall,
    ) -> Result<Result<FileOutcome, Refusal<FileRefusal>>, Failure> {
        let (required, call) = (required.clone(), call.clone());
        let run = |world: Rc<World<S>>, id| async move { world.run_file_call(&id, &required, &call).await };
        self.call(Method::CallFiles, id, run).await
    }

    async fn run_checkpoint(
        &self,
        id: &SandboxId,
        dir: &Directory,
        required: &RequiredContainer,
        call: &CheckpointCall,
    ) -> Result<Result<CheckpointOutcome, Refusal<CheckpointRefusal>>, Failure> {
        let (dir, call, own) = (dir.clone(), call.clone(), required.clone());
        let run = move |world: &Rc<World<S>>, id: &SandboxId| {
            world.check_container(id, &own).map_err(Refusal::Container)?;
            world.run_checkpoint_call(id, dir.as_str(), &call).map_err(Refusal::Call)
        };
        self.run_expected_script(Method::RunCheckpoint, id, required.identity(), run).await
    }
}
