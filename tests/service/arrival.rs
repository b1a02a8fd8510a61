//! A restore is reported as done only when the files are there, in a container that was there before it was done.

use sandbox_snapshotter::model::{Code, Error, SnapshotRef};

use super::support::{Checked, FILE, Method, Stage, World};

/// The size of an archive that may be that of an empty directory.
const SMALL: usize = 4096;

/// A snapshot of an empty directory was taken; calls are counted from here.
fn with_empty_snapshot() -> (Stage, SnapshotRef) {
    let stage = Stage::with_sandbox();
    stage.world.loses_files("agent-42");
    let snapshot = stage.snapshot().unwrap();
    stage.world.forget_calls();
    (stage, snapshot)
}

/// A snapshot of a file was taken, whose archive is said to have `bytes`.
fn with_archive_of(bytes: usize) -> (Stage, SnapshotRef) {
    let stage = Stage::with_sandbox();
    stage.world.after(Method::CreateBackup).happens(move |world| world.spoil(|backup| backup.resize(bytes)));
    let snapshot = stage.snapshot().unwrap();
    stage.world.forget_calls();
    (stage, snapshot)
}

/// Does something to the minted sandbox, which runs.
fn to_minted(act: fn(&World, &str)) -> impl Fn(&World) + Copy {
    move |world| world.running().iter().filter(|id| *id != "agent-42").for_each(|id| act(world, id))
}

/// Restores, which must fail in all attempts for files that are not there.
fn lost(stage: &Stage, snapshot: &SnapshotRef) -> Error {
    fails_always(stage, snapshot, Code::RestoreFailed)
}

/// Restores, which must fail in all attempts since another container runs.
fn interrupted(stage: &Stage, snapshot: &SnapshotRef) -> Error {
    fails_always(stage, snapshot, Code::OperationInterrupted)
}

fn fails_always(stage: &Stage, snapshot: &SnapshotRef, code: Code) -> Error {
    let error = stage.restore(snapshot).fails_as(code);
    assert_eq!(stage.world.count(Method::RestoreBackup), 3);
    stage.assert_no_minted_sandbox_runs();
    error
}

#[test]
fn an_empty_snapshot_restores_to_an_empty_sandbox_that_is_looked_into_too() {
    let (stage, snapshot) = with_empty_snapshot();
    stage.restore(&snapshot).unwrap();
    assert_eq!(
        stage.world.calls_about(&stage.minted()),
        [Method::Claim, Method::Name, Method::Stamp, Method::RestoreBackup, Method::Arrive, Method::Arrive]
    );
}

#[test]
fn a_small_archive_with_files_in_it_is_restored() {
    let (stage, snapshot) = with_archive_of(SMALL);
    let restored = stage.restore(&snapshot).unwrap();
    assert_eq!(stage.world.files(restored.sandbox_id().as_str()), stage.world.files("agent-42"));
}

#[test]
fn an_archive_with_files_in_it_does_not_come_out_empty_however_small_it_is() {
    let (stage, snapshot) = with_archive_of(SMALL);
    stage.world.after(Method::RestoreBackup).happens(to_minted(World::loses_files));
    lost(&stage, &snapshot);
}

#[test]
fn a_sandbox_that_comes_up_empty_is_destroyed_where_r2_does_not_say_whether_the_archive_is() {
    let (stage, snapshot) = with_empty_snapshot();
    stage.world.before(Method::ArchiveHead).fails_in_passing();
    stage.restore(&snapshot).fails_as(Code::StorageUnavailable);
    stage.assert_no_minted_sandbox_runs();
}

#[test]
fn files_that_are_not_there_may_be_there_at_another_try() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.world.after(Method::RestoreBackup).happens(to_minted(World::loses_files));
    assert!(lost(&stage, &snapshot).retryable());
}

#[test]
fn a_sandbox_that_comes_up_empty_is_restored_again() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.world.after(Method::RestoreBackup).nth(1).happens(to_minted(World::stops));
    let restored = stage.restore(&snapshot).unwrap();
    assert_eq!(stage.world.files(restored.sandbox_id().as_str()), stage.world.files("agent-42"));
    assert_eq!(stage.world.count(Method::RestoreBackup), 2);
}

#[test]
fn a_sandbox_that_does_not_stay_up_is_no_success() {
    let ends: [fn(&World, &str); 3] = [World::stops, World::dies_unnoticed, World::is_replaced];
    for end in ends {
        let (stage, snapshot) = Stage::with_snapshot();
        stage.world.after(Method::RestoreBackup).happens(to_minted(end));
        interrupted(&stage, &snapshot);
    }
}

#[test]
fn a_container_that_was_replaced_right_after_a_small_restore_is_found_out() {
    let ends: [fn(&World, &str); 3] = [World::stops, World::dies_unnoticed, World::is_replaced];
    for end in ends {
        for moment in [Method::RestoreBackup, Method::Arrive] {
            let (stage, snapshot) = with_empty_snapshot();
            match moment {
                Method::Arrive => stage.world.before(moment).happens(to_minted(end)),
                _ => stage.world.after(moment).happens(to_minted(end)),
            }
            interrupted(&stage, &snapshot);
        }
    }
}

#[test]
fn a_small_restore_whose_container_was_replaced_is_done_again() {
    let (stage, snapshot) = with_empty_snapshot();
    stage.world.before(Method::Arrive).nth(1).happens(to_minted(World::is_replaced));
    stage.restore(&snapshot).unwrap();
    assert_eq!(stage.world.count(Method::RestoreBackup), 2);
}

#[test]
fn files_in_a_container_that_was_replaced_are_not_those_of_the_snapshot() {
    let (stage, snapshot) = Stage::with_snapshot();
    let other_files = to_minted(|world, id| {
        world.is_replaced(id);
        world.writes(id, FILE, "of an image, for one");
    });
    stage.world.after(Method::RestoreBackup).happens(other_files);
    interrupted(&stage, &snapshot);
}

#[test]
fn a_sandbox_in_which_a_process_works_below_the_files_is_ended_and_restored_again() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.world.after(Method::RestoreBackup).nth(1).happens(to_minted(|world, id| world.works_below(id, "9 bash")));
    let restored = stage.restore(&snapshot).unwrap();
    assert_eq!(stage.world.files(restored.sandbox_id().as_str()), stage.world.files("agent-42"));
    assert_eq!(stage.world.count(Method::RestoreBackup), 2);
}

#[test]
fn a_process_that_always_works_below_the_files_is_named() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.world.after(Method::RestoreBackup).happens(to_minted(|world, id| world.works_below(id, "1 dev-server")));
    let error = stage.restore(&snapshot).fails_as(Code::OperationInterrupted);
    assert!(error.message().contains("the process 1 dev-server"), "{error}");
    stage.assert_no_minted_sandbox_runs();
}

#[test]
fn a_directory_that_is_none_after_the_restore_is_no_success() {
    let spoil: [fn(&World, &str); 2] =
        [|world, id| world.links(id, "/workspace"), |world, id| world.writes(id, "/workspace", "a file")];
    for act in spoil {
        let (stage, snapshot) = with_empty_snapshot();
        stage.world.after(Method::RestoreBackup).happens(to_minted(act));
        lost(&stage, &snapshot);
    }
}
