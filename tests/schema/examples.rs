//! Example options of every operation, with every field.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::checkpoint::CheckpointCursor;
use sandbox_snapshotter::model::files::FileCursor;
use sandbox_snapshotter::model::request::SnapshotCursor;
use sandbox_snapshotter::model::{CheckpointName, SnapshotId, Timestamp};
use serde_json::{Value, json};

/// Each operation with its options, once for each form of the options.
pub fn examples() -> Vec<(Operation, Value)> {
    Operation::ALL.iter().flat_map(|operation| forms(*operation).into_iter().map(|form| (*operation, form))).collect()
}

#[allow(clippy::too_many_lines)] // It has one arm for each operation.
fn forms(operation: Operation) -> Vec<Value> {
    let lineage_scope = json!({ "lineageScope": "agent-7", "allowCrossLineage": true });
    let selected = |others: Value| -> Vec<Value> {
        let selected = |selector: Value| with(&[&selector, &lineage_scope, &others]);
        selectors().into_iter().map(selected).collect()
    };
    let workspace = json!({ "name": "work", "tenant": "team" });
    let with_checkpoints = |others: Value| -> Vec<Value> {
        let place = json!({ "runtime": "sdk-0.12", "dir": "/workspace" });
        [json!({ "sandboxId": "agent-42" }), json!({ "workspace": "work", "tenant": "team" })]
            .map(|sandbox| with(&[&sandbox, &place, &lineage_scope, &others]))
            .to_vec()
    };
    let on_targets = |others: Value| -> Vec<Value> {
        let sandbox = json!({ "sandboxId": "agent-42" });
        [&workspace, &sandbox].map(|target| with(&[target, &lineage_scope, &others])).to_vec()
    };
    let in_sandboxes = |others: Value| -> Vec<Value> {
        let sandbox = json!({ "sandboxId": "agent-42" });
        let place = json!({ "runtime": "container", "dir": "/workspace" });
        [&workspace, &sandbox].map(|target| with(&[target, &place, &lineage_scope, &others])).to_vec()
    };
    let in_running_sandboxes = |others: &Value| -> Vec<Value> {
        let sandbox = json!({ "sandboxId": "agent-42", "runtime": "container" });
        [&workspace, &sandbox].map(|target| with(&[target, &lineage_scope, others])).to_vec()
    };
    let in_all_places = |others: Value| [selected(others.clone()), in_sandboxes(others)].concat();
    match operation {
        Operation::Snapshot => on_targets(json!({
            "runtime": "container", "dir": "/workspace", "label": "before", "replace": true, "expirationSeconds": 60,
            "excludes": ["*.log"], "gitignore": true, "compression": { "format": "gzip", "threads": 2 }, "wake": true, "adopt": true,
            "fresh": true, "incremental": true, "consistency": "settled", "secrets": "exclude", "idempotencyKey": "k",
            "freeze": { "freeze": "./db freeze", "thaw": "./db thaw", "timeoutSeconds": 30 },
        })),
        Operation::Restore | Operation::Branch => {
            selected(json!({ "runtime": "container", "onImageChange": "fail", "idempotencyKey": "k" }))
        }
        Operation::Revive => vec![with(&[
            &lineage_scope,
            &json!({ "sandboxId": "agent-42", "onDiverged": "rescue", "onImageChange": "allow", "idempotencyKey": "k" }),
        ])],
        Operation::Get | Operation::Manifest | Operation::Verify | Operation::Pin | Operation::Unpin => {
            selected(json!({}))
        }
        Operation::ListFiles => in_all_places(json!({ "path": "src", "cursor": file_cursor(), "limit": 7 })),
        Operation::StatFile => in_all_places(json!({ "path": "src/main.rs" })),
        Operation::ReadFile => in_all_places(json!({ "path": "src/main.rs", "offset": 1000, "length": 100 })),
        Operation::WriteFile => in_sandboxes(json!({
            "path": "src/main.rs", "content": "fn main() {}", "encoding": "utf8", "mode": "0644", "ifMatch": "0f".repeat(32),
        })),
        Operation::StartCommand => {
            let options = json!({ "cwd": "src", "env": { "CI": "1" }, "stdin": "yes\n", "timeoutSeconds": 7200 });
            let (line, argv) = (json!({ "command": "npm run dev" }), json!({ "argv": ["npm", "run", "dev"] }));
            in_running_sandboxes(&options).iter().flat_map(|own| [with(&[own, &line]), with(&[own, &argv])]).collect()
        }
        Operation::ListCommands => in_running_sandboxes(&json!({})),
        Operation::ReadCommandOutput => in_running_sandboxes(&json!({
            "commandId": "k3f9x2ab", "stream": "stderr", "offset": 100, "length": 1000, "waitSeconds": 10,
        })),
        Operation::EndCommand => {
            in_running_sandboxes(&json!({ "commandId": "k3f9x2ab", "killSignal": "INT", "graceSeconds": 0 }))
        }
        Operation::MakeDirectory => in_sandboxes(json!({ "path": "src" })),
        Operation::MoveFile => in_sandboxes(json!({ "path": "src/main.rs", "to": "src/lib.rs", "overwrite": true })),
        Operation::RemoveFile => in_sandboxes(json!({ "path": "src", "recursive": true })),
        Operation::SummarizeFiles => selected(json!({ "path": "src" })),
        Operation::RestoreFiles => selected(json!({
            "paths": ["src/main.rs"], "to": "agent-42", "runtime": "container", "dir": "/workspace", "overwrite": true,
        })),
        Operation::Diff => {
            let options = |selector: Value| {
                let selection = with(&[&selector, &lineage_scope]);
                json!({ "from": selection, "to": selection, "cursor": file_cursor(), "limit": 7 })
            };
            let to_sandbox = |to: Value| {
                let from = json!({ "sandboxId": "agent-42", "label": "before" });
                json!({ "from": from, "to": with(&[&to, &lineage_scope]) })
            };
            let sandbox = json!({ "sandboxId": "agent-42", "runtime": "container", "dir": "/workspace" });
            let named = json!({ "name": "work", "tenant": "team", "dir": "/workspace" });
            let sandboxes = [to_sandbox(sandbox), to_sandbox(named)];
            selectors().map(options).into_iter().chain(sandboxes).collect()
        }
        Operation::Label => selected(json!({ "newLabel": "new", "replace": true })),
        Operation::Delete => selected(json!({ "force": true, "deltas": "delete" })),
        Operation::List => {
            on_targets(json!({ "cursor": cursor(), "limit": 7, "labelPrefix": "test/", "check": false }))
        }
        Operation::Import => vec![json!({
            "sandboxId": "agent-42", "runtime": "container", "backup": { "id": "b1", "dir": "/workspace", "localBucket": true }, "label": "nightly",
            "replace": true, "expirationSeconds": 0,
        })],
        Operation::Lineage => on_targets(json!({ "check": true })),
        Operation::Retention | Operation::RotateKey => {
            vec![with(&[&json!({ "sandboxId": "agent-42" }), &lineage_scope])]
        }
        Operation::SetRetention => vec![json!({ "sandboxId": "agent-42", "policy": policy(), "dryRun": true })],
        Operation::ApplyRetention => vec![json!({ "sandboxId": "agent-42", "dryRun": true })],
        Operation::Exec => {
            let options = json!({
                "cwd": "src", "env": { "CI": "1" }, "stdin": "yes\n", "timeoutSeconds": 10, "maxOutputBytes": 1000,
            });
            let sandbox = json!({ "sandboxId": "agent-42", "runtime": "container", "revive": true });
            let (line, argv) = (json!({ "command": "npm test" }), json!({ "argv": ["npm", "test"] }));
            [(&workspace, &line), (&workspace, &argv), (&sandbox, &line), (&sandbox, &argv)]
                .map(|(target, command)| with(&[target, command, &options, &lineage_scope]))
                .to_vec()
        }
        Operation::Sweep => vec![json!({ "dryRun": true, "graceSeconds": 60 })],
        Operation::CreateWorkspace => creations(&workspace),
        Operation::GetOrCreateWorkspace => {
            let from = with(&[&workspace, &start(), &json!({ "from": "snap-abcdefghij012345" })]);
            creations(&workspace).iter().map(|creation| with(&[creation, &start()])).chain([from]).collect()
        }
        Operation::GetWorkspaceByName | Operation::TurnEnded | Operation::DeleteWorkspace => vec![workspace],
        Operation::StopWorkspace => vec![with(&[
            &workspace,
            &json!({ "snapshot": { "label": "green", "replace": true, "expirationSeconds": 3600 } }),
        ])],
        Operation::ListWorkspaces => vec![json!({ "tenant": "team", "cursor": "work", "limit": 7, "prefix": "w" })],
        Operation::StartWorkspace => vec![with(&[
            &workspace,
            &start(),
            &json!({ "fingerprint": "v1", "from": "snap-abcdefghij012345", "idempotencyKey": "k" }),
        ])],
        Operation::ForkWorkspace => vec![
            with(&[
                &workspace,
                &json!({
                    "newName": "other", "count": 2, "from": "latest", "copyEnv": true, "runtime": "container", "idempotencyKey": "k",
                }),
            ]),
            with(&[&workspace, &json!({ "secrets": "exclude" })]),
        ],
        Operation::MigrateWorkspace => vec![with(&[&workspace, &json!({ "runtime": "container" })])],
        Operation::UpdateWorkspace => vec![with(&[
            &workspace,
            &settings(),
            &json!({ "currentSnapshotId": "snap-abcdefghij012345", "acceptStale": true }),
        ])],
        Operation::PromoteWorkspace => ["other", "snap-abcdefghij012345"]
            .map(|from| with(&[&workspace, &json!({ "from": from, "acceptStale": true, "idempotencyKey": "k" })]))
            .to_vec(),
        Operation::CreateCheckpoint => {
            with_checkpoints(json!({ "name": "s1", "description": "before", "expirationSeconds": 3600 }))
        }
        Operation::ListCheckpoints => with_checkpoints(json!({ "cursor": checkpoint_cursor(), "limit": 7 })),
        Operation::RestoreCheckpoint => with_checkpoints(json!({ "name": "s1", "pruneEmptyDirectories": true })),
        Operation::Usage => vec![json!({
            "name": "work", "tenant": "team", "instanceType": "standard-1", "cursor": "work", "limit": 7,
        })],
        Operation::DeleteCheckpoint => with_checkpoints(json!({ "name": "s1" })),
        Operation::DiffCheckpoint => with_checkpoints(json!({ "name": "s1", "maxBytes": 1000 })),
        Operation::ListTools => vec![toolset()],
        Operation::CallTool => {
            let call = json!({ "name": "workspace__code__snapshot", "arguments": { "label": "before" }, "idempotencyKey": "k" });
            vec![with(&[&toolset(), &call])]
        }
        Operation::GrantTools => vec![with(&[&toolset(), &json!({ "expirationSeconds": 60 })])],
        Operation::CreateToken => vec![json!({
            "tenant": "team", "permissions": ["read", "work"], "label": "CI", "expirationSeconds": 60, "workspaces": ["work"],
        })],
        Operation::ListTokens => vec![json!({ "tenant": "team" })],
        Operation::RevokeToken => vec![json!({ "tenant": "team", "id": "abcdefghij01" })],
        Operation::CurrentToken | Operation::Health => vec![json!({})],
    }
}

