//! Single snapshots: their fields, labels, states and expirations.

use sandbox_snapshotter::model::record::SnapshotRecord;
use sandbox_snapshotter::model::{Code, SnapshotId, Timestamp};
use sandbox_snapshotter::ports::Ledger;

use super::rows::{
    creating, creating_with_all_fields, deleted, deleting, label, minute_after_start, ready, snapshot_id,
    with_all_fields, with_label,
};
use super::{CONFUSABLE_TEXTS, ids, put, sorted};
use crate::suite::Case;

pub fn cases<L: Ledger>() -> Vec<Case<L>> {
    vec![
        case!(snapshots_of_every_stage_are_stored_completely),
        case!(large_snapshot_is_stored_completely),
        case!(snapshot_replaces_the_one_with_its_id),
        case!(delete_removes_a_snapshot_and_frees_its_label),
        case!(labels_are_compared_exactly),
        case!(label_follows_its_snapshot),
        case!(label_of_another_snapshot_is_refused_and_nothing_changes),
        case!(label_is_free_once_its_snapshot_is_deleted),
        case!(newest_deleted_snapshot_is_found_by_its_label),
        case!(unfinished_snapshots_are_those_creating_or_deleting),
        case!(expiring_snapshots_are_ready_and_ordered_by_expiration),
        case!(latest_expiration_of_a_snapshot_applies),
        case!(tombstones_are_deleted_when_older_than_the_limit),
    ]
}

fn snapshots_of_every_stage_are_stored_completely(ledger: &impl Ledger) {
    for snapshot in [creating(1), ready(1), deleting(1), deleted(1, minute_after_start(9))] {
        for snapshot in [with_all_fields(snapshot.clone()), creating_with_all_fields(1), snapshot] {
            ledger.put_snapshot(&snapshot).unwrap();
            assert_eq!(ledger.snapshot(&snapshot_id(1)).unwrap(), Some(snapshot));
        }
    }
}

fn large_snapshot_is_stored_completely(ledger: &impl Ledger) {
    let large = SnapshotRecord { excludes: vec!["ä".repeat(1000); 400], ..ready(1) };
    ledger.put_snapshot(&large).unwrap();
    assert_eq!(ledger.snapshot(&snapshot_id(1)).unwrap(), Some(large.clone()));
    assert_eq!(ledger.snapshot_page(None, Some("label"), 1).unwrap(), [large]);
}

fn snapshot_replaces_the_one_with_its_id(ledger: &impl Ledger) {
    put(ledger, [ready(1), ready(2)]);
    let used = SnapshotRecord { last_used_at: minute_after_start(60), pinned: true, ..ready(1) };
    ledger.put_snapshot(&used).unwrap();
    assert_eq!(ledger.snapshot(&snapshot_id(1)).unwrap(), Some(used.clone()));
    assert_eq!(ledger.snapshot_page(None, None, 10).unwrap(), [ready(2), used]);
}

fn delete_removes_a_snapshot_and_frees_its_label(ledger: &impl Ledger) {
    put(ledger, [ready(1), ready(2)]);
    ledger.delete_snapshot(&snapshot_id(1)).unwrap();
    assert_eq!(ledger.snapshot(&snapshot_id(1)).unwrap(), None);
    assert_eq!(ledger.snapshot_by_label(&ready(1).label).unwrap(), None);
    assert_eq!(ledger.snapshot_page(None, None, 10).unwrap(), [ready(2)]);
    ledger.put_snapshot(&SnapshotRecord { label: ready(1).label, ..ready(3) }).unwrap();
}

fn labels_are_compared_exactly(ledger: &impl Ledger) {
    put(ledger, CONFUSABLE_TEXTS.iter().zip(1..).map(|(text, number)| with_label(number, text)));
    for (text, number) in CONFUSABLE_TEXTS.iter().zip(1..) {
        assert_eq!(id_of(ledger.snapshot_by_label(&label(text)).unwrap()), Some(snapshot_id(number)), "{text:?}");
    }
    assert_eq!(ledger.snapshot_by_label(&label("b")).unwrap(), None);
}

