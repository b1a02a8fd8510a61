//! `verify` checks in R2 whether a snapshot can be restored, and starts no container.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Failure, SnapshotRef};
use sandbox_snapshotter::ports::Ledger;
use serde_json::{Value, json};

use crate::support::{ExpectError, Fixture, HOUR, Method, World, by_label, by_ref};

/// Applies `change` to R2 and verifies the snapshot.
fn verify_after(change: impl FnOnce(&World)) -> (Fixture, Value) {
    let (fixture, snapshot) = Fixture::with_snapshot();
    change(&fixture.world);
    let verification = fixture.run(Operation::Verify, &by_ref(&snapshot)).unwrap();
    let of_r2 =
        |method: &Method| matches!(method, Method::GetMetadata | Method::HeadArchive | Method::ReadArchivePrefix);
    assert!(fixture.world.calls().iter().all(|(method, _)| of_r2(method)), "{:?}", fixture.world.calls());
    (fixture, verification)
}

/// Returns the names of the failed checks.
fn failed_checks(verification: &Value) -> Vec<&str> {
    let checks = verification["checks"].as_array().unwrap().iter();
    checks.filter(|check| check["ok"] == false).map(|check| check["name"].as_str().unwrap()).collect()
}

/// Asserts that only the check `name` fails and that the ledger records the damage. Returns the detail of the check.
fn expect_damage(name: &str, damage: impl FnOnce(&World)) -> String {
    let (fixture, verification) = verify_after(damage);
    assert_eq!((&verification["ok"], failed_checks(&verification)), (&json!(false), vec![name]), "{verification}");
    let page = fixture.run(Operation::List, &json!({ "sandboxId": "agent-42", "check": false })).unwrap();
    assert_eq!(page["snapshots"][0]["restorable"], "no");
    let checks = verification["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["ok"] == false).unwrap();
    assert_eq!(page["snapshots"][0]["why"], check["detail"]);
    check["detail"].as_str().unwrap().to_owned()
}

#[test]
fn complete_snapshot_passes_every_check() {
    let (fixture, verification) = verify_after(|_| {});
    assert_eq!(verification["ok"], true);
    let names: Vec<_> = verification["checks"].as_array().unwrap().iter().map(|check| &check["name"]).collect();
    assert_eq!(names, ["objects", "header", "checksum"]);
    assert!(verification["checks"].as_array().unwrap().iter().all(|check| check["ok"] == true), "{verification}");
    assert_eq!(verification["verifiedAt"], json!(fixture.world.current_time()));
}

#[test]
fn missing_object_is_detected() {
    assert!(
        expect_damage("objects", |world| world.edit_backups(|backup| backup.archive = None))
            .contains("archive is missing")
    );
    assert!(
        expect_damage("objects", |world| world.edit_backups(|backup| backup.metadata = None))
            .contains("metadata is missing")
    );
    assert!(expect_damage("objects", World::clear_bucket).contains("not in the bucket"));
}

#[test]
fn archive_of_another_size_is_detected() {
    expect_damage("objects", |world| world.edit_archives(|archive| archive.truncate(archive.len() - 1)));
    expect_damage("objects", |world| world.edit_backups(|backup| backup.resize(9_000)));
}

#[test]
fn archive_with_other_content_is_detected() {
    let detail = expect_damage("objects", |world| world.edit_archives(|archive| archive[60] ^= 1));
    assert!(detail.contains("checksum"), "{detail}");
}

#[test]
fn another_backup_in_place_of_the_stored_one_is_detected() {
    expect_damage("objects", |world| world.edit_metadata(|metadata| metadata.name = Some("nightly".into())));
    expect_damage("objects", |world| {
        world.edit_metadata(|metadata| metadata.created_at = metadata.created_at.plus_millis(1));
    });
}

#[test]
fn unreadable_metadata_is_detected() {
    expect_damage("objects", |world| {
        world.before(Method::GetMetadata).fail_with(Failure::protocol("R2", "meta.json: no JSON"));
    });
}

/// Verifies a snapshot whose archive was damaged before R2 recorded its checksum.
fn snapshot_of_damaged(archive: fn(&mut Vec<u8>)) -> Value {
    let fixture = Fixture::with_sandbox();
    fixture.world.after(Method::CreateBackup).run(move |world| world.edit_archives(archive));
    let snapshot = fixture.snapshot().unwrap();
    fixture.run(Operation::Verify, &by_ref(&snapshot)).unwrap()
}

#[test]
fn archive_that_is_not_squashfs_is_detected() {
    assert_eq!(failed_checks(&snapshot_of_damaged(|archive| archive[0] = b'x')), ["header"]);
    assert_eq!(failed_checks(&snapshot_of_damaged(|archive| archive.fill(0))), ["header"]);
}

#[test]
fn archive_shorter_than_its_header_says_is_detected() {
    assert_eq!(
        failed_checks(&snapshot_of_damaged(|archive| archive[40..48].copy_from_slice(&u64::MAX.to_le_bytes()))),
        ["header"]
    );
}

#[test]
fn archive_longer_than_its_header_says_is_accepted() {
    let padded = snapshot_of_damaged(|archive| archive[40..48].copy_from_slice(&100_u64.to_le_bytes()));
    assert_eq!(padded["ok"], true);
}

#[test]
fn archive_shorter_than_a_header_is_detected() {
    let fixture = Fixture::with_sandbox();
    fixture.world.after(Method::CreateBackup).run(|world| world.edit_backups(|backup| backup.resize(44)));
    let snapshot = fixture.snapshot().unwrap();
    assert_eq!(failed_checks(&fixture.run(Operation::Verify, &by_ref(&snapshot)).unwrap()), ["header"]);
}

#[test]
fn checksum_check_has_no_result_when_r2_has_no_checksum() {
    let fixture = Fixture::with_sandbox();
    fixture.world.after(Method::CreateBackup).run(|world| world.edit_backups(|backup| backup.has_checksum = false));
    let snapshot = fixture.snapshot().unwrap();
    let verification = fixture.run(Operation::Verify, &by_ref(&snapshot)).unwrap();
    assert_eq!(verification["ok"], true);
    let checksum = &verification["checks"][2];
    assert_eq!((&checksum["name"], checksum.get("ok")), (&json!("checksum"), None));
}

#[test]
fn r2_failure_is_not_damage() {
    for method in [Method::GetMetadata, Method::HeadArchive, Method::ReadArchivePrefix] {
        let (fixture, snapshot) = Fixture::with_snapshot();
        fixture.world.before(method).first(3).fail_transiently();
        fixture.run(Operation::Verify, &by_ref(&snapshot)).expect_code(Code::StorageUnavailable);
        let page = fixture.run(Operation::List, &json!({ "sandboxId": "agent-42", "check": false })).unwrap();
        assert_eq!(page["snapshots"][0]["restorable"], "yes", "{method:?}");
        assert_eq!(fixture.run(Operation::Verify, &by_ref(&snapshot)).unwrap()["ok"], true, "{method:?}");
    }
}

#[test]
fn verify_retries_after_transient_r2_failure() {
    for method in [Method::GetMetadata, Method::HeadArchive, Method::ReadArchivePrefix] {
        let (fixture, snapshot) = Fixture::with_snapshot();
        fixture.world.before(method).first(2).fail_transiently();
        assert_eq!(fixture.run(Operation::Verify, &by_ref(&snapshot)).unwrap()["ok"], true, "{method:?}");
    }
}

/// Returns a snapshot whose archive is not a squashfs, as a verification has found. R2 has no checksum of it.
fn with_damaged_archive() -> (Fixture, SnapshotRef) {
    let fixture = Fixture::with_sandbox();
    fixture.world.after(Method::CreateBackup).run(|world| {
        world.edit_backups(|backup| backup.has_checksum = false);
        world.edit_archives(|archive| archive[0] = b'x');
    });
    let snapshot = fixture.snapshot().unwrap();
    fixture.world.clear_faults();
    assert_eq!(fixture.run(Operation::Verify, &by_ref(&snapshot)).unwrap()["ok"], false);
    (fixture, snapshot)
}

/// Returns `restorable` and `why` of the snapshot, and asserts that `list` shows the same with and without `check`.
#[track_caller]
fn listed_health(fixture: &Fixture) -> (Value, Value) {
    let [checked, known] = [true, false].map(|check| {
        let page = fixture.run(Operation::List, &json!({ "sandboxId": "agent-42", "check": check })).unwrap();
        (page["snapshots"][0]["restorable"].clone(), page["snapshots"][0]["why"].clone())
    });
    assert_eq!(checked, known);
    checked
}

const NOT_SQUASHFS_MESSAGE: &str = "The archive does not begin with the magic number of squashfs.";

#[test]
fn damage_inside_archive_stays_recorded_after_checks_that_do_not_read_it() {
    let (fixture, snapshot) = with_damaged_archive();
    for _ in 0..2 {
        assert_eq!(listed_health(&fixture), (json!("no"), json!(NOT_SQUASHFS_MESSAGE)));
        assert_eq!(fixture.run(Operation::Get, &by_ref(&snapshot)).unwrap()["why"], NOT_SQUASHFS_MESSAGE);
        // The fake sandbox restores the damaged archive.
        fixture.restore(&snapshot).unwrap();
        fixture.snapshot_labelled("agent-42", "newer");
        fixture.run(Operation::Delete, &by_label("newer")).unwrap();
        fixture.advance_with_alarms(2 * HOUR);
    }
    assert_eq!(fixture.run(Operation::Get, &by_ref(&snapshot)).unwrap()["restorable"], "no");
}

#[test]
fn damage_inside_archive_stays_recorded_until_verify_succeeds() {
    let (fixture, snapshot) = with_damaged_archive();
    fixture.world.edit_archives(|archive| archive[0] = b'h');
    assert_eq!(listed_health(&fixture), (json!("no"), json!(NOT_SQUASHFS_MESSAGE)));
    assert_eq!(fixture.run(Operation::Verify, &by_ref(&snapshot)).unwrap()["ok"], true);
    assert_eq!(listed_health(&fixture), (json!("yes"), json!(null)));
}

#[test]
fn damage_inside_archive_stays_recorded_after_size_changes_and_returns() {
    let (fixture, snapshot) = with_damaged_archive();
    for operation in [Operation::Get, Operation::Verify] {
        fixture.world.edit_archives(|archive| archive.push(0));
        fixture.run(operation, &by_ref(&snapshot)).unwrap();
        let (restorable, why) = listed_health(&fixture);
        assert_eq!(restorable, "no");
        assert!(why.as_str().unwrap().contains("bytes"), "{why}");
        fixture.world.edit_archives(|archive| archive.truncate(archive.len() - 1));
        assert_eq!(fixture.run(Operation::Get, &by_ref(&snapshot)).unwrap()["restorable"], "no");
        assert_eq!(listed_health(&fixture), (json!("no"), json!(NOT_SQUASHFS_MESSAGE)), "{operation:?}");
    }
}

#[test]
fn damage_inside_archive_stays_recorded_while_r2_fails() {
    for method in [Method::GetMetadata, Method::ReadArchivePrefix] {
        let (fixture, snapshot) = with_damaged_archive();
        fixture.world.before(method).fail_transiently();
        fixture.run(Operation::Verify, &by_ref(&snapshot)).expect_code(Code::StorageUnavailable);
        fixture.world.clear_faults();
        assert_eq!(listed_health(&fixture), (json!("no"), json!(NOT_SQUASHFS_MESSAGE)), "{method:?}");
    }
}

#[test]
fn damaged_snapshot_does_not_count_for_the_policy() {
    let fixture = Fixture::with_sandbox();
    let good = fixture.snapshot_labelled("agent-42", "good").backup().id().clone();
    fixture.world.after(Method::CreateBackup).run(move |world| {
        world.edit_backups(|backup| {
            if *backup.id() != good {
                backup.archive.as_mut().unwrap()[0] = b'x';
            }
        });
    });
    fixture.snapshot_labelled("agent-42", "damaged");
    fixture.run(Operation::Verify, &by_label("damaged")).unwrap();
    fixture.run(Operation::Get, &by_label("damaged")).unwrap();
    let policy = json!({ "sandboxId": "agent-42", "policy": { "keepLast": { "count": 1 } } });
    fixture.run(Operation::SetRetention, &policy).unwrap();
    fixture.run(Operation::Get, &by_label("good")).unwrap();
}

#[test]
fn deleted_or_unknown_snapshot_cannot_be_verified() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.run(Operation::Delete, &by_ref(&snapshot)).unwrap();
    fixture.run(Operation::Verify, &by_ref(&snapshot)).expect_code(Code::SnapshotNotFound);
    fixture.run(Operation::Verify, &by_label("never")).expect_code(Code::SnapshotNotFound);
}

#[test]
fn check_without_new_result_writes_nothing_to_the_ledger() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let row = || fixture.ledger("agent-42").snapshot(snapshot.snapshot_id()).unwrap();
    let before = row();
    fixture.run(Operation::List, &json!({ "sandboxId": "agent-42", "check": true })).unwrap();
    assert_eq!(row(), before);
}
