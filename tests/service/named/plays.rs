//! Operations on named workspaces, each on a stage that is prepared for it, and what must be true whatever happens to them.

use std::cell::Cell;
use std::rc::Rc;

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::Code;
use sandbox_snapshotter::ports::{Home, Ledger};
use serde_json::{Value, json};

use crate::support::{FILE, Gate, HOUR, MINUTE, Play, Prepare, Stage, WORK, by_ref, on};

/// How the workspaces of plays are made.
fn settings() -> Value {
    json!({
        "expiry": { "idleSeconds": 0 },
        "hooks": { "afterStart": { "command": "exit 0" }, "beforeStop": { "command": "exit 0" } },
        "dependsOn": { "files": ["/etc/version"], "fingerprint": "v1" },
        "env": { "A": "1" },
    })
}

fn asked(further: &Value) -> Value {
    let mut arguments = on(WORK, &settings());
    arguments.as_object_mut().unwrap().extend(further.as_object().unwrap().clone());
    arguments
}

/// `work` is active with `second`, and there is a snapshot with `first`.
pub fn active() -> Stage {
    let stage = Stage::with_stopped_work_as(&settings());
    stage.starts(WORK, &json!({})).unwrap();
    stage.world.pass(MINUTE);
    stage.writes(WORK, "second");
    stage.world.pass(MINUTE);
    stage
}

/// Its sandbox slept, and woke by itself, and somebody wrote `second` into it.
pub fn diverged() -> Stage {
    let stage = active();
    let id = stage.sandbox_of(WORK);
    stage.world.stops(&id);
    stage.world.writes(&id, FILE, "second");
    stage.world.pass(MINUTE);
    stage
}

fn first_snapshot(stage: &Stage) -> Value {
    let rows = stage.ledger(&stage.sandbox_of(WORK)).page(None, None, u32::MAX).unwrap();
    json!(rows.last().unwrap().snapshot_id)
}

pub const PLAYS: [(&str, Prepare); 20] = [
    ("create", || (Stage::empty(), Operation::CreateWorkspace, asked(&json!({ "idempotencyKey": "k" })))),
    ("create with a policy", || {
        let policy = json!({ "retention": { "keepDaily": 1 }, "idempotencyKey": "k" });
        (Stage::empty(), Operation::CreateWorkspace, asked(&policy))
    }),
    ("create from a snapshot", || {
        let (stage, snapshot) = Stage::with_snapshot();
        let source = json!({ "sourceSnapshot": by_ref(&snapshot), "idempotencyKey": "k" });
        (stage, Operation::CreateWorkspace, asked(&source))
    }),
    ("create from a workspace", || {
        let source = json!({ "sourceWorkspace": WORK, "idempotencyKey": "k" });
        (active(), Operation::CreateWorkspace, on("copy", &source))
    }),
    ("get or create", || (Stage::empty(), Operation::GetOrCreateWorkspace, asked(&json!({})))),
    ("start", || (Stage::with_stopped_work_as(&settings()), Operation::StartWorkspace, on(WORK, &json!({})))),
    ("start of one that is up", || (active(), Operation::StartWorkspace, on(WORK, &json!({ "fingerprint": "v1" })))),
    ("start of one that slept", || {
        let stage = active();
        stage.world.stops(&stage.sandbox_of(WORK));
        (stage, Operation::StartWorkspace, on(WORK, &json!({})))
    }),
    ("start of one that woke", || {
        let stage = active();
        stage.world.is_replaced(&stage.sandbox_of(WORK));
        (stage, Operation::StartWorkspace, on(WORK, &json!({})))
    }),
    ("start that saves", || (diverged(), Operation::StartWorkspace, on(WORK, &json!({ "onDiverged": "save" })))),
    ("start that keeps", || (diverged(), Operation::StartWorkspace, on(WORK, &json!({ "onDiverged": "keep" })))),
    ("start that discards", || (diverged(), Operation::StartWorkspace, on(WORK, &json!({ "onDiverged": "discard" })))),
    ("stop", || (active(), Operation::StopWorkspace, on(WORK, &json!({})))),
    ("stop of one that woke", || (diverged(), Operation::StopWorkspace, on(WORK, &json!({})))),
    ("fork", || {
        let asked = json!({ "newName": "copy", "count": 2, "idempotencyKey": "k" });
        (active(), Operation::ForkWorkspace, on(WORK, &asked))
    }),
    ("fork of one that is stopped", || {
        let asked = json!({ "newName": "copy", "idempotencyKey": "k" });
        (Stage::with_stopped_work_as(&settings()), Operation::ForkWorkspace, on(WORK, &asked))
    }),
    ("update", || {
        let changes = json!({ "retention": { "keepDaily": 2 }, "env": { "B": "2" } });
        (active(), Operation::UpdateWorkspace, on(WORK, &changes))
    }),
    ("way back", || {
        let stage = active();
        let back = json!({ "currentSnapshotId": first_snapshot(&stage), "retention": { "keepDaily": 2 } });
        (stage, Operation::UpdateWorkspace, on(WORK, &back))
    }),
    ("way back of one that is stopped", || {
        let stage = active();
        stage.stops(WORK).unwrap();
        let back = json!({ "currentSnapshotId": first_snapshot(&stage) });
        (stage, Operation::UpdateWorkspace, on(WORK, &back))
    }),
    ("delete", || {
        let stage = active();
        stage.forks(WORK, &json!({ "newName": "copy" })).unwrap();
        let back = first_snapshot(&stage);
        stage.goes_back(WORK, &back).unwrap();
        stage.world.pass(MINUTE);
        (stage, Operation::DeleteWorkspace, on(WORK, &json!({})))
    }),
];

