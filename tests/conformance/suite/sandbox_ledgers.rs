//! The calls to the ledgers of other sandboxes.

use std::slice;

use sandbox_snapshotter::model::named::messages::ClaimRequest;
use sandbox_snapshotter::model::record::ParentLink;
use sandbox_snapshotter::model::{BackupLocation, BackupOwner, DerivationKind, SandboxId, SnapshotId};
use sandbox_snapshotter::ports::{BackupStore, SandboxLedgerClient, SandboxSession, Sandboxes};

use super::Case;
use super::ledger::rows::snapshot_id;
use super::world::{World, backup_options};

pub fn cases<W: World>() -> Vec<Case<W>> {
    vec![
        case!(async id_is_claimed_only_once),
        case!(async claimed_ledger_returns_its_parent_and_root),
        case!(async refused_claim_changes_nothing),
        case!(async unclaimed_sandbox_is_the_root_of_its_lineage),
        case!(async reads_do_not_claim_a_ledger),
        case!(async ids_are_passed_unchanged),
        case!(async release_of_an_unknown_snapshot_succeeds),
        case!(async sweep_deletes_minted_backups_that_the_ledger_does_not_list),
        case!(async sweep_keeps_backups_that_the_ledger_has_not_minted),
        case!(async sweep_keeps_backups_of_another_owner),
    ]
}

async fn id_is_claimed_only_once(world: &impl World) {
    let (id, origin) = (world.sandbox("copy"), world.sandbox("agent"));
    assert_eq!(world.sandbox_ledgers().claim(&id, &claim(&origin, &origin)).await, Ok(true));
    assert_eq!(world.sandbox_ledgers().claim(&id, &claim(&origin, &origin)).await, Ok(false));
}

async fn claimed_ledger_returns_its_parent_and_root(world: &impl World) {
    let (id, origin, root) = (world.sandbox("copy"), world.sandbox("agent"), world.sandbox("first"));
    world.sandbox_ledgers().claim(&id, &claim(&root, &origin)).await.unwrap();
    assert_eq!(world.sandbox_ledgers().root_id(&id).await, Ok(root.clone()));
    let description = world.sandbox_ledgers().describe(&id).await.unwrap();
    assert_eq!(description.root_id, root);
    let ancestor = description.parent.unwrap();
    assert_eq!((ancestor.origin_id, ancestor.snapshot_id), (origin, snapshot_id(1)));
}

async fn refused_claim_changes_nothing(world: &impl World) {
    let (id, origin, other) = (world.sandbox("copy"), world.sandbox("agent"), world.sandbox("other"));
    world.sandbox_ledgers().claim(&id, &claim(&origin, &origin)).await.unwrap();
    let before = world.sandbox_ledgers().describe(&id).await.unwrap();
    assert_eq!(world.sandbox_ledgers().claim(&id, &claim(&other, &other)).await, Ok(false));
    assert_eq!(world.sandbox_ledgers().describe(&id).await, Ok(before));
}

async fn unclaimed_sandbox_is_the_root_of_its_lineage(world: &impl World) {
    let id = world.sandbox("agent");
    assert_eq!(world.sandbox_ledgers().root_id(&id).await, Ok(id.clone()));
    let description = world.sandbox_ledgers().describe(&id).await.unwrap();
    assert_eq!((description.root_id, description.parent), (id, None));
    assert!(description.snapshots.is_empty() && description.derived.is_empty() && !description.truncated);
}

async fn reads_do_not_claim_a_ledger(world: &impl World) {
    let (id, origin) = (world.sandbox("copy"), world.sandbox("agent"));
    world.sandbox_ledgers().root_id(&id).await.unwrap();
    world.sandbox_ledgers().describe(&id).await.unwrap();
    world.sandbox_ledgers().release(&id, &snapshot_id(1), &origin).await.unwrap();
    assert_eq!(world.sandbox_ledgers().claim(&id, &claim(&origin, &origin)).await, Ok(true));
}

