//! Promotes another workspace of the lineage, or one of its snapshots: the workspace continues with these files.
//!
//! A typical use is to fork a workspace several times and to keep the best fork. The name, the settings and the history
//! of the promoted workspace stay as they are, and so does the source.

use super::NamedWorkspace;
use super::create::keyed_call;
use super::switch::NextSandbox;
use crate::model::named::answer::WorkspaceDescription;
use crate::model::named::messages::{EnsureRunningRequest, ForkSource};
use crate::model::named::record::KeyedCall;
use crate::model::named::{Address, NamedRecord};
use crate::model::request::{PromoteFrom, PromoteRequest, SnapshotText};
use crate::model::{Code, Error, Label, Result, SnapshotCause};
use crate::ports::{NamedWorkspaceClient, Ports};
use crate::service::CancellationToken;

impl<P: Ports> NamedWorkspace<P> {
    /// Continues the workspace with the files of another workspace or snapshot of its lineage.
    pub async fn promote(&self, request: PromoteRequest, abort: CancellationToken) -> Result<WorkspaceDescription> {
        let permit = self.acquire_permit(None)?;
        let operation = |this: Self, abort| async move { this.run_promote(request, &abort).await };
        self.run_to_completion(permit, abort, operation).await
    }

    async fn run_promote(&self, request: PromoteRequest, abort: &CancellationToken) -> Result<WorkspaceDescription> {
        let call = keyed_call(request.idempotency_key.as_ref(), &request)?;
        let known = self.existing()?;
        if is_repeated(&known, call.as_ref())? {
            return Ok(WorkspaceDescription::from(&known));
        }
        // The source is resolved without the operation lock: the other workspace may be waiting for this one.
        let ForkSource { key, may_have_lost, .. } = self.resolve_promoted(&known, &request).await?;
        let _lock = self.lock_operation(abort).await?;
        self.in_process.next_sequence();
        let record = self.existing()?;
        if is_repeated(&record, call.as_ref())? {
            return Ok(WorkspaceDescription::from(&record));
        }
        self.check_same_lineage(&record, &key.origin_id).await?;
        let source = self.check_source(&record, key).await?;
        let (is_running, saved) = self.save_before_switch(&record, SnapshotCause::BeforePromotion).await?;
        let settings = record.settings.clone();
        let start = is_running.then(|| {
            let start = self.restart_request(&record, &settings, request.accept_stale);
            let lost_since = start.lost_since.filter(|_| !may_have_lost);
            EnsureRunningRequest { may_have_lost: start.may_have_lost || may_have_lost, lost_since, ..start }
        });
        let cause = match &request.from {
            PromoteFrom::Workspace(name) => {
                format!("the snapshot {} of the workspace {:?} was promoted", source.snapshot_id, name.as_str())
            }
            PromoteFrom::Snapshot(_) => format!("the snapshot {} was promoted", source.snapshot_id),
        };
        let next = NextSandbox { source, may_have_lost, settings, start, cause, saved, promotion: call };
        self.continue_from(&record, next).await
    }

    /// Returns the snapshot to continue from. If it is of an active workspace, takes it first.
    async fn resolve_promoted(&self, record: &NamedRecord, request: &PromoteRequest) -> Result<ForkSource> {
        let name = match &request.from {
            PromoteFrom::Snapshot(snapshot) => {
                return Ok(ForkSource::known(self.find_selected(record, snapshot).await?, false));
            }
            PromoteFrom::Workspace(name) if *name == self.address.name => {
                return Err(Error::workspace_promotes_itself());
            }
            PromoteFrom::Workspace(name) => name,
        };
        let address = Address { name: name.clone(), tenant: self.address.tenant.clone() };
        // An active workspace is captured: not before it is known to be of the lineage.
        if let Ok(active) = self.ports.named_workspaces()?.active_sandbox(&address).await {
            self.check_same_lineage(record, &active).await?;
        }
        let key = request.idempotency_key.as_deref().map(|key| format!("promote/{}/{key}", self.address.name));
        let source = self.ports.named_workspaces()?.fork_source(&address, key.as_deref()).await;
        match source {
            Err(error) if error.code() == Code::WorkspaceNotFound => {
                let Ok(label) = Label::parse(name.as_str()) else { return Err(error) };
                let found = self.find_selected(record, &SnapshotText::Label(label)).await;
                found.map(|key| ForkSource::known(key, false)).map_err(|other| match other.code() {
                    Code::SnapshotNotFound => error
                        .with_remediation(&format!("{} Or pass the name of another workspace.", other.remediation())),
                    _ => other,
                })
            }
            source => source,
        }
    }
}

/// Returns whether the call took effect before.
///
/// # Errors
/// [`Code::IdempotencyConflict`] if the key was used with other arguments.
pub(super) fn is_repeated(record: &NamedRecord, call: Option<&KeyedCall>) -> Result<bool> {
    let Some(call) = call else { return Ok(false) };
    match record.promotions.iter().find(|known| known.key == call.key) {
        None => Ok(false),
        Some(known) if known == call => Ok(true),
        Some(_) => Err(Error::idempotency_conflict(&call.key)),
    }
}
