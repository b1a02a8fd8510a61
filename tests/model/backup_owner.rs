//! The product's own mark on its backups.

use proptest::prelude::*;
use sandbox_snapshotter::model::{BackupOwner, SnapshotId};

use super::support::{any_sandbox, cases, sandbox, utf16_units};

fn mark(origin: &str) -> BackupOwner {
    BackupOwner { snapshot_id: SnapshotId::parse("snap-abcdefghij012345").unwrap(), origin_id: sandbox(origin) }
}

#[test]
fn a_mark_names_the_product_the_snapshot_and_the_origin() {
    assert_eq!(mark("agent-42").to_string(), "snapshotter/1 snap-abcdefghij012345 agent-42");
}

#[test]
fn blanks_in_the_origin_belong_to_it() {
    for origin in [" agent  42 ", "snapshotter/1 x"] {
        assert_eq!(BackupOwner::parse(&mark(origin).to_string()), Some(mark(origin)));
    }
}

#[test]
fn nothing_else_is_a_mark() {
    let names = [
        "",
        "nightly",
        "snapshotter/1",
        "snapshotter/1 ",
        "snapshotter/1 snap-abcdefghij012345",
        "snapshotter/1 snap-abcdefghij012345 ",
        "snapshotter/1 snap-abcdefghij012345 -",
        "snapshotter/1 snap-abcdefghij012345 api",
        "snapshotter/1 snap-x agent-42",
        "snapshotter/1  snap-abcdefghij012345 agent-42",
        "snapshotter/2 snap-abcdefghij012345 agent-42",
        "Snapshotter/1 snap-abcdefghij012345 agent-42",
        " snapshotter/1 snap-abcdefghij012345 agent-42",
        "snapshotter/10 snap-abcdefghij012345 agent-42",
    ];
    for name in names {
        assert_eq!(BackupOwner::parse(name), None, "{name:?}");
    }
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn a_mark_of_any_origin_is_read_as_it_was_written(origin in any_sandbox(), random in any::<[u8; 32]>()) {
        let mark = BackupOwner { snapshot_id: SnapshotId::draw(&random).unwrap(), origin_id: origin };
        prop_assert_eq!(BackupOwner::parse(&mark.to_string()), Some(mark));
    }

    #[test]
    fn a_mark_of_any_origin_is_a_name_that_the_sdk_takes(origin in any_sandbox()) {
        let name = mark(origin.as_str()).to_string();
        prop_assert!(utf16_units(&name) <= 256 && !name.chars().any(char::is_control));
    }

    #[test]
    fn any_name_can_be_looked_at(name in any::<String>()) {
        if let Some(mark) = BackupOwner::parse(&name) {
            prop_assert_eq!(mark.to_string(), name);
        }
    }
}
