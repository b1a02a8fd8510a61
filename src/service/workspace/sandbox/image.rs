//! The image that a named workspace has chosen: the class of its sandbox must have it before anything begins.

use crate::model::named::messages::CheckImageRequest;
use crate::model::{Error, Result, Runtime};
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
