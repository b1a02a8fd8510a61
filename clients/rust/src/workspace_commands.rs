//! The background commands of a named workspace.

use crate::model::background::{CommandDescription, CommandId, CommandList, CommandOutput};
use crate::model::named::Address;
use crate::model::request::{CommandOutputRequest, EndCommandRequest, SandboxSelection, StartCommandRequest};
use crate::{Client, Result, Transport};

/// The background commands of a named workspace. Only [`start`](Self::start) starts a workspace that is not running.
#[derive(Debug)]
pub struct WorkspaceCommands<'a, T> {
    client: &'a Client<T>,
    address: Address,
}

impl<'a, T: Transport> WorkspaceCommands<'a, T> {
    pub(crate) const fn new(client: &'a Client<T>, address: Address) -> Self {
        Self { client, address }
    }

    /// Starts a command line in the background.
    pub async fn start(&self, command: &str) -> Result<CommandDescription> {
        self.start_with(StartCommandRequest::named(self.address.clone(), command)).await
    }

    /// As [`start`](Self::start), with options.
    pub async fn start_with(&self, request: StartCommandRequest) -> Result<CommandDescription> {
        let selection = request.selection.with_address(self.address.clone());
        self.client.commands().start(&StartCommandRequest { selection, ..request }).await
    }

    /// Lists the commands, newest first.
    pub async fn list(&self) -> Result<CommandList> {
        self.client.commands().list(&self.selection()).await
    }

    /// Returns a part of an output of a command. `options` changes the request, which is for the begin of the standard
    /// output.
    pub async fn output(
        &self,
        id: &CommandId,
        options: impl FnOnce(CommandOutputRequest) -> CommandOutputRequest,
    ) -> Result<CommandOutput> {
        let request = CommandOutputRequest::of(self.selection(), id.clone());
        self.client.commands().output(&options(request)).await
    }

    /// Ends a command, with all processes of its session. `options` changes the request.
    pub async fn end(
        &self,
        id: &CommandId,
        options: impl FnOnce(EndCommandRequest) -> EndCommandRequest,
    ) -> Result<CommandDescription> {
        let request = EndCommandRequest::of(self.selection(), id.clone());
        self.client.commands().end(&options(request)).await
    }

    fn selection(&self) -> SandboxSelection {
        SandboxSelection::named(self.address.clone())
    }
}
