//! Restores the files of a snapshot into a container: those of one backup, or of a base and a delta.

use crate::model::delta::{DeltaFailure, RestoreFinish, RestoreFinished, TracedBase};
use crate::model::named::ContainerMarker;
use crate::model::record::StoredBackup;
use crate::model::{ContainerId, Error, Result, SandboxId};
use crate::ports::{Ports, SandboxSession, SandboxSessionOf};
use crate::service::CloudflareSandboxSnapshotter;
use crate::service::calls::failures::{During, from_sandbox};
use crate::service::snapshot::incremental::BaseToTrace;

/// The container that files are restored into.
pub(in crate::service) struct RestoreTarget<'a> {
    /// The sandbox.
    pub id: &'a SandboxId,
    /// The id of the container, which only the class for containers has. That class replaces the directory.
    pub container_id: Option<&'a ContainerId>,
    /// The marker that the container carries.
    pub restoring: &'a ContainerMarker,
    /// The marker that it gets when the files are in place.
    pub restored: &'a ContainerMarker,
    /// The base that is traced, so that later snapshots can be deltas.
    pub traced: Option<&'a BaseToTrace>,
}

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Restores the files of a snapshot, verifies them, and sets the next marker. Returns the base whose inventory was
    /// written. After an error, the caller must end the container.
    pub(in crate::service) async fn restore_backup_files(
        &self,
        session: &SandboxSessionOf<'_, P>,
        target: &RestoreTarget<'_>,
        stored: &StoredBackup,
    ) -> Result<Option<TracedBase>> {
        let RestoreTarget { id, container_id, restoring, restored, traced } = *target;
        let failed = |failure| from_sandbox(failure, id, During::Restore);
        let delta = stored.backup.delta();
        let base = delta.map_or(stored, |delta| &*delta.base);
        let is_mounted = container_id.is_none() && !base.backup.is_extracted();
        if delta.is_some()
            && container_id.is_none()
            && !is_mounted
            && !session.clear_directory(base.backup.dir(), restoring).await.map_err(failed)?
        {
            return Err(Error::another_container(id));
        }
        session.restore_backup(&base.backup, base.size_bytes, container_id).await.map_err(failed)?;
        let finish = match delta {
            None => traced.filter(|_| !is_mounted).map(|traced| RestoreFinish {
                dir: base.backup.dir().clone(),
                base_id: traced.snapshot_id.clone(),
                traced: traced.listing.clone(),
                mounted: None,
                carrier: None,
            }),
            Some(delta) => {
                session.restore_backup(&stored.backup, stored.size_bytes, container_id).await.map_err(failed)?;
                Some(RestoreFinish {
                    dir: delta.dir.clone(),
                    base_id: delta.base_id.clone(),
                    traced: traced.and_then(|traced| traced.listing.clone()),
                    mounted: is_mounted.then(|| base.backup.id().clone()),
                    carrier: Some((stored.backup.handle_dir().clone(), delta.head.clone())),
                })
            }
        };
        let mounted = traced.filter(|_| is_mounted).map(|it| TracedBase::mounted(it.snapshot_id.clone(), base));
        let traced = match &finish {
            None => mounted,
            Some(finish) => match session.finish_restore(finish, restoring).await {
                Ok(RestoreFinished::Complete(traced)) => traced.or(mounted),
                Ok(RestoreFinished::OtherContainer) => return Err(Error::another_container(id)),
                Ok(RestoreFinished::Failed(why)) if delta.is_some() => {
                    return Err(Error::delta_not_applied(id, stored.backup.id(), describe(why)));
                }
                Err(failure) if delta.is_some() => return Err(failed(failure)),
                // Only the next snapshot cannot be a delta.
                Ok(RestoreFinished::Failed(_)) | Err(_) => None,
            },
        };
        self.verify_arrival(session, id, stored, restoring, restored).await?;
        Ok(traced)
    }
}

const fn describe(why: DeltaFailure) -> &'static str {
    match why {
        DeltaFailure::Carrier => "its archive is damaged",
        DeltaFailure::Digest => "the restored files differ from those that were captured",
        DeltaFailure::Tools => "the image lacks Perl, GNU tar, GNU find or a program of coreutils",
        DeltaFailure::Failed => "a program failed",
    }
}
