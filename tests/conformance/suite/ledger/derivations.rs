//! Sandboxes that were made from snapshots, and pending releases of snapshots.

use sandbox_snapshotter::model::record::{Derivation, DerivedState};
use sandbox_snapshotter::ports::Ledger;

use super::rows::{PENDING_TASK, derivation, release, sandbox, snapshot_id};
use super::{CONFUSABLE_TEXTS, sorted};
use crate::suite::Case;

pub fn cases<L: Ledger>() -> Vec<Case<L>> {
    vec![
        case!(derivations_of_every_state_are_stored_and_replaced_completely),
        case!(derivations_are_ordered_by_id),
        case!(sandbox_ids_are_compared_exactly),
        case!(derivation_belongs_to_its_latest_snapshot_only),
        case!(unfinished_sandboxes_are_those_pending_or_ending),
        case!(release_replaces_the_one_of_the_same_snapshot),
    ]
}

const STATES: [DerivedState; 4] = [
    DerivedState::Pending(PENDING_TASK),
    DerivedState::Ready { needs_snapshot: true },
    DerivedState::Ready { needs_snapshot: false },
    DerivedState::Ending(PENDING_TASK),
];

fn derivations_of_every_state_are_stored_and_replaced_completely(ledger: &impl Ledger) {
    for state in STATES {
        let derivation = derivation("agent-42-branch-k3f9x2ab", 1, state);
        ledger.put_derived_sandbox(&derivation).unwrap();
        assert_eq!(ledger.derived_sandbox(&derivation.sandbox_id).unwrap(), Some(derivation.clone()));
        assert_eq!(ledger.derived_sandboxes().unwrap(), [derivation]);
    }
    ledger.delete_derived_sandbox(&sandbox("agent-42-branch-k3f9x2ab")).unwrap();
    assert_eq!(ledger.derived_sandboxes().unwrap(), []);
}

fn derivations_are_ordered_by_id(ledger: &impl Ledger) {
    let ids = ["🗂", "b", "a", "it's", "Z", "ä", "a%", "\u{ffff}"];
    for id in ids {
        ledger.put_derived_sandbox(&derivation(id, 1, STATES[1])).unwrap();
    }
    ledger.put_derived_sandbox(&derivation("c", 2, STATES[1])).unwrap();
    assert_eq!(
        names(&ledger.derived_from(&[snapshot_id(1)]).unwrap()),
        ["Z", "a", "a%", "b", "it's", "ä", "\u{ffff}", "🗂"]
    );
    assert_eq!(names(&ledger.derived_from(&[snapshot_id(2)]).unwrap()), ["c"]);
    assert_eq!(names(&ledger.derived_sandboxes().unwrap()), ["Z", "a", "a%", "b", "c", "it's", "ä", "\u{ffff}", "🗂"]);
}

fn sandbox_ids_are_compared_exactly(ledger: &impl Ledger) {
    for (id, from) in CONFUSABLE_TEXTS.iter().zip(1..) {
        ledger.put_derived_sandbox(&derivation(id, from, STATES[1])).unwrap();
    }
    for (id, from) in CONFUSABLE_TEXTS.iter().zip(1..) {
        assert_eq!(ledger.derived_sandbox(&sandbox(id)).unwrap(), Some(derivation(id, from, STATES[1])));
        ledger.delete_derived_sandbox(&sandbox(id)).unwrap();
        assert_eq!(ledger.derived_sandbox(&sandbox(id)).unwrap(), None);
    }
}

fn derivation_belongs_to_its_latest_snapshot_only(ledger: &impl Ledger) {
    ledger.put_derived_sandbox(&derivation("a", 1, STATES[0])).unwrap();
    ledger.put_derived_sandbox(&derivation("a", 2, STATES[0])).unwrap();
    assert_eq!(ledger.derived_from(&[snapshot_id(1)]).unwrap(), []);
    assert_eq!(ledger.derived_from(&[snapshot_id(2)]).unwrap(), [derivation("a", 2, STATES[0])]);
}

fn unfinished_sandboxes_are_those_pending_or_ending(ledger: &impl Ledger) {
    for (id, state) in ["a", "b", "c", "d"].into_iter().zip(STATES) {
        ledger.put_derived_sandbox(&derivation(id, 1, state)).unwrap();
    }
    let unfinished = || sorted(names(&ledger.unfinished_sandboxes().unwrap()));
    assert_eq!(unfinished(), ["a", "d"]);
    ledger.put_derived_sandbox(&derivation("a", 1, STATES[1])).unwrap();
    ledger.put_derived_sandbox(&derivation("b", 1, STATES[3])).unwrap();
    assert_eq!(unfinished(), ["b", "d"]);
    ledger.delete_derived_sandbox(&sandbox("d")).unwrap();
    assert_eq!(unfinished(), ["b"]);
}

fn release_replaces_the_one_of_the_same_snapshot(ledger: &impl Ledger) {
    for pending in [release(1, "a"), release(2, "a"), release(1, "b")] {
        ledger.put_release(&pending).unwrap();
    }
    let mut releases = ledger.releases().unwrap();
    releases.sort_by_key(|release| release.snapshot_id.clone());
    assert_eq!(releases, [release(1, "b"), release(2, "a")]);
    ledger.delete_release(&snapshot_id(1)).unwrap();
    assert_eq!(ledger.releases().unwrap(), [release(2, "a")]);
}

fn names(derivations: &[Derivation]) -> Vec<String> {
    derivations.iter().map(|derivation| derivation.sandbox_id.to_string()).collect()
}
