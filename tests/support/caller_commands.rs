//! What callers do in the containers of sandboxes: commands, and calls about files and checkpoints.

use std::rc::Rc;

use sandbox_snapshotter::model::background_call::{BackgroundCall, BackgroundOutcome, BackgroundRefusal};
use sandbox_snapshotter::model::checkpoint_call::{
    CheckpointCall, CheckpointOutcome, CheckpointRefusal, RequiredContainer,
};
use sandbox_snapshotter::model::exec_call::{ContainerCommand, ExecContainer};
use sandbox_snapshotter::model::file_call::{FileCall, FileOutcome, FileRefusal};
use sandbox_snapshotter::model::file_part::{FilePart, PartOutcome, PartRefusal};
use sandbox_snapshotter::model::{Directory, Failure, SandboxId};
use sandbox_snapshotter::ports::CallerCommands;

use super::exec::MemoryCommand;
use super::{Container, Method, Namespace, Scheduler, World};

impl<S: Scheduler> CallerCommands for Namespace<S> {
    type RunningCommand = MemoryCommand<S>;
    type Input = String;

    async fn write_file_part(
        &self,
        id: &SandboxId,
        dir: &Directory,
        required: RequiredContainer,
        part: &FilePart,
    ) -> Result<Result<PartOutcome, PartRefusal>, Failure> {
        let (dir, part) = (dir.clone(), part.clone());
        let write = move |world: &Rc<World<S>>, id: &SandboxId| world.write_part(id, dir.as_str(), required, &part);
        self.run_script(Method::WriteFilePart, id, write).await
    }

    async fn run_command(
        &self,
        id: &SandboxId,
        container: &ExecContainer,
        command: &ContainerCommand,
    ) -> Result<MemoryCommand<S>, Failure> {
        let (container, command) = (container.clone(), command.clone());
        let run = |world: Rc<World<S>>, id| async move { world.start_command(&id, &container, &command).await };
        self.call(Method::RunCommand, id, run).await
    }

    async fn write_input(&self, id: &SandboxId, path: &str, input: String) -> Result<(), Failure> {
        let path = path.to_owned();
        let write = move |container: &mut Container<S>, _| drop(container.files.insert(path, input));
        self.in_container(Method::WriteInput, id, write).await
    }

    async fn kill_command(&self, id: &SandboxId, command_id: &str) -> Result<(), Failure> {
        let command_id = command_id.to_owned();
        let kill = move |container: &mut Container<S>, _| {
            if container.commands > 0 {
                container.commands -= 1;
            } else {
                container.cancelled.insert(command_id);
            }
        };
        self.in_container(Method::KillCommand, id, kill).await
    }

    async fn call_background(
        &self,
        id: &SandboxId,
        container: &ExecContainer,
        call: &BackgroundCall,
    ) -> Result<Result<BackgroundOutcome, BackgroundRefusal>, Failure> {
        let (container, call) = (container.clone(), call.clone());
        let run = |world: Rc<World<S>>, id| async move { world.run_background_call(&id, &container, &call).await };
        self.call(Method::CallBackground, id, run).await
    }

    async fn call_files(
        &self,
        id: &SandboxId,
        container: &ExecContainer,
        call: &FileCall,
    ) -> Result<Result<FileOutcome, FileRefusal>, Failure> {
        let (container, call) = (container.clone(), call.clone());
        let run = |world: Rc<World<S>>, id| async move { world.run_file_call(&id, &container, &call).await };
        self.call(Method::CallFiles, id, run).await
    }

    async fn run_checkpoint(
        &self,
        id: &SandboxId,
        dir: &Directory,
        required: RequiredContainer,
        call: &CheckpointCall,
    ) -> Result<Result<CheckpointOutcome, CheckpointRefusal>, Failure> {
        let (dir, call) = (dir.clone(), call.clone());
        let run =
            move |world: &Rc<World<S>>, id: &SandboxId| world.run_checkpoint_call(id, dir.as_str(), required, &call);
        self.run_script(Method::RunCheckpoint, id, run).await
    }
}
