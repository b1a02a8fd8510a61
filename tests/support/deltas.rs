//! The scripts of incremental snapshots in containers: the inventory of a base, the carrier of a delta, and its restore.
//!
//! A file that was written again counts as changed, even if its content is the same, as in a file system with times.

use std::collections::BTreeMap;

use sandbox_snapshotter::model::delta::{
    CaptureBegin, CaptureBegun, Carrier, DeltaFailure, RestoreFinish, RestoreFinished, TracedBase, carrier_dir,
    is_carrier,
};
use sandbox_snapshotter::model::named::ContainerMarker;
use sandbox_snapshotter::model::{BackupId, Directory, DirectoryContent, FullReason, SnapshotId};
use serde_json::{Value, json};

use super::containers::{is_under, sha256};
use super::{Container, Files, Scheduler};

/// The inventory of a base: the version of each file.
#[derive(Clone, Debug)]
pub struct Inventory {
    /// The base.
    pub base: TracedBase,
    dir: String,
    versions: BTreeMap<String, u64>,
}

/// What the container has for incremental snapshots.
#[derive(Clone, Debug, Default)]
pub struct DeltaState {
    /// The inventory of the base.
    pub inventory: Option<Inventory>,
    /// The inventory of a base that is being captured.
    pub begun: Option<Inventory>,
    /// Why the container refuses deltas.
    pub refusal: Option<FullReason>,
    /// The files of the directory when the last carrier was written.
    pub tree: Option<Files>,
    /// The backup of the carrier that was unpacked into the container.
    pub unpacked: Option<BackupId>,
    /// The versions and the size of the files below the overlay, in production mode.
    pub lower: Option<(BTreeMap<String, u64>, u64)>,
}

impl<S: Scheduler> Container<S> {
    fn take_inventory(&self, dir: &Directory, snapshot_id: &SnapshotId) -> Inventory {
        let files = self.files_in(dir.as_str());
        let versions: BTreeMap<_, _> = files.keys().map(|path| (path.clone(), self.version_of(path))).collect();
        let inventory = sha256(format!("{} {snapshot_id} {versions:?}", self.number));
        let listing = sha256(format!("{files:?}"));
        let (snapshot_id, tree_bytes) = (snapshot_id.clone(), size_of(&files));
        let base = TracedBase { snapshot_id, inventory, tree_bytes, listing, mounted: None };
        Inventory { base, dir: dir.to_string(), versions }
    }

    /// Notes the files of a backup that was mounted.
    pub(super) fn note_lower(&mut self, dir: &str) {
        let files = self.files_in(dir);
        let versions = files.keys().map(|path| (path.clone(), self.version_of(path))).collect();
        self.deltas.lower = Some((versions, size_of(&files)));
    }

    /// Runs the script that begins a capture.
    pub(super) fn begin_capture(&mut self, begin: &CaptureBegin) -> CaptureBegun {
        let CaptureBegin { dir, snapshot_id, base, .. } = begin;
        let is_of_carrier = |path: &str| {
            let parent = path.rsplit_once('/').map(|(parent, _)| Directory::parse(parent));
            matches!(parent, Some(Ok(parent)) if is_carrier(&parent))
        };
        self.retain_files(|path| !is_of_carrier(path));
        self.deltas.begun = None;
        let mounted = base.as_ref().filter(|base| self.mounted.is_some() && base.mounted == self.mounted);
        if let (Some(base), Some((versions, tree_bytes)), None) =
            (mounted, self.deltas.lower.clone(), self.deltas.refusal)
        {
            let base = TracedBase { tree_bytes, ..base.clone() };
            return self.write_carrier(begin, &Inventory { base, dir: dir.to_string(), versions });
        }
        let unsuitable = match self.directory_content(dir.as_str()) {
            _ if self.mounted.is_some() => Some(FullReason::Overlay),
            DirectoryContent::NonEmpty | DirectoryContent::Empty => None,
            _ => Some(FullReason::Directory),
        };
        if unsuitable.is_some() {
            let reason = unsuitable.filter(|why| base.is_some() || *why != FullReason::Overlay);
            return CaptureBegun::Full { reason, untraced: unsuitable };
        }
        let known = self.deltas.inventory.clone();
        let reason = match (base, known, self.deltas.refusal) {
            (None, ..) => None,
            (Some(_), _, Some(refusal)) => Some(refusal),
            (Some(_), None, None) => Some(FullReason::Container),
            (Some(base), Some(known), None) if known.base != *base || known.dir != dir.as_str() => {
                Some(FullReason::Inventory)
            }
            (Some(_), Some(known), None) => return self.write_carrier(begin, &known),
        };
        self.deltas.begun = Some(self.take_inventory(dir, snapshot_id));
        CaptureBegun::Full { reason, untraced: None }
    }

