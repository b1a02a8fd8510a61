//! The arguments of all operations on snapshots and workspaces. They are decoded strictly.

use std::fmt::Debug;

use proptest::prelude::*;
use sandbox_snapshotter::model::policy::Policy;
use sandbox_snapshotter::model::request::{
    ApplyRetentionRequest, DeleteRequest, ImportRequest, InWorkspace, LabelRequest, LineageScope, ListRequest,
    SandboxRequest, SetRetentionRequest, SnapshotCursor, SweepRequest,
};
use sandbox_snapshotter::model::{
    Code, Error, RestoreRequest, Result, Selection, Selector, SnapshotId, SnapshotRequest, Timestamp,
};
use serde_json::{Value, json};

use super::support::{cases, expect_error, full_ref, sandbox};

/// Decodes the arguments of an operation.
type Decode = fn(&Value) -> Result<String>;

fn debug_text<T: Debug>(outcome: Result<T>) -> Result<String> {
    outcome.map(|request| format!("{request:?}"))
}

/// Returns each request: its name, its decoder, and arguments with all of its fields.
fn all_requests() -> Vec<(&'static str, Decode, Value)> {
    let selection = json!({ "ref": full_ref(), "lineageScope": "agent-42", "allowCrossLineage": true });
    let with = |further: Value| {
        let mut whole = selection.clone();
        whole.as_object_mut().unwrap().extend(further.as_object().unwrap().clone());
        whole
    };
    let scope = json!({ "sandboxId": "agent-42", "lineageScope": "agent-7", "allowCrossLineage": true });
    let cursor = SnapshotCursor { created_at: Timestamp::from_millis(1), snapshot_id: snapshot_id() }.to_string();
    vec![
        ("selection", |value| debug_text(Selection::decode(value)), selection.clone()),
        ("restore", |value| debug_text(RestoreRequest::decode(value)), with(json!({ "idempotencyKey": "k" }))),
        ("delete", |value| debug_text(DeleteRequest::decode(value)), with(json!({ "force": true }))),
        ("label", |value| debug_text(LabelRequest::decode(value)), with(json!({ "newLabel": "new", "replace": true }))),
        ("workspace", |value| debug_text(SandboxRequest::decode(value)), scope),
        (
            "list",
            |value| debug_text(ListRequest::decode(value)),
            json!({
                "sandboxId": "agent-42", "cursor": cursor, "limit": 7, "labelPrefix": "test/", "check": false,
                "lineageScope": "agent-7", "allowCrossLineage": true,
            }),
        ),
        (
            "policy",
            |value| debug_text(SetRetentionRequest::decode(value)),
            json!({
                "sandboxId": "agent-42", "policy": { "keepDaily": 7 }, "dryRun": true,
            }),
        ),
        (
            "retention",
            |value| debug_text(ApplyRetentionRequest::decode(value)),
            json!({
                "sandboxId": "agent-42", "dryRun": true,
            }),
        ),
        ("sweep", |value| debug_text(SweepRequest::decode(value)), json!({ "dryRun": true, "graceSeconds": 60 })),
        (
            "import",
            |value| debug_text(ImportRequest::decode(value)),
            json!({
                "sandboxId": "agent-42", "backup": { "id": "b1", "dir": "/workspace" }, "label": "nightly", "replace": true,
                "expirationSeconds": 60,
            }),
        ),
        (
            "snapshot",
            |value| debug_text(SnapshotRequest::decode(value)),
            json!({
                "sandboxId": "agent-42", "dir": "/workspace", "label": "before", "replace": true, "expirationSeconds": 60,
                "excludes": ["*.log"], "gitignore": true, "compression": { "format": "gzip" }, "wake": true, "fresh": true,
                "idempotencyKey": "k",
            }),
        ),
    ]
}

fn snapshot_id() -> SnapshotId {
    SnapshotId::parse("snap-abcdefghij012345").unwrap()
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
        for value in [json!(null), json!("agent-42"), json!([]), json!([whole]), json!(1), json!(true)] {
            expect_invalid(decode(&value), name);
        }
    }
}

