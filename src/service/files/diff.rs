//! `diff`: the differences between two snapshots of one lineage.

use super::{error_of, missing_archive, to_attributes};
use crate::model::archive::{
    self, ArchiveLocation, CapturedFiles, ChangeKind, DiffOutcome, LocatedSnapshot, Name, Outcome, Side,
};
use crate::model::diff::{Certainty, ChangeType, DiffCursor, Difference, FileChange, SnapshotDiff, path_text};
use crate::model::files::FilePath;
use crate::model::record::SnapshotRecord;
use crate::model::request::{DiffRequest, FileSource, NestedFiles, NestedSelection};
use crate::model::{Error, Result, Selection};
use crate::ports::{BackupStore, Ports, SandboxLedgerClient};
use crate::service::CloudflareSandboxSnapshotter;
use crate::service::calls::failures::from_storage;
use crate::service::snapshot::select::Selected;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Returns a page of the differences between two snapshots.
    pub async fn diff(&self, request: DiffRequest) -> Result<SnapshotDiff> {
        let DiffRequest { from: NestedSelection(from), to: NestedFiles(to), cursor, limit } = request;
        // The entrypoint compares the files of a sandbox.
        let FileSource::Snapshot(to) = *to else { return Err(Error::internal()) };
        let allow_cross_lineage = to.lineage_scope.allow_cross_lineage;
        let from = self.locate_snapshot(&from).await?;
        let to = if *to.selector.origin_id() == *self.id {
            self.locate_snapshot(&to).await?
        } else {
            self.sandbox_ledgers()?.locate_snapshot(&to).await?
        };
        if from.root_id != to.root_id && !allow_cross_lineage {
            return Err(Error::diff_of_lineages(&from.root_id, &to.root_id));
        }
        let cursor = cursor.unwrap_or(DiffCursor { path: Vec::new(), listing: None });
        if cursor.listing.is_some() {
            return Err(Error::invalid_cursor("diff"));
        }
        let after = Name::from(&cursor.path[..]);
        let racy_from = from.racy_from().into_iter().chain(to.racy_from()).min();
        let request = archive::DiffRequest { after, limit: limit as usize, listing: None, racy_from };
        let (changes, next) = self.retry(async || self.diff_archives(&from, &to, &request).await).await?;
        Ok(SnapshotDiff {
            from: from.snapshot_id,
            to: Some(to.snapshot_id),
            sandbox_id: None,
            changes: changes.into_iter().map(to_change).collect(),
            cursor: next.map(|next| DiffCursor { path: next.as_bytes().to_vec(), listing: None }.to_string()),
        })
    }

    /// Returns where the archives of a snapshot of this sandbox are.
    pub async fn locate_snapshot(&self, selection: &Selection) -> Result<LocatedSnapshot> {
        self.prepare_call().await?;
        let Selected { sandbox, snapshot } = self.select(selection).await?;
        let location = ArchiveLocation::of(&self.require_ready(&snapshot)?.backup);
        let SnapshotRecord { snapshot_id, dir, excludes, gitignore, began_at, .. } = snapshot;
        let (gitignore, began_at) = (gitignore == Some(true), Some(began_at));
        let capture = Some(CapturedFiles { dir, excludes, gitignore, began_at });
        Ok(LocatedSnapshot { snapshot_id, root_id: sandbox.root_id, location, capture })
    }

    async fn diff_archives(
        &self,
        from: &LocatedSnapshot,
        to: &LocatedSnapshot,
        request: &archive::DiffRequest,
    ) -> Result<(Vec<archive::Change>, Option<Name>)> {
        let of = |side| if side == Side::From { from } else { to };
        let read = self.backups()?.diff_archives(&from.location, &to.location, request).await;
        let read = read.map_err(|failure| {
            let backups =
                format!("reading the archives of the backups {} and {}", from.location.id(), to.location.id());
            from_storage(failure, &backups)
        })?;
        match read.map_err(missing_archive)? {
            DiffOutcome::Page { changes, next, .. } => Ok((changes, next)),
            DiffOutcome::Failed { side, outcome } => Err(failure_of(of(side), outcome)),
        }
    }
}

/// Returns the error of an archive that can't be compared.
pub(super) fn failure_of(snapshot: &LocatedSnapshot, outcome: Outcome) -> Error {
    let id = snapshot.location.id();
    match outcome {
        Outcome::InvalidPath(_) => Error::invalid_cursor("diff"),
        Outcome::NotFound | Outcome::NotADirectory | Outcome::NotAFile => {
            Error::backup_damaged(id, "an entry can't be read at its path")
        }
        other => error_of(other, &snapshot.snapshot_id, id, &FilePath::root()),
    }
}

/// Returns a difference, as callers get it.
pub(super) fn to_change(change: archive::Change) -> FileChange {
    let (path, path_bytes) = path_text(change.path.as_bytes());
    let (kind, differences, previous_path) = match change.kind {
        ChangeKind::Added => (ChangeType::Added, Vec::new(), None),
        ChangeKind::Removed => (ChangeType::Removed, Vec::new(), None),
        ChangeKind::Changed(differences) => (ChangeType::Changed, differences, None),
        ChangeKind::Renamed(from) => (ChangeType::Renamed, Vec::new(), Some(path_text(from.as_bytes()).0)),
    };
    FileChange {
        path,
        path_bytes,
        change: kind,
        certainty: match change.certainty {
            archive::Certainty::Content => Certainty::Content,
            archive::Certainty::Metadata => Certainty::Metadata,
        },
        differences: differences.into_iter().map(to_difference).collect(),
        previous_path,
        from: change.before.as_ref().map(to_attributes),
        to: change.after.as_ref().map(to_attributes),
    }
}

fn to_difference(difference: archive::Difference) -> Difference {
    match difference {
        archive::Difference::Type => Difference::Type,
        archive::Difference::Content => Difference::Content,
        archive::Difference::Mode => Difference::Mode,
        archive::Difference::Owner => Difference::Owner,
        archive::Difference::Target => Difference::Target,
    }
}