/// Will hold a play at its call.
pub fn held(play: &Play) -> Rc<Gate> {
    play.stage.world.at_any_call(play.moment).nth(play.number).held()
}

/// The Worker dies at the call of the play; says whether there was one.
pub fn dies(play: &Play) -> bool {
    let gate = held(play);
    let work = play.begin();
    if gate.is_reached() {
        play.stage.dies_during(work);
    }
    play.stage.world.goes_well();
    gate.is_reached()
}

/// Whether that content is in a container, or in a backup.
pub fn is_somewhere(stage: &Stage, content: &str) -> bool {
    let found = Cell::new(false);
    stage.world.spoil(|backup| {
        let archive = String::from_utf8_lossy(backup.archive.as_ref().unwrap()).into_owned();
        found.set(found.get() || archive.contains(content));
    });
    let running = stage.world.running();
    found.get() || running.iter().any(|id| stage.world.files(id).unwrap().values().any(|file| file == content))
}

/// Makes sure that after the alarms of some hours nobody is at work any more, and that nothing is lost.
#[track_caller]
pub fn assert_all_well(play: &Play) {
    let stage = &play.stage;
    stage.world.go_on_in_background();
    stage.passes(3 * HOUR);
    stage.assert_settled();
    let is_thrown_away = ["start of one that slept", "start of one that woke", "start that discards"];
    let has_second = !play.name.starts_with("create") && !play.name.starts_with("get") && play.name != "start";
    let is_expected = has_second && !is_thrown_away.contains(&play.name) && play.name != "fork of one that is stopped";
    if is_expected && play.name != "delete" {
        assert!(is_somewhere(stage, "second"), "what was written is lost");
    }
    assert_startable(play);
    assert_nothing_is_left_behind(stage);
}

/// What the usual file of `work` may be at the end, where it can be started; and how a start may be refused.
fn outcomes(play: &Play) -> (Vec<Option<&'static str>>, Vec<Code>) {
    let is_back = play.stage.home(WORK).named().unwrap().is_some_and(|record| !record.former.is_empty());
    match play.name {
        "create from a snapshot" => (vec![Some("first")], vec![Code::WorkspaceNotFound]),
        "create from a workspace" | "update" | "stop" | "fork" | "start of one that is up" => {
            (vec![Some("second")], vec![])
        }
        name if name.starts_with("create") || name.starts_with("get") => (vec![None], vec![Code::WorkspaceNotFound]),
        "start" | "start of one that slept" | "start of one that woke" | "fork of one that is stopped" => {
            (vec![Some("first")], vec![])
        }
        "start that keeps" => (vec![Some("second"), Some("first")], vec![Code::WorkspaceDiverged]),
        "start that saves" | "start that discards" | "stop of one that woke" => {
            (vec![Some("first")], vec![Code::WorkspaceDiverged])
        }
        name if name.starts_with("way back") => (vec![Some(if is_back { "first" } else { "second" })], vec![]),
        "delete" => (vec![Some("first")], vec![Code::WorkspaceNotFound]),
        name => panic!("what is expected of {name}?"),
    }
}

#[track_caller]
fn assert_startable(play: &Play) {
    let stage = &play.stage;
    let (files, refusals) = outcomes(play);
    match stage.starts(WORK, &json!({})) {
        Ok(_) => {
            let file = stage.file(WORK);
            assert!(files.contains(&file.as_deref()), "it has {file:?}, and should have one of {files:?}");
        }
        Err(error) => assert!(refusals.contains(&error.code()), "{error}"),
    }
    for name in ["copy", "copy-1", "copy-2"] {
        match stage.starts(name, &json!({})) {
            Ok(_) => assert!(stage.file(name).is_some(), "{name} has its files"),
            Err(error) => assert_eq!(error.code(), Code::WorkspaceNotFound, "{name}: {error}"),
        }
    }
}

/// Makes sure that when all workspaces are deleted nothing is left of them.
#[track_caller]
fn assert_nothing_is_left_behind(stage: &Stage) {
    for address in stage.world.names() {
        stage.deletes(address.name.as_str()).unwrap();
    }
    stage.passes(3 * HOUR);
    stage.assert_settled();
    for id in stage.world.workspaces() {
        for derivation in stage.ledger(&id).derivations().unwrap() {
            assert!(!derivation.holds(), "{} holds a snapshot of {id}", derivation.sandbox_id);
        }
        let stands = stage.ledger(&id).workspace().unwrap().is_some_and(|workspace| workspace.standing.is_some());
        assert!(!stands || stage.snapshots_of(&id).is_empty(), "snapshots of {id} are left");
    }
    let application = stage.world.running().into_iter().filter(|id| id != "agent-42" && id != "agent-7");
    assert_eq!(application.collect::<Vec<_>>(), [""; 0], "still running");
}
