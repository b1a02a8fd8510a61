//! A restore succeeds only when the files are in the sandbox, in the container that ran before the restore was done.

use sandbox_snapshotter::model::{Code, Error, Runtime, SnapshotRef};

use crate::support::{ExpectError, FILE, Fixture, Method, World};

/// An archive size that an empty directory can have, in bytes.
const EMPTY_ARCHIVE_SIZE: usize = 4096;

/// Returns a snapshot of an empty directory. The call log starts empty.
fn with_empty_snapshot() -> (Fixture, SnapshotRef) {
    let fixture = Fixture::with_sandbox();
    fixture.world.remove_all_files("agent-42");
    let snapshot = fixture.snapshot().unwrap();
    fixture.world.reset_calls();
    (fixture, snapshot)
}

/// Returns a snapshot of one file, whose archive is resized to `bytes` bytes. The call log starts empty.
fn with_archive_of(bytes: usize) -> (Fixture, SnapshotRef) {
    let fixture = Fixture::with_sandbox();
    fixture.world.after(Method::CreateBackup).run(move |world| world.edit_backups(|backup| backup.resize(bytes)));
    let snapshot = fixture.snapshot().unwrap();
    fixture.world.reset_calls();
    (fixture, snapshot)
}

/// Returns an action that applies `act` to each minted sandbox that runs.
fn on_minted(act: fn(&World, &str)) -> impl Fn(&World) + Copy {
    move |world| world.running_sandboxes().iter().filter(|id| *id != "agent-42").for_each(|id| act(world, id))
}

/// Asserts that every attempt to restore fails because the files are missing.
fn expect_lost_files(fixture: &Fixture, snapshot: &SnapshotRef) -> Error {
    expect_all_attempts_fail(fixture, snapshot, Code::RestoreFailed)
}

/// Asserts that every attempt to restore fails because another container runs.
fn expect_interrupted(fixture: &Fixture, snapshot: &SnapshotRef) -> Error {
    expect_all_attempts_fail(fixture, snapshot, Code::OperationInterrupted)
}

fn expect_all_attempts_fail(fixture: &Fixture, snapshot: &SnapshotRef, code: Code) -> Error {
    let error = fixture.restore(snapshot).expect_code(code);
    assert_eq!(fixture.world.call_count(Method::RestoreBackup), 3);
    fixture.assert_no_minted_sandbox_runs();
    error
}

#[test]
fn restore_of_empty_snapshot_inspects_the_empty_sandbox() {
    let (fixture, snapshot) = with_empty_snapshot();
    fixture.restore(&snapshot).unwrap();
    assert_eq!(
        fixture.world.calls_about(&fixture.minted_sandbox()),
        [
            Method::Claim,
            Method::SetName,
            Method::UpdateMarker,
            Method::RestoreBackup,
            Method::CompleteRestore,
            Method::CompleteRestore
        ]
    );
}

#[test]
fn restore_of_small_archive_with_files_succeeds() {
    let (fixture, snapshot) = with_archive_of(EMPTY_ARCHIVE_SIZE);
    let restored = fixture.restore(&snapshot).unwrap();
    assert_eq!(fixture.world.files(restored.sandbox_id().as_str()), fixture.world.files("agent-42"));
}

#[test]
fn restore_fails_when_small_archive_with_files_comes_out_empty() {
    let (fixture, snapshot) = with_archive_of(EMPTY_ARCHIVE_SIZE);
    fixture.world.after(Method::RestoreBackup).run(on_minted(World::remove_all_files));
    expect_lost_files(&fixture, &snapshot);
}

#[test]
fn restore_destroys_empty_sandbox_when_r2_fails_to_return_the_archive() {
    let (fixture, snapshot) = with_empty_snapshot();
    fixture.world.before(Method::ReadArchivePrefix).fail_transiently();
    fixture.restore(&snapshot).expect_code(Code::StorageUnavailable);
    fixture.assert_no_minted_sandbox_runs();
}

#[test]
fn restore_error_for_missing_files_is_retryable() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.world.after(Method::RestoreBackup).run(on_minted(World::remove_all_files));
    assert!(expect_lost_files(&fixture, &snapshot).is_retryable());
}