    fn write_carrier(&mut self, begin: &CaptureBegin, known: &Inventory) -> CaptureBegun {
        let dir = carrier_dir(&begin.dir, &begin.snapshot_id).unwrap();
        let files = self.files_in(begin.dir.as_str());
        let is_changed = |path: &str| known.versions.get(path) != Some(&self.version_of(path));
        let changed: Files = files
            .iter()
            .filter(|(path, _)| is_changed(path))
            .map(|(path, file)| (path.clone(), file.clone()))
            .collect();
        let lists = json!(files.keys().collect::<Vec<_>>()).to_string();
        let payload = json!(changed).to_string();
        let head = json!({
            "base": known.base.snapshot_id,
            "lists": sha256(&lists),
            "payload": sha256(&payload),
            "digest": sha256(format!("{files:?}")),
        })
        .to_string();
        let hash = sha256(&head);
        let (bytes, tree_bytes) = (payload.len() as u64, size_of(&files));
        self.deltas.tree = Some(files);
        let part = |name: &str| format!("{dir}/{name}");
        self.write_files(Files::from([(part("head"), head), (part("lists"), lists), (part("payload.tar"), payload)]));
        CaptureBegun::Delta(Carrier { dir, head: hash, bytes, tree_bytes, base_tree_bytes: known.base.tree_bytes })
    }

    /// Runs the script that completes the inventory of a base.
    pub(super) fn finish_inventory(&mut self, snapshot_id: &SnapshotId) -> Result<TracedBase, FullReason> {
        let begun = self.deltas.begun.take().filter(|begun| begun.base.snapshot_id == *snapshot_id);
        let begun = begun.ok_or(FullReason::Inventory)?;
        let base = begun.base.clone();
        self.deltas.inventory = Some(begun);
        Ok(base)
    }

    /// Runs the script that verifies and deletes a carrier.
    pub(super) fn release_carrier(&mut self, carrier: &Carrier) -> bool {
        let is_intact = self.read_carrier(&carrier.dir, &carrier.head).is_some();
        self.retain_files(|path| !is_under(path, carrier.dir.as_str()));
        is_intact
    }

    /// Reads the head, the lists and the payload of a carrier, if their hashes are right.
    fn read_carrier(&self, dir: &Directory, hash: &str) -> Option<(Value, Vec<String>, Files)> {
        let part = |name: &str| self.files.get(&format!("{dir}/{name}"));
        let head: Value = part("head").filter(|head| sha256(head) == hash).map(|head| head.parse().unwrap())?;
        let lists = part("lists").filter(|lists| head["lists"] == sha256(lists))?;
        let payload = part("payload.tar").filter(|payload| head["payload"] == sha256(payload))?;
        Some((head.clone(), serde_json::from_str(lists).unwrap(), serde_json::from_str(payload).unwrap()))
    }

    /// Runs the script that completes a restore.
    pub(super) fn finish_restore(&mut self, finish: &RestoreFinish, marker: &ContainerMarker) -> RestoreFinished {
        let RestoreFinish { dir, base_id, traced, mounted, carrier } = finish;
        if self.marker.as_ref() != Some(marker) {
            return RestoreFinished::OtherContainer;
        }
        if *mounted != self.mounted {
            return RestoreFinished::Failed(DeltaFailure::Carrier);
        }
        let (unpacked, lower) = (self.deltas.unpacked.take(), self.deltas.lower.take());
        self.deltas = DeltaState { refusal: self.deltas.refusal, unpacked, lower, ..DeltaState::default() };
        let inventory = self.take_inventory(dir, base_id);
        if self.mounted.is_none() && traced.as_ref() == Some(&inventory.base.listing) {
            self.deltas.inventory = Some(inventory);
        }
        if let Some((carrier, hash)) = carrier {
            let parts = self.read_carrier(carrier, hash);
            self.retain_files(|path| !is_under(path, carrier.as_str()));
            let Some((head, present, changed)) = parts.filter(|(head, ..)| head["base"] == base_id.as_str()) else {
                return RestoreFinished::Failed(DeltaFailure::Carrier);
            };
            self.retain_files(|path| !is_under(path, dir.as_str()) || present.iter().any(|listed| listed == path));
            self.write_files(changed);
            if head["digest"] != sha256(format!("{:?}", self.files_in(dir.as_str()))) {
                return RestoreFinished::Failed(DeltaFailure::Digest);
            }
        }
        RestoreFinished::Complete(self.deltas.inventory.as_ref().map(|inventory| inventory.base.clone()))
    }
}

fn size_of(files: &Files) -> u64 {
    files.values().map(|content| content.len() as u64).sum()
}