fn label_follows_its_snapshot(ledger: &impl Ledger) {
    ledger.put_snapshot(&with_label(1, "old")).unwrap();
    ledger.put_snapshot(&with_label(1, "new")).unwrap();
    assert_eq!(ledger.snapshot_by_label(&label("old")).unwrap(), None);
    assert_eq!(id_of(ledger.snapshot_by_label(&label("new")).unwrap()), Some(snapshot_id(1)));
    ledger.put_snapshot(&with_label(2, "old")).unwrap();
    assert_eq!(id_of(ledger.snapshot_by_label(&label("old")).unwrap()), Some(snapshot_id(2)));
}

fn label_of_another_snapshot_is_refused_and_nothing_changes(ledger: &impl Ledger) {
    put(ledger, [ready(1), ready(2)]);
    for taker in [creating(3), ready(3), deleting(3), ready(2)] {
        let before = ledger.snapshot(&taker.snapshot_id).unwrap();
        let taker = SnapshotRecord { label: ready(1).label, ..taker };
        assert_eq!(ledger.put_snapshot(&taker).unwrap_err().code(), Code::LedgerUnavailable);
        assert_eq!(ledger.snapshot(&taker.snapshot_id).unwrap(), before);
    }
    assert_eq!(ledger.snapshot_by_label(&ready(1).label).unwrap(), Some(ready(1)));
    assert_eq!(ledger.snapshot_page(None, None, 10).unwrap(), [ready(2), ready(1)]);
}

fn label_is_free_once_its_snapshot_is_deleted(ledger: &impl Ledger) {
    let named = |snapshot: SnapshotRecord| SnapshotRecord { label: label("a"), ..snapshot };
    for number in 1..4 {
        ledger.put_snapshot(&named(creating(number))).unwrap();
        ledger.put_snapshot(&named(ready(number))).unwrap();
        ledger.put_snapshot(&named(deleting(number))).unwrap();
        assert!(ledger.put_snapshot(&named(ready(9))).is_err(), "it is not deleted yet");
        ledger.put_snapshot(&named(deleted(number, minute_after_start(60)))).unwrap();
        assert_eq!(ledger.snapshot_by_label(&label("a")).unwrap(), None);
    }
    ledger.put_snapshot(&named(ready(4))).unwrap();
    ledger.put_snapshot(&named(deleted(5, minute_after_start(60)))).unwrap();
    assert_eq!(id_of(ledger.snapshot_by_label(&label("a")).unwrap()), Some(snapshot_id(4)));
    assert!(ledger.put_snapshot(&named(ready(1))).is_err(), "another snapshot has the label now");
}

fn newest_deleted_snapshot_is_found_by_its_label(ledger: &impl Ledger) {
    let named = |snapshot: SnapshotRecord| SnapshotRecord { label: label("a"), ..snapshot };
    assert_eq!(ledger.deleted_snapshot_by_label(&label("a")).unwrap(), None);
    let at = minute_after_start(60);
    put(ledger, [named(deleted(2, at)), named(deleted(3, at)), named(deleted(1, at)), deleted(5, at)]);
    put(ledger, [named(ready(4))]);
    assert_eq!(id_of(ledger.deleted_snapshot_by_label(&label("a")).unwrap()), Some(snapshot_id(3)));
    assert_eq!(ledger.deleted_snapshot_by_label(&label("A")).unwrap(), None);
}