async fn ids_are_passed_unchanged(world: &impl World) {
    for name in ["Agent 42", "it's \"quoted\"", "a/b?c=d&e#f", "a\\b", "%41", "ä 文件 🗂"] {
        let (id, origin) = (world.sandbox(name), world.sandbox(&format!("{name}!")));
        assert_eq!(world.sandbox_ledgers().claim(&id, &claim(&origin, &origin)).await, Ok(true), "{name}");
        let description = world.sandbox_ledgers().describe(&id).await.unwrap();
        assert_eq!((&description.root_id, &description.parent.unwrap().origin_id), (&origin, &origin));
        assert_eq!(world.sandbox_ledgers().root_id(&origin).await, Ok(origin));
    }
}

async fn release_of_an_unknown_snapshot_succeeds(world: &impl World) {
    let (id, dependent) = (world.sandbox("agent"), world.sandbox("copy"));
    for _ in 0..2 {
        assert_eq!(world.sandbox_ledgers().release(&id, &snapshot_id(1), &dependent).await, Ok(()));
    }
}

async fn sweep_deletes_minted_backups_that_the_ledger_does_not_list(world: &impl World) {
    let id = world.sandbox("agent");
    let backup = create_owned_backup(world, &id, &world.mint_snapshot_id(&id).await).await;
    assert_eq!(world.sandbox_ledgers().sweep(&id, slice::from_ref(&backup), true).await, Ok(1));
    assert!(world.backups().get_metadata(backup.0.id()).await.unwrap().is_some(), "it was only counted");
    assert_eq!(world.sandbox_ledgers().sweep(&id, slice::from_ref(&backup), false).await, Ok(1));
    assert_eq!(world.backups().get_metadata(backup.0.id()).await, Ok(None));
    assert_eq!(world.backups().head_archive(&backup.0).await, Ok(None));
    assert_eq!(world.sandbox_ledgers().sweep(&id, &[backup], false).await, Ok(0));
}

async fn sweep_keeps_backups_that_the_ledger_has_not_minted(world: &impl World) {
    let [id, other, unknown] = ["agent", "other", "unknown"].map(|name| world.sandbox(name));
    world.mint_snapshot_id(&id).await;
    for (owner, minted) in [
        (&id, snapshot_id(1)),
        (&id, world.mint_snapshot_id(&other).await),
        (&unknown, world.mint_snapshot_id(&id).await),
    ] {
        let backup = create_owned_backup(world, owner, &minted).await;
        for dry_run in [true, false] {
            assert_eq!(
                world.sandbox_ledgers().sweep(owner, slice::from_ref(&backup), dry_run).await,
                Ok(0),
                "{backup:?}"
            );
        }
        assert!(world.backups().head_archive(&backup.0).await.unwrap().is_some(), "{backup:?}");
    }
}

async fn sweep_keeps_backups_of_another_owner(world: &impl World) {
    let (id, other) = (world.sandbox("agent"), world.sandbox("other"));
    let minted = world.mint_snapshot_id(&id).await;
    let owner = BackupOwner { snapshot_id: minted.clone(), origin_id: other };
    for name in [owner.to_string().as_str(), "the application's own"] {
        let handle = world.sandboxes().open_session(&id).create_backup(&backup_options(name), None).await.unwrap();
        let location = BackupLocation::Pair(handle.id().clone());
        let backups = [(location.clone(), minted.clone())];
        assert_eq!(world.sandbox_ledgers().sweep(&id, &backups, false).await, Ok(0), "{name}");
        assert!(world.backups().head_archive(&location).await.unwrap().is_some(), "{name}");
    }
}

/// Creates a backup whose name says that it belongs to a snapshot of the sandbox.
async fn create_owned_backup(
    world: &impl World,
    id: &SandboxId,
    snapshot_id: &SnapshotId,
) -> (BackupLocation, SnapshotId) {
    let owner = BackupOwner { snapshot_id: snapshot_id.clone(), origin_id: id.clone() };
    let handle =
        world.sandboxes().open_session(id).create_backup(&backup_options(&owner.to_string()), None).await.unwrap();
    (BackupLocation::Pair(handle.id().clone()), snapshot_id.clone())
}

fn claim(root_id: &SandboxId, origin_id: &SandboxId) -> ClaimRequest {
    let parent = ParentLink {
        origin_id: origin_id.clone(),
        snapshot_id: snapshot_id(1),
        kind: DerivationKind::Branch,
        needs_snapshot: true,
    };
    ClaimRequest { root_id: root_id.clone(), parent: Some(parent), binding: None, marker: None, runtime: None }
}
