//! The Workspace object, which does the work for one sandbox.

use std::panic::AssertUnwindSafe;
use std::rc::Rc;

use js_sys::Promise;
use serde_json::{Value, json};
use wasm_bindgen::prelude::*;
use worker::Env;

use super::objects::{Object, ObjectService, object_class, respond, run_alarm};
use super::operations::{Request, Target, run_sandbox, to_json};
use crate::cloudflare::Deployment;
use crate::cloudflare::deployment::WorkerPorts;
use crate::cloudflare::ledger::SqlLedger;
use crate::cloudflare::workspaces::Message;
use crate::model::request::CapturePurpose;
use crate::model::{Result, SandboxId, Selection, SnapshotRequest};
use crate::ports::Ledger;
use crate::service::{CancellationToken, CloudflareSandboxSnapshotter};

object_class! {
    /// The Rust side of the Durable Object class `Workspace`.
    Workspace, CloudflareSandboxSnapshotter<WorkerPorts>
}

impl ObjectService for CloudflareSandboxSnapshotter<WorkerPorts> {
    type Id = SandboxId;
    type Message = Message;
    type Storage = SqlLedger;
    const KIND: &'static str = "sandbox";

    fn parse_id(name: &str) -> Result<SandboxId> {
        SandboxId::parse(name)
    }

    fn open_storage(ctx: &JsValue) -> Result<SqlLedger> {
        SqlLedger::open(ctx)
    }

    fn stored_id(ledger: &SqlLedger) -> Result<Option<SandboxId>> {
        Ok(ledger.sandbox()?.map(|record| record.sandbox_id))
    }

    fn open(deployment: &Deployment, ledger: Rc<SqlLedger>, id: SandboxId) -> Self {
        deployment.snapshotter(id, ledger)
    }

    fn target(id: SandboxId) -> Target {
        Target::Sandbox(id)
    }

    fn log_fields(id: &SandboxId) -> Vec<(&'static str, String)> {
        vec![("sandboxId", id.to_string())]
    }

    async fn run(&self, request: Request, abort: CancellationToken) -> Result<Value> {
        Box::pin(run_sandbox(self, request, abort)).await
    }

    async fn handle(&self, message: Message) -> Result<Value> {
        Ok(match message {
            Message::Claim(request) => json!(self.claim(&request)?),
            Message::Release { snapshot_id, dependent } => json!(self.release(&snapshot_id, &dependent)?),
            Message::Root => json!(self.root()?),
            Message::Describe => json!(self.describe()?),
            Message::Descent => json!(self.descent()?),
            Message::Sweep { backups, dry_run } => json!(self.sweep(&backups, dry_run).await?),
            Message::GetForRestore { snapshot_id, dependent } => {
                to_json(&self.get_for_restore(&snapshot_id, &dependent).await?)?
            }
            Message::Find { selection, tenant } => {
                to_json(&self.find_snapshot(Selection::decode(&selection)?, &tenant).await?)?
            }
            Message::SearchLabel { label, key } => to_json(&self.search_label(&label, key.as_deref()).await?)?,
            Message::Locate { selection } => to_json(&self.locate_snapshot(&Selection::decode(&selection)?).await?)?,
            Message::Newest => to_json(&self.newest_snapshot().await?)?,
            Message::TakeSnapshot { options, cause } => {
                let purpose = CapturePurpose::Workspace(cause);
                let request = SnapshotRequest { purpose, ..SnapshotRequest::decode(&options)? };
                let taken = self.snapshot(request, CancellationToken::never()).await;
                to_json(&taken.map_err(|error| self.of_own_workspace(error))?)?
            }
            Message::PlatformSnapshot => to_json(&self.platform_snapshot().await?)?,
            Message::CheckStorage { storage } => json!(self.check_storage(storage).await?),
            Message::CheckImage(request) => json!(self.check_image(&request).await?),
            Message::Reserve(request) => json!(self.reserve(&request).await?),
            Message::ProbeCondition => to_json(&self.condition().await?)?,
            Message::ChangedSinceWatch => json!(self.changed_since_watch().await?),
            Message::Autosave(request) => to_json(&self.autosave(request).await?)?,
            Message::Usage => to_json(&self.usage()?)?,
            Message::HasEnded => to_json(&self.has_ended().await?)?,
            Message::LastSavedAt => to_json(&self.last_saved_at()?)?,
            Message::EnsureRunning(request) => to_json(&self.ensure_running(*request).await?)?,
            Message::StopSandbox(request) => to_json(&self.stop_sandbox(request).await?)?,
            Message::SwitchRuntime(request) => to_json(&self.switch_runtime(request).await?)?,
            Message::PrepareExec(request) => to_json(&self.prepare_exec(request).await?)?,
            Message::ConfirmExec(observed) => json!(self.confirm_exec(observed).await?),
            Message::FlagReplaced => to_json(&self.flag_replaced_container().await?)?,
            Message::Decommission { address } => to_json(&self.decommission(address).await?)?,
        })
    }

    async fn alarm(&self) -> Result<()> {
        self.alarm().await
    }
}
