//! What is checked on every answer.

use std::rc::Rc;

use sandbox_snapshotter::model::record::{DerivedState, SnapshotState};
use sandbox_snapshotter::model::{Code, Error, Kind, SandboxId, Selector, TakenSnapshot, WorkspaceRef};
use sandbox_snapshotter::ports::Ledger;

use crate::history::{Call, KnownSnapshot};
use crate::world::World;

/// A failure must be legible, and none of the service's own making.
pub fn check_failure(world: &World, what: &str, error: &Error) {
    world.trace(&format_args!("{what} failed: {error}"));
    if error.message().is_empty() || error.remediation().is_empty() {
        world.report_violation("rule 9, every failure is legible", &format_args!("{what}: {error:?}"));
    }
    let is_defect = error.code() == Code::Internal && !error.message().contains("somebody's already");
    if is_defect || matches!(error.code(), Code::LedgerTooNew | Code::InvalidArgument) {
        world.report_violation("rule 9, nothing fails by itself", &format_args!("{what}: {error}"));
    }
}

/// What was said of a snapshot that somebody asked for by a true ref, its id or its label.
pub fn check_refusal(world: &Rc<World>, what: &str, selector: &Selector, known: &KnownSnapshot, error: &Error) {
    check_failure(world, what, error);
    let Some(row) = world.ledger(&known.origin).snapshot(&known.id).unwrap() else { return };
    let snapshot_exists =
        row.state() == SnapshotState::Ready && row.stored().is_some_and(|stored| super::is_restorable(world, stored));
    let reimported = world.history.borrow().reimported.contains(&known.id);
    let is_named = !matches!(selector, Selector::Label { .. }) && !reimported;
    if error.code().kind() == Kind::NotFound && snapshot_exists && is_named {
        world.report_violation("rule 7, not found is said of nothing that is there", &format_args!("{what}: {error}"));
    }
    if error.code() == Code::BackupIncomplete && snapshot_exists && is_named {
        world.report_violation("rule 7, only damage is called damage", &format_args!("{what}: {error}"));
    }
    if error.code() == Code::RefMismatch && snapshot_exists {
        let number = serde_json::to_value(&known.r#ref).unwrap()["ref"]["signature"].to_string();
        let keys = world.ledger(&known.origin).workspace().unwrap().unwrap().keys;
        if keys.iter().any(|key| number.starts_with(&format!("\"{}.", key.number()))) {
            world.report_violation("rule 8, a true ref is taken", &format_args!("{what}: {error}"));
        }
    }
}

/// A snapshot was reported as made. `since` is when it was first asked for.
pub fn check_snapshot(world: &Rc<World>, call: &Call, since: i64, taken: &TakenSnapshot) {
    let Call::Snapshot(request) = call else { return };
    let (snapshot, capture) = (&taken.snapshot, &taken.capture);
    let name = snapshot.snapshot_id();
    world.trace(&format_args!("answered {name}, shared: {}", capture.shared));
    if capture.shared {
        world.count("snapshots shared");
    }
    if (request.fresh || !capture.shared) && capture.began_at.as_millis() < since {
        world.report_violation("rule 1, a fresh capture begins after it was asked for", &format_args!("{name}"));
    }
    let truths = world.ground_truths.borrow();
    let truth = truths.get(snapshot.backup().id());
    if truth.is_none_or(|truth| truth.sandbox != request.sandbox_id || snapshot.origin_id() != &request.sandbox_id) {
        world.report_violation("rule 1, a snapshot is of its sandbox", &format_args!("{name}"));
    }
    // Somebody else may have taken the label meanwhile.
    let is_of_time = capture.label.as_str().starts_with("snap-");
    if request.label.as_ref().is_some_and(|label| *label != capture.label) && !is_of_time {
        world.report_violation("rule 3, a snapshot is what was asked for", &format_args!("{name} has another label"));
    }
    let row = world.ledger(&request.sandbox_id).snapshot(name).unwrap();
    let is_known = row.is_some_and(|row| row.state() != SnapshotState::Creating);
    let mut book = world.history.borrow_mut();
    if !is_known && !book.evicted.contains(name) {
        world.report_violation("rule 1, what was made is known", &format_args!("{name} is not"));
    }
    if book.find_snapshot(name).is_none() {
        let (id, origin, label) = (name.clone(), request.sandbox_id.clone(), capture.label.clone());
        book.known_snapshots.push(KnownSnapshot { id, origin, r#ref: snapshot.clone(), label });
    }
}

/// A sandbox was answered.
pub fn check_sandbox(world: &Rc<World>, call: &Call, workspace: &WorkspaceRef) {
    let Call::Derive(request, _) = call else { return };
    let (id, origin) = (workspace.sandbox_id(), call.workspace());
    world.trace(&format_args!("answered {id}"));
    let Some(row) = world.ledger(origin).derived_sandbox(id).unwrap() else {
        return world.report_violation("rule 3, a sandbox is known", &format_args!("{id} is not"));
    };
    if !matches!(row.state, DerivedState::Ready { .. }) {
        world.report_violation("rule 3, a sandbox is somebody's", &format_args!("{id} is {:?}", row.state));
    }
    let asked = match &request.selection.selector {
        Selector::Ref { r#ref } => Some(r#ref.snapshot_id()),
        Selector::Id { snapshot_id, .. } => Some(snapshot_id),
        Selector::Label { .. } => None,
    };
    if asked.is_some_and(|asked| *asked != row.snapshot_id) {
        world.report_violation("rule 3, a sandbox is of the snapshot that was asked for", &format_args!("{id}"));
    }
    let mut book = world.history.borrow_mut();
    let root = book.root(origin);
    if *workspace.root_id() != root {
        world.report_violation("rule 8, a sandbox is of its lineage", &format_args!("{id} of {}", workspace.root_id()));
    }
    if let Some(first) = book.returned_for_key.get(id) {
        if *first != call.key().cloned() || first.is_none() {
            world.report_violation("rule 3, one sandbox per key", &format_args!("{id} was given twice"));
        }
        return;
    }
    book.returned_for_key.insert(id.clone(), call.key().cloned());
    book.returned_sandboxes.insert(id.clone(), root);
    book.parents.insert(id.clone(), row.snapshot_id.clone());
    drop(book);
    check_files(world, origin, id);
}

/// A new sandbox holds what its snapshot was taken of, unless its container died since.
pub fn check_files(world: &Rc<World>, origin: &SandboxId, id: &SandboxId) {
    let ledger = world.ledger(origin);
    let Some(row) = ledger.derived_sandbox(id).unwrap() else { return };
    let Some(snapshot) = ledger.snapshot(&row.snapshot_id).unwrap() else { return };
    let Some(stored) = snapshot.stored() else { return };
    let has_died = world.with_sandbox(id, |sandbox, _| sandbox.deaths > 0);
    let files = world.ground_truths.borrow()[stored.backup.id()].files.clone();
    if !has_died && world.files(id) != Some(files) {
        world.report_violation(
            "rule 1, a restore gives what was captured",
            &format_args!("{id} of {}", row.snapshot_id),
        );
    }
}
