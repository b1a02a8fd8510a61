//! The probes of containers, which are misread.

use sandbox_snapshotter::model::named::ContainerMarker;
use sandbox_snapshotter::model::record::ExpectedMarker;
use sandbox_snapshotter::model::{DirectoryContent, Probe};
use sandbox_snapshotter::ports::Ledger;

use super::messages::Lifecycle;
use super::ports::Place;
use super::{Bug, PlantedPorts};

/// The age of a container that no time precedes, in milliseconds.
pub(super) const OLDEST_MILLIS: i64 = 1 << 50;

impl PlantedPorts {
    /// Returns a probe as the service reads it. After a capture, the service first probes the container in the session of
    /// the capture; recovery has no session.
    pub(super) fn misread_probe(&self, place: Place, probe: Probe, in_session: bool) -> Probe {
        if place.is_in("workspace/sandbox/condition.rs") {
            return self.misread_condition(probe);
        }
        if place.is_in("workspace/sandbox/revive.rs") && self.is_planted(Bug::RevivedWithoutComparison) {
            let own = self.world().ledger(self.own()).sandbox().unwrap().and_then(|row| row.marker);
            return Probe { marker: own.map(ContainerMarker::Ready), ..probe };
        }
        if place.is_in("container/identity.rs") { self.misread_identity(probe, in_session) } else { probe }
    }

    /// Misreads a probe that tells the condition of the sandbox of a named workspace.
    fn misread_condition(&self, mut probe: Probe) -> Probe {
        let is_unfinished = matches!(probe.marker, Some(ContainerMarker::Restoring(_) | ContainerMarker::Restored(_)));
        let is_ready = probe.marker.as_ref().is_some_and(ContainerMarker::is_ready);
        let is_empty = matches!(probe.directory_content, DirectoryContent::Empty | DirectoryContent::Missing);
        self.notes.is_unfinished.set(is_unfinished || (is_empty && !is_ready));
        if self.is_planted(Bug::MarkerNotChecked) {
            let nonce = probe.marker.map(|marker| nonce_of(&marker)).unwrap_or_default();
            probe.marker = Some(ContainerMarker::Ready(nonce));
        }
        if let Some(ContainerMarker::Adopted(nonce)) = &probe.marker
            && self.is_planted(Bug::AdoptionTreatedAsRestore)
        {
            probe.marker = Some(ContainerMarker::Restored(nonce.clone()));
        }
        if self.is_planted(Bug::DivergedOverwritten)
            && matches!(self.lifecycle_call(self.own()), Some(Lifecycle::Start { .. }))
        {
            probe.directory_content = DirectoryContent::Empty;
        }
        if self.is_planted(Bug::RevivalDiscardsFiles) && self.world().is_revived(self.own()) {
            probe.directory_content = DirectoryContent::Empty;
        }
        if self.notes.is_adopting.get() {
            probe.marker.clone_from(&self.notes.adopted_marker.borrow());
            probe.directory_content = DirectoryContent::NonEmpty;
        }
        probe
    }

    /// Misreads a probe that tells whether a container is the expected one.
    fn misread_identity(&self, mut probe: Probe, in_session: bool) -> Probe {
        probe.is_replacement &= !self.is_planted(Bug::ReplacementFlagIgnored);
        if self.is_planted(Bug::CapturedDuringRestore) {
            probe.marker = probe.marker.filter(|marker| !marker.is_restoring());
        }
        if self.is_planted(Bug::ContainerNotCompared)
            || (self.is_planted(Bug::RecoveredWithoutComparison) && !in_session)
        {
            let Some((_, capture)) = self.find_capture(|progress| progress.backup.is_some()) else { return probe };
            probe.marker = match capture.expected_marker {
                Some(expected) => marker_of(&expected),
                None => probe.marker.filter(ContainerMarker::is_ready).or(Some(ContainerMarker::Ready(String::new()))),
            };
            return Probe { age_millis: OLDEST_MILLIS, is_replacement: false, ..probe };
        }
        if self.is_planted(Bug::MarkerNotRequired)
            && let Some((_, capture)) = self.find_capture(|progress| progress.expected_marker.is_some())
            && let Some(expected) = capture.expected_marker
            && self.world().current_time().millis_since(capture.observation.observed_at) <= probe.age_millis
        {
            probe.marker = marker_of(&expected);
        }
        probe
    }
}

/// Returns the marker that a container must carry.
fn marker_of(expected: &ExpectedMarker) -> Option<ContainerMarker> {
    match expected {
        ExpectedMarker::Own(nonce) => Some(ContainerMarker::Ready(nonce.clone())),
        ExpectedMarker::Foreign(text) => ContainerMarker::parse(text),
    }
}

fn nonce_of(marker: &ContainerMarker) -> String {
    match marker {
        ContainerMarker::Restoring(nonce)
        | ContainerMarker::Restored(nonce)
        | ContainerMarker::Adopted(nonce)
        | ContainerMarker::Ready(nonce) => nonce.clone(),
    }
}
