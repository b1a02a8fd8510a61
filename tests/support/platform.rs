//! Platform snapshots: disks of containers, which the platform stores.

use std::collections::BTreeSet;
use std::rc::Rc;

use sandbox_snapshotter::model::named::platform_snapshot::{PLATFORM_LIFETIME_MILLIS, StoredDisk};
use sandbox_snapshotter::model::named::{ContainerMarker, PlatformSnapshot};
use sandbox_snapshotter::model::{Failure, Provenance, SandboxId};

use super::{Container, Event, Files, Method, Namespace, Sandbox, Scheduler, Work, World};

/// A disk that the platform stored.
pub struct Disk<S: Scheduler> {
    /// The image of its container.
    pub image: String,
    /// The token in the file on it.
    pub token: Option<String>,
    /// Its files.
    pub files: Files,
    /// Its directories.
    pub directories: BTreeSet<String>,
    /// When the platform deletes it, in milliseconds since 1970.
    pub expires_at: i64,
    /// What the test noted about its container.
    pub notes: S::ContainerNotes,
}

/// Returns the image in the text of a provenance, as a class for containers names it; the whole text if it names none.
pub fn class_image(provenance: &str) -> String {
    let known = Provenance::parse(provenance).and_then(|known| known.image);
    known.unwrap_or_else(|| provenance.to_owned())
}

impl<S: Scheduler> Disk<S> {
    fn of(container: &Container<S>, now: i64) -> Self {
        Self {
            image: class_image(&container.image),
            token: container.disk_token.clone(),
            files: container.files.clone(),
            directories: container.directories.clone(),
            expires_at: now + PLATFORM_LIFETIME_MILLIS,
            notes: container.notes.clone(),
        }
    }
}

impl<S: Scheduler> World<S> {
    /// Deletes all platform snapshots, as the platform does when they expire.
    pub fn delete_disks(&self) {
        self.disks.borrow_mut().clear();
    }

    /// Returns the tokens on all disks that the platform stored.
    pub fn disk_tokens(&self) -> BTreeSet<Option<String>> {
        self.disks.borrow().values().map(|disk| disk.token.clone()).collect()
    }

    /// Returns whether a container can start from a platform snapshot, perhaps after the choice of its image.
    pub fn has_disk(&self, snapshot: &PlatformSnapshot) -> bool {
        let disks = self.disks.borrow();
        disks.get(&snapshot.id).is_some_and(|disk| disk.expires_at > S::now(self) && S::has_image(self, &disk.image))
    }
}

impl<S: Scheduler> Namespace<S> {
    pub(super) async fn store_disk(
        &self,
        id: &SandboxId,
        marker: &ContainerMarker,
        token: &str,
    ) -> Result<Option<StoredDisk>, Failure> {
        let (marker, token) = (marker.clone(), token.to_owned());
        let requested_at = self.world.current_time().as_millis();
        let store = move |world: Rc<World<S>>, id| async move {
            let number = world.enter_container(&id).await?;
            let is_expected = world.with_container(&id, |container, _| {
                let is_expected = container.marker.as_ref() == Some(&marker);
                if is_expected {
                    container.disk_token = Some(token);
                }
                is_expected
            });
            if !is_expected {
                return Ok(None);
            }
            S::work(&world, Work::Archive).await?;
            world.check_same_container(&id, number)?;
            let disk = world.with_container(&id, |container, now| Disk::of(container, now));
            let number = world.disk_count.get() + 1;
            world.disk_count.set(number);
            let stored = StoredDisk { id: format!("disk-{number}"), size_bytes: 1 << 30 };
            S::observe(&world, Event::DiskStored(&id, &stored.id, &disk, requested_at));
            world.disks.borrow_mut().insert(stored.id.clone(), disk);
            Ok(Some(stored))
        };
        self.call(Method::TakePlatformSnapshot, id, store).await
    }

    /// Starts a container. Without the disk, that container is empty, or the call fails.
    pub(super) async fn start_disk(&self, id: &SandboxId, disk_id: &str) -> Result<(), Failure> {
        let disk_id = disk_id.to_owned();
        let start = move |world: Rc<World<S>>, id| async move {
            S::work(&world, Work::Start(&id)).await?;
            if world.with_sandbox(&id, |sandbox, _| sandbox.container.is_some()) {
                return Ok(());
            }
            let image = world.with_sandbox(&id, |sandbox, _| S::platform_image(&world, sandbox));
            let now = S::now(&world);
            match world
                .disks
                .borrow_mut()
                .get_mut(&disk_id)
                .filter(|disk| disk.expires_at > now && Some(&disk.image) == image.as_ref())
            {
                Some(disk) => {
                    disk.expires_at = now + PLATFORM_LIFETIME_MILLIS;
                    world.with_container(&id, |container, _| {
                        container.files.clone_from(&disk.files);
                        container.directories.clone_from(&disk.directories);
                        container.disk_token.clone_from(&disk.token);
                    });
                    S::observe(&world, Event::DiskStarted(&id, disk));
                    Ok(())
                }
                None if S::starts_empty(&world) => {
                    world.with_container(&id, |_, _| ());
                    Ok(())
                }
                None => Err(Failure::new("ContainerUnavailableError", "exec() requires a running container")
                    .with_code("CONTAINER_UNAVAILABLE")),
            }
        };
        self.call(Method::StartFromPlatformSnapshot, id, start).await
    }
}
