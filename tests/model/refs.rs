//! Refs. Those from callers are decoded strictly.

use proptest::prelude::*;
use sandbox_snapshotter::model::{BackupHandle, Code, SnapshotId, SnapshotRef, Timestamp, WorkspaceRef};
use serde_json::{Value, json};

use super::support::{any_sandbox, cases, expect_error, full_ref as whole, key, sandbox};

const FIELDS: [&str; 7] = ["schemaVersion", "snapshotId", "originId", "rootId", "backup", "createdAt", "signature"];

/// Returns the code with which a valid ref is refused after `change`.
fn refusal_code(change: impl FnOnce(&mut Value)) -> Code {
    let mut value = whole();
    change(&mut value);
    expect_error(SnapshotRef::decode(&value)).code()
}

#[test]
fn ref_round_trips() {
    let decoded = SnapshotRef::decode(&whole()).unwrap();
    assert_eq!(json!(decoded), whole());
}

#[test]
fn decoded_ref_has_its_fields() {
    let decoded = SnapshotRef::decode(&whole()).unwrap();
    let handle: BackupHandle = serde_json::from_value(whole()["ref"]["backup"].clone()).unwrap();
    assert_eq!(decoded.snapshot_id().as_str(), "snap-abcdefghij012345");
    assert_eq!((decoded.origin_id(), decoded.root_id()), (&sandbox("agent-42"), &sandbox("agent-42")));
    assert_eq!((decoded.backup(), decoded.created_at()), (&handle, Timestamp::from_millis(1_795_150_800_000)));
}

#[test]
fn capture_field_beside_the_ref_is_ignored() {
    let mut value = whole();
    value["capture"] = json!({ "label": "before", "shared": false });
    assert_eq!(json!(SnapshotRef::decode(&value).unwrap()), whole());
}

#[test]
fn error_about_a_field_is_one_sentence() {
    for field in ["snapshotId", "originId", "backup"] {
        let mut value = whole();
        value["ref"][field] = json!("-");
        let error = expect_error(SnapshotRef::decode(&value));
        assert!(error.message().ends_with('.') && !error.message().ends_with(".."), "{error}");
    }
}

#[test]
fn ref_without_a_signature_is_refused_with_a_hint_at_import() {
    let mut value = whole();
    value["ref"].as_object_mut().unwrap().remove("signature");
    let error = expect_error(SnapshotRef::decode(&value));
    assert_eq!(error.code(), Code::InvalidRef);
    assert!(error.message().contains("no signature") && error.remediation().contains("`import`"), "{error}");
}

#[test]
fn each_field_is_required() {
    for field in FIELDS {
        let code = refusal_code(|value| drop(value["ref"].as_object_mut().unwrap().remove(field)));
        assert_eq!(code, Code::InvalidRef, "{field}");
    }
    for field in ["providerId", "ref"] {
        assert_eq!(
            refusal_code(|value| drop(value.as_object_mut().unwrap().remove(field))),
            Code::InvalidRef,
            "{field}"
        );
    }
}

#[test]
fn values_of_another_type_are_refused() {
    let wrong = [json!(null), json!(true), json!(1.5), json!(-1), json!("-"), json!([]), json!({})];
    for field in FIELDS {
        // Every text has the form of a signature. Only the key decides whether it is valid.
        for value in wrong.iter().filter(|value| field != "signature" || !value.is_string()) {
            assert_eq!(refusal_code(|whole| whole["ref"][field] = value.clone()), Code::InvalidRef, "{field}: {value}");
        }
    }
    for value in [json!(null), json!(1), json!([]), json!({})] {
        assert_eq!(refusal_code(|whole| whole["providerId"] = value.clone()), Code::InvalidRef, "{value}");
    }
    for value in [json!(null), json!(1), json!("x"), json!([]), json!([1, 2, 3, 4, 5, 6])] {
        assert_eq!(refusal_code(|whole| whole["ref"] = value.clone()), Code::InvalidRef, "{value}");
    }
}

#[test]
fn ref_that_is_not_an_object_is_refused() {
    for value in [json!(null), json!(1), json!("x"), json!([]), json!([whole()]), json!(true)] {
        assert_eq!(expect_error(SnapshotRef::decode(&value)).code(), Code::InvalidRef, "{value}");
    }
}

