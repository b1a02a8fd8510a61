//! Invalid values of each option, in every operation that has the option.

use std::iter::repeat_n;

use sandbox_snapshotter::api::operations::{Operation, Request};
use sandbox_snapshotter::model::Code;
use serde_json::{Map, Value, json};

use super::support::full_ref;

/// Returns valid options of each operation on snapshots and workspaces, with every option that they have.
fn valid_options() -> Vec<(Operation, Value)> {
    let scope = json!({ "lineageScope": "agent-42", "allowCrossLineage": true });
    let of_sandbox = |further: Value| merged(&[json!({ "sandboxId": "agent-42" }), further]);
    let of_snapshot = |further: Value| merged(&[json!({ "ref": full_ref() }), scope.clone(), further]);
    let settings = json!({
        "persistent": true, "retention": { "keepLast": { "count": 3 } }, "hooks": {}, "expiry": {}, "dependsOn": {}, "env": {},
    });
    let start = json!({ "onDiverged": "adopt", "allowEmpty": true, "acceptStale": true, "expect": { "lock": "0" } });
    let name = json!({ "name": "existing", "tenant": "default" });
    let create = merged(&[name.clone(), settings.clone(), json!({ "dir": "/workspace", "idempotencyKey": "key" })]);
    let commands = valid_command_options(&name, &scope);
    let policy = json!({ "policy": { "keepDaily": 1 }, "dryRun": false });
    let others = vec![
        (
            Operation::Snapshot,
            of_sandbox(json!({
                "dir": "/workspace", "label": "new", "replace": false, "expirationSeconds": 60, "excludes": ["*.log"],
                "gitignore": true, "compression": { "format": "zstd" }, "wake": false, "fresh": true, "secrets": "keep", "idempotencyKey": "key",
            })),
        ),
        (Operation::Restore, of_snapshot(json!({ "idempotencyKey": "key" }))),
        (Operation::Branch, of_snapshot(json!({ "idempotencyKey": "key" }))),
        (
            Operation::Revive,
            merged(&[of_sandbox(json!({ "onDiverged": "rescue", "idempotencyKey": "key" })), scope.clone()]),
        ),
        (
            Operation::List,
            merged(&[of_sandbox(json!({ "limit": 10, "labelPrefix": "a", "check": false })), scope.clone()]),
        ),
        (Operation::Get, of_snapshot(json!({}))),
        (Operation::Manifest, of_snapshot(json!({}))),
        (Operation::Verify, of_snapshot(json!({}))),
        (Operation::ListFiles, of_snapshot(json!({ "path": "src", "limit": 10 }))),
        (Operation::StatFile, of_snapshot(json!({ "path": "src" }))),
        (Operation::ReadFile, of_snapshot(json!({ "path": "src/main.rs", "offset": 0, "length": 10 }))),
        (Operation::SummarizeFiles, of_snapshot(json!({ "path": "src" }))),
        (Operation::ListFiles, merged(&[name.clone(), scope.clone(), json!({ "dir": "/workspace", "path": "src" })])),
        (
            Operation::WriteFile,
            of_sandbox(json!({
                "runtime": "container", "dir": "/workspace", "path": "src/main.rs", "content": "x", "encoding": "utf8",
                "mode": "0644", "ifMatch": "0f".repeat(32),
            })),
        ),
        (Operation::MakeDirectory, of_sandbox(json!({ "path": "src" }))),
        (Operation::MoveFile, of_sandbox(json!({ "path": "src/main.rs", "to": "src/lib.rs", "overwrite": true }))),
        (Operation::RemoveFile, of_sandbox(json!({ "path": "src", "recursive": true }))),
        (Operation::Label, of_snapshot(json!({ "newLabel": "new", "replace": false }))),
        (Operation::Pin, of_snapshot(json!({}))),
        (Operation::Unpin, of_snapshot(json!({}))),
        (Operation::Delete, of_snapshot(json!({ "force": true }))),
        (
            Operation::Import,
            of_sandbox(json!({
                "backup": { "id": "00000000-0000-4000-8000-000000000000", "dir": "/workspace" },
                "label": "new", "replace": false, "expirationSeconds": 60,
            })),
        ),
        (Operation::Lineage, merged(&[of_sandbox(json!({})), scope.clone()])),
        (Operation::Retention, merged(&[of_sandbox(json!({})), scope.clone()])),
        (Operation::SetRetention, of_sandbox(policy)),
        (Operation::ApplyRetention, of_sandbox(json!({ "dryRun": false }))),
        (Operation::RotateKey, merged(&[of_sandbox(json!({})), scope.clone()])),
        (Operation::Usage, json!({ "tenant": "team", "instanceType": "basic", "limit": 7 })),
        (Operation::Sweep, json!({ "dryRun": false, "graceSeconds": 0 })),
        (Operation::CreateWorkspace, create.clone()),
        (Operation::GetOrCreateWorkspace, merged(&[create, start.clone()])),
        (Operation::GetWorkspaceByName, name.clone()),
        (Operation::ListWorkspaces, json!({ "tenant": "default", "limit": 10, "prefix": "t" })),
        (
            Operation::StartWorkspace,
            merged(&[name.clone(), json!({ "fingerprint": "a", "idempotencyKey": "key" }), start]),
        ),
        (
            Operation::StopWorkspace,
            merged(&[name.clone(), json!({ "snapshot": { "label": "a", "expirationSeconds": 60 } })]),
        ),
        (Operation::TurnEnded, name.clone()),
        (
            Operation::ForkWorkspace,
            merged(&[
                name.clone(),
                json!({ "newName": "new", "count": 1, "copyEnv": true, "secrets": "exclude", "runtime": "sdk-0.12", "idempotencyKey": "key" }),
            ]),
        ),
        (Operation::UpdateWorkspace, merged(&[name.clone(), settings, json!({ "acceptStale": true })])),
        (
            Operation::PromoteWorkspace,
            merged(&[name.clone(), json!({ "from": "other", "acceptStale": true, "idempotencyKey": "key" })]),
        ),
        (Operation::MigrateWorkspace, merged(&[name.clone(), json!({ "runtime": "container" })])),
        (Operation::DeleteWorkspace, name),
    ];
    [others, commands].concat()
}