fn unfinished_snapshots_are_those_creating_or_deleting(ledger: &impl Ledger) {
    put(ledger, [creating(1), ready(2), deleting(3), deleted(4, minute_after_start(9))]);
    let unfinished = || sorted(ids(&ledger.unfinished_snapshots().unwrap()));
    assert_eq!(unfinished(), [1, 3].map(snapshot_id));
    ledger.put_snapshot(&ready(1)).unwrap();
    assert_eq!(unfinished(), [3].map(snapshot_id));
    put(ledger, [deleting(2), deleted(3, minute_after_start(9)), creating(5)]);
    assert_eq!(unfinished(), [2, 5].map(snapshot_id));
    ledger.delete_snapshot(&snapshot_id(5)).unwrap();
    assert_eq!(ledger.unfinished_snapshots().unwrap(), [deleting(2)]);
}

fn expiring_snapshots_are_ready_and_ordered_by_expiration(ledger: &impl Ledger) {
    let until = |snapshot, expires_at| SnapshotRecord { expires_at: Some(expires_at), ..snapshot };
    let (late, early, other) = (
        until(ready(1), minute_after_start(30)),
        until(ready(2), minute_after_start(10)),
        until(ready(3), minute_after_start(20)),
    );
    put(ledger, [late.clone(), early.clone(), other.clone(), ready(4)]);
    put(
        ledger,
        [creating(5), deleting(6), deleted(7, minute_after_start(9))]
            .map(|snapshot| until(snapshot, minute_after_start(0))),
    );
    assert_eq!(ledger.expiring_snapshots(minute_after_start(30), 10).unwrap(), [early.clone(), other.clone(), late]);
    assert_eq!(ledger.expiring_snapshots(minute_after_start(20), 10).unwrap(), [early.clone(), other]);
    assert_eq!(ledger.expiring_snapshots(minute_after_start(20), 1).unwrap(), [early]);
    assert_eq!(ledger.expiring_snapshots(minute_after_start(10).plus_millis(-1), 10).unwrap(), []);
}

fn latest_expiration_of_a_snapshot_applies(ledger: &impl Ledger) {
    let until = |expires_at| SnapshotRecord { expires_at, ..ready(1) };
    let due = |at| ledger.expiring_snapshots(at, 10).unwrap().len();
    ledger.put_snapshot(&until(Some(minute_after_start(10)))).unwrap();
    ledger.put_snapshot(&until(Some(minute_after_start(20)))).unwrap();
    assert_eq!((due(minute_after_start(19)), due(minute_after_start(20))), (0, 1));
    ledger.put_snapshot(&until(None)).unwrap();
    assert_eq!(due(Timestamp::MAX), 0);
    ledger.put_snapshot(&until(Some(minute_after_start(10)))).unwrap();
    assert_eq!(due(minute_after_start(10)), 1);
    ledger.put_snapshot(&deleting(1)).unwrap();
    assert_eq!(due(Timestamp::MAX), 0);
}

fn tombstones_are_deleted_when_older_than_the_limit(ledger: &impl Ledger) {
    put(
        ledger,
        [creating(1), ready(2), deleting(3), deleted(4, minute_after_start(10)), deleted(5, minute_after_start(20))],
    );
    assert!(ledger.delete_tombstones(minute_after_start(10)).unwrap());
    assert_eq!(
        ledger.snapshot(&snapshot_id(4)).unwrap(),
        Some(deleted(4, minute_after_start(10))),
        "it is as old as the limit, not older"
    );
    assert!(ledger.delete_tombstones(minute_after_start(10).plus_millis(1)).unwrap(), "another tombstone remains");
    assert_eq!(ledger.snapshot(&snapshot_id(4)).unwrap(), None);
    ledger.put_snapshot(&deleted(5, minute_after_start(30))).unwrap();
    assert!(ledger.delete_tombstones(minute_after_start(30)).unwrap(), "its removal was moved to a later time");
    assert!(!ledger.delete_tombstones(Timestamp::MAX).unwrap());
    assert_eq!(ledger.snapshot_page(None, None, 10).unwrap(), [deleting(3), ready(2), creating(1)]);
}

fn id_of(snapshot: Option<SnapshotRecord>) -> Option<SnapshotId> {
    snapshot.map(|snapshot| snapshot.snapshot_id)
}
