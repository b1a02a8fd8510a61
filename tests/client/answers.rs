//! The client returns the service's answers as typed values.

use sandbox_snapshotter::model::checkpoint::CheckpointName;
use sandbox_snapshotter::model::files::{FilePath, FileType};
use sandbox_snapshotter::model::named::State;
use sandbox_snapshotter::model::named::answer::StartOutcome;
use sandbox_snapshotter::model::named::settings::Hooks;
use sandbox_snapshotter::model::request::{
    ApplyRetentionRequest, CheckpointLocation, CreateCheckpointRequest, CreateRequest, DeleteCheckpointRequest,
    DeleteRequest, DiffCheckpointRequest, DiffRequest, ForkRequest, GetOrCreateRequest, LabelRequest, LineageRequest,
    LineageScope, ListCheckpointsRequest, ListFilesRequest, ListRequest, ListWorkspacesRequest, MigrateRequest,
    ReadFileRequest, RestoreCheckpointRequest, RestoreFilesRequest, SandboxRequest, SetRetentionRequest,
    SettingsUpdate, StartRequest, StatFileRequest, SummaryRequest, SweepRequest, UpdateRequest,
};
use sandbox_snapshotter::model::{
    Code, DerivationKind, Label, Policy, RestoreRequest, Runtime, Selection, SnapshotRequest, derivation_kind_of,
};
use sandbox_snapshotter_client::{Client, Error};
use serde_json::json;

use super::in_memory::{InMemoryTransport, run_ready};
use super::support::{FILE, Fixture, WORKSPACE, address, sandbox};

fn label(text: &str) -> Label {
    Label::parse(text).unwrap()
}

#[test]
fn lineage_of_many_generations_is_truncated_to_readable_json() {
    let service = InMemoryTransport::new(Fixture::with_sandbox());
    let client = Client::new(&service);
    run_ready(async {
        let mut id = sandbox("agent-42");
        for _ in 0..30 {
            let taken = client.snapshot(&SnapshotRequest::of(id)).await?;
            id = client.restore(&RestoreRequest::of(taken.snapshot)).await?.sandbox_id().clone();
        }
        let tree = client.lineage(&LineageRequest::of(id)).await?;
        assert_eq!((tree.sandboxes, tree.truncated), (28, true));
        Ok::<_, Error>(())
    })
    .unwrap();
}

