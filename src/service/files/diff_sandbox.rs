//! `diff`: the differences between a snapshot and the present files of a running sandbox.
//!
//! The container makes one list of all files, which the pages of the comparison share. The archive is read in R2. If the times
//! of two files of the same size differ, or do not decide because they are those of the capture, the container hashes the one,
//! and the reader of archives the other. The entrypoint does this, so that the lists do not pass through the objects of this
//! Worker.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::diff::{failure_of, to_change};
use super::in_sandbox::error_of;
use super::missing_archive;
use crate::model::archive::{
    self, Certainty, Change, ChangeKind, DiffOutcome, Difference, ListingPart, LocatedSnapshot, Name, Outcome, Side,
    compare_paths,
};
use crate::model::diff::{DiffCursor, ListingPosition, SnapshotDiff};
use crate::model::exec_call::{ExecPurpose, PreparedExec};
use crate::model::file_call::{FileAction, FileCall, FileOutcome, ListingBytes, Omitted};
use crate::model::files::FilePath;
use crate::model::request::{DiffRequest, FileSource, NestedFiles, NestedSelection, SandboxFiles, SandboxTarget};
use crate::model::required_container::RequiredContainer;
use crate::model::{Code, Directory, Error, Result, SandboxId, ShortId};
use crate::ports::{BackupStore, CallerCommands, NamedWorkspaceClient, Ports, SandboxLedgerClient};
use crate::service::calls::failures::{During, from_sandbox, from_storage};
use crate::service::calls::retry::retry;
use crate::service::exec::attempts::{in_container, prepare};
use crate::service::{CancellationToken, draw_random};

/// The maximum size of the paths in a command, in bytes. A command has at most 128 KiB, and contains them in Base64.
const MAX_HASHED_PATHS: usize = 48 * 1024;

/// The size of the largest file that is compared, in bytes, as in the reader of archives.
const MAX_COMPARED: u64 = 1 << 20;

/// Returns a page of the differences between a snapshot and the files of a running sandbox. Starts nothing.
pub async fn diff<P: Ports>(ports: &Rc<P>, request: DiffRequest) -> Result<SnapshotDiff> {
    let DiffRequest { from: NestedSelection(from), to: NestedFiles(to), cursor, limit } = request;
    let FileSource::Sandbox(files) = *to else { return Err(Error::internal()) };
    let (after, position) = match cursor {
        Some(DiffCursor { path, listing: Some(position) }) => (path, Some(position)),
        Some(_) => return Err(Error::invalid_cursor("diff")),
        None => (Vec::new(), None),
    };
    let snapshot = ports.sandbox_ledgers()?.locate_snapshot(&from).await?;
    let running = Running::find(ports, files, &snapshot).await?;
    let listing = running.list(&snapshot, position).await?;
    let part = ListingPart { is_last: listing.is_last(), side: Side::To };
    let racy_from = snapshot.racy_from();
    let request =
        archive::DiffRequest { after: Name::from(&after[..]), limit: limit as usize, listing: Some(part), racy_from };
    let read = async || read_page(&**ports, &snapshot, &running, &listing, &request).await;
    let page = retry(&**ports, &CancellationToken::never(), read).await?;
    let changes = running.compare_hashed(page.changes).await?;
    let ListingPosition { id, offset } = listing.position;
    let position = ListingPosition { id, offset: offset.saturating_add(page.consumed as u64) };
    let cursor =
        page.next.map(|path| DiffCursor { path: path.as_bytes().to_vec(), listing: Some(position) }.to_string());
    Ok(SnapshotDiff {
        from: snapshot.snapshot_id,
        to: None,
        sandbox_id: Some(running.id),
        changes: changes.into_iter().map(to_change).collect(),
        cursor,
    })
}

/// A page of differences whose hashes are not compared yet.
struct Page {
    changes: Vec<Change>,
    next: Option<Name>,
    consumed: usize,
}

async fn read_page<P: Ports>(
    ports: &P,
    snapshot: &LocatedSnapshot,
    running: &Running<'_, P>,
    listing: &ListingBytes,
    request: &archive::DiffRequest,
) -> Result<Page> {
    let read = ports.backups()?.diff_listing(&snapshot.location, &listing.bytes, request).await;
    let read = read.map_err(|failure| {
        from_storage(failure, &format!("reading the archives of the backup {}", snapshot.location.id()))
    })?;
    match read.map_err(missing_archive)? {
        DiffOutcome::Page { changes, next, consumed } => Ok(Page { changes, next, consumed }),
        DiffOutcome::Failed { side: Side::To, outcome: Outcome::Damaged(how) } => {
            Err(Error::files_not_listed(&running.id, &running.dir, &format!("{how}.")))
        }
        DiffOutcome::Failed { outcome, .. } => Err(failure_of(snapshot, outcome)),
    }
}

