//! A branch is a restore by another name.

use sandbox_snapshotter::model::{Code, SnapshotRequest};

use super::support::{Checked, Method, Stage};

#[test]
fn the_new_id_is_the_origins_with_branch_and_a_short_id() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.branch(&snapshot).unwrap();
    let minted = stage.minted();
    let short = minted.strip_prefix("agent-42-branch-").expect(&minted);
    assert!(short.len() == 8 && short.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()), "{minted}");
}

#[test]
fn the_new_id_is_claimed_and_the_sandbox_named_restored_and_looked_into_and_no_other_is_touched() {
    let (stage, snapshot) = Stage::with_snapshot();
    let branch = stage.branch(&snapshot).unwrap();
    let calls = stage.world.calls_about(branch.sandbox_id().as_str());
    assert_eq!(calls, [Method::Claim, Method::Name, Method::Stamp, Method::RestoreBackup, Method::Arrive]);
    assert_eq!(stage.world.calls_about("agent-42"), []);
}

#[test]
fn branches_of_one_snapshot_have_the_same_files_and_go_their_own_ways() {
    let (stage, snapshot) = Stage::with_snapshot();
    let [one, other] = [(); 2].map(|()| stage.branch(&snapshot).unwrap().sandbox_id().to_string());
    assert_eq!(stage.world.files(&one), stage.world.files(&other));
    stage.world.writes(&one, "/workspace/only-here.txt", "tried");
    assert_ne!(stage.world.files(&one), stage.world.files(&other));
}

#[test]
fn a_branch_of_a_branch_is_in_the_same_lineage() {
    let (stage, snapshot) = Stage::with_snapshot();
    let first = stage.branch(&snapshot).unwrap().sandbox_id().clone();
    stage.world.pass(60_000);
    let second = stage.branch(&stage.snapshot_as_asked(SnapshotRequest::of(first.clone())).unwrap()).unwrap();
    assert!(second.sandbox_id().as_str().starts_with(&format!("{first}-branch-")), "{}", second.sandbox_id());
    assert_eq!(second.root_id().as_str(), "agent-42");
}

#[test]
fn a_failed_branch_leaves_no_sandbox() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.world.after(Method::RestoreBackup).fails_in_passing();
    stage.branch(&snapshot).fails_as(Code::SandboxUnavailable);
    stage.assert_no_minted_sandbox_runs();
}
