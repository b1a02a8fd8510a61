//! What workspaces use: each object counts its own part.

use futures_util::{StreamExt, stream};

use super::CloudflareSandboxSnapshotter;
use super::access::Access;
use super::access::list::list_workspaces;
use super::ledger::cursor_of;
use crate::model::named::answer::WorkspacePage;
use crate::model::named::{Address, State, Tenant, WorkspaceName};
use crate::model::prices::InstanceType;
use crate::model::record::Stage;
use crate::model::request::{ListWorkspacesRequest, UsageRequest};
use crate::model::usage::{SandboxUsage, Usage, WorkspaceUsage};
use crate::model::{Code, Error, Result, json};
use crate::ports::{Clock, Ledger, NamedWorkspaceClient, Ports, SandboxLedgerClient};
use crate::service::workspace::NamedWorkspace;

/// The number of rows that are read at once.
const PAGE_ROWS: u32 = 200;

/// The number of workspaces that are asked at the same time.
const CONCURRENCY: usize = 6;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Returns what this sandbox and its snapshots use.
    pub fn usage(&self) -> Result<SandboxUsage> {
        let counts = self.ledger.sandbox()?.map(|sandbox| sandbox.counts).unwrap_or_default();
        let mut usage = SandboxUsage { operations: counts, ..SandboxUsage::default() };
        let mut cursor = None;
        loop {
            let page = self.ledger.snapshot_page(cursor.as_ref(), None, PAGE_ROWS)?;
            cursor = page.last().map(cursor_of);
            let is_last = page.len() < PAGE_ROWS as usize;
            for row in page {
                // The archive of a snapshot that is being deleted may still be stored.
                if let Stage::Ready { stored } | Stage::Deleting { stored, .. } = &row.stage {
                    usage.stored.snapshots += u64::from(matches!(row.stage, Stage::Ready { .. }));
                    let own = stored.own_bytes();
                    usage.stored.own_bytes += own;
                    usage.stored.shared_bytes += stored.size_bytes.saturating_sub(own);
                }
            }
            if is_last {
                return Ok(usage);
            }
        }
    }

    /// Counts a restore into this sandbox, or of one of its snapshots into a new one.
    pub(super) fn count_restore(&self) -> Result<()> {
        let Some(mut sandbox) = self.ledger.sandbox()? else { return Ok(()) };
        sandbox.counts.restores += 1;
        self.ledger.put_sandbox(&sandbox)
    }
}

impl<P: Ports> NamedWorkspace<P> {
    /// Returns what the workspace uses, in all of its sandboxes. Starts nothing.
    pub async fn usage(&self, instance: InstanceType) -> Result<WorkspaceUsage> {
        let record = self.existing()?;
        let ledgers = self.ports().sandbox_ledgers()?;
        let mut used = SandboxUsage::default();
        for id in record.sandboxes() {
            used = used.plus(ledgers.usage(id).await?);
        }
        let now = self.ports().clock().now();
        let running = record.started_at.filter(|_| matches!(record.state, State::Active | State::Stopping));
        let running_millis = record.running_millis + running.map_or(0, |since| now.millis_since(since).max(0));
        let seconds = u64::try_from(running_millis / 1000).unwrap_or_default();
        Ok(WorkspaceUsage::new(record.address.name.clone(), used, seconds, instance))
    }
}

/// Returns what a workspace, or the workspaces of a tenant that the caller may see, use.
pub async fn usage<P: Ports>(ports: &P, access: &Access, request: UsageRequest) -> Result<Usage> {
    let UsageRequest { name, tenant, instance_type, cursor, limit } = request;
    let is_page = name.is_none();
    let (names, next) = match name {
        Some(name) => (vec![name], None),
        None => page_of_names(ports, access, &tenant, cursor, limit).await?,
    };
    let ask = async |name: WorkspaceName| {
        let address = Address { tenant: tenant.clone(), name };
        ports.named_workspaces()?.usage(&address, instance_type).await
    };
    let answers: Vec<_> = stream::iter(names).map(ask).buffered(CONCURRENCY).collect().await;
    let mut workspaces = Vec::new();
    for answer in answers {
        match answer {
            // It was deleted since it was listed.
            Err(error) if error.code() == Code::WorkspaceNotFound && is_page => {}
            answer => workspaces.push(answer?),
        }
    }
    Ok(Usage { cursor: next, ..Usage::of(tenant, ports.clock().now(), workspaces, instance_type) })
}

/// Returns a page of the names of a tenant's workspaces, and the cursor of the next one.
async fn page_of_names<P: Ports>(
    ports: &P,
    access: &Access,
    tenant: &Tenant,
    cursor: Option<WorkspaceName>,
    limit: u32,
) -> Result<(Vec<WorkspaceName>, Option<String>)> {
    let request = ListWorkspacesRequest { cursor, limit, ..ListWorkspacesRequest::of(tenant.clone()) };
    let page = list_workspaces(ports, access, request).await?;
    let page: WorkspacePage = json::from_value(&page).map_err(|_| Error::internal())?;
    Ok((page.workspaces.into_iter().map(|entry| entry.name).collect(), page.cursor))
}