#[test]
fn restore_is_retried_when_sandbox_comes_up_empty() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.world.after(Method::RestoreBackup).nth(1).run(on_minted(World::end_container));
    let restored = fixture.restore(&snapshot).unwrap();
    assert_eq!(fixture.world.files(restored.sandbox_id().as_str()), fixture.world.files("agent-42"));
    assert_eq!(fixture.world.call_count(Method::RestoreBackup), 2);
}

#[test]
fn restore_fails_when_container_does_not_stay_up() {
    let ends: [fn(&World, &str); 3] = [World::end_container, World::end_container_unnoticed, World::replace_container];
    for end in ends {
        let (fixture, snapshot) = Fixture::with_snapshot();
        fixture.world.after(Method::RestoreBackup).run(on_minted(end));
        expect_interrupted(&fixture, &snapshot);
    }
}

#[test]
fn restore_expects_the_container_in_which_it_began() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.world.runtime.set(Runtime::Container);
    fixture.world.before(Method::RestoreBackup).nth(1).run(on_minted(World::replace_container));
    let restored = fixture.restore(&snapshot).unwrap();
    assert_eq!(fixture.world.files(restored.sandbox_id().as_str()), fixture.world.files("agent-42"));
    assert_eq!(fixture.world.call_count(Method::CompleteRestore), 1, "nothing was restored into the other container");
}

#[test]
fn restore_fails_when_its_container_is_replaced_before_every_attempt() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.world.runtime.set(Runtime::Container);
    fixture.world.before(Method::RestoreBackup).run(on_minted(World::replace_container));
    expect_interrupted(&fixture, &snapshot);
    assert_eq!(fixture.world.call_count(Method::CompleteRestore), 0);
}

#[test]
fn restore_detects_container_replaced_right_after_small_restore() {
    let ends: [fn(&World, &str); 3] = [World::end_container, World::end_container_unnoticed, World::replace_container];
    for end in ends {
        for moment in [Method::RestoreBackup, Method::CompleteRestore] {
            let (fixture, snapshot) = with_empty_snapshot();
            match moment {
                Method::CompleteRestore => fixture.world.before(moment).run(on_minted(end)),
                _ => fixture.world.after(moment).run(on_minted(end)),
            }
            expect_interrupted(&fixture, &snapshot);
        }
    }
}

#[test]
fn small_restore_is_retried_when_container_is_replaced() {
    let (fixture, snapshot) = with_empty_snapshot();
    fixture.world.before(Method::CompleteRestore).nth(1).run(on_minted(World::replace_container));
    fixture.restore(&snapshot).unwrap();
    assert_eq!(fixture.world.call_count(Method::RestoreBackup), 2);
}

#[test]
fn restore_rejects_files_in_replacement_container() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let other_files = on_minted(|world, id| {
        world.replace_container(id);
        world.write_file(id, FILE, "of an image, for one");
    });
    fixture.world.after(Method::RestoreBackup).run(other_files);
    expect_interrupted(&fixture, &snapshot);
}

#[test]
fn restore_ends_sandbox_and_retries_when_process_works_below_the_files() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.world.after(Method::RestoreBackup).nth(1).run(on_minted(|world, id| world.run_process_below(id, "9 bash")));
    let restored = fixture.restore(&snapshot).unwrap();
    assert_eq!(fixture.world.files(restored.sandbox_id().as_str()), fixture.world.files("agent-42"));
    assert_eq!(fixture.world.call_count(Method::RestoreBackup), 2);
}

#[test]
fn restore_error_names_process_that_always_works_below_the_files() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.world.after(Method::RestoreBackup).run(on_minted(|world, id| world.run_process_below(id, "1 dev-server")));
    let error = fixture.restore(&snapshot).expect_code(Code::OperationInterrupted);
    assert!(error.message().contains("the process 1 dev-server"), "{error}");
    fixture.assert_no_minted_sandbox_runs();
}

#[test]
fn restore_fails_when_restored_path_is_not_a_directory() {
    let changes: [fn(&World, &str); 2] =
        [|world, id| world.create_symlink(id, "/workspace"), |world, id| world.write_file(id, "/workspace", "a file")];
    for change in changes {
        let (fixture, snapshot) = with_empty_snapshot();
        fixture.world.after(Method::RestoreBackup).run(on_minted(change));
        expect_lost_files(&fixture, &snapshot);
    }
}
