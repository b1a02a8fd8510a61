//! The arguments of operations on named workspaces. They are decoded strictly.

use std::fmt::Debug;

use sandbox_snapshotter::api::operations::{Operation, Request, Target};
use sandbox_snapshotter::model::named::Address;
use sandbox_snapshotter::model::named::settings::OnDiverged;
use sandbox_snapshotter::model::request::{
    CreateRequest, ForkRequest, GetOrCreateRequest, ListWorkspacesRequest, PromoteFrom, PromoteRequest, SnapshotText,
    Source, StartRequest, StopRequest, UpdateRequest,
};
use sandbox_snapshotter::model::{Code, Error, Result, SnapshotRequest};
use serde_json::{Value, json};

use crate::support::{expect_error, full_ref};

/// Decodes the arguments of an operation.
type Decode = fn(&Value) -> Result<String>;

fn debug_text<T: Debug>(outcome: Result<T>) -> Result<String> {
    outcome.map(|request| format!("{request:?}"))
}

fn settings() -> Value {
    json!({
        "persistent": false,
        "retention": { "keepDaily": 7 },
        "hooks": { "afterStart": { "command": "a" } },
        "expiry": { "idleSeconds": 60 },
        "dependsOn": { "files": ["a"] },
        "env": { "A": "1" },
    })
}

fn extended(base: &Value, further: &Value) -> Value {
    let mut whole = base.clone();
    whole.as_object_mut().unwrap().extend(further.as_object().unwrap().clone());
    whole
}

/// Returns each request: its name, its decoder, and arguments with all of its fields.
fn all_requests() -> Vec<(&'static str, Decode, Value)> {
    let named = json!({ "name": "work", "tenant": "team" });
    let create = extended(
        &extended(&named, &settings()),
        &json!({ "dir": "/workspace", "idempotencyKey": "k", "memory": false }),
    );
    let start = json!({ "onDiverged": "rescue", "allowEmpty": true, "acceptStale": true, "expect": { "a": "ab" } });
    vec![
        ("name", |value| debug_text(Address::decode(value)), named.clone()),
        (
            "create",
            |value| debug_text(CreateRequest::decode(value)),
            extended(&create, &json!({ "sourceWorkspace": "other" })),
        ),
        (
            "create from",
            |value| debug_text(CreateRequest::decode(value)),
            extended(&create, &json!({ "sourceSnapshot": { "ref": full_ref() } })),
        ),
        (
            "get or create",
            |value| debug_text(GetOrCreateRequest::decode(value)),
            extended(&extended(&create, &start), &json!({ "from": "snap-abcdefghij012345" })),
        ),
        (
            "start",
            |value| debug_text(StartRequest::decode(value)),
            extended(
                &extended(&named, &start),
                &json!({ "fingerprint": "v1", "from": "snap-abcdefghij012345", "idempotencyKey": "k" }),
            ),
        ),
        (
            "stop",
            |value| debug_text(StopRequest::decode(value)),
            extended(
                &named,
                &json!({ "memory": false, "snapshot": { "label": "x", "replace": true, "expirationSeconds": 60 } }),
            ),
        ),
        (
            "fork",
            |value| debug_text(ForkRequest::decode(value)),
            extended(
                &named,
                &json!({
                    "newName": "x", "count": 2, "from": "latest", "copyEnv": true, "idempotencyKey": "k", "memory": false,
                }),
            ),
        ),
        (
            "update",
            |value| debug_text(UpdateRequest::decode(value)),
            extended(
                &extended(&named, &settings()),
                &json!({ "currentSnapshotId": "snap-abcdefghij012345", "acceptStale": true }),
            ),
        ),
        (
            "names",
            |value| debug_text(ListWorkspacesRequest::decode(value)),
            json!({ "tenant": "team", "cursor": "work", "limit": 7, "prefix": "w" }),
        ),
    ]
}

#[track_caller]
fn expect_invalid(outcome: Result<String>, about: &str) -> Error {
    let error = outcome.expect_err(about);
    assert_eq!(error.code(), Code::InvalidArgument, "{about}: {error}");
    error
}

