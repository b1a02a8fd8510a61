//! Excludes what git ignores from a capture, and refuses captures that would leave out more than that.

use crate::model::{BackupOptions, Result};
use crate::ports::{Ports, Sandboxes};
use crate::service::CloudflareSandboxSnapshotter;
use crate::service::calls::failures::During;
use crate::service::container::identity::ContainerExpectation;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Replaces the option `gitignore` of a capture with the names of what git ignores in the directory. With the option, the SDK
    /// would leave out more.
    ///
    /// # Errors
    /// [`Code::ExcludeUnsupported`](crate::model::Code::ExcludeUnsupported) if a path that git does not ignore has such a name.
    pub(super) async fn exclude_ignored(
        &self,
        options: &mut BackupOptions,
        expectation: &ContainerExpectation,
    ) -> Result<()> {
        if options.gitignore != Some(true) {
            return Ok(());
        }
        if let ContainerExpectation::Identified(container) = expectation
            && self.sandbox_record()?.binding.is_none()
        {
            // The command may start another container.
            self.mark_unverified(Some(*container))?;
        }
        let ignored =
            self.sandboxes()?.ignored_names(&self.id, &options.dir).await.map_err(self.failed(During::Probe))?;
        ignored.check(options.dir.as_str())?;
        options.gitignore = None;
        let names = ignored.names.into_iter().filter(|name| !options.excludes.contains(name)).collect::<Vec<_>>();
        options.excludes.extend(names);
        Ok(())
    }
}
