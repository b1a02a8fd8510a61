//! The files that an export leaves out because of their names.

use crate::archive::Archive;
use crate::path::join;
use crate::secrets::is_named_like_secret;
use crate::{Entry, Kind, Path, Result, Source};

/// The files in a directory that are named like files with secrets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Their number.
    pub count: u64,
    /// The paths of the first ones in the snapshot: at most 100, and 16 KiB.
    pub paths: Vec<Vec<u8>>,
}

impl LeftOut {
    const MAX_PATHS: usize = 100;
    const MAX_PATH_BYTES: usize = 16 << 10;

    /// Finds the files below a directory.
    pub(crate) async fn find<S: Source>(archive: &mut Archive<S>, root: &Path) -> Result<Self> {
        let (mut found, mut bytes) = (Self::default(), 0);
        let mut walk = archive.walk(root).await?;
        while let Some((path, entry)) = archive.next_entry(&mut walk).await? {
            let path = join(&root.joined(), &path);
            if !is_left_out(&path, &entry) {
                continue;
            }
            found.count += 1;
            bytes += path.len();
            if found.paths.len() < Self::MAX_PATHS && bytes <= Self::MAX_PATH_BYTES {
                found.paths.push(path);
            }
        }
        Ok(found)
    }
}

/// Returns whether the entry at a path of a snapshot is a file that is named like one with secrets.
pub(crate) fn is_left_out(path: &[u8], entry: &Entry) -> bool {
    matches!(entry.kind, Kind::File | Kind::HardLink { .. }) && is_named_like_secret(path)
}
