//! The `NamedWorkspace` object, and the Directory object that lists named workspaces.

use std::panic::AssertUnwindSafe;
use std::rc::Rc;

use js_sys::Promise;
use serde_json::Value;
use wasm_bindgen::prelude::*;
use worker::Env;

use super::objects::{Object, ObjectService, object_class, respond, run_alarm};
use super::operations::{Request, Target, run_named, to_json};
use crate::cloudflare::Deployment;
use crate::cloudflare::deployment::WorkerPorts;
use crate::cloudflare::directory_store::SqlDirectoryStore;
use crate::cloudflare::named_workspaces::{DirectoryMessage, NamedMessage};
use crate::cloudflare::workspace_store::SqlWorkspaceStore;
use crate::model::named::Address;
use crate::model::request::CreateRequest;
use crate::model::{Error, Result, json};
use crate::ports::WorkspaceStore;
use crate::service::workspace::{NamedWorkspace as Service, directory};
use crate::service::{CancellationToken, access};

object_class! {
    /// The Rust side of the Durable Object class `NamedWorkspace`.
    NamedWorkspace, Service<WorkerPorts>
}

impl ObjectService for Service<WorkerPorts> {
    type Id = Address;
    type Message = NamedMessage;
    type Storage = SqlWorkspaceStore;
    const KIND: &'static str = "workspace";

    fn parse_id(name: &str) -> Result<Address> {
        Address::parse(name)
    }

    fn open_storage(ctx: &JsValue) -> Result<SqlWorkspaceStore> {
        SqlWorkspaceStore::open(ctx)
    }

    fn stored_id(store: &SqlWorkspaceStore) -> Result<Option<Address>> {
        Ok(store.record()?.map(|record| record.address))
    }

    fn open(deployment: &Deployment, store: Rc<SqlWorkspaceStore>, id: Address) -> Self {
        deployment.named_workspace(id, store)
    }

    fn target(id: Address) -> Target {
        Target::Named(id)
    }

    fn log_fields(id: &Address) -> Vec<(&'static str, String)> {
        vec![("tenant", id.tenant.to_string()), ("name", id.name.to_string())]
    }

    async fn run(&self, request: Request, abort: CancellationToken) -> Result<Value> {
        run_named(self, request, abort).await
    }

    async fn handle(&self, message: NamedMessage) -> Result<Value> {
        match message {
            NamedMessage::Source { key } => to_json(&self.source(key).await?),
            NamedMessage::SourceOf { of } => to_json(&self.creation_source(of.as_ref())?),
            NamedMessage::Usage { instance } => to_json(&self.usage(instance).await?),
            NamedMessage::OriginOf { id } => to_json(&self.origin_of(&id).await?),
            NamedMessage::CreateFork { options, may_have_lost } => {
                to_json(&self.create_fork(CreateRequest::decode(&options)?, may_have_lost).await?)
            }
            NamedMessage::FindLabel { label, key } => to_json(&self.find_label(&label, key.as_deref()).await?),
            NamedMessage::ActiveSandbox => to_json(&self.active_sandbox()?),
            NamedMessage::SandboxIds => to_json(&self.sandbox_ids()?),
            NamedMessage::IsStopped => to_json(&self.is_stopped()?),
            NamedMessage::Resume { verify } => to_json(&self.resume(verify).await?),
        }
    }

    async fn alarm(&self) -> Result<()> {
        self.alarm().await
    }
}

/// The Rust side of the Durable Object class `Directory`, which lists the workspaces of one tenant, and its tokens.
#[wasm_bindgen]
pub struct Directory {
    store: AssertUnwindSafe<Rc<Result<SqlDirectoryStore>>>,
}

#[wasm_bindgen]
impl Directory {
    /// Creates the object over the storage of `ctx`.
    #[wasm_bindgen(constructor)]
    #[allow(clippy::needless_pass_by_value)] // JavaScript passes it by value.
    pub fn new(ctx: JsValue) -> Self {
        Self { store: AssertUnwindSafe(Rc::new(SqlDirectoryStore::open(&ctx))) }
    }

    /// Handles a [`DirectoryMessage`], as JSON.
    #[wasm_bindgen(js_name = handleCall)]
    pub fn handle_call(&self, message: String, correlation_id: String) -> Promise {
        let store = Rc::clone(&self.store);
        respond(correlation_id, async move {
            let message: DirectoryMessage =
                json::from_str(&message).map_err(|_| Error::protocol("an invalid message"))?;
            let store = store.as_ref().as_ref().map_err(Clone::clone)?;
            match message {
                DirectoryMessage::Note(entry) => to_json(&directory::record_entry(store, &entry)?),
                DirectoryMessage::List(request) => to_json(&directory::list(store, &request)?),
                DirectoryMessage::Tokens(message) => access::tokens::handle(store, message),
            }
        })
    }
}
