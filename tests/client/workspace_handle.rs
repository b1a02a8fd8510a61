//! The handle of a workspace calls the operations by its name.

use sandbox_snapshotter::model::background::CommandState;
use sandbox_snapshotter::model::named::State;
use sandbox_snapshotter::model::named::answer::StartOutcome;
use sandbox_snapshotter::model::named::settings::OnImageChange;
use sandbox_snapshotter::model::request::{
    CommandOutputRequest, ExecRequest, ForkRequest, SettingsUpdate, SnapshotText, WriteFileRequest,
};
use sandbox_snapshotter::model::{Code, Label, RestoreRequest, Selection, SnapshotRequest};
use sandbox_snapshotter_client::{Client, Error};

use super::in_memory::{InMemoryTransport, run_ready};
use super::support::{Fixture, WORKSPACE, address};

#[test]
fn handle_covers_the_life_of_a_workspace() {
    let service = InMemoryTransport::new(Fixture::empty());
    let client = Client::new(&service);
    let workspace = client.workspace(address(WORKSPACE));
    run_ready(async {
        assert_eq!(workspace.get_or_create().await?.how, StartOutcome::Empty);
        assert_eq!(workspace.exec("npm test").await?.exit_code, 0);
        service.fixture.write_workspace_file(WORKSPACE, "first");
        let label = Some(Label::parse("before").unwrap());
        let taken = workspace.snapshot(|request| SnapshotRequest { label, ..request }).await?;
        assert_eq!(taken.snapshot_id, *taken.snapshot.snapshot_id());
        assert_eq!(workspace.stop().await?.description.state, State::Stopped);

        let command = ExecRequest { cwd: Some("src".into()), ..ExecRequest::named(address("other"), "npm test") };
        let ran = workspace.exec_with(command).await?;
        assert_eq!(ran.started.map(|started| started.how), Some(StartOutcome::Restored));
        assert_eq!(workspace.describe().await?.name.as_str(), WORKSPACE);
        assert_eq!(workspace.fork(|request| ForkRequest { count: 2, ..request }).await?.forks.len(), 2);
        let changes = SettingsUpdate { persistent: Some(false), ..SettingsUpdate::default() };
        assert!(!workspace.update(changes).await?.persistent);
        Ok::<_, Error>(())
    })
    .unwrap();
}

#[test]
fn handle_compares_a_snapshot_with_the_present_files() {
    let service = InMemoryTransport::new(Fixture::with_workspace());
    let client = Client::new(&service);
    let workspace = client.workspace(address(WORKSPACE));
    run_ready(async {
        let taken = workspace.snapshot(|request| request).await?;
        workspace.files().write("new.txt", "new").await?;
        let diff = workspace.diff(SnapshotText::Id(taken.snapshot_id), None, |request| request).await?;
        let paths: Vec<_> = diff.changes.iter().map(|change| change.path.as_str()).collect();
        assert_eq!((paths, diff.to, diff.sandbox_id.is_some()), (vec!["new.txt"], None, true));
        Ok::<_, Error>(())
    })
    .unwrap();
}

#[test]
fn handle_reads_and_changes_files() {
    let service = InMemoryTransport::new(Fixture::with_stopped_workspace());
    let client = Client::new(&service);
    let workspace = client.workspace(address(WORKSPACE));
    let files = workspace.files();
    run_ready(async {
        let written = files.write("src/a.txt", "text").await?;
        assert_eq!(written.location.started.map(|started| started.how), Some(StartOutcome::Restored));
        let read = files.read("src/a.txt").await?;
        assert_eq!((read.content.as_str(), &read.file.etag), ("text", &written.etag));
        let other = |request| WriteFileRequest { if_match: Some("0f".repeat(32)), ..request };
        let refused = files.write_with("src/a.txt", "new", other).await.unwrap_err();
        assert_eq!(*refused.code(), Code::FileChanged);
        files.mkdir("docs").await?;
        files.move_file("src/a.txt", "docs/b.txt", false).await?;
        assert_eq!(files.list("docs", |request| request).await?.files[0].name, "b.txt");
        assert_eq!(files.stat("docs/b.txt").await?.attributes.size_bytes, 4);
        assert_eq!(files.read_range("docs/b.txt", 1, 2).await?.content, "ex");
        assert!(files.remove("docs", true).await?.removed);
        Ok::<_, Error>(())
    })
    .unwrap();
}

