//! Looks whether what a deployment is configured with answers.

use super::failures::from_storage;
use crate::model::health::{Health, HealthCheck, Part};
use crate::model::request::NamesRequest;
use crate::model::{Error, Result};
use crate::ports::{BackupStore, Clock, Names, Ports};

/// Asks the bucket and the Directory, as far as `configured` says that they are there. Changes nothing.
pub async fn health<P: Ports>(ports: &P, configured: Vec<HealthCheck>) -> Health {
    let mut checks = Vec::with_capacity(configured.len());
    for check in configured {
        let answered = match (check.name, check.ok) {
            (Part::Bucket, Some(true)) => bucket(ports).await,
            (Part::Directory, Some(true)) => directory(ports).await,
            _ => Ok(()),
        };
        checks.push(match answered {
            Ok(()) => check,
            Err(error) => HealthCheck::wrong(check.name, error.code(), error.message(), error.remediation()),
        });
    }
    Health::of(ports.clock().now(), checks)
}

async fn bucket<P: Ports>(ports: &P) -> Result<()> {
    let listing = ports.backups()?.list(None).await;
    listing.map(drop).map_err(|failure| from_storage(failure, "listing the bucket"))
}

async fn directory<P: Ports>(ports: &P) -> Result<()> {
    let request = NamesRequest::decode(&serde_json::json!({ "limit": 1 })).map_err(|_| Error::defect())?;
    ports.names()?.list(&request).await.map(drop)
}
