//! A branch is a restore whose new id contains `-branch-`.

use sandbox_snapshotter::model::{Code, SnapshotRequest};

use crate::support::{ExpectError, Fixture, Method};

#[test]
fn branch_id_is_origin_id_with_branch_and_short_id() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.branch(&snapshot).unwrap();
    let minted = fixture.minted_sandbox();
    let short = minted.strip_prefix("agent-42-branch-").expect(&minted);
    assert!(short.len() == 8 && short.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()), "{minted}");
}

#[test]
fn branch_claims_names_restores_and_inspects_only_the_new_sandbox() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let branch = fixture.branch(&snapshot).unwrap();
    let calls = fixture.world.calls_about(branch.sandbox_id().as_str());
    assert_eq!(
        calls,
        [Method::Claim, Method::SetName, Method::UpdateMarker, Method::RestoreBackup, Method::CompleteRestore]
    );
    assert_eq!(fixture.world.calls_about("agent-42"), []);
}

#[test]
fn branches_of_one_snapshot_start_equal_and_change_independently() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let [one, other] = [(); 2].map(|()| fixture.branch(&snapshot).unwrap().sandbox_id().to_string());
    assert_eq!(fixture.world.files(&one), fixture.world.files(&other));
    fixture.world.write_file(&one, "/workspace/only-here.txt", "tried");
    assert_ne!(fixture.world.files(&one), fixture.world.files(&other));
}

#[test]
fn branch_of_branch_has_same_root() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let first = fixture.branch(&snapshot).unwrap().sandbox_id().clone();
    fixture.world.advance_clock(60_000);
    let second = fixture.branch(&fixture.snapshot_with(SnapshotRequest::of(first.clone())).unwrap()).unwrap();
    assert!(second.sandbox_id().as_str().starts_with(&format!("{first}-branch-")), "{}", second.sandbox_id());
    assert_eq!(second.root_id().as_str(), "agent-42");
}

#[test]
fn failed_branch_leaves_no_sandbox() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.world.after(Method::RestoreBackup).fail_transiently();
    fixture.branch(&snapshot).expect_code(Code::SandboxUnavailable);
    fixture.assert_no_minted_sandbox_runs();
}