#[test]
fn unknown_fields_are_refused() {
    for (name, decode, whole) in all_requests() {
        for field in ["sandboxID", "Ref", "snapshot_id", "ttl", "__proto__", ""] {
            let mut wrong = whole.clone();
            wrong[field] = json!(1);
            let error = expect_invalid(decode(&wrong), name);
            assert!(error.message().contains(field), "{name}: {error}");
        }
    }
}

#[test]
fn values_of_another_type_are_refused() {
    for (name, decode, whole) in all_requests() {
        for field in whole.as_object().unwrap().keys() {
            for value in [json!(-1), json!(1.5), json!({ "a": 1 }), json!([1]), json!([[]])] {
                let mut wrong = whole.clone();
                wrong[field] = value.clone();
                let error = decode(&wrong).expect_err(&format!("{name}: {field}: {value}"));
                let expected = if field == "ref" { Code::InvalidRef } else { Code::InvalidArgument };
                assert_eq!(error.code(), expected, "{name}: {field}: {value}: {error}");
            }
        }
    }
}

#[test]
fn only_required_fields_must_be_present() {
    let needed = ["ref", "sandboxId", "newLabel", "policy", "backup"];
    for (name, decode, whole) in all_requests() {
        for field in whole.as_object().unwrap().keys() {
            let mut absent = whole.clone();
            absent.as_object_mut().unwrap().remove(field);
            let mut null = whole.clone();
            null[field] = json!(null);
            if field == "label" {
                absent.as_object_mut().unwrap().remove("replace");
                null.as_object_mut().unwrap().remove("replace");
            }
            for value in [absent, null] {
                let outcome = decode(&value);
                if needed.contains(&field.as_str()) {
                    expect_invalid(outcome, &format!("{name} without {field}"));
                } else {
                    outcome.unwrap_or_else(|error| panic!("{name} without {field}: {error}"));
                }
            }
        }
    }
}

#[test]
fn snapshot_is_selected_in_one_of_three_ways() {
    let by_id = json!({ "sandboxId": "agent-42", "snapshotId": "snap-abcdefghij012345" });
    let by_label = json!({ "sandboxId": "agent-42", "label": "before" });
    assert!(matches!(Selection::decode(&json!({ "ref": full_ref() })).unwrap().selector, Selector::Ref { .. }));
    assert!(matches!(Selection::decode(&by_id).unwrap().selector, Selector::Id { .. }));
    assert!(matches!(Selection::decode(&by_label).unwrap().selector, Selector::Label { .. }));
    for wrong in [
        json!({}),
        json!({ "sandboxId": "agent-42" }),
        json!({ "snapshotId": "snap-abcdefghij012345" }),
        json!({ "label": "before" }),
        json!({ "ref": full_ref(), "sandboxId": "agent-42" }),
        json!({ "ref": full_ref(), "label": "before" }),
        json!({ "ref": null }),
        json!({ "sandboxId": "agent-42", "snapshotId": "snap-abcdefghij012345", "label": "before" }),
        full_ref(),
    ] {
        expect_invalid(debug_text(Selection::decode(&wrong)), &wrong.to_string());
    }
}

#[test]
fn invalid_selector_has_its_own_code() {
    for (selection, code) in [
        (json!({ "ref": 1 }), Code::InvalidRef),
        (json!({ "ref": { "providerId": "e2b" } }), Code::ForeignRef),
        (
            json!({ "ref": { "providerId": "cloudflare-sandbox", "ref": { "schemaVersion": 2 } } }),
            Code::UnsupportedRefVersion,
        ),
        (json!({ "sandboxId": "-", "label": "before" }), Code::InvalidSandboxId),
        (json!({ "sandboxId": "agent-42", "label": " " }), Code::InvalidLabel),
        (json!({ "sandboxId": "agent-42", "snapshotId": "snap-1" }), Code::InvalidRef),
        (json!({ "sandboxId": "agent-42", "label": "before", "lineageScope": "-" }), Code::InvalidSandboxId),
    ] {
        assert_eq!(expect_error(Selection::decode(&selection)).code(), code, "{selection}");
    }
}

