//! Checks of every answer.

use std::rc::Rc;

use sandbox_snapshotter::model::answer::SnapshotState;
use sandbox_snapshotter::model::named::answer::StartOutcome;
use sandbox_snapshotter::model::named::settings::OnImageChange;
use sandbox_snapshotter::model::record::DerivedState;
use sandbox_snapshotter::model::revive::RevivedSandbox;
use sandbox_snapshotter::model::{
    Code, Consistency, Error, Kind, Provenance, RestoreRequest, SandboxId, Selector, SnapshotId, TakenSnapshot,
    WorkspaceRef,
};
use sandbox_snapshotter::ports::Ledger;

use crate::history::{Call, KnownSnapshot};
use crate::world::World;

/// Checks an error: it must have a message and a remediation, and must not be a defect of the service.
pub fn check_failure(world: &World, what: &str, error: &Error) {
    world.trace(&format_args!("{what} failed: {error}"));
    if error.message().is_empty() || error.remediation().is_empty() {
        world.report_violation(
            "rule 9, every error has a message and a remediation",
            &format_args!("{what}: {error:?}"),
        );
    }
    let is_defect = error.code() == Code::Internal && !error.message().contains("already taken");
    if is_defect || matches!(error.code(), Code::LedgerTooNew | Code::InvalidArgument) {
        world.report_violation("rule 9, no call fails by a defect", &format_args!("{what}: {error}"));
    }
}

