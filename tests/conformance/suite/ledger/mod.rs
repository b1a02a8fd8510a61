//! The ledger of one sandbox.
//!
//! - `sandbox`: the row of the sandbox itself, and the alarm
//! - `snapshots`: single snapshots, `pages`: pages of snapshots
//! - `derivations`: the sandboxes that were made from snapshots
//! - `calls`: calls with an idempotency key
//! - `rows`: the rows that the cases store

mod calls;
mod derivations;
mod pages;
pub mod rows;
mod sandbox;
mod snapshots;

use sandbox_snapshotter::model::SnapshotId;
use sandbox_snapshotter::model::record::SnapshotRecord;
use sandbox_snapshotter::ports::Ledger;

use crate::suite::Case;

/// All cases of the ledger. Each needs an empty ledger.
pub fn cases<L: Ledger>() -> Vec<Case<L>> {
    [sandbox::cases(), snapshots::cases(), pages::cases(), derivations::cases(), calls::cases()]
        .into_iter()
        .flatten()
        .collect()
}

/// Texts that a faulty implementation could confuse with each other, or could interpret as SQL or as patterns.
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