#[test]
fn handle_starts_reads_and_ends_background_commands() {
    let service = InMemoryTransport::new(Fixture::with_stopped_workspace());
    let client = Client::new(&service);
    let workspace = client.workspace(address(WORKSPACE));
    let commands = workspace.commands();
    run_ready(async {
        let started = commands.start("serve").await?;
        assert_eq!(started.started.map(|started| started.how), Some(StartOutcome::Restored));
        let id = started.command.command_id;
        assert_eq!(commands.list().await?.commands[0].command_id, id);
        let output = commands.output(&id, |request| CommandOutputRequest { wait_seconds: 1, ..request }).await?;
        assert_eq!((output.description.command.state, output.next_offset), (CommandState::Running, 0));
        let ended = commands.end(&id, |request| request).await?;
        assert_eq!(ended.command.state, CommandState::Killed);
        Ok::<_, Error>(())
    })
    .unwrap();
}

#[test]
fn handle_rolls_the_workspace_back_to_a_snapshot() {
    let service = InMemoryTransport::new(Fixture::with_workspace());
    let client = Client::new(&service);
    let workspace = client.workspace(address(WORKSPACE));
    run_ready(async {
        let before = workspace.describe().await?.sandbox_id;
        let taken = workspace.snapshot(|request| request).await?;
        let rolled_back = workspace.rollback(taken.snapshot.snapshot_id().clone()).await?;
        assert_ne!(rolled_back.sandbox_id, before);
        assert_eq!(rolled_back.former_sandbox_ids, [before]);
        Ok::<_, Error>(())
    })
    .unwrap();
}

#[test]
fn answer_about_a_workspace_is_converted_to_its_handle() {
    let service = InMemoryTransport::new(Fixture::with_workspace());
    let client = Client::new(&service);
    let workspace = client.workspace(address(WORKSPACE));
    run_ready(async {
        let described = workspace.describe().await?;
        let started = workspace.start().await?;
        let stopped = workspace.stop().await?;
        for handle in [client.workspace(&described), client.workspace(&started), client.workspace(&stopped)] {
            assert_eq!(handle.address(), workspace.address());
        }
        Ok::<_, Error>(())
    })
    .unwrap();
}

#[test]
fn handle_lists_and_compares_snapshots_of_all_its_sandboxes() {
    let service = InMemoryTransport::new(Fixture::with_workspace());
    let client = Client::new(&service);
    let workspace = client.workspace(address(WORKSPACE));
    run_ready(async {
        let first = workspace.snapshot(|request| request).await?;
        workspace.rollback(first.snapshot_id.clone()).await?;
        let second = workspace.snapshot(|request| request).await?;
        let listed: Vec<_> = workspace.snapshots().await?.into_iter().map(|snapshot| snapshot.snapshot_id).collect();
        assert_eq!(listed.first(), Some(&second.snapshot_id));
        assert_eq!(listed.last(), Some(&first.snapshot_id));

        let [from, to] = [first.snapshot_id.clone(), second.snapshot_id].map(SnapshotText::Id);
        assert!(workspace.diff(from.clone(), Some(to), |request| request).await?.changes.is_empty());
        let short = SnapshotText::Short(first.short_ref.expect("a short ref"));
        assert!(workspace.diff(short, Some(from.clone()), |request| request).await?.changes.is_empty());
        let unknown = SnapshotText::parse("snap-aaaaaaaaaaaaaaaa").unwrap();
        let refused = workspace.diff(from, Some(unknown), |request| request).await.unwrap_err();
        assert_eq!(*refused.code(), Code::SnapshotNotFound);
        Ok::<_, Error>(())
    })
    .unwrap();
}

#[test]
fn handle_returns_the_lineage_of_its_present_sandbox() {
    let service = InMemoryTransport::new(Fixture::with_workspace());
    let client = Client::new(&service);
    let workspace = client.workspace(address(WORKSPACE));
    run_ready(async {
        assert_eq!(workspace.lineage().await?.root.sandbox_id, workspace.describe().await?.sandbox_id);
        Ok::<_, Error>(())
    })
    .unwrap();
}

#[test]
fn deleted_workspace_is_not_found() {
    let service = InMemoryTransport::new(Fixture::with_workspace());
    let client = Client::new(&service);
    let workspace = client.workspace(address(WORKSPACE));
    run_ready(async {
        assert!(workspace.delete().await?.removed);
        assert_eq!(*workspace.exec("ls").await.unwrap_err().code(), Code::WorkspaceNotFound);
        Ok::<_, Error>(())
    })
    .unwrap();
}

#[test]
fn snapshot_is_restored_by_its_short_ref() {
    let service = InMemoryTransport::new(Fixture::with_workspace());
    let client = Client::new(&service);
    run_ready(async {
        let taken = client.workspace(address(WORKSPACE)).snapshot(|request| request).await?;
        let short = taken.short_ref.expect("a short ref");
        let selection = Selection::by_short_ref(short);
        let restored = client
            .restore(&RestoreRequest {
                selection,
                runtime: None,
                on_image_change: OnImageChange::Report,
                idempotency_key: None,
            })
            .await?;
        assert_eq!(restored.root_id(), taken.snapshot.root_id());
        Ok::<_, Error>(())
    })
    .unwrap();
}