/// Checks the error of a call about a snapshot that was selected by a valid ref, its id or its label.
pub fn check_refusal(world: &Rc<World>, what: &str, selector: &Selector, known: &KnownSnapshot, error: &Error) {
    check_failure(world, what, error);
    let Some(row) = world.ledger(&known.origin).snapshot(&known.id).unwrap() else { return };
    let snapshot_exists =
        row.state() == SnapshotState::Ready && row.stored().is_some_and(|stored| super::is_restorable(world, stored));
    let reimported = world.history.borrow().reimported.contains(&known.id);
    let is_unambiguous = !matches!(selector, Selector::Label { .. }) && !reimported;
    if error.code().kind() == Kind::NotFound && snapshot_exists && is_unambiguous {
        world.report_violation(
            "rule 7, an existing snapshot is not reported as missing",
            &format_args!("{what}: {error}"),
        );
    }
    if error.code() == Code::BackupIncomplete && snapshot_exists && is_unambiguous {
        world.report_violation("rule 7, only real damage is reported", &format_args!("{what}: {error}"));
    }
    if error.code() == Code::RefMismatch && snapshot_exists {
        let signature = serde_json::to_value(&known.r#ref).unwrap()["ref"]["signature"].to_string();
        let keys = world.ledger(&known.origin).sandbox().unwrap().unwrap().keys;
        if keys.iter().any(|key| signature.starts_with(&format!("\"{}.", key.number()))) {
            world.report_violation("rule 8, a valid ref is accepted", &format_args!("{what}: {error}"));
        }
    }
}

/// Checks a returned snapshot. `since` is the time of the first request.
pub fn check_snapshot(world: &Rc<World>, call: &Call, since: i64, taken: &TakenSnapshot) {
    let Call::Snapshot(request) = call else { return };
    let (snapshot, capture) = (&taken.snapshot, &taken.capture);
    let name = snapshot.snapshot_id();
    world.trace(&format_args!("returned {name}, shared: {}", capture.shared));
    if capture.shared {
        world.count("snapshots shared");
    }
    if (request.fresh || !capture.shared) && capture.began_at.as_millis() < since {
        world.report_violation("rule 1, a fresh capture begins after its request", &format_args!("{name}"));
    }
    let truths = world.ground_truths.borrow();
    let row = world.ledger(&request.sandbox_id).snapshot(name).unwrap();
    let truth = row.as_ref().and_then(|row| truths.get(row.stored()?.backup.id()));
    if row.is_some()
        && truth.is_none_or(|truth| truth.sandbox != request.sandbox_id || snapshot.origin_id() != &request.sandbox_id)
    {
        world.report_violation("rule 1, a snapshot matches its sandbox", &format_args!("{name}"));
    }
    let has_crashed = world.crashed_at.borrow().get(&request.sandbox_id).is_some_and(|at| *at >= since);
    let has_changes = request.consistency == Consistency::Settled && capture.changed_during_capture == Some(true);
    // The captures may be of several containers, each of which has replaced the one before.
    let captures = truths.values().filter(|truth| truth.sandbox == request.sandbox_id && truth.captured_at >= since);
    if has_changes && !has_crashed && !capture.shared && captures.count() < 2 {
        world.report_violation("rule 3, a settled snapshot is captured again", &format_args!("{name}"));
    }
    if let (Some(freeze), Some(truth)) = (capture.freeze, truth) {
        world.count(if freeze.consistent { "captures of frozen files" } else { "captures that outlasted a freeze" });
        if freeze.consistent && truth.notes.frozen.is_none() {
            world.report_violation("rule 1, a consistent capture is of frozen files", &format_args!("{name}"));
        }
    }
    // Another snapshot may have taken the label in the meantime.
    let has_time_label = capture.label.as_str().starts_with("snap-");
    if request.label.as_ref().is_some_and(|label| *label != capture.label) && !has_time_label {
        world.report_violation("rule 3, a snapshot matches its request", &format_args!("{name} has another label"));
    }
    let is_known = row.is_some_and(|row| row.state() != SnapshotState::Creating);
    let mut history = world.history.borrow_mut();
    if !is_known && !history.evicted.contains(name) {
        world.report_violation("rule 1, a snapshot is listed", &format_args!("{name} is not"));
    }
    if history.find_snapshot(name).is_none() {
        let (id, origin, label) = (name.clone(), request.sandbox_id.clone(), capture.label.clone());
        history.known_snapshots.push(KnownSnapshot { id, origin, r#ref: snapshot.clone(), label });
    }
}

/// Checks a returned sandbox.
pub fn check_sandbox(world: &Rc<World>, call: &Call, workspace: &WorkspaceRef) {
    let Call::Derive(request, _) = call else { return };
    let (id, origin) = (workspace.sandbox_id(), call.sandbox());
    world.trace(&format_args!("returned {id}"));
    let Some(row) = world.ledger(origin).derived_sandbox(id).unwrap() else {
        return world.report_violation("rule 3, a returned sandbox has a ready row", &format_args!("{id} has no row"));
    };
    if !matches!(row.state, DerivedState::Ready { .. }) {
        world.report_violation("rule 3, a returned sandbox has a ready row", &format_args!("{id} is {:?}", row.state));
    }
    let requested = match &request.selection.selector {
        Selector::Ref { r#ref } => Some(r#ref.snapshot_id()),
        Selector::Short { r#ref } => Some(r#ref.snapshot_id()),
        Selector::Id { snapshot_id, .. } => Some(snapshot_id),
        Selector::Label { .. } => None,
    };
    if requested.is_some_and(|requested| *requested != row.snapshot_id) {
        world.report_violation("rule 3, a sandbox is made from the requested snapshot", &format_args!("{id}"));
    }
    let mut history = world.history.borrow_mut();
    let root = history.root(origin);
    if *workspace.root_id() != root {
        world.report_violation(
            "rule 8, a sandbox has the root of its lineage",
            &format_args!("{id} of {}", workspace.root_id()),
        );
    }
    if let Some(first) = history.returned_for_key.get(id) {
        if *first != call.key().cloned() || first.is_none() {
            world.report_violation(
                "rule 3, a sandbox is returned for one call",
                &format_args!("{id} was returned twice"),
            );
        }
        return;
    }
    check_image(world, request, workspace, &row.snapshot_id);
    history.returned_for_key.insert(id.clone(), call.key().cloned());
    history.returned_sandboxes.insert(id.clone(), root);
    history.parents.insert(id.clone(), row.snapshot_id.clone());
    drop(history);
    check_files(world, origin, id);
}

/// Checks the answer to a revival that was requested at `requested_at`: since then, a container with the files of the sandbox
/// ran.
pub fn check_revival(world: &Rc<World>, requested_at: i64, revived: &RevivedSandbox) {
    let id = &revived.sandbox_id;
    world.trace(&format_args!("revived {id}: {:?}", revived.how));
    world.count(match revived.how {
        StartOutcome::Running => "revivals that found the container",
        StartOutcome::Adopted => "revivals that adopted files",
        StartOutcome::Restored | StartOutcome::Empty => "revivals that restored files",
    });
    let has_run = world.with_sandbox(id, |sandbox, _| {
        sandbox.notes.own_container.is_some() && sandbox.notes.own_ended_at.is_none_or(|at| at >= requested_at)
    });
    if !has_run || revived.how == StartOutcome::Empty {
        world.report_violation("rule 11, a revived sandbox has its files", &format_args!("{id}: {:?}", revived.how));
    }
    let is_reported = revived.how != StartOutcome::Restored || revived.may_have_lost == Some(true);
    if !is_reported {
        world.report_violation("rule 17, every loss is reported", &format_args!("the revival of {id}"));
    }
}

/// Checks that a new sandbox with another image than its snapshot is reported or refused, as its caller chose.
fn check_image(world: &Rc<World>, request: &RestoreRequest, workspace: &WorkspaceRef, snapshot_id: &SnapshotId) {
    let (id, origin) = (workspace.sandbox_id(), request.selection.selector.origin_id());
    let Some(snapshot) = world.ledger(origin).snapshot(snapshot_id).unwrap() else { return };
    let image = world.with_sandbox(id, |sandbox, _| {
        let container = sandbox.container.as_ref().filter(|_| sandbox.notes.ended_count == 0)?;
        Provenance::parse(&container.image)
    });
    let Some((then, now)) = snapshot.provenance.zip(image) else { return };
    let differs = !then.changes(&now).is_empty();
    let is_reported = !workspace.stale().is_empty();
    world.count(if differs { "sandboxes with another image" } else { "sandboxes with the image of the snapshot" });
    let is_right = match request.on_image_change {
        OnImageChange::Fail => !differs && !is_reported,
        OnImageChange::Report => is_reported == differs,
        OnImageChange::Allow => !is_reported,
    };
    if !is_right {
        let about = format_args!("{id} of {snapshot_id}: {then} and {now}, {:?}", workspace.stale());
        world.report_violation("rule 18, another image is reported or refused", &about);
    }
}

/// Checks that a new sandbox holds the captured files, unless its container ended since.
pub fn check_files(world: &Rc<World>, origin: &SandboxId, id: &SandboxId) {
    let ledger = world.ledger(origin);
    let Some(row) = ledger.derived_sandbox(id).unwrap() else { return };
    let Some(snapshot) = ledger.snapshot(&row.snapshot_id).unwrap() else { return };
    let Some(stored) = snapshot.stored() else { return };
    let has_ended = world.with_sandbox(id, |sandbox, _| sandbox.notes.ended_count > 0);
    let files = world.ground_truths.borrow()[stored.backup.id()].files.clone();
    if !has_ended && world.files(id) != Some(files) {
        world.report_violation(
            "rule 1, a restore returns the captured files",
            &format_args!("{id} of {}", row.snapshot_id),
        );
    }
}
