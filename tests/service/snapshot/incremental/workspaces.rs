//! Deltas of named workspaces.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Runtime, SnapshotRequest};
use serde_json::json;

use super::{RUNTIMES, active_workspace, workspace_of};
use crate::support::{Fixture, MINUTE, WORKSPACE, no_expiry, sandbox};

#[test]
fn started_workspace_continues_with_deltas_of_the_same_base() {
    let fixtures = RUNTIMES.map(Fixture::incremental).into_iter().chain([Fixture::incremental_in_production()]);
    for fixture in fixtures.map(workspace_of) {
        let id = fixture.sandbox_of(WORKSPACE);
        let mut bases = Vec::new();
        for content in ["one", "two", "three", "four"] {
            fixture.write_workspace_file(WORKSPACE, content);
            let files = fixture.world.files(&id);
            fixture.stop_workspace(WORKSPACE).unwrap();
            fixture.world.advance_clock(MINUTE);
            let newest = fixture.ledger(&id).live_snapshots().remove(0);
            bases.push(newest.base_id().cloned());
            fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
            fixture.world.advance_clock(MINUTE);
            assert_eq!(fixture.world.files(&id), files, "{content}");
        }
        assert_eq!(bases[0], None);
        assert!(bases[1].is_some() && bases[1..].iter().all(|base| *base == bases[1]), "{bases:?}");
    }
}

#[test]
fn workspace_decides_whether_its_snapshots_are_incremental() {
    for (deployment, workspace) in [(true, false), (false, true)] {
        let fixture = if deployment { Fixture::incremental(Runtime::Container) } else { Fixture::empty() };
        let mut settings = no_expiry();
        settings["incremental"] = json!(workspace);
        fixture.create_workspace(WORKSPACE, &settings).unwrap();
        fixture.world.advance_clock(MINUTE);
        let id = fixture.sandbox_of(WORKSPACE);
        for content in ["one", "two"] {
            fixture.write_workspace_file(WORKSPACE, content);
            fixture.capture(SnapshotRequest::of(sandbox(&id))).unwrap();
        }
        assert_eq!(fixture.ledger(&id).live_snapshots()[0].base_id().is_some(), workspace);
        fixture.write_workspace_file(WORKSPACE, "three");
        fixture.update_workspace(WORKSPACE, &json!({ "incremental": !workspace })).unwrap();
        fixture.stop_workspace(WORKSPACE).unwrap();
        fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
        fixture.world.advance_clock(MINUTE);
        fixture.write_workspace_file(WORKSPACE, "four");
        fixture.stop_workspace(WORKSPACE).unwrap();
        assert_eq!(fixture.ledger(&id).live_snapshots()[0].base_id().is_some(), !workspace);
    }
}

#[test]
fn fork_and_promotion_of_a_delta_have_its_files() {
    let fixtures = RUNTIMES.map(Fixture::incremental).into_iter().chain([Fixture::incremental_in_production()]);
    for fixture in fixtures.map(workspace_of) {
        let id = fixture.sandbox_of(WORKSPACE);
        fixture.stop_workspace(WORKSPACE).unwrap();
        fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
        fixture.world.advance_clock(MINUTE);
        fixture.write_workspace_file(WORKSPACE, "second");
        let files = fixture.world.files(&id);
        fixture.fork_workspace(WORKSPACE, &json!({ "newName": "fork" })).unwrap();
        assert!(fixture.ledger(&id).live_snapshots()[0].base_id().is_some());
        fixture.start_workspace("fork", &json!({})).unwrap();
        assert_eq!(fixture.world.files(&fixture.sandbox_of("fork")), files);
        // The fork depends on the delta, which depends on its base.
        fixture.write_workspace_file(WORKSPACE, "third");
        fixture.promote_workspace(WORKSPACE, &json!({ "from": "fork" })).unwrap();
        assert_eq!(fixture.world.files(&fixture.sandbox_of(WORKSPACE)), files);
    }
}

#[test]
fn workspace_with_platform_snapshots_has_its_files_after_each_start() {
    let fixture = Fixture::incremental(Runtime::Container);
    fixture.world.enable_platform_snapshots();
    let mut settings = no_expiry();
    settings["storage"] = json!("both");
    fixture.create_workspace(WORKSPACE, &settings).unwrap();
    let id = fixture.sandbox_of(WORKSPACE);
    for content in ["one", "two", "three"] {
        fixture.world.advance_clock(MINUTE);
        fixture.write_workspace_file(WORKSPACE, content);
        let files = fixture.world.files(&id);
        fixture.stop_workspace(WORKSPACE).unwrap();
        let newest = fixture.ledger(&id).live_snapshots().remove(0);
        let restored = fixture.run(Operation::Restore, &json!({ "sandboxId": id, "snapshotId": newest.snapshot_id }));
        let sandbox_id = restored.unwrap()["ref"]["sandboxId"].as_str().unwrap().to_owned();
        assert_eq!(fixture.world.files(&sandbox_id), files, "{content}");
        fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
        assert_eq!(fixture.world.files(&id), files, "{content}");
    }
}

#[test]
fn first_snapshot_after_a_start_over_files_of_the_image_is_full() {
    let fixture = active_workspace(Runtime::Sdk012);
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.stop_workspace(WORKSPACE).unwrap();
    fixture.world.add_image_file("/workspace/of-image", "i");
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.world.advance_clock(MINUTE);
    fixture.write_workspace_file(WORKSPACE, "second");
    fixture.stop_workspace(WORKSPACE).unwrap();
    assert_eq!(fixture.ledger(&id).live_snapshots()[0].base_id(), None);
}

#[test]
fn stop_does_not_rely_on_a_base_whose_archive_is_lost() {
    let fixtures = RUNTIMES.map(Fixture::incremental).into_iter().chain([Fixture::incremental_in_production()]);
    for fixture in fixtures.map(workspace_of) {
        let id = fixture.sandbox_of(WORKSPACE);
        fixture.stop_workspace(WORKSPACE).unwrap();
        fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
        fixture.world.advance_clock(MINUTE);
        fixture.write_workspace_file(WORKSPACE, "second");
        let files = fixture.world.files(&id);
        fixture.world.edit_backups(|backup| backup.resize(5));
        fixture.stop_workspace(WORKSPACE).unwrap();
        fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
        assert_eq!(fixture.world.files(&id), files);
    }
}