/// A running sandbox whose files are compared.
struct Running<'a, P> {
    ports: &'a Rc<P>,
    id: SandboxId,
    prepared: PreparedExec,
    dir: Directory,
}

impl<'a, P: Ports> Running<'a, P> {
    /// Returns the selected sandbox, which must be running, and of the lineage of the snapshot.
    async fn find(ports: &'a Rc<P>, files: SandboxFiles, snapshot: &LocatedSnapshot) -> Result<Self> {
        let SandboxFiles { selection, dir } = files;
        let id = match selection.target()? {
            SandboxTarget::Named(address) => {
                let active = ports.named_workspaces()?.active_sandbox(&address).await;
                active.map_err(|error| match error.code() {
                    Code::SandboxNotRunning => {
                        error.with_remediation("Start the workspace first.").of_workspace(&address)
                    }
                    _ => error,
                })?
            }
            SandboxTarget::Sandbox(id) => id,
        };
        let prepared = prepare(&**ports, &id, &selection, ExecPurpose::Diff).await?;
        let root_id = ports.sandbox_ledgers()?.root_id(&id).await;
        let root_id = root_id.map_err(|failure| from_storage(failure, "reading the lineage of the sandbox"))?;
        if root_id != snapshot.root_id && !selection.lineage_scope.allow_cross_lineage {
            return Err(Error::diff_of_lineages(&snapshot.root_id, &root_id));
        }
        let captured = snapshot.capture.as_ref().map(|capture| &capture.dir);
        let dir = dir.as_ref().or(captured).unwrap_or(&prepared.dir).clone();
        Ok(Self { ports, id, prepared, dir })
    }

    /// Returns a part of the list of all files: the first one of a new list, or the one at a position.
    async fn list(&self, snapshot: &LocatedSnapshot, position: Option<ListingPosition>) -> Result<ListingBytes> {
        let omitted = snapshot.capture.as_ref().map_or_else(Omitted::default, |capture| Omitted {
            excludes: capture.excludes.clone(),
            ignored: capture.gitignore,
        });
        match self.call(FileAction::Walk { position, omitted }).await? {
            FileOutcome::Listing(listing) => Ok(listing),
            _ => Err(Error::internal()),
        }
    }

    /// Returns the differences after the files with a hash were compared with those in the container.
    async fn compare_hashed(&self, changes: Vec<Change>) -> Result<Vec<Change>> {
        let uncertain = changes.iter().filter(|change| change.hash.is_some());
        let mut paths: Vec<Vec<u8>> = uncertain.map(|change| change.path.as_bytes().to_vec()).collect();
        let mut present = BTreeMap::new();
        while !paths.is_empty() {
            let batch = take_batch(&mut paths);
            let action = FileAction::Hash { paths: batch.clone(), limit: MAX_COMPARED };
            let FileOutcome::Hashes(hashes) = self.call(action).await? else { return Err(Error::internal()) };
            present.extend(batch.into_iter().zip(hashes));
        }
        let mut compared: Vec<Change> = changes.into_iter().flat_map(|change| compare_hash(change, &present)).collect();
        compared.sort_by(|left, right| compare_paths(left.path.as_bytes(), right.path.as_bytes()));
        Ok(compared)
    }

    /// Makes a call about the files in the directory.
    async fn call(&self, action: FileAction) -> Result<FileOutcome> {
        let Self { ports, id, prepared, dir } = self;
        let sandboxes = ports.sandboxes(prepared.runtime)?;
        let call_id = draw_random(&***ports, ShortId::from_random)?.as_str().to_owned();
        let call =
            FileCall { id: call_id, dir: dir.clone(), has_dir: true, path: FilePath::root().normalized(), action };
        let attempt = async |required: &RequiredContainer| {
            let outcome = sandboxes.call_files(id, required, &call).await;
            outcome.map_err(|failure| from_sandbox(failure, id, During::Files))
        };
        let outcome = in_container(ports, id, prepared, attempt).await?;
        outcome.map_err(|refusal| error_of(refusal, id, dir, &FilePath::root(), &call.action))
    }
}

