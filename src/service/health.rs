//! The health check: verifies that the configured bucket and Directory answer.

use super::calls::failures::from_storage;
use crate::model::health::{Health, HealthCheck, HealthComponent};
use crate::model::request::ListWorkspacesRequest;
use crate::model::{Error, Result};
use crate::ports::{BackupStore, Clock, NamedWorkspaceClient, Ports};

/// Calls the bucket and the Directory, if `configured` reports them as present. Changes nothing.
pub async fn health<P: Ports>(ports: &P, configured: Vec<HealthCheck>) -> Health {
    let mut checks = Vec::with_capacity(configured.len());
    for check in configured {
        let outcome = match (check.name, check.ok) {
            (HealthComponent::Bucket, Some(true)) => bucket(ports).await,
            (HealthComponent::Directory, Some(true)) => directory(ports).await,
            _ => Ok(()),
        };
        checks.push(match outcome {
            Ok(()) => check,
            Err(error) => HealthCheck::unhealthy(check.name, error.code(), error.message(), error.remediation()),
        });
    }
    Health::new(env!("CARGO_PKG_VERSION"), ports.clock().now(), checks)
}

async fn bucket<P: Ports>(ports: &P) -> Result<()> {
    let listing = ports.backups()?.list(None).await;
    listing.map(drop).map_err(|failure| from_storage(failure, "listing the bucket"))
}

async fn directory<P: Ports>(ports: &P) -> Result<()> {
    let request = ListWorkspacesRequest::decode(&serde_json::json!({ "limit": 1 })).map_err(|_| Error::internal())?;
    ports.named_workspaces()?.list_workspaces(&request).await.map(drop)
}