#[test]
fn ref_as_a_string_is_refused() {
    let text = whole().to_string();
    for end in [text.len(), text.len() / 2, 1] {
        assert_eq!(expect_error(SnapshotRef::decode(&json!(text[..end]))).code(), Code::InvalidRef);
    }
}

#[test]
fn unknown_fields_are_refused() {
    assert_eq!(refusal_code(|value| value["extra"] = json!(1)), Code::InvalidRef);
    assert_eq!(refusal_code(|value| value["schemaVersion"] = json!(1)), Code::InvalidRef);
    assert_eq!(refusal_code(|value| value["ref"]["extra"] = json!(null)), Code::InvalidRef);
    assert_eq!(refusal_code(|value| value["label"] = json!("before")), Code::InvalidRef);
    assert_eq!(refusal_code(|value| value["ref"]["snapshot_id"] = json!("snap-abcdefghij012345")), Code::InvalidRef);
}

#[test]
fn ref_of_another_provider_is_foreign() {
    for provider in ["e2b", "", "Cloudflare-Sandbox", "cloudflare-sandbox ", "cloudflare-sandbox2"] {
        assert_eq!(refusal_code(|value| value["providerId"] = json!(provider)), Code::ForeignRef, "{provider:?}");
    }
}

#[test]
fn ref_of_another_provider_is_foreign_in_any_form() {
    let foreign = json!({ "providerId": "e2b", "payload": [], "ref": null });
    assert_eq!(expect_error(SnapshotRef::decode(&foreign)).code(), Code::ForeignRef);
}

#[test]
fn another_schema_version_is_unsupported_in_any_form() {
    for version in [json!(0), json!(2), json!(u64::MAX)] {
        let later = json!({ "providerId": "cloudflare-sandbox", "ref": { "schemaVersion": version, "new": 1 } });
        assert_eq!(expect_error(SnapshotRef::decode(&later)).code(), Code::UnsupportedRefVersion, "{version}");
    }
}

#[test]
fn schema_version_must_be_an_integer() {
    for version in [json!("1"), json!(1.0), json!(-1), json!(null), json!([1])] {
        assert_eq!(
            refusal_code(|value| value["ref"]["schemaVersion"] = version.clone()),
            Code::InvalidRef,
            "{version}"
        );
    }
}

#[test]
fn handle_has_at_most_8_kib() {
    let padded = |bytes: usize| {
        let mut value = whole();
        value["ref"]["backup"]["padding"] = json!("");
        let missing = bytes - value["ref"]["backup"].to_string().len();
        value["ref"]["backup"]["padding"] = json!("x".repeat(missing));
        value
    };
    assert!(SnapshotRef::decode(&padded(8 * 1024)).is_ok());
    assert_eq!(expect_error(SnapshotRef::decode(&padded(8 * 1024 + 1))).code(), Code::InvalidRef);
}

#[test]
fn ref_above_16_kib_is_refused_before_its_fields_are_read() {
    let refusal_message = |bytes: usize| {
        let mut value = whole();
        value["ref"]["padding"] = json!("");
        let missing = bytes - value["ref"].to_string().len();
        value["ref"]["padding"] = json!("x".repeat(missing));
        expect_error(SnapshotRef::decode(&value)).message().to_owned()
    };
    assert!(refusal_message(16 * 1024).contains("unknown field"), "{}", refusal_message(16 * 1024));
    assert!(refusal_message(16 * 1024 + 1).contains("larger than 16384 bytes"), "{}", refusal_message(16 * 1024 + 1));
}

#[test]
fn handle_with_a_proto_field_is_refused() {
    // On a JavaScript object this sets the prototype instead of a field.
    assert_eq!(refusal_code(|value| value["ref"]["backup"]["__proto__"] = json!({ "id": "b2" })), Code::InvalidRef);
    assert_eq!(refusal_code(|value| value["ref"]["backup"]["__proto__"] = json!(null)), Code::InvalidRef);
}

#[test]
fn unknown_fields_of_the_handle_are_kept() {
    let mut value = whole();
    value["ref"]["backup"]["localBucket"] = json!(true);
    value["ref"]["backup"]["parts"] = json!([{ "sha256": "ab", "size": 1.5 }, null]);
    assert_eq!(json!(SnapshotRef::decode(&value).unwrap()), value);
}

#[test]
fn invalid_handle_is_an_invalid_ref() {
    assert_eq!(refusal_code(|value| value["ref"]["backup"]["id"] = json!("../x")), Code::InvalidRef);
    assert_eq!(refusal_code(|value| value["ref"]["backup"]["dir"] = json!("/etc")), Code::InvalidRef);
}

