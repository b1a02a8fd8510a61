//! The owner that the name of a backup states.

use proptest::prelude::*;
use sandbox_snapshotter::model::{BackupOwner, SnapshotId};

use super::support::{any_sandbox, cases, sandbox, utf16_units};

fn owner(origin: &str) -> BackupOwner {
    BackupOwner { snapshot_id: SnapshotId::parse("snap-abcdefghij012345").unwrap(), origin_id: sandbox(origin) }
}

#[test]
fn owner_text_names_the_product_the_snapshot_and_the_origin() {
    assert_eq!(owner("agent-42").to_string(), "snapshotter/1 snap-abcdefghij012345 agent-42");
}

#[test]
fn owner_text_keeps_blanks_in_the_origin() {
    for origin in [" agent  42 ", "snapshotter/1 x"] {
        assert_eq!(BackupOwner::parse(&owner(origin).to_string()), Some(owner(origin)));
    }
}

#[test]
fn other_names_have_no_owner() {
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
    fn owner_text_of_any_origin_round_trips(origin in any_sandbox(), random in any::<[u8; 32]>()) {
        let owner = BackupOwner { snapshot_id: SnapshotId::draw(&random).unwrap(), origin_id: origin };
        prop_assert_eq!(BackupOwner::parse(&owner.to_string()), Some(owner));
    }

    #[test]
    fn owner_text_of_any_origin_is_a_valid_name_for_the_sdk(origin in any_sandbox()) {
        let name = owner(origin.as_str()).to_string();
        prop_assert!(utf16_units(&name) <= 256 && !name.chars().any(char::is_control));
    }

    #[test]
    fn parsing_accepts_any_name(name in any::<String>()) {
        if let Some(owner) = BackupOwner::parse(&name) {
            prop_assert_eq!(owner.to_string(), name);
        }
    }
}