/// The selectors of a snapshot: by ref, and in a sandbox or a workspace by id and by label.
fn selectors() -> [Value; 5] {
    let snapshot = json!({
        "providerId": "cloudflare-sandbox",
        "ref": {
            "schemaVersion": 1,
            "snapshotId": "snap-abcdefghij012345",
            "originId": "agent-42",
            "rootId": "agent-42",
            "backup": { "id": "6b1f0c1e-0000-4000-8000-000000000001", "dir": "/workspace" },
            "createdAt": "2026-11-20T05:00:00.000Z",
            "signature": "1.h9swbdj2cYIBfKq62qHyWhWCx8D5qrXC9R1qVeCUDBs",
        }
    });
    [
        json!({ "ref": snapshot }),
        json!({ "sandboxId": "agent-42", "snapshotId": "snap-abcdefghij012345" }),
        json!({ "sandboxId": "agent-42", "label": "before" }),
        json!({ "name": "work", "tenant": "team", "snapshotId": "snap-abcdefghij012345" }),
        json!({ "name": "work", "tenant": "team", "label": "before" }),
    ]
}

fn creations(workspace: &Value) -> Vec<Value> {
    let whole =
        with(&[workspace, &settings(), &json!({ "runtime": "container", "dir": "/workspace", "idempotencyKey": "k" })]);
    let sources = selectors().map(|selector| json!({ "sourceSnapshot": selector }));
    let from = |source: &Value| with(&[&whole, source]);
    [&[json!({ "sourceWorkspace": "other" })], &sources[..]].concat().iter().map(from).collect()
}

