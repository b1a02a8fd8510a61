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
        case!(page_lists_undeleted_snapshots_newest_first),
        case!(pages_contain_each_snapshot_once),
        case!(snapshots_of_the_same_time_are_ordered_by_id),
        case!(page_begins_after_its_cursor_even_if_that_snapshot_is_missing),
        case!(snapshot_moves_when_its_time_changes),
        case!(prefix_is_compared_exactly),
        case!(pages_of_a_prefix_contain_each_snapshot_once),
    ]
}

fn page_lists_undeleted_snapshots_newest_first(ledger: &impl Ledger) {
    put(ledger, [ready(3), creating(1), deleted(4, minute_after_start(9)), deleting(2), ready(5)]);
    assert_eq!(ledger.snapshot_page(None, None, 10).unwrap(), [ready(5), ready(3), deleting(2), creating(1)]);
    assert_eq!(ledger.snapshot_page(None, None, 2).unwrap(), [ready(5), ready(3)]);
    assert_eq!(ledger.snapshot_page(None, None, 0).unwrap(), []);
}

fn pages_contain_each_snapshot_once(ledger: &impl Ledger) {
    put(ledger, (1..=20).map(ready));
    for limit in [1, 3, 7, 20, 21, u32::MAX] {
        assert_eq!(
            all_pages(ledger, None, limit),
            (1..=20).rev().map(snapshot_id).collect::<Vec<_>>(),
            "limit {limit}"
        );
    }
}

fn snapshots_of_the_same_time_are_ordered_by_id(ledger: &impl Ledger) {
    let at_once = |number| SnapshotRecord { began_at: minute_after_start(1), ..creating(number) };
    put(ledger, [creating(0), at_once(4), at_once(2), at_once(5), at_once(3), creating(6)]);
    for limit in [1, 2, 6] {
        assert_eq!(all_pages(ledger, None, limit), [6, 5, 4, 3, 2, 0].map(snapshot_id), "limit {limit}");
    }
}

fn page_begins_after_its_cursor_even_if_that_snapshot_is_missing(ledger: &impl Ledger) {
    put(ledger, (1..=6).map(ready));
    let after = |cursor: SnapshotCursor| ids(&ledger.snapshot_page(Some(&cursor), None, 2).unwrap());
    assert_eq!(after(cursor(&ready(4))), [3, 2].map(snapshot_id));
    ledger.delete_snapshot(&snapshot_id(4)).unwrap();
    assert_eq!(after(cursor(&ready(4))), [3, 2].map(snapshot_id), "its row was deleted");
    ledger.put_snapshot(&deleted(4, minute_after_start(9))).unwrap();
    assert_eq!(after(cursor(&ready(4))), [3, 2].map(snapshot_id), "the snapshot was deleted");
    assert_eq!(after(cursor(&ready(1))), []);
    assert_eq!(after(SnapshotCursor { created_at: minute_after_start(-9), snapshot_id: snapshot_id(9) }), []);
    assert_eq!(
        after(SnapshotCursor { created_at: Timestamp::MAX, snapshot_id: snapshot_id(0) }),
        [6, 5].map(snapshot_id)
    );
    assert_eq!(
        after(SnapshotCursor { created_at: minute_after_start(3), snapshot_id: snapshot_id(9) }),
        [3, 2].map(snapshot_id)
    );
}

fn snapshot_moves_when_its_time_changes(ledger: &impl Ledger) {
    put(ledger, [creating(1), ready(2)]);
    let begun_late = SnapshotRecord { began_at: minute_after_start(3), ..creating(1) };
    ledger.put_snapshot(&begun_late).unwrap();
    assert_eq!(ledger.snapshot_page(None, None, 10).unwrap(), [begun_late, ready(2)]);
    let stored_early = SnapshotRecord { began_at: minute_after_start(3), ..ready(1) };
    ledger.put_snapshot(&stored_early).unwrap();
    assert_eq!(ledger.snapshot_page(None, None, 10).unwrap(), [ready(2), stored_early]);
}

fn prefix_is_compared_exactly(ledger: &impl Ledger) {
    put(ledger, CONFUSABLE_TEXTS.iter().zip(1..).map(|(text, number)| with_label(number, text)));
    let prefixes = ["", "b", "%", "_", "a\u{10ffff}bb", "\u{10ffff}", "a\u{10ffff}", "\u{d7ff}", "\u{7f}", "a\0"];
    for prefix in prefixes.iter().chain(&CONFUSABLE_TEXTS) {
        let expected: Vec<_> = CONFUSABLE_TEXTS.iter().zip(1..).filter(|(text, _)| text.starts_with(prefix)).collect();
        let expected: Vec<_> = expected.iter().rev().map(|(_, number)| snapshot_id(*number)).collect();
        assert_eq!(ids(&ledger.snapshot_page(None, Some(prefix), 100).unwrap()), expected, "{prefix:?}");
    }
}

fn pages_of_a_prefix_contain_each_snapshot_once(ledger: &impl Ledger) {
    put(
        ledger,
        (1..=20).map(|number| with_label(number, &format!("{}-{number}", if number % 2 == 0 { "a" } else { "b" }))),
    );
    ledger.put_snapshot(&deleted(4, minute_after_start(9))).unwrap();
    for limit in [1, 3, 9, 10] {
        let expected = [20, 18, 16, 14, 12, 10, 8, 6, 2].map(snapshot_id);
        assert_eq!(all_pages(ledger, Some("a-"), limit), expected, "limit {limit}");
    }
}

/// The ids on all pages, each page read with the cursor of the one before.
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
        assert!(found.len() < 100, "the pages do not end");
    }
}

fn cursor(snapshot: &SnapshotRecord) -> SnapshotCursor {
    SnapshotCursor { created_at: snapshot.created_at(), snapshot_id: snapshot.snapshot_id.clone() }
}
