//! The image of a sandbox. The class must have the one that a named workspace has chosen, before anything begins; and a
//! container with another one gets no files.

use crate::model::named::Settings;
use crate::model::named::messages::CheckImageRequest;
use crate::model::{Error, Provenance, Result, Runtime};
use crate::ports::{Ports, Sandboxes};
use crate::service::CloudflareSandboxSnapshotter;
use crate::service::calls::failures::During;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Verifies that a class of sandboxes can start the image: that of this sandbox, or that of sandboxes which are made from it
    /// in another runtime.
    ///
    /// # Errors
    /// [`Code::Unsupported`](crate::model::Code::Unsupported) if the class cannot start an image by its name,
    /// [`Code::ImageNotFound`](crate::model::Code::ImageNotFound) if it has no such image.
    pub async fn check_image(&self, request: &CheckImageRequest) -> Result<()> {
        self.prepare_call().await?;
        self.ensure_image_exists(request).await
    }

    /// As [`check_image`](Self::check_image), for a call that is prepared.
    pub(super) async fn ensure_image_exists(&self, request: &CheckImageRequest) -> Result<()> {
        let sandboxes = self.ports.sandboxes(self.derived_runtime(request.runtime)?)?;
        let names = self
            .retry(async || sandboxes.image_names(&self.id).await.map_err(self.failed(During::Probe)))
            .await?
            .ok_or_else(|| Error::image_choice_unsupported(&self.id))?;
        if names.contains(&request.image) {
            Ok(())
        } else {
            Err(Error::image_not_found(&self.id, &request.image, &names))
        }
    }

    /// Records the image with which the class of the sandbox is about to start a container, where it matters: the workspace chose
    /// it, or is stored in platform snapshots.
    pub(super) async fn record_class_image(&self, settings: &Settings) -> Result<()> {
        let matters = settings.storage.has_platform() || settings.image.is_some();
        let image = if matters { self.platform_image().await? } else { None };
        self.update_start(|start| (start.class_image, start.class_image_uncertain) = (image, false))
    }

    /// Verifies that the container has the recorded image: another call may have started it before, and while it started, another
    /// image may have been deployed. `provenance` is the text of what the container runs on.
    ///
    /// # Errors
    /// [`Code::OperationInterrupted`](crate::model::Code::OperationInterrupted).
    pub(super) async fn check_class_image(&self, provenance: &str) -> Result<()> {
        let Some(image) = self.start_state()?.class_image else { return Ok(()) };
        let named = |known: Option<Provenance>| known.and_then(|known| known.image);
        let expected = named(Provenance::with_class(None, Some(&image), None));
        let started = named(Provenance::parse(provenance));
        let is_other = started.is_some() && expected.is_some() && started != expected;
        if is_other || self.platform_image().await? != Some(image) {
            return Err(Error::another_container(&self.id));
        }
        Ok(())
    }

    /// Records the image with which the class would start the running container now, before the class learns of another choice. A
    /// later change of the storage may have a platform snapshot taken of the container.
    pub(super) async fn note_class_image(&self) -> Result<()> {
        if self.start_state()?.class_image.is_some() || self.runtime()? == Some(Runtime::Sdk012) {
            return Ok(());
        }
        let image = self.platform_image().await?;
        // Another image may have been chosen or deployed since the container started.
        self.update_start(|start| (start.class_image, start.class_image_uncertain) = (image, true))
    }

    /// Returns whether the next container starts from another image than the present one, and so not from a platform snapshot of
    /// the present container; or whether that is not certain. `chosen` is the image that the workspace has chosen.
    pub(super) async fn image_will_change(&self, chosen: Option<&String>) -> Result<bool> {
        let start = self.start_state()?;
        // The class may have learned of the image of an update of the workspace that failed.
        let is_certain = !start.class_image_uncertain && start.chosen_image.as_ref() == chosen;
        let Some(present) = start.class_image.filter(|_| is_certain) else { return Ok(true) };
        Ok(self.platform_image().await?.is_some_and(|next| next != present))
    }
}
