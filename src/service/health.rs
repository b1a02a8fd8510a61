//! The health check: verifies that the configured bucket and Directory answer, that no automatic save fails,
//! and that platform snapshots which are the only copy of a workspace's files are refreshed.

use super::calls::failures::from_storage;
use crate::model::health::{Health, HealthCheck, HealthComponent};
use crate::model::named::answer::WorkspacePage;
use crate::model::named::{PlatformSnapshot, StoragePolicy, Tenant};
use crate::model::request::ListWorkspacesRequest;
use crate::model::{Code, Error, Result, json};
use crate::ports::{BackupStore, Clock, NamedWorkspaceClient, Ports, SandboxLedgerClient};

/// The largest number of workspaces whose platform snapshots one health check reads.
const MAX_PLATFORM_SNAPSHOTS: usize = 50;

/// Calls the bucket and the Directory, if `configured` reports them as present. Changes nothing.
pub async fn health<P: Ports>(ports: &P, configured: Vec<HealthCheck>) -> Health {
    let mut checks = Vec::with_capacity(configured.len());
    for check in configured {
        let outcome = match (check.name, check.ok) {
            (HealthComponent::Bucket, Some(true)) => bucket(ports).await.map(|()| Vec::new()),
            (HealthComponent::Directory, Some(true)) => directory(ports).await,
            _ => Ok(Vec::new()),
        };
        match outcome {
            Ok(more) => checks.extend(std::iter::once(check).chain(more)),
            Err(error) => {
                checks.push(HealthCheck::unhealthy(check.name, error.code(), error.message(), error.remediation()));
            }
        }
    }
    Health::new(env!("CARGO_PKG_VERSION"), ports.clock().now(), checks)
}

async fn bucket<P: Ports>(ports: &P) -> Result<()> {
    let listing = ports.backups()?.list(None).await;
    listing.map(drop).map_err(|failure| from_storage(failure, "listing the bucket"))
}

/// Lists the workspaces of the default tenant. Returns the checks of their automatic saves and of their platform snapshots,
/// if there are any.
async fn directory<P: Ports>(ports: &P) -> Result<Vec<HealthCheck>> {
    let request = ListWorkspacesRequest {
        limit: ListWorkspacesRequest::MAX_LIMIT,
        ..ListWorkspacesRequest::of(Tenant::default_tenant())
    };
    let page = ports.named_workspaces()?.list_workspaces(&request).await?;
    let page: WorkspacePage = json::from_value(&page).map_err(|_| Error::internal())?;
    let autosaves = autosaves(&page);
    Ok(autosaves.into_iter().chain(platform_snapshots(ports, page).await?).collect())
}

/// Returns the check of automatic saves: it names the workspaces that are behind.
fn autosaves(page: &WorkspacePage) -> Option<HealthCheck> {
    let name = HealthComponent::Autosaves;
    let entries: Vec<_> = page.workspaces.iter().filter(|entry| entry.autosave).collect();
    let behind = entries.iter().filter_map(|entry| Some(format!("{} since {}", entry.name, entry.unsaved_since?)));
    let behind: Vec<_> = behind.collect();
    if entries.is_empty() {
        return None;
    }
    Some(if behind.is_empty() {
        HealthCheck::healthy(name, "No automatic save of a workspace fails.")
    } else {
        HealthCheck::unhealthy(
            name,
            Code::BackupFailed,
            format!("Changes in these workspaces are not saved: {}", behind.join("; ")),
            "Read the `problem` of each workspace. The Worker tries again within 32 minutes.",
        )
    })
}

/// Returns the check of platform snapshots, if a workspace stores its files nowhere else.
async fn platform_snapshots<P: Ports>(ports: &P, page: WorkspacePage) -> Result<Option<HealthCheck>> {
    let entries = page.workspaces.into_iter().filter(|entry| entry.storage == StoragePolicy::Platform);
    let entries: Vec<_> = entries.take(MAX_PLATFORM_SNAPSHOTS).collect();
    if entries.is_empty() {
        return Ok(None);
    }
    let mut problems = Vec::new();
    for entry in entries {
        let problem = match ports.sandbox_ledgers()?.platform_snapshot(&entry.sandbox_id).await {
            Ok(snapshot) => snapshot.as_ref().and_then(problem_of),
            Err(error) => Some(error.message().to_owned()),
        };
        problems.extend(problem.map(|problem| format!("{}: {problem}", entry.name)));
    }
    let name = HealthComponent::PlatformSnapshots;
    Ok(Some(if problems.is_empty() {
        HealthCheck::healthy(name, "Every platform snapshot that is the only copy of its files can be restored.")
    } else {
        HealthCheck::unhealthy(
            name,
            Code::NothingRestorable,
            format!("Workspaces whose files are only in a platform snapshot may lose them. {}", problems.join("; ")),
            "Start these workspaces with the image of their snapshot, and set their `storage` to \"both\".",
        )
    }))
}

/// Returns why the files of a platform snapshot that has no archive are at risk.
fn problem_of(snapshot: &PlatformSnapshot) -> Option<String> {
    if snapshot.same_archive().is_some() {
        return None;
    }
    let refresh = || {
        let failure = snapshot.refresh_failure.as_ref()?;
        Some(format!("it expires at {}, and was not refreshed: {}", snapshot.expires_at(), failure.reason))
    };
    snapshot.unusable.clone().or_else(refresh)
}
