//! Incremental snapshots: a delta contains what changed since its base, is restored together with it, and is made only where
//! the changes are certain.

mod capture;
mod faults;
mod files;
mod mounted;
mod references;
mod restore;
mod workspaces;

use sandbox_snapshotter::model::{Runtime, SnapshotRef, SnapshotRequest, TakenSnapshot};

use crate::support::{FILE, Fixture, MINUTE, WORKSPACE, no_expiry, sandbox};

const RUNTIMES: [Runtime; 2] = [Runtime::Sdk012, Runtime::Container];

/// A sandbox with two files and a full snapshot, in which one file was changed since.
fn changed_sandbox(runtime: Runtime) -> (Fixture, TakenSnapshot) {
    let fixture = Fixture::incremental(runtime);
    fixture.start_sandbox("agent-42");
    fixture.world.write_file("agent-42", "/workspace/large", &"x".repeat(1000));
    let base = take(&fixture);
    fixture.world.advance_clock(MINUTE);
    fixture.world.write_file("agent-42", FILE, "second");
    (fixture, base)
}

fn request() -> SnapshotRequest {
    SnapshotRequest::of(sandbox("agent-42"))
}

fn take(fixture: &Fixture) -> TakenSnapshot {
    fixture.capture(request()).unwrap()
}

fn restored_files(fixture: &Fixture, snapshot: &SnapshotRef) -> Option<std::collections::BTreeMap<String, String>> {
    let restored = fixture.restore(snapshot).unwrap();
    fixture.world.files(restored.sandbox_id().as_str())
}

fn active_workspace(runtime: Runtime) -> Fixture {
    workspace_of(Fixture::incremental(runtime))
}

fn workspace_of(fixture: Fixture) -> Fixture {
    fixture.create_workspace(WORKSPACE, &no_expiry()).unwrap();
    fixture.world.advance_clock(MINUTE);
    fixture.write_workspace_file(WORKSPACE, "first");
    fixture
}

/// Damages the archive of a snapshot in R2.
fn lose_archive(fixture: &Fixture, snapshot: &SnapshotRef) {
    let id = snapshot.backup().id().clone();
    fixture.world.edit_backups(|backup| {
        if *backup.id() == id {
            backup.resize(5);
        }
    });
}
