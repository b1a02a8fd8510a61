//! What a capture stores, and when it is full.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, FullReason, Runtime, SnapshotForm, SnapshotRequest, TakenSnapshot};

use super::{RUNTIMES, changed_sandbox, lose_archive, request, restored_files, take};
use crate::support::{DAY, ExpectError, FILE, Fixture, Method, by_ref, sandbox};

#[test]
fn second_snapshot_stores_only_what_changed() {
    for runtime in RUNTIMES {
        let (fixture, base) = changed_sandbox(runtime);
        let delta = take(&fixture);
        assert_eq!((base.capture.form, base.capture.reason), (SnapshotForm::Full, Some(FullReason::NoBase)));
        assert_eq!((delta.capture.form, delta.capture.reason), (SnapshotForm::Delta, None));
        assert_eq!(delta.capture.base.as_ref(), Some(base.snapshot.snapshot_id()));
        assert_eq!(delta.capture.total_bytes, delta.capture.stored_bytes + base.capture.stored_bytes);
        let stored = &fixture.world.backup_options()[1];
        assert!(stored.dir.as_str().starts_with("/var/tmp/.sandbox-snapshotter.delta.snap-"), "{}", stored.dir);
        let files = fixture.world.files("agent-42").unwrap();
        assert_eq!(files.keys().collect::<Vec<_>>(), ["/workspace/large", FILE]);
    }
}

#[test]
fn every_delta_is_based_on_the_same_full_snapshot() {
    let (fixture, base) = changed_sandbox(Runtime::Container);
    for content in ["second", "third", "fourth"] {
        fixture.world.write_file("agent-42", FILE, content);
        let delta = take(&fixture);
        assert_eq!(delta.capture.base.as_ref(), Some(base.snapshot.snapshot_id()));
        assert_eq!(restored_files(&fixture, &delta.snapshot).unwrap()[FILE], content);
    }
}

#[test]
fn caller_and_deployment_decide_whether_snapshots_are_incremental() {
    let (fixture, _) = changed_sandbox(Runtime::Container);
    let full = fixture.capture(SnapshotRequest { incremental: Some(false), ..request() }).unwrap();
    assert_eq!((full.capture.form, full.capture.reason), (SnapshotForm::Full, None));
    let fixture = Fixture::with_sandbox();
    fixture.world.reset_calls();
    assert_eq!(take(&fixture).capture.reason, None);
    assert_eq!(fixture.world.call_count(Method::BeginCapture), 0);
    for expected in [SnapshotForm::Full, SnapshotForm::Delta] {
        let taken = fixture.capture(SnapshotRequest { incremental: Some(true), ..request() }).unwrap();
        assert_eq!(taken.capture.form, expected);
    }
}

/// Asserts that the next snapshot is full, for a reason, and contains all files.
fn assert_full(fixture: &Fixture, request: SnapshotRequest, reason: FullReason) {
    let files = fixture.world.files("agent-42");
    let taken = fixture.capture(request).unwrap();
    assert_eq!((taken.capture.form, taken.capture.reason), (SnapshotForm::Full, Some(reason)));
    assert_eq!(restored_files(fixture, &taken.snapshot), files, "{reason:?}");
}

#[test]
fn snapshot_is_full_where_the_base_is_not_usable() {
    type Change = fn(&Fixture, &TakenSnapshot);
    let cases: [(FullReason, Change); 7] = [
        (FullReason::BaseOld, |fixture, _| fixture.world.advance_clock(8 * DAY)),
        (FullReason::BaseUnusable, |fixture, base| {
            fixture.run(Operation::Delete, &by_ref(&base.snapshot)).unwrap();
        }),
        (FullReason::BaseUnusable, |fixture, base| {
            fixture.world.edit_archives(|archive| archive.truncate(50));
            fixture.run(Operation::Verify, &by_ref(&base.snapshot)).unwrap();
            fixture.world.edit_archives(|archive| archive.resize(6000, 0));
        }),
        (FullReason::BaseUnusable, |fixture, base| lose_archive(fixture, &base.snapshot)),
        (FullReason::Container, |fixture, _| {
            fixture.world.with_container(&sandbox("agent-42"), |container, _| container.deltas.inventory = None);
        }),
        (FullReason::Inventory, |fixture, _| {
            fixture.world.with_container(&sandbox("agent-42"), |container, _| {
                container.deltas.inventory.as_mut().unwrap().base.inventory = "0".repeat(64);
            });
        }),
        (FullReason::Changing, |fixture, _| {
            fixture.world.with_container(&sandbox("agent-42"), |container, _| {
                container.deltas.refusal = Some(FullReason::Changing);
            });
        }),
    ];
    for (reason, change) in cases {
        let (fixture, base) = changed_sandbox(Runtime::Container);
        change(&fixture, &base);
        assert_full(&fixture, request(), reason);
    }
}

