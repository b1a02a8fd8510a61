//! The row of the sandbox itself, and the alarm.

use sandbox_snapshotter::model::Timestamp;
use sandbox_snapshotter::model::record::SandboxRecord;
use sandbox_snapshotter::ports::Ledger;

use super::rows::{label, minute_after_start, sandbox, sandbox_record, snapshot_id};
use crate::suite::Case;

pub fn cases<L: Ledger>() -> Vec<Case<L>> {
    vec![
        case!(new_ledger_is_empty),
        case!(deletes_of_missing_rows_succeed),
        case!(sandbox_is_stored_and_replaced_completely),
        case!(alarm_is_set_moved_and_removed),
    ]
}

fn new_ledger_is_empty(ledger: &impl Ledger) {
    assert_eq!(ledger.sandbox().unwrap(), None);
    assert_eq!(ledger.snapshot(&snapshot_id(1)).unwrap(), None);
    assert_eq!(ledger.snapshot_by_label(&label("a")).unwrap(), None);
    assert_eq!(ledger.snapshot_page(None, None, 10).unwrap(), []);
    assert_eq!(ledger.snapshot_page(None, Some("a"), 10).unwrap(), []);
    assert_eq!(ledger.unfinished_snapshots().unwrap(), []);
    assert_eq!(ledger.expiring_snapshots(Timestamp::MAX, 10).unwrap(), []);
    assert_eq!(ledger.derived_sandbox(&sandbox("a")).unwrap(), None);
    assert_eq!(ledger.derived_from(&[snapshot_id(1)]).unwrap(), []);
    assert_eq!(ledger.derived_sandboxes().unwrap(), []);
    assert_eq!(ledger.unfinished_sandboxes().unwrap(), []);
    assert_eq!(ledger.idempotency_record("a").unwrap(), None);
    assert_eq!(ledger.unanswered_calls().unwrap(), []);
    assert_eq!(ledger.releases().unwrap(), []);
    assert_eq!(ledger.alarm().unwrap(), None);
}

fn deletes_of_missing_rows_succeed(ledger: &impl Ledger) {
    ledger.delete_snapshot(&snapshot_id(1)).unwrap();
    ledger.delete_derived_sandbox(&sandbox("a")).unwrap();
    ledger.delete_idempotency_record("a").unwrap();
    ledger.delete_release(&snapshot_id(1)).unwrap();
    assert!(!ledger.delete_tombstones(Timestamp::MAX).unwrap());
    assert!(!ledger.delete_answered_calls(Timestamp::MAX).unwrap());
    ledger.set_alarm(None).unwrap();
}

fn sandbox_is_stored_and_replaced_completely(ledger: &impl Ledger) {
    ledger.set_alarm(Some(minute_after_start(1))).unwrap();
    assert_eq!(ledger.sandbox().unwrap(), None, "an alarm does not create the row");
    ledger.put_sandbox(&sandbox_record()).unwrap();
    assert_eq!(ledger.sandbox().unwrap(), Some(sandbox_record()));
    let other = SandboxRecord { parent: None, keys: Vec::new(), ..sandbox_record() };
    ledger.put_sandbox(&other).unwrap();
    assert_eq!(ledger.sandbox().unwrap(), Some(other));
    assert_eq!(ledger.alarm().unwrap(), Some(minute_after_start(1)), "the row does not change the alarm");
}

fn alarm_is_set_moved_and_removed(ledger: &impl Ledger) {
    for at in [
        Some(minute_after_start(60)),
        Some(minute_after_start(30)),
        None,
        None,
        Some(Timestamp::MAX),
        Some(minute_after_start(90)),
    ] {
        ledger.set_alarm(at).unwrap();
        assert_eq!(ledger.alarm().unwrap(), at);
    }
}