/// Returns valid options of each operation on commands.
fn valid_command_options(name: &Value, scope: &Value) -> Vec<(Operation, Value)> {
    let of_sandbox = |further: Value| merged(&[json!({ "sandboxId": "agent-42" }), further]);
    vec![
        (
            Operation::Exec,
            of_sandbox(json!({
                "command": "true", "cwd": "src", "env": { "A": "1" }, "stdin": "", "timeoutSeconds": 1,
                "maxOutputBytes": 1,
            })),
        ),
        (
            Operation::StartCommand,
            of_sandbox(
                json!({ "command": "true", "cwd": "src", "env": { "A": "1" }, "stdin": "", "timeoutSeconds": 1 }),
            ),
        ),
        (Operation::ListCommands, merged(&[name.clone(), scope.clone()])),
        (
            Operation::ReadCommandOutput,
            of_sandbox(json!({
                "runtime": "container", "commandId": "c1", "stream": "stderr", "offset": 0, "length": 10,
                "waitSeconds": 1,
            })),
        ),
        (Operation::EndCommand, of_sandbox(json!({ "commandId": "c1", "killSignal": "INT", "graceSeconds": 0 }))),
    ]
}

/// Returns the options with invalid values, and the code of their refusal. An option without a value is removed.
fn invalid_values() -> Vec<(&'static str, Code, Vec<Option<Value>>)> {
    use Code::{InvalidArgument, InvalidDirectory, InvalidLabel, InvalidSandboxId, InvalidWorkspaceName};
    let mut table = Vec::new();
    let mut refused = |options: &[&'static str], code: Code, values: Value| {
        let Value::Array(values) = values else { panic!("a list of values") };
        for option in options {
            table.push((*option, code, values.iter().cloned().map(Some).collect()));
        }
    };
    refused(&["sandboxId", "lineageScope"], InvalidSandboxId, json!(["", "-origin", long(64), "origin\n"]));
    refused(&["sandboxId", "lineageScope", "labelPrefix", "prefix"], InvalidArgument, json!([7, ["origin"]]));
    refused(&["name", "tenant", "newName"], InvalidArgument, json!([7, ["existing"]]));
    let names = json!(["", "-existing", ".", "a/b", "a b", "ü", "existing\n", long(64)]);
    refused(&["name", "tenant", "newName"], InvalidWorkspaceName, names);
    refused(&["dir"], InvalidArgument, json!([7]));
    refused(&["dir"], InvalidDirectory, json!(["/etc", "workspace", ""]));
    refused(&["newLabel"], InvalidArgument, json!([7]));
    refused(&["newLabel"], InvalidLabel, json!(["", " x", long(129)]));
    refused(&["idempotencyKey"], InvalidArgument, json!([7, "", long(129), "a\u{0}"]));
    refused(&["limit", "count"], InvalidArgument, json!([0, -1, 1001, 1.5, "10", 1e100]));
    refused(&["labelPrefix"], InvalidArgument, json!([long(129)]));
    refused(&["expirationSeconds"], InvalidArgument, json!([59, -1, 0.5, 1e12, "60"]));
    refused(&["excludes"], InvalidArgument, json!(["*.log", [7], [""], ["a\nb"]]));
    refused(
        &["compression"],
        InvalidArgument,
        json!(["zstd", [], { "format": "brotli" }, { "threads": 0 }, { "level": 9 }]),
    );
    refused(&["secrets"], InvalidArgument, json!([7, "", "Keep", true, ["exclude"]]));
    refused(&["runtime"], InvalidArgument, json!([7, "", "sdk-1.0", ["container"]]));
    refused(&["backup"], InvalidArgument, json!([7, "x", []]));
    refused(&["instanceType"], InvalidArgument, json!([7, "", "dev", ["lite"]]));
    refused(
        &["snapshot"],
        InvalidArgument,
        json!([7, "x", [], { "expirationSeconds": 59 }, { "replace": true }, { "label": 7 }, { "dir": "/workspace" }]),
    );
    refused(&["graceSeconds"], InvalidArgument, json!([-1, 0.5, "0"]));
    refused(&["commandId"], InvalidArgument, json!([7, "", "C1", "../x", "a b", long(33)]));
    refused(&["stream", "killSignal"], InvalidArgument, json!([7, "", "both", "SIGTERM"]));
    refused(&["waitSeconds"], InvalidArgument, json!([-1, 31, 0.5, "1"]));
    let flags = [
        ["replace", "gitignore", "wake", "fresh", "force", "check"],
        ["dryRun", "allowCrossLineage", "persistent", "allowEmpty", "acceptStale", "copyEnv"],
    ];
    refused(&flags.concat(), InvalidArgument, json!(["yes", 1]));
    refused(
        &["policy", "retention"],
        InvalidArgument,
        json!([
            7, { "keep": 1 }, { "keepLast": 3 }, { "keepLast": {} }, { "keepLast": { "count": 0 } },
            { "keepLast": { "count": -1 } }, { "keepLast": { "count": 10_001 } },
            { "keepLast": { "count": 1, "expirationSeconds": 1e12 } }, { "keepLast": { "count": 1, "keep": true } },
            { "expirationSeconds": -1 }, { "expirationSeconds": 1e12 }, { "keepDaily": 1.5 }, { "keepWeekly": 10_001 },
        ]),
    );
    refused(&["fingerprint"], InvalidArgument, json!([7, "", long(257)]));
    refused(&["onDiverged"], InvalidArgument, json!(["", "Adopt", "ask", 7, true]));
    refused(&["expect"], InvalidArgument, json!(["lock", 7, ["lock"], { "lock": 7 }]));
    let hook = |hook: Value| json!({ "beforeStop": hook });
    refused(
        &["hooks"],
        InvalidArgument,
        json!([
            7, "true", hook(json!("true")), hook(json!({})), hook(json!({ "command": "" })), hook(json!({ "command": "  " })),
            hook(json!({ "command": 7 })), hook(json!({ "command": "a\u{0}b" })), hook(json!({ "command": long(8193) })),
            hook(json!({ "command": "true", "timeoutSeconds": 0 })), hook(json!({ "command": "true", "timeoutSeconds": 601 })),
            hook(json!({ "command": "true", "timeoutSeconds": 1.5 })), hook(json!({ "command": "true", "onFailure": "ignore" })),
            hook(json!({ "command": "true", "retries": 3 })), { "beforeStart": { "command": "true" } },
        ]),
    );
    refused(
        &["expiry"],
        InvalidArgument,
        json!([7, { "idleSeconds": -1 }, { "idleSeconds": 1e9 }, { "maxSeconds": "60" }, { "days": 1 }]),
    );
    let files: Vec<String> = (0..33).map(|index| format!("file-{index}")).collect();
    refused(
        &["dependsOn"],
        InvalidArgument,
        json!([
            7, { "files": "lock" }, { "files": [7] }, { "files": [""] }, { "files": ["a\nb"] }, { "files": [long(1025)] },
            { "files": files }, { "fingerprint": "" }, { "onMismatch": "ask" }, { "onImageChange": true }, { "image": "x" },
        ]),
    );
    let variables: Map<String, Value> = (0..101).map(|index| (format!("A{index}"), json!(""))).collect();
    refused(
        &["env"],
        InvalidArgument,
        json!([7, ["A=1"], { "A": 1 }, { "": "a" }, { "1A": "a" }, { "A-B": "a" }, { "A": "a\u{0}b" }, variables]),
    );
    for required in ["name", "newLabel", "backup", "policy", "commandId"] {
        table.push((required, InvalidArgument, vec![None]));
    }
    table
}

