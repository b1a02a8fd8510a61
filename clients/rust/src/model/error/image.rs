//! Errors about the images of sandboxes.

use crate::model::{Code, Error, SandboxId};

impl Error {
    /// [`Code::Unsupported`], for the choice of an image where the class of the sandbox cannot start one by its name.
    pub fn image_choice_unsupported(id: &SandboxId) -> Self {
        Self::new(
            Code::Unsupported,
            format!(
                "The class of the sandbox {:?} cannot start an image by its name, which `image` requests.",
                id.as_str()
            ),
            "Omit `image`, or pass `image: null`. To choose images, use the runtime `container` with a class of \
             sandbox-snapshotter-client/container: `workspaces/create` takes `runtime`, and `workspaces/migrate` moves a \
             workspace.",
        )
    }

    /// [`Code::Unsupported`], for a move to the SDK 0.12 of a workspace that has chosen an image.
    pub fn image_prevents_migration(id: &SandboxId) -> Self {
        Self::new(
            Code::Unsupported,
            format!(
                "The workspace of the sandbox {:?} has an `image`, which the runtime sdk-0.12 cannot start.",
                id.as_str()
            ),
            "Update the workspace with `image: null`, and migrate it then.",
        )
    }

    /// [`Code::ImageNotFound`], for an image that the class of the sandbox does not declare.
    pub fn image_not_found(id: &SandboxId, image: &str, existing: &[String]) -> Self {
        let existing = match existing {
            [] => "no images by name".to_owned(),
            names => format!("only {}", names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ")),
        };
        Self::new(
            Code::ImageNotFound,
            format!("The class of the sandbox {:?} has no image {image:?}. It has {existing}.", id.as_str()),
            "Pass one of its images, or `image: null` for the default of the class. To add an image, declare it in \
             `[containers.images]` of the application, and deploy.",
        )
    }
}
