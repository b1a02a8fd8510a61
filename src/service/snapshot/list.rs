//! Lists the snapshots of a sandbox, and shows one of them.

use futures_util::{StreamExt, stream};

use super::select::Selected;
use super::stored_backup::is_answer_of_storage;
use crate::model::answer::{Page, Restorability, Restorable, Summary};
use crate::model::named::answer::WorkspacePage;
use crate::model::named::{Tenant, WorkspaceName};
use crate::model::record::{SandboxRecord, SnapshotRecord, Stage, StoredBackup};
use crate::model::request::{ListRequest, ListWorkspacesRequest};
use crate::model::{Result, SandboxId, Selection, SnapshotId, Timestamp, json};
use crate::ports::{Ledger, NamedWorkspaceClient, Ports};
use crate::service::CloudflareSandboxSnapshotter;
use crate::service::ledger::cursor_of;

/// The number of snapshots that are checked in R2 concurrently: a Worker has six connections.
const CONCURRENCY: usize = 3;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Returns a page of the sandbox's snapshots, the newest first.
    pub async fn list(&self, request: ListRequest) -> Result<Page> {
        self.prepare_call().await?;
        self.check_lineage_scope(&request.lineage_scope).await?;
        let sandbox = self.sandbox_record()?;
        let limit = request.limit as usize;
        let prefix = request.label_prefix.as_deref();
        let mut rows = self.ledger.snapshot_page(request.cursor.as_ref(), prefix, request.limit + 1)?;
        let note = if self.ledger.sandbox()?.is_none() { Some(self.explain_unknown().await) } else { None };
        let has_more = rows.len() > limit;
        rows.truncate(limit);
        let last = rows.last().filter(|_| has_more);
        let cursor = last.map(|row| cursor_of(row).to_string());
        let ids: Vec<SnapshotId> = rows.iter().map(|row| row.snapshot_id.clone()).collect();
        let mut dependents = self.dependents_of(&ids)?;
        let summaries = rows.into_iter().map(|row| {
            let dependents = dependents.remove(&row.snapshot_id).unwrap_or_default();
            self.summarize(&sandbox, row, dependents, request.check)
        });
        let snapshots: Vec<Result<Summary>> = stream::iter(summaries).buffered(CONCURRENCY).collect().await;
        Ok(Page { snapshots: snapshots.into_iter().collect::<Result<_>>()?, cursor, note })
    }

    /// Explains why a sandbox without a record has no snapshots. Names the sandbox of the workspace whose name was passed in
    /// place of an id.
    async fn explain_unknown(&self) -> String {
        let id = self.id.as_str();
        match self.find_namesake().await {
            Some(sandbox) => format!(
                "There is no record of a sandbox {id:?}. The workspace {id:?} has the sandbox {:?}.",
                sandbox.as_str()
            ),
            None => format!("There is no record of a sandbox {id:?}: no snapshot of it was taken or imported."),
        }
    }

    /// Returns the sandbox of the workspace of the default tenant whose name is the id of this sandbox. `None` also if the
    /// Directory does not answer.
    pub(in crate::service) async fn find_namesake(&self) -> Option<SandboxId> {
        let name = WorkspaceName::parse(self.id.as_str()).ok()?;
        let request = ListWorkspacesRequest {
            prefix: Some(name.to_string()),
            limit: 1,
            ..ListWorkspacesRequest::of(Tenant::default_tenant())
        };
        let page = self.ports.named_workspaces().ok()?.list_workspaces(&request).await.ok()?;
        let page: WorkspacePage = json::from_value(&page).ok()?;
        page.workspaces.into_iter().find(|entry| entry.name == name).map(|entry| entry.sandbox_id)
    }

    /// Returns one snapshot, in the form that lists show, checked in R2.
    pub async fn get(&self, selection: Selection) -> Result<Summary> {
        self.prepare_call().await?;
        let Selected { sandbox, snapshot } = self.select(&selection).await?;
        let dependents = self.dependents(&snapshot.snapshot_id)?;
        self.summarize(&sandbox, snapshot, dependents, true).await
    }

    async fn summarize(
        &self,
        sandbox: &SandboxRecord,
        snapshot: SnapshotRecord,
        dependents: Vec<SandboxId>,
        check: bool,
    ) -> Result<Summary> {
        let inspection = match &snapshot.stage {
            Stage::Ready { stored } if check => {
                Some(self.inspect_backup(stored, &snapshot.backup_owner(&self.id)).await)
            }
            _ => None,
        };
        let mut summary = self.build_summary(sandbox, &snapshot, dependents);
        let Some(inspection) = inspection else { return Ok(summary) };
        let now = self.now();
        summary.restorable = match (&inspection, snapshot.stored().and_then(|stored| stored.archive_damage.as_deref()))
        {
            (Ok(_), None) => Restorable { restorable: Restorability::Yes, why: None, checked_at: Some(now) },
            (Ok(_), Some(damage)) => not_restorable(damage, Some(now)),
            (Err(error), _) if is_answer_of_storage(error) => not_restorable(error.message(), Some(now)),
            (Err(error), _) => Restorable {
                restorable: Restorability::Unknown,
                why: Some(error.message().to_owned()),
                checked_at: None,
            },
        };
        self.record_check(&snapshot.snapshot_id, &inspection)?;
        Ok(summary)
    }

    /// Returns the summary of a snapshot from the ledger alone.
    pub(super) fn summary(&self, sandbox: &SandboxRecord, snapshot: &SnapshotRecord) -> Result<Summary> {
        Ok(self.build_summary(sandbox, snapshot, self.dependents(&snapshot.snapshot_id)?))
    }

    fn build_summary(&self, sandbox: &SandboxRecord, snapshot: &SnapshotRecord, dependents: Vec<SandboxId>) -> Summary {
        let now = self.now();
        let created_at = snapshot.created_at();
        Summary {
            snapshot_id: snapshot.snapshot_id.clone(),
            label: snapshot.label.clone(),
            state: snapshot.state(),
            dir: snapshot.dir.clone(),
            created_at,
            age_seconds: now.millis_since(created_at).max(0) / 1000,
            size_bytes: snapshot.stored().map(|stored| stored.size_bytes),
            format: snapshot.stored().and_then(|stored| stored.format),
            form: snapshot.stored().map(StoredBackup::form).unwrap_or_default(),
            base: snapshot.base_id().cloned(),
            total_bytes: snapshot.stored().and_then(StoredBackup::restored_bytes),
            full_reason: snapshot.stored().and_then(|stored| stored.full_reason),
            own_bytes: snapshot.stored().map(StoredBackup::own_bytes),
            shared_bytes: snapshot.stored().map(StoredBackup::shared_bytes),
            deltas: snapshot.stored().map(|stored| stored.backup.deltas().to_vec()).unwrap_or_default(),
            last_used_at: snapshot.last_used_at,
            expires_at: snapshot.expires_after(now),
            pinned: snapshot.pinned,
            partial: snapshot.is_partial(),
            rescue: snapshot.rescue,
            cause: snapshot.known_cause(),
            autosave: snapshot.autosave,
            suspect: snapshot.suspect,
            provenance: snapshot.provenance.clone(),
            dependents,
            restorable: self.last_known_restorable(snapshot),
            snapshot: snapshot.to_ref(sandbox),
            short_ref: snapshot.to_short_ref(sandbox),
        }
    }

    /// Returns the known damage of a snapshot or of its base.
    fn damage_of(&self, snapshot: &SnapshotRecord, stored: &StoredBackup) -> Option<String> {
        stored.known_damage().map(str::to_owned).or_else(|| self.base_damage(snapshot).ok().flatten())
    }

    /// Returns whether the snapshot could be restored at its last check.
    fn last_known_restorable(&self, snapshot: &SnapshotRecord) -> Restorable {
        match &snapshot.stage {
            Stage::Creating(progress) => not_restorable(self.being_created(snapshot, progress).message(), None),
            Stage::Deleting { removal, .. } | Stage::Deleted { removal, .. } => {
                not_restorable(&format!("It was removed: {}.", removal.reason), None)
            }
            Stage::Ready { stored } => match self.damage_of(snapshot, stored) {
                Some(damage) => not_restorable(&damage, Some(stored.checked_at)),
                None if stored.usable_until < self.now() => not_restorable("The SDK no longer restores it.", None),
                None => Restorable { restorable: Restorability::Yes, why: None, checked_at: Some(stored.checked_at) },
            },
        }
    }
}

fn not_restorable(why: &str, checked_at: Option<Timestamp>) -> Restorable {
    Restorable { restorable: Restorability::No, why: Some(why.to_owned()), checked_at }
}