#[test]
fn text_that_is_no_id_of_a_snapshot_may_be_a_label() {
    for sandbox in [json!({ "sandboxId": "agent-42" }), json!({ "name": "lab" })] {
        let mut selection = sandbox;
        selection["snapshotId"] = json!("latest");
        let error = match InWorkspace::take(&mut selection.as_object().unwrap().clone()) {
            Ok(_) => expect_error(Selection::decode(&selection)),
            Err(error) => error,
        };
        assert_eq!(error.code(), Code::InvalidRef, "{selection}");
        assert!(error.remediation().ends_with("or its label as `label`."), "{error:?}");
    }
}

#[test]
fn selector_yields_the_origin_of_its_snapshot() {
    for (selection, origin) in
        [(json!({ "ref": full_ref() }), "agent-42"), (json!({ "sandboxId": "agent-7", "label": "before" }), "agent-7")]
    {
        assert_eq!(Selection::decode(&selection).unwrap().selector.origin_id(), &sandbox(origin));
    }
}

#[test]
fn request_without_a_lineage_scope_is_unrestricted() {
    let request = SandboxRequest::decode(&json!({ "sandboxId": "agent-42" })).unwrap();
    assert_eq!(request, SandboxRequest { sandbox_id: sandbox("agent-42"), lineage_scope: LineageScope::UNRESTRICTED });
}

#[test]
fn new_label_must_be_valid() {
    for label in ["", " a", "a\n"] {
        let arguments = json!({ "ref": full_ref(), "newLabel": label });
        assert_eq!(expect_error(LabelRequest::decode(&arguments)).code(), Code::InvalidLabel, "{label:?}");
    }
}

#[test]
fn page_has_1_to_100_snapshots_and_20_by_default() {
    let list = |limit: Value| ListRequest::decode(&json!({ "sandboxId": "agent-42", "limit": limit }));
    assert_eq!(list(json!(null)).unwrap().limit, 20);
    for limit in [1, 100] {
        assert_eq!(list(json!(limit)).unwrap().limit, limit);
    }
    for limit in [json!(0), json!(101), json!(u64::MAX), json!(1_u64 << 32), json!((1_u64 << 32) + 1)] {
        let error = expect_invalid(debug_text(list(limit.clone())), "limit");
        assert!(error.message().contains(&limit.to_string()), "{error}");
    }
}

#[test]
fn list_checks_snapshots_by_default() {
    let list = |check: Value| ListRequest::decode(&json!({ "sandboxId": "agent-42", "check": check })).unwrap().check;
    assert!(list(json!(null)) && list(json!(true)) && !list(json!(false)));
}

#[test]
fn label_prefix_has_at_most_128_characters() {
    let list = |prefix: &str| ListRequest::decode(&json!({ "sandboxId": "agent-42", "labelPrefix": prefix }));
    assert_eq!(list("").unwrap().label_prefix, None);
    assert_eq!(list(" ").unwrap().label_prefix, Some(" ".into()));
    assert!(list(&"😀".repeat(128)).is_ok());
    expect_invalid(debug_text(list(&"x".repeat(129))), "a long prefix");
}

#[test]
fn sweep_has_a_grace_period_of_one_day_by_default() {
    let sweep = SweepRequest::decode(&json!({})).unwrap();
    assert_eq!(sweep, SweepRequest { dry_run: false, grace_seconds: 24 * 3600 });
}

#[test]
fn sweep_with_a_grace_period_above_the_maximum_is_refused() {
    let sweep = |seconds: u64| SweepRequest::decode(&json!({ "graceSeconds": seconds }));
    assert!(sweep(SweepRequest::MAX_GRACE_SECONDS).is_ok());
    expect_invalid(debug_text(sweep(SweepRequest::MAX_GRACE_SECONDS + 1)), "a grace period that is too long");
}