fn merged(parts: &[Value]) -> Value {
    parts.iter().flat_map(|part| part.as_object().unwrap().clone()).collect::<Map<_, _>>().into()
}

fn long(length: usize) -> String {
    repeat_n('x', length).collect()
}

#[test]
fn each_operation_accepts_its_valid_options() {
    for (operation, options) in valid_options() {
        Request::decode(operation, &options).unwrap_or_else(|error| panic!("{}: {error}", operation.name()));
    }
}

#[test]
fn no_operation_on_a_sandbox_accepts_a_tenant() {
    let list_commands = (Operation::ListCommands, json!({ "sandboxId": "agent-42" }));
    let of_sandbox = valid_options().into_iter().filter(|(_, options)| options.get("sandboxId").is_some());
    for (operation, options) in of_sandbox.chain([list_commands]) {
        let options = merged(&[options, json!({ "tenant": "acme" })]);
        let code = Request::decode(operation, &options).err().map(|error| error.code());
        assert_eq!(code, Some(Code::InvalidArgument), "{}", operation.name());
    }
}

#[test]
fn each_operation_refuses_invalid_values_of_its_options() {
    let table = invalid_values();
    let mut refused_options = Vec::new();
    for (operation, valid) in valid_options() {
        for (option, code, values) in table.iter().filter(|(option, ..)| valid.get(option).is_some()) {
            refused_options.push(*option);
            for value in values {
                let mut options = valid.clone();
                match value {
                    Some(value) => options[option] = value.clone(),
                    None => _ = options.as_object_mut().unwrap().remove(*option),
                }
                let outcome = Request::decode(operation, &options).map(drop).map_err(|error| error.code());
                assert_eq!(outcome, Err(*code), "{}: {option}: {value:?}", operation.name());
            }
        }
    }
    for (option, ..) in &table {
        assert!(refused_options.contains(option), "no operation has {option}");
    }
}
