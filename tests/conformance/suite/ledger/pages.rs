//! Pages of snapshots.

use sandbox_snapshotter::model::record::SnapshotRecord;
use sandbox_snapshotter::model::request::SnapshotCursor;
use sandbox_snapshotter::model::{SnapshotId, Timestamp};
use sandbox_snapshotter::ports::Ledger;

use super::rows::{creating, deleted, deleting, minute_after_start, ready, snapshot_id, with_label};
use super::{CONFUSABLE_TEXTS, ids, put};
use crate::suite::Case;

pub fn cases<L: Ledger>() -> Vec<Case<L>> {
    vec![
        case!(a_page_has_what_is_not_deleted_the_newest_first),
        case!(pages_together_have_each_snapshot_once),
        case!(a_page_of_snapshots_of_one_time_goes_by_their_ids),
        case!(a_page_begins_behind_its_cursor_whether_or_not_that_snapshot_is_there),
        case!(a_snapshot_moves_on_its_page_when_its_time_changes),
        case!(a_prefix_is_taken_to_the_letter),
        case!(pages_of_a_prefix_together_have_each_snapshot_once),
    ]
}

fn a_page_has_what_is_not_deleted_the_newest_first(ledger: &impl Ledger) {
    put(ledger, [ready(3), creating(1), deleted(4, minute_after_start(9)), deleting(2), ready(5)]);
    assert_eq!(ledger.snapshot_page(None, None, 10).unwrap(), [ready(5), ready(3), deleting(2), creating(1)]);
    assert_eq!(ledger.snapshot_page(None, None, 2).unwrap(), [ready(5), ready(3)]);
    assert_eq!(ledger.snapshot_page(None, None, 0).unwrap(), []);
}

fn pages_together_have_each_snapshot_once(ledger: &impl Ledger) {
    put(ledger, (1..=20).map(ready));
    for limit in [1, 3, 7, 20, 21, u32::MAX] {
        assert_eq!(all_pages(ledger, None, limit), (1..=20).rev().map(snapshot_id).collect::<Vec<_>>(), "by {limit}");
    }
}

fn a_page_of_snapshots_of_one_time_goes_by_their_ids(ledger: &impl Ledger) {
    let at_once = |number| SnapshotRecord { began_at: minute_after_start(1), ..creating(number) };
    put(ledger, [creating(0), at_once(4), at_once(2), at_once(5), at_once(3), creating(6)]);
    for limit in [1, 2, 6] {
        assert_eq!(all_pages(ledger, None, limit), [6, 5, 4, 3, 2, 0].map(snapshot_id), "by {limit}");
    }
}

fn a_page_begins_behind_its_cursor_whether_or_not_that_snapshot_is_there(ledger: &impl Ledger) {
    put(ledger, (1..=6).map(ready));
    let behind = |cursor: SnapshotCursor| ids(&ledger.snapshot_page(Some(&cursor), None, 2).unwrap());
    assert_eq!(behind(cursor(&ready(4))), [3, 2].map(snapshot_id));
    ledger.delete_snapshot(&snapshot_id(4)).unwrap();
    assert_eq!(behind(cursor(&ready(4))), [3, 2].map(snapshot_id), "it was forgotten");
    ledger.put_snapshot(&deleted(4, minute_after_start(9))).unwrap();
    assert_eq!(behind(cursor(&ready(4))), [3, 2].map(snapshot_id), "it was deleted");
    assert_eq!(behind(cursor(&ready(1))), []);
    assert_eq!(behind(SnapshotCursor { created_at: minute_after_start(-9), snapshot_id: snapshot_id(9) }), []);
    assert_eq!(
        behind(SnapshotCursor { created_at: Timestamp::MAX, snapshot_id: snapshot_id(0) }),
        [6, 5].map(snapshot_id)
    );
    assert_eq!(
        behind(SnapshotCursor { created_at: minute_after_start(3), snapshot_id: snapshot_id(9) }),
        [3, 2].map(snapshot_id)
    );
}

fn a_snapshot_moves_on_its_page_when_its_time_changes(ledger: &impl Ledger) {
    put(ledger, [creating(1), ready(2)]);
    let begun_late = SnapshotRecord { began_at: minute_after_start(3), ..creating(1) };
    ledger.put_snapshot(&begun_late).unwrap();
    assert_eq!(ledger.snapshot_page(None, None, 10).unwrap(), [begun_late, ready(2)]);
    let stored_early = SnapshotRecord { began_at: minute_after_start(3), ..ready(1) };
    ledger.put_snapshot(&stored_early).unwrap();
    assert_eq!(ledger.snapshot_page(None, None, 10).unwrap(), [ready(2), stored_early]);
}

fn a_prefix_is_taken_to_the_letter(ledger: &impl Ledger) {
    put(ledger, CONFUSABLE_TEXTS.iter().zip(1..).map(|(text, number)| with_label(number, text)));
    let prefixes = ["", "b", "%", "_", "a\u{10ffff}bb", "\u{10ffff}", "a\u{10ffff}", "\u{d7ff}", "\u{7f}", "a\0"];
    for prefix in prefixes.iter().chain(&CONFUSABLE_TEXTS) {
        let wanted: Vec<_> = CONFUSABLE_TEXTS.iter().zip(1..).filter(|(text, _)| text.starts_with(prefix)).collect();
        let wanted: Vec<_> = wanted.iter().rev().map(|(_, number)| snapshot_id(*number)).collect();
        assert_eq!(ids(&ledger.snapshot_page(None, Some(prefix), 100).unwrap()), wanted, "{prefix:?}");
    }
}

fn pages_of_a_prefix_together_have_each_snapshot_once(ledger: &impl Ledger) {
    put(
        ledger,
        (1..=20).map(|number| with_label(number, &format!("{}-{number}", if number % 2 == 0 { "a" } else { "b" }))),
    );
    ledger.put_snapshot(&deleted(4, minute_after_start(9))).unwrap();
    for limit in [1, 3, 9, 10] {
        let wanted = [20, 18, 16, 14, 12, 10, 8, 6, 2].map(snapshot_id);
        assert_eq!(all_pages(ledger, Some("a-"), limit), wanted, "by {limit}");
    }
}

/// The ids on all pages, each with the cursor of the one before.
fn all_pages(ledger: &impl Ledger, prefix: Option<&str>, limit: u32) -> Vec<SnapshotId> {
    let mut found: Vec<SnapshotRecord> = Vec::new();
    loop {
        let after = found.last().map(cursor);
        let page = ledger.snapshot_page(after.as_ref(), prefix, limit).unwrap();
        if page.is_empty() {
            return ids(&found);
        }
        assert!(page.len() <= limit as usize);
        found.extend(page);
        assert!(found.len() < 100, "the pages have no end");
    }
}

fn cursor(snapshot: &SnapshotRecord) -> SnapshotCursor {
    SnapshotCursor { created_at: snapshot.created_at(), snapshot_id: snapshot.snapshot_id.clone() }
}
