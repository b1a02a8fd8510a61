//! Texts with a syntax: ids, names, labels, directories, backup owners, container markers, cursors, times, origins. The
//! input is one text.

use sandbox_snapshotter::model::named::{Address, ContainerMarker, Tenant, WorkspaceName};
use sandbox_snapshotter::model::request::{SnapshotCursor, ToolWorkspace};
use sandbox_snapshotter::model::web_origin::is_web_origin;
use sandbox_snapshotter::model::{
    BackupId, BackupOwner, CheckpointDescription, CheckpointName, DerivationKind, Directory, Error, Label, Result,
    SandboxId, ShortId, SigningKey, SnapshotId, Timestamp, derivation_kind_of, is_minted_with, mint_sandbox_id,
    mint_snapshot_id, root_of,
};

use super::rules::{assert_json_round_trip, assert_legible, assert_text_round_trip};

/// See the module.
pub fn read(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return check_random(data) };
    check_random(data);
    check(text, SandboxId::parse, SandboxId::as_str, check_sandbox_id);
    check(text, SnapshotId::parse, SnapshotId::as_str, |id| assert_eq!(id.as_str().len(), 21));
    check(text, BackupId::parse, BackupId::as_str, |id| assert!(!id.as_str().contains(['/', '.'])));
    check(text, Label::parse, Label::as_str, |label| assert!(!label.as_str().contains(char::is_control)));
    check(text, Directory::parse, Directory::as_str, |dir| {
        assert!(dir.as_str().starts_with('/') && dir.as_str().split('/').all(|part| part != ".."));
    });
    check(text, CheckpointName::parse, CheckpointName::as_str, |_| ());
    check(text, CheckpointDescription::parse, CheckpointDescription::as_str, |_| ());
    check(text, WorkspaceName::parse, WorkspaceName::as_str, check_name);
    check(text, Tenant::parse, Tenant::as_str, |_| ());
    match Address::parse(text) {
        Ok(address) => {
            assert_eq!(address.to_string(), text);
            assert_json_round_trip(&address);
        }
        Err(error) => assert_legible(&error),
    }
    match SnapshotCursor::parse(text) {
        Ok(cursor) => assert_text_round_trip(&cursor, SnapshotCursor::parse),
        Err(error) => assert_legible(&error),
    }
    if let Some(owner) = BackupOwner::parse(text) {
        assert_eq!(owner.to_string(), text);
        assert!(text.chars().count() <= 256, "the SDK accepts at most 256 characters");
    }
    if let Some(marker) = ContainerMarker::parse(text) {
        assert_eq!(ContainerMarker::parse(&marker.to_string()), Some(marker));
    }
    if let Ok(time) = Timestamp::try_from(text.to_owned()) {
        assert_text_round_trip(&time, |text| Timestamp::try_from(text.to_owned()));
        assert_eq!(time.compact().len(), 15, "{time}");
        assert_json_round_trip(&time);
    }
    if is_web_origin(text) {
        assert!(!text.contains([' ', ',', '*', '@', '?', '#']));
    }
    for is_flat in [true, false] {
        assert!(ToolWorkspace::to_tool_name(text, is_flat).len() <= 64);
    }
}

/// Asserts that a parsed text is unchanged, and that a rejected text has a legible error.
fn check<T>(text: &str, parse: fn(&str) -> Result<T, Error>, as_str: fn(&T) -> &str, holds: impl Fn(&T)) {
    match parse(text) {
        Ok(value) => {
            assert_eq!(as_str(&value), text);
            holds(&value);
        }
        Err(error) => assert_legible(&error),
    }
}

/// Asserts that every sandbox can be restored and branched from, at any depth of its lineage.
fn check_sandbox_id(id: &SandboxId) {
    let short = ShortId::from_random(&[7; 32]).expect("a short id");
    for lineage in DerivationKind::ALL {
        let minted = mint_sandbox_id(id, lineage, &short).expect("a minted id");
        assert_eq!(derivation_kind_of(&minted), Some(lineage));
        assert!(mint_sandbox_id(&minted, lineage, &short).is_ok());
        assert_eq!(root_of(&root_of(&minted)), root_of(&minted));
    }
    let snapshot_id = SnapshotId::draw(&[7; 32]).expect("a snapshot id");
    let owner = BackupOwner { snapshot_id, origin_id: id.clone() };
    assert_eq!(BackupOwner::parse(&owner.to_string()), Some(owner));
}

fn check_name(name: &WorkspaceName) {
    assert!(name.random_sandbox_id(&[7; 32]).is_some());
    assert!(name.default_fork_name("abcdefgh").is_ok());
    assert_text_round_trip(&Address::in_default_tenant(name.clone()), Address::parse);
}

/// Asserts that ids made of random bytes have the syntax of ids.
fn check_random(random: &[u8]) {
    if let Some(id) = SnapshotId::draw(random) {
        assert_text_round_trip(&id, SnapshotId::parse);
    }
    let key = SigningKey::new(1, [7; 32]);
    if let Some(id) = mint_snapshot_id(random, &key) {
        assert!(is_minted_with(&id, &key) && !is_minted_with(&id, &SigningKey::new(1, [8; 32])));
    }
}
