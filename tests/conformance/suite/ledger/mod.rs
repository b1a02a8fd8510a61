//! The ledger of a workspace.
//!
//! - `workspace`: the workspace itself, and its alarm
//! - `snapshots`: snapshots one by one, `pages`: many of them
//! - `derivations`: what was made from them
//! - `calls`: calls with an idempotency key
//! - `rows`: the rows that the cases keep

mod calls;
mod derivations;
mod pages;
pub mod rows;
mod snapshots;
mod workspace;

use sandbox_snapshotter::model::SnapshotId;
use sandbox_snapshotter::model::record::SnapshotRecord;
use sandbox_snapshotter::ports::Ledger;

use crate::suite::Case;

/// What holds for every ledger. Each case wants an empty one.
pub fn cases<L: Ledger>() -> Vec<Case<L>> {
    [workspace::cases(), snapshots::cases(), pages::cases(), derivations::cases(), calls::cases()]
        .into_iter()
        .flatten()
        .collect()
}

/// Texts that are easily taken for each other, or for something else than text.
const CONFUSABLE_TEXTS: [&str; 17] = [
    "a",
    "A",
    "aa",
    "a b",
    "a%",
    "a_",
    "a*",
    "a?",
    "a'",
    "a\"",
    "a\\",
    "a;--x",
    "a1.0",
    "ä",
    "a\u{308}",
    "🗂",
    "a\u{10ffff}b",
];

fn put(ledger: &impl Ledger, snapshots: impl IntoIterator<Item = SnapshotRecord>) {
    for snapshot in snapshots {
        ledger.put_snapshot(&snapshot).unwrap();
    }
}

fn ids(snapshots: &[SnapshotRecord]) -> Vec<SnapshotId> {
    snapshots.iter().map(|snapshot| snapshot.snapshot_id.clone()).collect()
}

fn sorted<T: Ord>(mut list: Vec<T>) -> Vec<T> {
    list.sort();
    list
}