/// Takes the paths of one command: at least one.
fn take_batch(paths: &mut Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let mut size = 0;
    let fits = |path: &&Vec<u8>| {
        size += path.len() + 1;
        size <= MAX_HASHED_PATHS
    };
    let count = paths.iter().take_while(fits).count().max(1);
    paths.drain(..count.min(paths.len())).collect()
}

/// Returns what remains of a difference after the hash of the file in the archive was compared with that in the container.
fn compare_hash(mut change: Change, present: &BTreeMap<Vec<u8>, Option<String>>) -> Vec<Change> {
    let Some(hash) = change.hash.take() else { return vec![change] };
    let found = present.get(change.path.as_bytes()).and_then(Option::as_ref);
    let is_same = found == Some(&hash);
    // A file that is gone now was changed after it was listed.
    change.certainty = if found.is_some() { Certainty::Content } else { Certainty::Metadata };
    match &mut change.kind {
        ChangeKind::Changed(differences) if is_same => {
            differences.retain(|difference| *difference != Difference::Content);
            if differences.is_empty() { Vec::new() } else { vec![change] }
        }
        ChangeKind::Renamed(from) if !is_same => {
            let (path, certainty) = (from.clone(), Certainty::Content);
            let Change { before, after, .. } = change;
            let removed = Change { path, kind: ChangeKind::Removed, certainty, before, after: None, hash: None };
            let added =
                Change { path: change.path, kind: ChangeKind::Added, certainty, before: None, after, hash: None };
            vec![removed, added]
        }
        _ => vec![change],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::archive::{Attributes, EntryKind};

    fn name(text: &str) -> Name {
        Name::from(text.as_bytes())
    }

    fn change(kind: ChangeKind) -> Change {
        let file = Attributes { kind: EntryKind::File, mode: 0o644, uid: 0, gid: 0, mtime: 1, size: 7, target: None };
        let (before, after) = (Some(file.clone()), Some(file));
        Change { path: name("b"), kind, certainty: Certainty::Metadata, before, after, hash: Some("1".into()) }
    }

    fn compared(kind: ChangeKind, present: Option<&str>) -> Vec<(ChangeKind, Certainty)> {
        let present = BTreeMap::from([(b"b".to_vec(), present.map(str::to_owned))]);
        compare_hash(change(kind), &present).into_iter().map(|change| (change.kind, change.certainty)).collect()
    }

    fn changed(differences: &[Difference]) -> ChangeKind {
        ChangeKind::Changed(differences.to_vec())
    }

    #[test]
    fn paths_are_hashed_in_commands_of_limited_size() {
        let batches = |count, length| {
            let mut paths = vec![vec![b'x'; length]; count];
            let next = || Some(take_batch(&mut paths).len()).filter(|length| *length > 0);
            std::iter::from_fn(next).collect::<Vec<_>>()
        };
        assert_eq!(batches(128, 383), [128], "48 KiB with their separators");
        assert_eq!(batches(128, 384), [127, 1]);
        assert_eq!(batches(2, 48 * 1024), [1, 1], "a long path has a command of its own");
    }

    #[test]
    fn hash_decides_whether_the_content_differs() {
        let (both, mode) = ([Difference::Content, Difference::Mode], [Difference::Mode]);
        assert_eq!(compared(changed(&[Difference::Content]), Some("1")), []);
        assert_eq!(compared(changed(&both), Some("1")), [(changed(&mode), Certainty::Content)]);
        assert_eq!(compared(changed(&both), Some("2")), [(changed(&both), Certainty::Content)]);
        assert_eq!(compared(changed(&both), None), [(changed(&both), Certainty::Metadata)]);
    }

    #[test]
    fn file_is_renamed_only_with_the_same_content() {
        let renamed = ChangeKind::Renamed(name("a"));
        assert_eq!(compared(renamed.clone(), Some("1")), [(renamed.clone(), Certainty::Content)]);
        for present in [Some("2"), None] {
            let both = [(ChangeKind::Removed, Certainty::Content), (ChangeKind::Added, Certainty::Content)];
            assert_eq!(compared(renamed.clone(), present), both);
        }
        let split = compare_hash(change(renamed), &BTreeMap::new());
        let paths: Vec<_> =
            split.iter().map(|change| (&change.path, change.before.is_some(), change.after.is_some())).collect();
        assert_eq!(paths, [(&name("a"), true, false), (&name("b"), false, true)]);
    }
}