#[test]
fn time_in_another_notation_is_refused() {
    for time in [
        "2026-11-20T05:00:00Z",
        "2026-11-20T05:00:00.0Z",
        "2026-11-20T05:00:00.0001Z",
        "2026-11-20t05:00:00.000z",
        "2026-11-20 05:00:00.000Z",
        "2026-11-20T06:00:00.000+01:00",
    ] {
        assert_eq!(refusal_code(|value| value["ref"]["createdAt"] = json!(time)), Code::InvalidRef, "{time:?}");
    }
}

#[test]
fn invalid_time_is_refused() {
    for time in ["", "now", "2026-11-20", "2026-13-20T05:00:00.000Z", "2026-11-20T05:00:00.000", "1795150800000"] {
        assert_eq!(refusal_code(|value| value["ref"]["createdAt"] = json!(time)), Code::InvalidRef, "{time:?}");
    }
}

#[test]
fn refusal_names_the_invalid_value() {
    let mut value = whole();
    value["ref"]["originId"] = json!("-");
    let error = expect_error(SnapshotRef::decode(&value));
    assert!(error.message().contains("sandbox id \"-\""), "{error}");
}

#[test]
fn workspace_ref_has_its_published_form() {
    let workspace = WorkspaceRef::new(sandbox("agent-42-branch-k3f9x2ab"), sandbox("agent-42"));
    assert_eq!(
        json!(workspace),
        json!({
            "providerId": "cloudflare-sandbox",
            "ref": { "sandboxId": "agent-42-branch-k3f9x2ab", "rootId": "agent-42" },
            "capabilities": { "fs": true, "shell": true, "code": true, "snapshot": true },
            "schemaVersion": 1,
        })
    );
    assert_eq!(workspace.root_id().as_str(), "agent-42");
}

#[test]
fn workspace_ref_round_trips() {
    let workspace = WorkspaceRef::new(sandbox("agent-42-branch-k3f9x2ab"), sandbox("agent-42"));
    assert_eq!(WorkspaceRef::decode(&json!(workspace)).unwrap(), workspace);
}

#[test]
fn workspace_ref_of_another_provider_or_version_is_refused_with_its_own_code() {
    let refused = |field: &str, other: Value| {
        let mut value = json!(WorkspaceRef::new(sandbox("agent-42"), sandbox("agent-42")));
        value[field] = other;
        expect_error(WorkspaceRef::decode(&value)).code()
    };
    assert_eq!(refused("providerId", json!("e2b")), Code::ForeignRef);
    assert_eq!(refused("schemaVersion", json!(2)), Code::UnsupportedRefVersion);
    assert_eq!(refused("schemaVersion", json!("1")), Code::InvalidRef);
}

/// Generates JSON that resembles a ref in parts.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        Just(whole()),
        Just(whole()["ref"].clone()),
        Just(json!("cloudflare-sandbox")),
        Just(json!(1)),
    ];
    let key = prop_oneof![
        prop::sample::select(&["providerId", "ref", "schemaVersion", "backup", "id", "dir"][..]).prop_map(String::from),
        any::<String>(),
    ];
    leaf.prop_recursive(4, 32, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(key.clone(), inner, 0..6).prop_map(|map| json!(map)),
        ]
    })
}

proptest! {
    #![proptest_config(cases(1000))]

    #[test]
    fn accepted_json_is_encoded_unchanged(value in any_json()) {
        if let Ok(decoded) = SnapshotRef::decode(&value) {
            prop_assert_eq!(json!(decoded), value);
        }
    }

    #[test]
    fn signed_ref_round_trips(
        origin in any_sandbox(), root in any_sandbox(), random in any::<[u8; 32]>(), millis in 0..4_000_000_000_000_i64,
    ) {
        let handle = serde_json::from_value(json!({ "id": "b1", "dir": "/home" })).unwrap();
        let snapshot = SnapshotId::draw(&random).unwrap();
        let signed = SnapshotRef::new(snapshot, origin, root, handle, Timestamp::from_millis(millis), |message| key(1).sign(message));
        let text = json!(signed).to_string();
        prop_assert_eq!(SnapshotRef::decode(&serde_json::from_str(&text).unwrap()).unwrap(), signed);
    }
}
