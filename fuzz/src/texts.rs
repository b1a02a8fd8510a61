//! Texts of a form of their own: ids, names, labels, directories, marks, stamps, cursors, times, origins. The input is one.

use sandbox_snapshotter::model::named::{Address, ContainerMarker, Tenant, WorkspaceName};
use sandbox_snapshotter::model::request::{SnapshotCursor, ToolWorkspace};
use sandbox_snapshotter::model::web_origin::is_web_origin;
use sandbox_snapshotter::model::{
    BackupId, BackupOwner, CheckpointDescription, CheckpointName, DerivationKind, Directory, Error, Label, Result,
    SandboxId, ShortId, SigningKey, SnapshotId, Timestamp, derivation_kind_of, mint_sandbox_id, root_of,
};

use super::rules::{kept, legible, spelled};

/// See the module.
pub fn read(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return draws(data) };
    draws(data);
    each(text, SandboxId::parse, SandboxId::as_str, sandbox);
    each(text, SnapshotId::parse, SnapshotId::as_str, |id| assert_eq!(id.as_str().len(), 21));
    each(text, BackupId::parse, BackupId::as_str, |id| assert!(!id.as_str().contains(['/', '.'])));
    each(text, Label::parse, Label::as_str, |label| assert!(!label.as_str().contains(char::is_control)));
    each(text, Directory::parse, Directory::as_str, |dir| {
        assert!(dir.as_str().starts_with('/') && dir.as_str().split('/').all(|part| part != ".."));
    });
    each(text, CheckpointName::parse, CheckpointName::as_str, |_| ());
    each(text, CheckpointDescription::parse, CheckpointDescription::as_str, |_| ());
    each(text, WorkspaceName::parse, WorkspaceName::as_str, name_of);
    each(text, Tenant::parse, Tenant::as_str, |_| ());
    match Address::parse(text) {
        Ok(address) => {
            assert_eq!(address.to_string(), text);
            kept(&address);
        }
        Err(error) => legible(&error),
    }
    match SnapshotCursor::parse(text) {
        Ok(cursor) => spelled(&cursor, SnapshotCursor::parse),
        Err(error) => legible(&error),
    }
    if let Some(mark) = BackupOwner::parse(text) {
        assert_eq!(mark.to_string(), text);
        assert!(text.chars().count() <= 256, "the SDK takes no name of that length");
    }
    if let Some(stamp) = ContainerMarker::parse(text) {
        assert_eq!(ContainerMarker::parse(&stamp.to_string()), Some(stamp));
    }
    if let Ok(time) = Timestamp::try_from(text.to_owned()) {
        spelled(&time, |text| Timestamp::try_from(text.to_owned()));
        assert_eq!(time.compact().len(), 15, "{time}");
        kept(&time);
    }
    if is_web_origin(text) {
        assert!(!text.contains([' ', ',', '*', '@', '?', '#']));
    }
    for is_flat in [true, false] {
        assert!(ToolWorkspace::to_tool_name(text, is_flat).len() <= 64);
    }
}

/// What was taken is exactly what was given, and what was not is refused legibly.
fn each<T>(text: &str, parse: fn(&str) -> Result<T, Error>, as_str: fn(&T) -> &str, holds: impl Fn(&T)) {
    match parse(text) {
        Ok(value) => {
            assert_eq!(as_str(&value), text);
            holds(&value);
        }
        Err(error) => legible(&error),
    }
}

/// Every sandbox can be restored and branched from, however deep its lineage is.
fn sandbox(id: &SandboxId) {
    let short = ShortId::from_random(&[7; 32]).expect("it is drawn");
    for lineage in DerivationKind::ALL {
        let minted = mint_sandbox_id(id, lineage, &short).expect("it is minted");
        assert_eq!(derivation_kind_of(&minted), Some(lineage));
        assert!(mint_sandbox_id(&minted, lineage, &short).is_ok());
        assert_eq!(root_of(&root_of(&minted)), root_of(&minted));
    }
    let snapshot_id = SnapshotId::draw(&[7; 32]).expect("it is drawn");
    let mark = BackupOwner { snapshot_id, origin_id: id.clone() };
    assert_eq!(BackupOwner::parse(&mark.to_string()), Some(mark));
}

fn name_of(name: &WorkspaceName) {
    assert!(name.random_sandbox_id(&[7; 32]).is_some());
    assert!(name.default_fork_name("abcdefgh").is_ok());
    spelled(&Address::in_default_tenant(name.clone()), Address::parse);
}

/// What is drawn from random bytes has the form of what is read.
fn draws(random: &[u8]) {
    if let Some(id) = SnapshotId::draw(random) {
        spelled(&id, SnapshotId::parse);
    }
    let seal = SigningKey::new(1, [7; 32]);
    if let Some(id) = SnapshotId::mint(random, &seal) {
        assert!(id.is_minted_with(&seal) && !id.is_minted_with(&SigningKey::new(1, [8; 32])));
    }
}