#[test]
fn snapshot_with_exclusions_or_of_another_directory_is_full() {
    let (fixture, _) = changed_sandbox(Runtime::Container);
    fixture.world.write_file("agent-42", "/workspace/a/b", "b");
    let other = SnapshotRequest { dir: Some("/workspace/a".to_owned().try_into().unwrap()), ..request() };
    assert_eq!(fixture.capture(other).unwrap().capture.reason, Some(FullReason::Directory));
    let excludes = SnapshotRequest { excludes: vec!["*.log".into()], ..request() };
    assert_eq!(fixture.capture(excludes).unwrap().capture.reason, Some(FullReason::Excludes));
}

#[test]
fn rescue_snapshot_is_full_and_no_base() {
    let (fixture, _) = changed_sandbox(Runtime::Sdk012);
    fixture.world.replace_container("agent-42");
    fixture.world.write_file("agent-42", FILE, "other");
    let rescue = fixture.capture(SnapshotRequest { wake: true, ..request() }).unwrap();
    assert_eq!((rescue.capture.rescue, rescue.capture.reason), (true, Some(FullReason::Rescue)));
}

#[test]
fn thirty_third_delta_is_a_new_base() {
    let (fixture, base) = changed_sandbox(Runtime::Container);
    for number in 0..32 {
        fixture.world.write_file("agent-42", FILE, &number.to_string());
        assert_eq!(take(&fixture).capture.base.as_ref(), Some(base.snapshot.snapshot_id()));
    }
    let full = take(&fixture);
    assert_eq!((full.capture.form, full.capture.reason), (SnapshotForm::Full, Some(FullReason::BaseFull)));
    assert_eq!(take(&fixture).capture.base.as_ref(), Some(full.snapshot.snapshot_id()));
}

#[test]
fn carrier_that_changes_while_it_is_archived_is_discarded() {
    let (fixture, base) = changed_sandbox(Runtime::Container);
    fixture.world.before(Method::CreateBackup).nth(2).run(|world| {
        world.with_container(&sandbox("agent-42"), |container, _| {
            container.retain_files(|path| !path.ends_with("/lists"));
        });
    });
    fixture.capture(request()).expect_code(Code::OperationInterrupted);
    fixture.assert_nothing_pending();
    assert_eq!(fixture.world.backup_ids(), [base.snapshot.backup().id().to_string()]);
    assert_eq!(take(&fixture).capture.form, SnapshotForm::Delta);
}

#[test]
fn file_that_changes_while_the_base_is_archived_is_in_the_delta() {
    let fixture = Fixture::incremental(Runtime::Container);
    fixture.start_sandbox("agent-42");
    fixture.world.write_file("agent-42", "/workspace/large", &"x".repeat(1000));
    fixture.world.before(Method::CreateBackup).nth(1).run(|world| {
        world.write_file("agent-42", FILE, "during");
        world.write_file("agent-42", "/workspace/temporary", "t");
    });
    take(&fixture);
    fixture.world.write_file("agent-42", FILE, "first");
    fixture.world.remove_file("agent-42", "/workspace/temporary");
    let delta = take(&fixture);
    assert_eq!(delta.capture.form, SnapshotForm::Delta);
    assert_eq!(restored_files(&fixture, &delta.snapshot), fixture.world.files("agent-42"));
}

#[test]
fn deletion_of_most_files_is_suspect_in_a_delta() {
    let fixture = Fixture::incremental(Runtime::Container);
    fixture.start_sandbox("agent-42");
    fixture.world.write_file("agent-42", "/workspace/large", &"x".repeat(3_000_000));
    take(&fixture);
    fixture.world.write_file("agent-42", FILE, "second");
    assert_eq!(take(&fixture).capture.suspect, None);
    fixture.world.remove_file("agent-42", "/workspace/large");
    let delta = take(&fixture);
    assert_eq!((delta.capture.form, delta.capture.suspect.is_some()), (SnapshotForm::Delta, true));
}
