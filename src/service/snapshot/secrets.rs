//! Finds files with secrets before a capture, and leaves them out or refuses the capture.

use crate::model::file_call::Omitted;
use crate::model::record::{SnapshotRecord, Stage};
use crate::model::secret_search::SecretSearch;
use crate::model::{BackupOptions, Error, Result, SecretsMode, SecretsReport};
use crate::ports::{Ports, Sandboxes};
use crate::service::CloudflareSandboxSnapshotter;
use crate::service::calls::failures::During;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Searches the directory of a capture. Records what it finds, and with [`SecretsMode::Exclude`] excludes it.
    ///
    /// # Errors
    /// [`Code::SecretsFound`](crate::model::Code::SecretsFound) with [`SecretsMode::Refuse`],
    /// [`Code::ExcludeUnsupported`](crate::model::Code::ExcludeUnsupported) if other files would be left out, too; and unless
    /// secrets are kept, the errors of a search that failed.
    pub(super) async fn find_secrets(
        &self,
        mode: SecretsMode,
        record: &mut SnapshotRecord,
        options: &mut BackupOptions,
    ) -> Result<()> {
        let Stage::Creating(progress) = &record.stage else { return Err(Error::internal()) };
        let expected = progress.observation.identity();
        // Only the class for containers gives them an identity.
        let takes_paths = expected.is_some();
        let search = SecretSearch {
            dir: options.dir.clone(),
            omitted: Omitted { excludes: options.excludes.clone(), ignored: options.gitignore == Some(true) },
            lists_namesakes: mode == SecretsMode::Exclude,
        };
        let found = self.sandboxes()?.find_secrets(&self.id, &search, expected).await;
        let found = match found.map_err(self.failed(During::Probe)) {
            Ok(found) => found,
            // The search only informs the caller.
            Err(_) if mode == SecretsMode::Keep => return Ok(()),
            Err(error) => return Err(error),
        };
        let mut paths: Vec<&[u8]> = found.files.iter().map(Vec::as_slice).collect();
        let mut excluded = 0;
        match mode {
            SecretsMode::Refuse if found.count > 0 => {
                return Err(Error::secrets_found(&self.id, found.count, &SecretsReport::first_paths(paths)));
            }
            SecretsMode::Keep | SecretsMode::Refuse => {}
            SecretsMode::Exclude => {
                let patterns = found.exclusions(takes_paths)?;
                paths.extend(found.excluded_links(&patterns));
                excluded = paths.len() as u64;
                record.excludes.extend(patterns.clone());
                options.excludes.extend(patterns);
            }
        }
        record.secrets =
            Some(SecretsReport { mode, count: found.count, paths: SecretsReport::first_paths(paths), excluded });
        Ok(())
    }
}

impl SnapshotRecord {
    /// Returns the paths of the files with secrets that the snapshot left out.
    pub(in crate::service) fn missing_secrets(&self) -> Vec<String> {
        let left_out = self.secrets.as_ref().filter(|report| report.mode == SecretsMode::Exclude);
        left_out.map(|report| report.paths.clone()).unwrap_or_default()
    }
}
