//! A caller gets what the service answers, with its types.

use sandbox_snapshotter::client::{Client, Error};
use sandbox_snapshotter::model::checkpoint::CheckpointName;
use sandbox_snapshotter::model::named::State;
use sandbox_snapshotter::model::named::messages::{How, Start};
use sandbox_snapshotter::model::named::settings::Hooks;
use sandbox_snapshotter::model::request::{
    ApplyRetentionRequest, Changes, CheckpointsRequest, CreateCheckpointRequest, CreateRequest, DeleteRequest,
    DiffCheckpointRequest, ForkRequest, GetOrCreateRequest, LabelRequest, LineageRequest, ListCheckpointsRequest,
    ListRequest, NamesRequest, PolicyRequest, RestoreCheckpointRequest, Session, StartRequest, SweepRequest,
    UpdateRequest, WorkspaceRequest,
};
use sandbox_snapshotter::model::{
    Code, Label, Lineage, Policy, RestoreRequest, Selection, SnapshotRequest, lineage_of,
};
use serde_json::json;

use super::in_memory::{InMemory, done};
use super::support::{FILE, Stage, WORK, address, sandbox};

fn label(text: &str) -> Label {
    Label::parse(text).unwrap()
}

#[test]
fn a_lineage_of_many_generations_is_shown_as_far_as_its_json_can_be_read() {
    let service = InMemory::new(Stage::with_sandbox());
    let client = Client::new(&service);
    done(async {
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
fn a_snapshot_is_taken_restored_listed_and_deleted() {
    let service = InMemory::new(Stage::with_sandbox());
    let client = Client::new(&service);
    let agent = || sandbox("agent-42");
    done(async {
        let request = SnapshotRequest { label: Some(label("before")), ..SnapshotRequest::of(agent()) };
        let taken = client.snapshot(&request).await?;
        assert_eq!(taken.capture.label, label("before"));
        let restored = client.restore(&RestoreRequest::of(taken.snapshot.clone())).await?;
        assert_eq!(lineage_of(restored.sandbox_id()), Some(Lineage::Restored));
        let branch = client.branch(&RestoreRequest::of(taken.snapshot.clone())).await?;
        assert_eq!(branch.root_id(), &agent());

        let selection = Selection::by_label(agent(), label("before"));
        assert_eq!(client.get(&selection).await?.snapshot.as_ref(), Some(&taken.snapshot));
        assert_eq!(client.list(&ListRequest::of(agent())).await?.snapshots.len(), 1);
        assert_eq!(client.manifest(&selection).await?.derived.len(), 2);
        assert!(client.verify(&selection).await?.ok);
        assert!(client.pin(&selection).await?.pinned);
        assert!(!client.unpin(&selection).await?.pinned);
        assert_eq!(client.lineage(&LineageRequest::of(agent())).await?.sandboxes, 3);

        let policy = Policy { keep_daily: 7, ..Policy::default() };
        let set = PolicyRequest { sandbox_id: agent(), policy: policy.clone(), dry_run: false };
        assert_eq!(client.set_retention(&set).await?.policy, policy);
        assert_eq!(client.retention(&WorkspaceRequest::of(agent())).await?.decisions.len(), 1);
        assert_eq!(
            client.apply_retention(&ApplyRetentionRequest { sandbox_id: agent(), dry_run: true }).await?.let_go,
            0
        );
        assert!(client.rotate_key(&WorkspaceRequest::of(agent())).await?.previous.is_some());
        assert_eq!(client.sweep(&SweepRequest::default()).await?.swept, 0);

        let new_label = LabelRequest { selection: selection.clone(), new_label: label("after"), replace: false };
        assert_eq!(client.label(&new_label).await?.label, label("after"));
        let selection = Selection::of(taken.snapshot);
        let error = client.delete(&DeleteRequest { selection: selection.clone(), force: false }).await.unwrap_err();
        assert_eq!(*error.code(), Code::SnapshotHeld);
        assert!(client.delete(&DeleteRequest { selection, force: true }).await?.removed);
        Ok::<_, Error>(())
    })
    .unwrap();
}

#[test]
fn a_workspace_is_made_stopped_started_forked_changed_and_deleted() {
    let service = InMemory::new(Stage::empty());
    let client = Client::new(&service);
    let workspaces = client.workspaces();
    let work = address(WORK);
    done(async {
        let hooks: Hooks = serde_json::from_value(json!({ "afterStart": { "command": "make" } })).unwrap();
        let changes = Changes { hooks: Some(hooks), ..Changes::default() };
        let made = workspaces.create(&CreateRequest { changes, ..CreateRequest::of(work.clone()) }).await?;
        assert_eq!((made.how, made.described.state), (How::Empty, State::Active));
        service.stage.writes(WORK, "first");
        assert_eq!(workspaces.stop(&work).await?.described.state, State::Stopped);
        assert_eq!(workspaces.start(&StartRequest::of(work.clone())).await?.how, How::Restored);
        let again = GetOrCreateRequest { create: CreateRequest::of(work.clone()), start: Start::default() };
        assert_eq!(workspaces.get_or_create(&again).await?.how, How::Alive);
        let forked = workspaces.fork(&ForkRequest { count: 2, ..ForkRequest::of(work.clone()) }).await?;
        assert!(forked.forks.iter().all(|fork| fork.value.as_ref().is_some_and(|made| made.how == How::Restored)));
        assert_eq!(workspaces.list(&NamesRequest::of(work.tenant.clone())).await?.workspaces.len(), 3);
        let changes = Changes { persistent: Some(false), ..Changes::default() };
        assert!(!workspaces.update(&UpdateRequest::of(work.clone(), changes)).await?.persistent);
        assert_eq!(workspaces.get_by_name(&work).await?.name, work.name);
        assert!(workspaces.delete(&work).await?.removed);
        assert_eq!(*workspaces.get_by_name(&work).await.unwrap_err().code(), Code::WorkspaceNotFound);
        Ok::<_, Error>(())
    })
    .unwrap();
}

#[test]
fn a_checkpoint_is_made_listed_compared_and_gone_back_to() {
    let service = InMemory::new(Stage::with_sandbox());
    let client = Client::new(&service);
    let checkpoints = client.checkpoints();
    let at = CheckpointsRequest { sandbox_id: sandbox("agent-42"), dir: None, session: Session::NONE };
    let name = CheckpointName::parse("s1").unwrap();
    done(async {
        let create = CreateCheckpointRequest { at: at.clone(), name: name.clone(), description: None };
        let made = checkpoints.create(&create).await?.checkpoint;
        assert_eq!(
            checkpoints.list(&ListCheckpointsRequest::of(at.clone())).await?.checkpoints,
            std::slice::from_ref(&made)
        );
        service.stage.world.writes("agent-42", FILE, "second");
        let diff =
            DiffCheckpointRequest { at: at.clone(), name: name.clone(), max_bytes: DiffCheckpointRequest::BYTES };
        assert!(checkpoints.diff(&diff).await?.size_bytes > 0);
        let restored = checkpoints.restore(&RestoreCheckpointRequest { at: at.clone(), name: name.clone() }).await?;
        assert_eq!((restored.commit, restored.changed_count), (made.commit, 1));
        Ok::<_, Error>(())
    })
    .unwrap();
}
