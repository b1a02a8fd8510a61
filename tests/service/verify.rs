//! Whether a snapshot can be restored is found out in R2, and no container is started for it.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Failure, SnapshotRef};
use sandbox_snapshotter::ports::Ledger;
use serde_json::{Value, json};

use super::support::{Checked, HOUR, Method, Stage, World, by_label, by_ref};

/// Verifies a snapshot after something happened in R2.
fn verified_when(change: impl FnOnce(&World)) -> (Stage, Value) {
    let (stage, snapshot) = Stage::with_snapshot();
    change(&stage.world);
    let verification = stage.run(Operation::Verify, &by_ref(&snapshot)).unwrap();
    let of_r2 = |method: &Method| matches!(method, Method::Metadata | Method::Archive | Method::ArchiveHead);
    assert!(stage.world.calls().iter().all(|(method, _)| of_r2(method)), "{:?}", stage.world.calls());
    (stage, verification)
}

/// The names of the checks that found something wrong.
fn wrong(verification: &Value) -> Vec<&str> {
    let checks = verification["checks"].as_array().unwrap().iter();
    checks.filter(|check| check["ok"] == false).map(|check| check["name"].as_str().unwrap()).collect()
}

/// Makes sure that one check finds the damage, that all others find none, and that the damage is remembered.
fn found(name: &str, damage: impl FnOnce(&World)) -> String {
    let (stage, verification) = verified_when(damage);
    assert_eq!((&verification["ok"], wrong(&verification)), (&json!(false), vec![name]), "{verification}");
    let page = stage.run(Operation::List, &json!({ "sandboxId": "agent-42", "check": false })).unwrap();
    assert_eq!(page["snapshots"][0]["restorable"], "no");
    let checks = verification["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["ok"] == false).unwrap();
    assert_eq!(page["snapshots"][0]["why"], check["detail"]);
    check["detail"].as_str().unwrap().to_owned()
}

#[test]
fn a_whole_snapshot_passes_every_check() {
    let (stage, verification) = verified_when(|_| {});
    assert_eq!(verification["ok"], true);
    let names: Vec<_> = verification["checks"].as_array().unwrap().iter().map(|check| &check["name"]).collect();
    assert_eq!(names, ["objects", "header", "checksum"]);
    assert!(verification["checks"].as_array().unwrap().iter().all(|check| check["ok"] == true), "{verification}");
    assert_eq!(verification["verifiedAt"], json!(stage.world.moment()));
}

#[test]
fn a_missing_object_is_found() {
    assert!(found("objects", |world| world.spoil(|backup| backup.archive = None)).contains("archive is missing"));
    assert!(found("objects", |world| world.spoil(|backup| backup.metadata = None)).contains("metadata is missing"));
    assert!(found("objects", World::empty_bucket).contains("not in the bucket"));
}

#[test]
fn an_archive_of_another_size_is_found() {
    found("objects", |world| world.spoil_archive(|archive| archive.truncate(archive.len() - 1)));
    found("objects", |world| world.spoil(|backup| backup.resize(9_000)));
}

#[test]
fn an_archive_with_another_content_is_found() {
    let detail = found("objects", |world| world.spoil_archive(|archive| archive[60] ^= 1));
    assert!(detail.contains("checksum"), "{detail}");
}

#[test]
fn another_backup_in_its_place_is_found() {
    found("objects", |world| world.spoil_metadata(|metadata| metadata.name = Some("nightly".into())));
    found("objects", |world| {
        world.spoil_metadata(|metadata| metadata.created_at = metadata.created_at.plus_millis(1));
    });
}

#[test]
fn metadata_that_cannot_be_read_is_found() {
    found("objects", |world| {
        world.before(Method::Metadata).fails_with(Failure::unexpected("R2", "meta.json: no JSON"));
    });
}

/// A snapshot whose archive was spoilt before it was taken, as far as R2 can tell.
fn taken_with(archive: fn(&mut Vec<u8>)) -> Value {
    let stage = Stage::with_sandbox();
    stage.world.after(Method::CreateBackup).happens(move |world| world.spoil_archive(archive));
    let snapshot = stage.snapshot().unwrap();
    stage.run(Operation::Verify, &by_ref(&snapshot)).unwrap()
}

#[test]
fn an_archive_that_is_no_squashfs_is_found() {
    assert_eq!(wrong(&taken_with(|archive| archive[0] = b'x')), ["header"]);
    assert_eq!(wrong(&taken_with(|archive| archive.fill(0))), ["header"]);
}

#[test]
fn an_archive_that_says_that_it_is_longer_than_it_is_is_found() {
    assert_eq!(wrong(&taken_with(|archive| archive[40..48].copy_from_slice(&u64::MAX.to_le_bytes()))), ["header"]);
}

#[test]
fn an_archive_may_be_longer_than_it_says() {
    let padded = taken_with(|archive| archive[40..48].copy_from_slice(&100_u64.to_le_bytes()));
    assert_eq!(padded["ok"], true);
}

#[test]
fn an_archive_that_is_shorter_than_a_header_is_found() {
    let stage = Stage::with_sandbox();
    stage.world.after(Method::CreateBackup).happens(|world| world.spoil(|backup| backup.resize(44)));
    let snapshot = stage.snapshot().unwrap();
    assert_eq!(wrong(&stage.run(Operation::Verify, &by_ref(&snapshot)).unwrap()), ["header"]);
}

#[test]
fn where_r2_has_no_checksum_there_is_nothing_to_compare() {
    let stage = Stage::with_sandbox();
    stage.world.after(Method::CreateBackup).happens(|world| world.spoil(|backup| backup.has_checksum = false));
    let snapshot = stage.snapshot().unwrap();
    let verification = stage.run(Operation::Verify, &by_ref(&snapshot)).unwrap();
    assert_eq!(verification["ok"], true);
    let checksum = &verification["checks"][2];
    assert_eq!((&checksum["name"], checksum.get("ok")), (&json!("checksum"), None));
}

#[test]
fn a_failure_of_r2_is_no_damage() {
    for method in [Method::Metadata, Method::Archive, Method::ArchiveHead] {
        let (stage, snapshot) = Stage::with_snapshot();
        stage.world.before(method).first(3).fails_in_passing();
        stage.run(Operation::Verify, &by_ref(&snapshot)).fails_as(Code::StorageUnavailable);
        let page = stage.run(Operation::List, &json!({ "sandboxId": "agent-42", "check": false })).unwrap();
        assert_eq!(page["snapshots"][0]["restorable"], "yes", "{method:?}");
        assert_eq!(stage.run(Operation::Verify, &by_ref(&snapshot)).unwrap()["ok"], true, "{method:?}");
    }
}

#[test]
fn a_failure_that_passes_is_waited_for() {
    for method in [Method::Metadata, Method::Archive, Method::ArchiveHead] {
        let (stage, snapshot) = Stage::with_snapshot();
        stage.world.before(method).first(2).fails_in_passing();
        assert_eq!(stage.run(Operation::Verify, &by_ref(&snapshot)).unwrap()["ok"], true, "{method:?}");
    }
}

/// A snapshot whose archive is no squashfs, which a verification has found. R2 has no checksum of it.
fn damaged_within() -> (Stage, SnapshotRef) {
    let stage = Stage::with_sandbox();
    stage.world.after(Method::CreateBackup).happens(|world| {
        world.spoil(|backup| backup.has_checksum = false);
        world.spoil_archive(|archive| archive[0] = b'x');
    });
    let snapshot = stage.snapshot().unwrap();
    stage.world.goes_well();
    assert_eq!(stage.run(Operation::Verify, &by_ref(&snapshot)).unwrap()["ok"], false);
    (stage, snapshot)
}

/// Whether the snapshot can be restored, and what is wrong with it, as lists show it with and without looking into R2.
#[track_caller]
fn shown(stage: &Stage) -> (Value, Value) {
    let [checked, known] = [true, false].map(|check| {
        let page = stage.run(Operation::List, &json!({ "sandboxId": "agent-42", "check": check })).unwrap();
        (page["snapshots"][0]["restorable"].clone(), page["snapshots"][0]["why"].clone())
    });
    assert_eq!(checked, known);
    checked
}

const NO_SQUASHFS: &str = "The archive does not begin as a squashfs archive does.";

#[test]
fn what_is_wrong_within_is_not_forgotten_by_who_does_not_look_there() {
    let (stage, snapshot) = damaged_within();
    for _ in 0..2 {
        assert_eq!(shown(&stage), (json!("no"), json!(NO_SQUASHFS)));
        assert_eq!(stage.run(Operation::Get, &by_ref(&snapshot)).unwrap()["why"], NO_SQUASHFS);
        // The sandbox in this world restores it all the same.
        stage.restore(&snapshot).unwrap();
        stage.captures("agent-42", "newer");
        stage.run(Operation::Delete, &by_label("newer")).unwrap();
        stage.passes(2 * HOUR);
    }
    assert_eq!(stage.run(Operation::Get, &by_ref(&snapshot)).unwrap()["restorable"], "no");
}

#[test]
fn what_is_wrong_within_is_remembered_until_a_verification_finds_it_right() {
    let (stage, snapshot) = damaged_within();
    stage.world.spoil_archive(|archive| archive[0] = b'h');
    assert_eq!(shown(&stage), (json!("no"), json!(NO_SQUASHFS)));
    assert_eq!(stage.run(Operation::Verify, &by_ref(&snapshot)).unwrap()["ok"], true);
    assert_eq!(shown(&stage), (json!("yes"), json!(null)));
}

#[test]
fn what_is_wrong_within_is_remembered_when_the_archive_goes_and_comes_back() {
    let (stage, snapshot) = damaged_within();
    for look in [Operation::Get, Operation::Verify] {
        stage.world.spoil_archive(|archive| archive.push(0));
        stage.run(look, &by_ref(&snapshot)).unwrap();
        let (restorable, why) = shown(&stage);
        assert_eq!(restorable, "no");
        assert!(why.as_str().unwrap().contains("bytes"), "{why}");
        stage.world.spoil_archive(|archive| archive.truncate(archive.len() - 1));
        assert_eq!(stage.run(Operation::Get, &by_ref(&snapshot)).unwrap()["restorable"], "no");
        assert_eq!(shown(&stage), (json!("no"), json!(NO_SQUASHFS)), "{look:?}");
    }
}

#[test]
fn what_is_wrong_within_is_remembered_while_r2_fails() {
    for method in [Method::Metadata, Method::ArchiveHead] {
        let (stage, snapshot) = damaged_within();
        stage.world.before(method).fails_in_passing();
        stage.run(Operation::Verify, &by_ref(&snapshot)).fails_as(Code::StorageUnavailable);
        stage.world.goes_well();
        assert_eq!(shown(&stage), (json!("no"), json!(NO_SQUASHFS)), "{method:?}");
    }
}

#[test]
fn what_is_wrong_within_is_not_good_enough_for_the_policy() {
    let stage = Stage::with_sandbox();
    let good = stage.captures("agent-42", "good").backup().id().clone();
    stage.world.after(Method::CreateBackup).happens(move |world| {
        world.spoil(|backup| {
            if *backup.id() != good {
                backup.archive.as_mut().unwrap()[0] = b'x';
            }
        });
    });
    stage.captures("agent-42", "damaged");
    stage.run(Operation::Verify, &by_label("damaged")).unwrap();
    stage.run(Operation::Get, &by_label("damaged")).unwrap();
    let policy = json!({ "sandboxId": "agent-42", "policy": { "keepLast": { "count": 1 } } });
    stage.run(Operation::SetRetention, &policy).unwrap();
    stage.run(Operation::Get, &by_label("good")).unwrap();
}

#[test]
fn only_what_is_there_can_be_verified() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.run(Operation::Delete, &by_ref(&snapshot)).unwrap();
    stage.run(Operation::Verify, &by_ref(&snapshot)).fails_as(Code::SnapshotNotFound);
    stage.run(Operation::Verify, &by_label("never")).fails_as(Code::SnapshotNotFound);
}

#[test]
fn a_look_that_shows_nothing_new_changes_nothing_in_the_ledger() {
    let (stage, snapshot) = Stage::with_snapshot();
    let row = || stage.ledger("agent-42").snapshot(snapshot.snapshot_id()).unwrap();
    let before = row();
    stage.run(Operation::List, &json!({ "sandboxId": "agent-42", "check": true })).unwrap();
    assert_eq!(row(), before);
}
