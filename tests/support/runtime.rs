//! What the runtimes of sandboxes do differently: the class `Sandbox` of the SDK 0.12, and the class for containers.
//!
//! The class for containers alone starts its container, and stores an id before it does. So its status is never outdated,
//! its time changes only with the container, and a capture that expects a container fails in another one.

use std::rc::Rc;

use sandbox_snapshotter::model::{
    ArchiveFormat, BackupOptions, ContainerId, ContainerIdentity, DirectoryContent, Failure, Runtime, SandboxId,
    SandboxStatus, Status,
};

use super::{Sandbox, Scheduler, Work, World};

impl<S: Scheduler> Sandbox<S> {
    /// Returns the status, as the object of the runtime reports it.
    pub(super) fn report_status(&mut self, runtime: Runtime, now: i64) -> SandboxStatus {
        if runtime == Runtime::Container {
            self.refresh_status(now);
        }
        let status = self.status.unwrap_or(Status::Down);
        let identifies_container = runtime == Runtime::Container && status != Status::Down;
        SandboxStatus { status, last_change: self.last_change(), identifies_container }
    }

    /// Corrects the status of a container that has ended, or that was never started: the object ended before.
    fn refresh_status(&mut self, now: i64) {
        if self.container.is_none() && self.status.is_some_and(|status| status != Status::Down) {
            self.set_status(Status::Down, now);
        }
    }

    #[allow(clippy::cast_precision_loss)] // Current timestamps in milliseconds are exact as `f64`.
    fn last_change(&self) -> f64 {
        self.last_change as f64
    }
}

impl<S: Scheduler> World<S> {
    /// Returns the identity of the container of a sandbox; `None` where none runs, and for the SDK 0.12.
    pub fn identity(&self, id: &SandboxId) -> Option<ContainerIdentity> {
        let runtime = self.runtime.get();
        self.with_sandbox(id, |sandbox, now| sandbox.report_status(runtime, now).identity())
    }

    /// Returns the id that the container of a sandbox carries; `None` where none runs, and for the SDK 0.12.
    pub(super) fn container_id(&self, id: &SandboxId) -> Option<ContainerId> {
        let number = self.running_number(id).filter(|_| self.owns_containers())?;
        ContainerId::parse(&number.to_string())
    }

    fn running_number(&self, id: &SandboxId) -> Option<u64> {
        self.with_sandbox(id, |sandbox, _| sandbox.container.as_ref().map(|container| container.number))
    }

    /// Returns whether the sandboxes have the class for containers.
    pub(super) fn owns_containers(&self) -> bool {
        self.runtime.get() == Runtime::Container
    }

    /// Starts a container of the class for containers, unless one runs. The object may end after it has stored the id, and
    /// after the start.
    pub(super) async fn start_owned(self: &Rc<Self>, id: &SandboxId) -> Result<(), Failure> {
        let is_new = self.with_sandbox(id, |sandbox, now| {
            let is_new = sandbox.container.is_none();
            if is_new {
                sandbox.set_status(Status::Starting, now);
            }
            is_new
        });
        if !is_new {
            return Ok(());
        }
        S::work(self, Work::ObjectStep).await?;
        let number = self.with_container(id, |container, _| container.number);
        self.with_sandbox(id, |sandbox, _| sandbox.status = Some(Status::Starting));
        S::work(self, Work::ObjectStep).await?;
        self.check_same_container(id, number)
    }

    /// Returns the number of the container that a capture reads: the expected one, or the one that runs or is started.
    pub(super) async fn enter_for_capture(
        self: &Rc<Self>,
        id: &SandboxId,
        options: &BackupOptions,
    ) -> Result<u64, Failure> {
        if !self.owns_containers() {
            return self.enter_container(id).await;
        }
        let number = match options.expected_last_change {
            Some(expected) => self.expect_container(id, |world| world.identity(id) == Some(expected)).await?,
            None => self.enter_container(id).await?,
        };
        let content = self.with_container(id, |container, _| container.directory_content(options.dir.as_str()));
        if !matches!(content, DirectoryContent::NonEmpty | DirectoryContent::Empty) {
            return Err(sandbox_error("BACKUP_CREATE_FAILED", "The directory can't be archived."));
        }
        Ok(number)
    }

    /// Fails if the container ended during its capture. The SDK 0.12 does not notice that.
    pub(super) fn check_captured(&self, id: &SandboxId, number: u64) -> Result<(), Failure> {
        if self.owns_containers() { self.check_same_container(id, number) } else { Ok(()) }
    }

    /// Enters the container for a restore, and downloads the archive: the SDK 0.12 before, and the class for containers
    /// into the container, which must be the expected one.
    pub(super) async fn enter_for_restore(
        self: &Rc<Self>,
        id: &SandboxId,
        format: ArchiveFormat,
        expected: Option<&ContainerId>,
    ) -> Result<(), Failure> {
        if self.owns_containers() {
            let number = match expected {
                Some(expected) => {
                    self.expect_container(id, |world| world.container_id(id).as_ref() == Some(expected)).await?
                }
                None => self.enter_container(id).await?,
            };
            S::work(self, Work::Download).await?;
            self.check_same_container(id, number)?;
        } else {
            S::work(self, Work::Download).await?;
            self.enter_container(id).await?;
        }
        self.check_format(id, format)
    }

    /// Returns the number of the container that a call expects. Starts none.
    pub(super) async fn expect_container(
        self: &Rc<Self>,
        id: &SandboxId,
        is_expected: impl FnOnce(&Self) -> bool,
    ) -> Result<u64, Failure> {
        S::work(self, Work::Expected(id)).await?;
        let Some(number) = self.running_number(id).filter(|_| is_expected(self)) else {
            return Err(sandbox_error("CONTAINER_REPLACED", "The expected container has ended."));
        };
        self.with_container(id, |_, _| ());
        S::work(self, Work::Command).await?;
        self.check_same_container(id, number)?;
        Ok(number)
    }

    /// Fails if the image of the container can't unpack an archive.
    fn check_format(&self, id: &SandboxId, format: ArchiveFormat) -> Result<(), Failure> {
        if !self.owns_containers() {
            let is_squashfs = format == ArchiveFormat::Squashfs;
            let failed = Failure::new("BackupRestoreError", "unsquashfs").with_code("BACKUP_RESTORE_FAILED");
            return if is_squashfs { Ok(()) } else { Err(failed) };
        }
        let lacks_tool = format == ArchiveFormat::Squashfs
            && self.with_container(id, |container, _| container.archive_format) != ArchiveFormat::Squashfs;
        let missing =
            sandbox_error("TOOL_MISSING", "The image has no unsquashfs. Install squashfs-tools in the image.");
        if lacks_tool { Err(missing) } else { Ok(()) }
    }
}

/// Returns an error of the class for containers.
fn sandbox_error(code: &str, message: &str) -> Failure {
    Failure::new("SandboxError", message).with_code(code)
}