#[test]
fn invalid_policy_is_refused() {
    let decode = |policy: Value| SetRetentionRequest::decode(&json!({ "sandboxId": "agent-42", "policy": policy }));
    assert_eq!(decode(json!({})).unwrap().policy, Policy::default());
    for wrong in [
        json!([]),
        json!("keepLast"),
        json!({ "keepLast": 3 }),
        json!({ "keepLast": { "count": 0 } }),
        json!({ "keepLast": { "count": 10_001 } }),
        json!({ "keepLast": { "count": -1 } }),
        json!({ "keepLast": {} }),
        json!({ "keepLast": { "count": 1, "keep": true } }),
        json!({ "keepMonthly": 1 }),
        json!({ "expirationSeconds": -1 }),
        json!({ "expirationSeconds": 1.5 }),
        json!({ "expirationSeconds": null }),
        json!({ "expirationSeconds": u64::MAX }),
        json!({ "keepDaily": 10_001 }),
        json!({ "keepWeekly": 4_294_967_296_u64 }),
    ] {
        expect_invalid(debug_text(decode(wrong.clone())), &wrong.to_string());
    }
}

#[test]
fn import_keeps_the_whole_handle() {
    let handle = json!({ "id": "b1", "dir": "/workspace", "localBucket": true, "parts": [1, { "a": null }] });
    let request = ImportRequest::decode(&json!({ "sandboxId": "agent-42", "backup": handle })).unwrap();
    assert_eq!(json!(request.backup), handle);
}

#[test]
fn requests_for_the_same_capture_are_recognized() {
    let plain = SnapshotRequest::of(sandbox("agent-42"));
    for alike in [
        SnapshotRequest { fresh: true, ..plain.clone() },
        SnapshotRequest { idempotency_key: Some("k".into()), ..plain.clone() },
        SnapshotRequest {
            lineage_scope: LineageScope { sandbox_id: Some(sandbox("agent-42")), allow_cross_lineage: true },
            ..plain.clone()
        },
    ] {
        assert!(plain.is_same_capture(&alike) && alike.is_same_capture(&plain), "{alike:?}");
    }
    let others = [
        SnapshotRequest { wake: true, ..plain.clone() },
        SnapshotRequest { expiration_seconds: Some(60), ..plain.clone() },
        SnapshotRequest { label: Some("before".to_owned().try_into().unwrap()), ..plain.clone() },
        SnapshotRequest { gitignore: Some(false), ..plain.clone() },
    ];
    for other in others {
        assert!(!plain.is_same_capture(&other), "{other:?}");
    }
}

#[test]
fn cursor_has_only_characters_that_are_safe_in_a_url() {
    let cursor = SnapshotCursor { created_at: Timestamp::from_millis(1_795_150_800_000), snapshot_id: snapshot_id() };
    let text = cursor.to_string();
    assert!(text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_'), "{text}");
}

#[test]
fn text_that_is_not_a_cursor_is_refused() {
    let whole = SnapshotCursor { created_at: Timestamp::from_millis(0), snapshot_id: snapshot_id() }.to_string();
    for text in ["", " ", "0", "snap-abcdefghij012345", "MCBzbmFw", &whole[..whole.len() - 1], &format!("{whole}=")] {
        assert_eq!(expect_error(SnapshotCursor::parse(text)).code(), Code::InvalidArgument, "{text:?}");
    }
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn cursor_round_trips(millis: i64, random in any::<[u8; 32]>()) {
        let snapshot_id = SnapshotId::draw(&random).unwrap();
        let cursor = SnapshotCursor { created_at: Timestamp::from_millis(millis), snapshot_id };
        prop_assert_eq!(SnapshotCursor::parse(&cursor.to_string()).unwrap(), cursor);
    }

    #[test]
    fn cursor_parser_accepts_any_text(text in any::<String>()) {
        SnapshotCursor::parse(&text).ok();
    }
}