#[test]
fn each_request_accepts_all_of_its_fields() {
    for (name, decode, whole) in all_requests() {
        decode(&whole).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[test]
fn requests_that_are_not_objects_are_refused() {
    for (name, decode, whole) in all_requests() {
        for value in [json!(null), json!("work"), json!([]), json!([whole]), json!(1), json!(true)] {
            expect_invalid(decode(&value), name);
        }
    }
}

#[test]
fn unknown_fields_are_refused() {
    for (name, decode, whole) in all_requests() {
        for field in ["Name", "sandboxId", "new_name", "ttl", "__proto__", ""] {
            let error = expect_invalid(decode(&extended(&whole, &json!({ field: 1 }))), name);
            assert!(error.message().contains(field), "{name}: {error}");
        }
    }
}

#[test]
fn values_of_another_type_are_refused() {
    for (name, decode, whole) in all_requests() {
        for field in whole.as_object().unwrap().keys() {
            for value in [json!(-1), json!(1.5), json!([1]), json!([[]])] {
                expect_invalid(
                    decode(&extended(&whole, &json!({ field: value }))),
                    &format!("{name}: {field}: {value}"),
                );
            }
        }
    }
}

#[test]
fn only_the_name_is_required() {
    for (name, decode, whole) in all_requests() {
        for field in whole.as_object().unwrap().keys() {
            let mut absent = whole.clone();
            absent.as_object_mut().unwrap().remove(field);
            for value in [absent, extended(&whole, &json!({ field: null }))] {
                match field.as_str() {
                    "name" => drop(expect_invalid(decode(&value), name)),
                    _ => drop(decode(&value).unwrap_or_else(|error| panic!("{name} without {field}: {error}"))),
                }
            }
        }
    }
}

#[test]
fn invalid_names_have_their_own_code_if_all_types_are_right() {
    for (name, decode, whole) in all_requests() {
        for field in ["name", "tenant", "newName", "sourceWorkspace"] {
            if whole.get(field).is_some() {
                let error = expect_error(decode(&extended(&whole, &json!({ field: "a/b" }))));
                assert_eq!(error.code(), Code::InvalidWorkspaceName, "{name} {field}");
            }
        }
        expect_invalid(decode(&extended(&whole, &json!({ "name": "a/b", "tenant": 1 }))), name);
    }
}

#[test]
fn memory_option_is_unsupported() {
    for (name, decode, whole) in all_requests().into_iter().filter(|(_, _, whole)| whole.get("memory").is_some()) {
        let error = expect_error(decode(&extended(&whole, &json!({ "memory": true }))));
        assert_eq!(error.code(), Code::Unsupported, "{name}");
        assert!(error.message().contains("processes") && error.remediation().contains("afterStart"), "{error}");
    }
    let snapshot = json!({ "sandboxId": "agent-42", "memory": true });
    assert_eq!(expect_error(SnapshotRequest::decode(&snapshot)).code(), Code::Unsupported);
    assert!(SnapshotRequest::decode(&json!({ "sandboxId": "agent-42", "memory": false })).is_ok());
}

#[test]
fn request_without_a_tenant_uses_the_default_tenant() {
    assert_eq!(Address::decode(&json!({ "name": "work" })).unwrap().to_string(), "default/work");
    assert_eq!(ListWorkspacesRequest::decode(&json!({})).unwrap().tenant.as_str(), "default");
}

#[test]
fn create_accepts_one_source_only() {
    let snapshot = json!({ "ref": full_ref() });
    let both = json!({ "name": "work", "sourceWorkspace": "other", "sourceSnapshot": snapshot });
    expect_invalid(debug_text(CreateRequest::decode(&both)), "both sources");
    let source =
        |further: Value| CreateRequest::decode(&extended(&json!({ "name": "work" }), &further)).unwrap().source;
    assert_eq!(source(json!({})), None);
    assert!(matches!(source(json!({ "sourceWorkspace": "other" })), Some(Source::Workspace(_))));
    assert_eq!(source(json!({ "sourceSnapshot": snapshot })), Some(Source::Snapshot(snapshot)));
}

#[test]
fn invalid_source_snapshot_is_refused_with_the_code_of_selections() {
    let create = |source: Value| {
        expect_error(CreateRequest::decode(&json!({ "name": "work", "sourceSnapshot": source }))).code()
    };
    assert_eq!(create(json!({})), Code::InvalidArgument);
    assert_eq!(create(json!({ "ref": 1 })), Code::InvalidRef);
    assert_eq!(create(json!({ "sandboxId": "-", "label": "x" })), Code::InvalidSandboxId);
}

/// An idempotency key is stored with the hash of this JSON, so a later release must write the same.
#[test]
fn json_for_the_comparison_of_idempotent_creations_is_stable() {
    let json_of = |options: Value| json!(CreateRequest::decode(&options).unwrap());
    let expected = json!({
        "name": "work", "tenant": "default", "dir": null, "sourceWorkspace": null, "sourceSnapshot": null,
        "idempotencyKey": "k", "persistent": null, "retention": null, "hooks": null, "expiry": null, "dependsOn": null,
        "env": null,
    });
    assert_eq!(json_of(json!({ "name": "work", "idempotencyKey": "k" })), expected);
    let source = json!({ "sourceWorkspace": "other" });
    let options = extended(&json!({ "name": "work", "idempotencyKey": "k" }), &source);
    assert_eq!(json_of(options), extended(&expected, &source));
}

#[test]
fn create_arguments_round_trip() {
    for (name, _, whole) in all_requests().into_iter().filter(|(name, ..)| name.starts_with("create")) {
        let request = CreateRequest::decode(&whole).unwrap();
        assert_eq!(CreateRequest::decode(&json!(request)).unwrap(), request, "{name}");
    }
}

#[test]
fn start_fails_on_diverged_files_by_default() {
    let start = StartRequest::decode(&json!({ "name": "work" })).unwrap();
    assert_eq!(
        (start.start.on_diverged, start.start.allow_empty, start.start.accept_stale),
        (OnDiverged::Fail, false, false)
    );
    for (word, choice) in [
        ("fail", OnDiverged::Fail),
        ("keep", OnDiverged::Adopt),
        ("save", OnDiverged::Rescue),
        ("discard", OnDiverged::Discard),
    ] {
        let start = StartRequest::decode(&json!({ "name": "work", "onDiverged": word })).unwrap();
        assert_eq!(start.start.on_diverged, choice);
    }
    expect_invalid(debug_text(StartRequest::decode(&json!({ "name": "work", "onDiverged": "Keep" }))), "no choice");
}

#[test]
fn fingerprint_of_a_start_follows_the_rule_of_settings() {
    for fingerprint in [String::new(), "x".repeat(257)] {
        expect_invalid(
            debug_text(StartRequest::decode(&json!({ "name": "work", "fingerprint": fingerprint }))),
            "a fingerprint",
        );
    }
}

#[test]
fn fork_makes_1_to_100_forks_and_1_by_default() {
    let fork = |count: Value| ForkRequest::decode(&json!({ "name": "work", "count": count }));
    assert_eq!(fork(json!(null)).unwrap().count, 1);
    for count in [1, 100] {
        assert_eq!(fork(json!(count)).unwrap().count, count);
    }
    for count in [json!(0), json!(101), json!(1_u64 << 32), json!((1_u64 << 32) + 1)] {
        expect_invalid(debug_text(fork(count.clone())), &count.to_string());
    }
}

#[test]
fn fork_does_not_copy_variables_by_default() {
    assert!(!ForkRequest::decode(&json!({ "name": "work" })).unwrap().copy_env);
}

#[test]
fn update_without_a_change_is_refused() {
    expect_invalid(debug_text(UpdateRequest::decode(&json!({ "name": "work" }))), "nothing");
    expect_invalid(
        debug_text(UpdateRequest::decode(&json!({ "name": "work", "acceptStale": true }))),
        "no change but `acceptStale`",
    );
    UpdateRequest::decode(&json!({ "name": "work", "persistent": true })).unwrap();
}

#[test]
fn rollback_is_to_an_id_a_short_ref_or_a_label() {
    let back = |text: &str| UpdateRequest::decode(&json!({ "name": "work", "currentSnapshotId": text }));
    let selected = |text: &str| back(text).unwrap().current_snapshot_id.unwrap();
    assert!(matches!(selected("snap-abcdefghij012345"), SnapshotText::Id(_)));
    for label in ["latest", "tests pass", "snap-20261129-100000"] {
        assert!(matches!(selected(label), SnapshotText::Label(it) if it.as_str() == label), "{label}");
    }
    assert_eq!(expect_error(back("snap_short")).code(), Code::InvalidRef);
    for text in ["", " spaced", "two\nlines"] {
        assert_eq!(expect_error(back(text)).code(), Code::InvalidLabel, "{text:?}");
    }
}

#[test]
fn new_label_has_not_the_form_of_a_snapshot() {
    for text in ["snap-abcdefghij012345", "snap_anything"] {
        for outcome in [
            debug_text(SnapshotRequest::decode(&json!({ "sandboxId": "agent-42", "label": text }))),
            debug_text(StopRequest::decode(&json!({ "name": "work", "snapshot": { "label": text } }))),
        ] {
            assert_eq!(expect_error(outcome).code(), Code::InvalidLabel, "{text}");
        }
    }
    SnapshotRequest::decode(&json!({ "sandboxId": "agent-42", "label": "snap-20261129-100000" })).unwrap();
}

#[test]
fn promotion_is_from_a_workspace_or_from_a_snapshot() {
    let from = |text: &str| PromoteRequest::decode(&json!({ "name": "work", "from": text }));
    assert!(matches!(from("try-2").unwrap().from, PromoteFrom::Workspace(name) if name.as_str() == "try-2"));
    assert!(matches!(from("snap-abcdefghij012345").unwrap().from, PromoteFrom::Snapshot(_)));
    assert!(matches!(from("snap-short").unwrap().from, PromoteFrom::Workspace(_)));
    assert!(matches!(from("a/b").unwrap().from, PromoteFrom::Snapshot(SnapshotText::Label(_))));
    assert_eq!(expect_error(from("a\nb")).code(), Code::InvalidWorkspaceName);
    expect_invalid(debug_text(PromoteRequest::decode(&json!({ "name": "work" }))), "no source");
}

#[test]
fn page_has_1_to_1000_names_and_100_by_default() {
    let names = |limit: Value| ListWorkspacesRequest::decode(&json!({ "limit": limit }));
    assert_eq!(names(json!(null)).unwrap().limit, 100);
    for limit in [1, 1000] {
        assert_eq!(names(json!(limit)).unwrap().limit, limit);
    }
    for limit in [json!(0), json!(1001), json!((1_u64 << 32) + 1)] {
        expect_invalid(debug_text(names(limit.clone())), &limit.to_string());
    }
}

#[test]
fn cursor_that_is_not_a_name_is_refused() {
    expect_invalid(debug_text(ListWorkspacesRequest::decode(&json!({ "cursor": "a/b" }))), "a cursor");
    assert_eq!(ListWorkspacesRequest::decode(&json!({ "prefix": "" })).unwrap().prefix, None);
}

#[test]
fn invalid_idempotency_key_is_refused() {
    for key in [String::new(), "a\n".into(), "x".repeat(256)] {
        for decode in [(|value| debug_text(CreateRequest::decode(value))) as Decode, |value| {
            debug_text(ForkRequest::decode(value))
        }] {
            expect_invalid(decode(&json!({ "name": "work", "idempotencyKey": key })), "a key");
        }
    }
}

#[test]
fn each_operation_on_a_workspace_targets_its_named_object() {
    let named = Operation::ALL.iter().filter(|operation| operation.name().starts_with("workspaces/"));
    for operation in named.filter(|operation| **operation != Operation::ListWorkspaces) {
        let arguments = match operation {
            Operation::UpdateWorkspace => json!({ "name": "work", "persistent": true }),
            Operation::PromoteWorkspace => json!({ "name": "work", "from": "other" }),
            Operation::MigrateWorkspace => json!({ "name": "work", "runtime": "container" }),
            _ => json!({ "name": "work" }),
        };
        let Target::Named(address) = Request::decode(*operation, &arguments).unwrap().target() else {
            panic!("{operation:?}")
        };
        assert_eq!(address.to_string(), "default/work");
    }
}