#[test]
fn snapshot_is_taken_restored_listed_and_deleted() {
    let service = InMemoryTransport::new(Fixture::with_sandbox());
    let client = Client::new(&service);
    let agent = || sandbox("agent-42");
    run_ready(async {
        let request = SnapshotRequest { label: Some(label("before")), ..SnapshotRequest::of(agent()) };
        let taken = client.snapshot(&request).await?;
        assert_eq!(taken.capture.label, label("before"));
        let restored = client.restore(&RestoreRequest::of(taken.snapshot.clone())).await?;
        assert_eq!(derivation_kind_of(restored.sandbox_id()), Some(DerivationKind::Restored));
        let branch = client.branch(&RestoreRequest::of(taken.snapshot.clone())).await?;
        assert_eq!(branch.root_id(), &agent());

        let selection = Selection::by_label(agent(), label("before"));
        assert_eq!(client.get(&selection).await?.snapshot.as_ref(), Some(&taken.snapshot));
        assert_eq!(client.list(&ListRequest::of(agent())).await?.snapshots.len(), 1);
        assert_eq!(client.manifest(&selection).await?.derived.len(), 2);
        assert!(client.verify(&selection).await?.ok);
        let files = client.files();
        let path = FilePath::parse("notes.txt")?;
        assert_eq!(files.list(&ListFilesRequest::of(selection.clone())).await?.files[0].name, "notes.txt");
        let file = StatFileRequest { source: selection.clone().into(), path: path.clone() };
        assert_eq!(files.stat(&file).await?.attributes.r#type, FileType::File);
        let content = files.read(&ReadFileRequest::of(selection.clone(), path)).await?;
        assert_eq!(content.bytes().map(|bytes| bytes.len() as u64), Some(content.length));
        let summary = SummaryRequest { selection: selection.clone(), path: None };
        assert_eq!(files.summary(&summary).await?.totals.files, 1);
        let restore = RestoreFilesRequest::of(selection.clone(), vec![FilePath::parse("notes.txt")?]);
        assert_eq!(files.restore(&restore).await?.skipped, ["notes.txt"]);
        let diff = client.diff(&DiffRequest::of(selection.clone(), selection.clone())).await?;
        assert_eq!((diff.changes.len(), diff.cursor), (0, None));
        assert!(client.pin(&selection).await?.pinned);
        assert!(!client.unpin(&selection).await?.pinned);
        assert_eq!(client.lineage(&LineageRequest::of(agent())).await?.sandboxes, 3);

        let policy = Policy { keep_daily: 7, ..Policy::default() };
        let set = SetRetentionRequest { sandbox_id: agent(), policy: policy.clone(), dry_run: false };
        assert_eq!(client.set_retention(&set).await?.policy, policy);
        assert_eq!(client.retention(&SandboxRequest::of(agent())).await?.decisions.len(), 1);
        assert_eq!(
            client.apply_retention(&ApplyRetentionRequest { sandbox_id: agent(), dry_run: true }).await?.evicted,
            0
        );
        assert!(client.rotate_key(&SandboxRequest::of(agent())).await?.previous.is_some());
        assert_eq!(client.sweep(&SweepRequest::default()).await?.deleted, 0);

        let new_label = LabelRequest { selection: selection.clone(), new_label: label("after"), replace: false };
        assert_eq!(client.label(&new_label).await?.label, label("after"));
        let selection = Selection::of(taken.snapshot);
        let error = client.delete(&DeleteRequest::of(selection.clone(), false)).await.unwrap_err();
        assert_eq!(*error.code(), Code::SnapshotHasDependents);
        assert!(client.delete(&DeleteRequest::of(selection, true)).await?.removed);
        Ok::<_, Error>(())
    })
    .unwrap();
}

#[test]
fn workspace_is_created_stopped_started_forked_updated_and_deleted() {
    let service = InMemoryTransport::new(Fixture::empty());
    let client = Client::new(&service);
    let workspaces = client.workspaces();
    let workspace = address(WORKSPACE);
    run_ready(async {
        let hooks: Hooks = serde_json::from_value(json!({ "afterStart": { "command": "make" } })).unwrap();
        let changes = SettingsUpdate { hooks: Some(hooks), ..SettingsUpdate::default() };
        let created =
            workspaces.create(&CreateRequest { settings: changes, ..CreateRequest::of(workspace.clone()) }).await?;
        assert_eq!((created.how, created.description.state), (StartOutcome::Empty, State::Active));
        service.fixture.write_workspace_file(WORKSPACE, "first");
        assert_eq!(workspaces.stop(&workspace).await?.description.state, State::Stopped);
        assert_eq!(workspaces.start(&StartRequest::of(workspace.clone())).await?.how, StartOutcome::Restored);
        let again = GetOrCreateRequest::of(workspace.clone());
        assert_eq!(workspaces.get_or_create(&again).await?.how, StartOutcome::Running);
        service.fixture.deploy_both_runtimes(Runtime::Sdk012);
        let migration = MigrateRequest { address: workspace.clone(), runtime: Runtime::Container };
        assert_eq!(workspaces.migrate(&migration).await?.description.runtime, Some(Runtime::Container));
        assert_eq!(workspaces.start(&StartRequest::of(workspace.clone())).await?.how, StartOutcome::Restored);
        let forked = workspaces.fork(&ForkRequest { count: 2, ..ForkRequest::of(workspace.clone()) }).await?;
        assert!(
            forked
                .forks
                .iter()
                .all(|fork| fork.value.as_ref().is_some_and(|created| created.how == StartOutcome::Restored))
        );
        assert_eq!(workspaces.list(&ListWorkspacesRequest::of(workspace.tenant.clone())).await?.workspaces.len(), 3);
        let changes = SettingsUpdate { persistent: Some(false), ..SettingsUpdate::default() };
        assert!(!workspaces.update(&UpdateRequest::of(workspace.clone(), changes)).await?.persistent);
        assert_eq!(workspaces.get_by_name(&workspace).await?.name, workspace.name);
        assert!(workspaces.delete(&workspace).await?.removed);
        assert_eq!(*workspaces.get_by_name(&workspace).await.unwrap_err().code(), Code::WorkspaceNotFound);
        Ok::<_, Error>(())
    })
    .unwrap();
}

#[test]
fn checkpoint_is_created_listed_diffed_and_restored() {
    let service = InMemoryTransport::new(Fixture::with_sandbox());
    let client = Client::new(&service);
    let checkpoints = client.checkpoints();
    let at = CheckpointLocation {
        sandbox_id: sandbox("agent-42"),
        runtime: None,
        dir: None,
        lineage_scope: LineageScope::UNRESTRICTED,
    };
    let name = CheckpointName::parse("s1").unwrap();
    run_ready(async {
        let create = CreateCheckpointRequest {
            location: at.clone(),
            name: name.clone(),
            description: None,
            expiration_seconds: None,
        };
        let created = checkpoints.create(&create).await?.checkpoint;
        assert_eq!(
            checkpoints.list(&ListCheckpointsRequest::of(at.clone())).await?.checkpoints,
            std::slice::from_ref(&created)
        );
        service.fixture.world.write_file("agent-42", FILE, "second");
        let diff = DiffCheckpointRequest {
            location: at.clone(),
            name: name.clone(),
            max_bytes: DiffCheckpointRequest::DEFAULT_BYTES,
        };
        assert!(checkpoints.diff(&diff).await?.size_bytes > 0);
        let restore =
            RestoreCheckpointRequest { location: at.clone(), name: name.clone(), prune_empty_directories: false };
        let restored = checkpoints.restore(&restore).await?;
        assert_eq!((restored.commit, restored.changed_count), (created.commit, 1));
        let delete = DeleteCheckpointRequest { location: at.clone(), name: name.clone() };
        assert!(checkpoints.delete(&delete).await?.removed);
        Ok::<_, Error>(())
    })
    .unwrap();
}