fn settings() -> Value {
    let hook = json!({ "command": "make", "timeoutSeconds": 10, "onFailure": "warn" });
    json!({
        "persistent": false,
        "storage": "both",
        "durable": false,
        "incremental": false,
        "image": "python",
        "retention": policy(),
        "hooks": { "beforeStop": hook, "afterStart": hook, "onTimeout": hook },
        "expiry": { "idleSeconds": 60, "maxSeconds": 600 },
        "autosave": { "everySeconds": 60, "onlyIfChanged": false, "afterTurn": true, "keepLast": 3 },
        "dependsOn": { "files": ["a"], "fingerprint": "v1", "onMismatch": "report", "onImageChange": "fail" },
        "env": { "A": "1" },
    })
}

fn start() -> Value {
    json!({ "onDiverged": "rescue", "allowEmpty": true, "acceptStale": true, "expect": { "a": "ab" } })
}

fn policy() -> Value {
    json!({
        "keepLast": { "count": 3, "expirationSeconds": 0, "deleteEvicted": false },
        "expirationSeconds": 60,
        "keepDaily": 7,
        "keepWeekly": 4,
    })
}

fn toolset() -> Value {
    let sandbox = json!({ "name": "code", "snapshot": true, "checkpoint": false, "branch": false, "work": true, "sandboxId": "agent-42", "dir": "/app" });
    let named = json!({ "name": "data", "workspace": "work", "tenant": "team", "allowCrossLineage": true });
    json!({ "workspaces": [sandbox, named], "style": "flat", "readOnly": true })
}

fn cursor() -> String {
    let snapshot_id = SnapshotId::parse("snap-abcdefghij012345").unwrap();
    SnapshotCursor { created_at: Timestamp::from_millis(1), snapshot_id }.to_string()
}

fn file_cursor() -> String {
    FileCursor(b"main.rs".to_vec()).to_string()
}

fn checkpoint_cursor() -> String {
    CheckpointCursor { micros: 1, name: CheckpointName::parse("s1").unwrap() }.to_string()
}

/// Merges objects into one.
pub fn with(parts: &[&Value]) -> Value {
    let fields = parts.iter().flat_map(|part| part.as_object().unwrap().clone());
    Value::Object(fields.collect())
}
