//! What callers ask for is read strictly, and what is wrong with it is named.

use proptest::prelude::*;
use sandbox_snapshotter::model::request::MAX_TTL;
use sandbox_snapshotter::model::{Code, Compression, CompressionFormat, RestoreRequest, SnapshotRequest};
use serde_json::{Value, json};

use super::support::{cases, refusal, sandbox};

/// The arguments of a snapshot of `agent-42`, with one more.
fn arguments(field: &str, value: Value) -> Value {
    let mut arguments = json!({ "sandboxId": "agent-42" });
    arguments[field] = value;
    arguments
}

fn decoded(field: &str, value: Value) -> SnapshotRequest {
    SnapshotRequest::decode(&arguments(field, value)).unwrap()
}

#[track_caller]
fn invalid(field: &str, value: Value) -> String {
    let error = refusal(SnapshotRequest::decode(&arguments(field, value)));
    assert_eq!(error.code(), Code::InvalidArgument, "{error}");
    error.message().to_owned()
}

#[test]
fn only_the_sandbox_id_is_needed() {
    let request = SnapshotRequest::decode(&json!({ "sandboxId": "agent-42" })).unwrap();
    assert_eq!(request, SnapshotRequest::of(sandbox("agent-42")));
    let error = refusal(SnapshotRequest::decode(&json!({})));
    assert_eq!(error.code(), Code::InvalidArgument);
    assert!(error.message().contains("sandboxId"), "{error}");
}

#[test]
fn every_option_is_read() {
    let request = SnapshotRequest::decode(&json!({
        "sandboxId": "Agent-42",
        "dir": "/home/me",
        "label": "before",
        "ttl": 3600,
        "excludes": ["node_modules", "*.log"],
        "gitignore": false,
        "compression": { "format": "zstd", "threads": 2 },
        "wake": true,
        "fresh": true,
    }))
    .unwrap();
    let compression =
        Compression { format: Some(CompressionFormat::Zstd), threads: Some(std::num::NonZeroU32::new(2).unwrap()) };
    let expected = SnapshotRequest {
        sandbox_id: sandbox("Agent-42"),
        dir: Some("/home/me".to_owned().try_into().unwrap()),
        label: Some("before".to_owned().try_into().unwrap()),
        ttl: Some(3600),
        excludes: vec!["node_modules".into(), "*.log".into()],
        gitignore: Some(false),
        compression: Some(compression),
        wake: true,
        fresh: true,
    };
    assert_eq!(request, expected);
}

#[test]
fn null_is_the_same_as_absent() {
    for field in ["dir", "label", "ttl", "excludes", "gitignore", "compression", "wake"] {
        assert_eq!(decoded(field, json!(null)), SnapshotRequest::of(sandbox("agent-42")), "{field}");
    }
    invalid("sandboxId", json!(null));
}

#[test]
fn an_option_that_nobody_knows_is_named() {
    for field in ["Dir", "sandbox_id", "multipart", "name"] {
        assert!(invalid(field, json!(null)).contains(field));
    }
}

#[test]
fn a_value_of_a_wrong_type_is_named_by_its_path() {
    let wrong = [
        ("sandboxId", json!(42), "sandboxId"),
        ("dir", json!(["/tmp"]), "dir"),
        ("label", json!(1), "label"),
        ("ttl", json!("3600"), "ttl"),
        ("ttl", json!(-1), "ttl"),
        ("ttl", json!(61.5), "ttl"),
        ("excludes", json!("*.log"), "excludes"),
        ("excludes", json!(["a", 1]), "excludes[1]"),
        ("gitignore", json!("yes"), "gitignore"),
        ("wake", json!(1), "wake"),
        ("compression", json!("gzip"), "compression"),
        ("compression", json!({ "format": "rar" }), "compression.format"),
        ("compression", json!({ "format": "GZIP" }), "compression.format"),
        ("compression", json!({ "threads": 0 }), "compression.threads"),
        ("compression", json!({ "threads": 1.5 }), "compression.threads"),
        ("compression", json!({ "level": 9 }), "compression.level"),
    ];
    for (field, value, path) in wrong {
        let message = invalid(field, value.clone());
        assert!(message.contains(&format!("{path}:")), "{field}: {value}: {message}");
    }
}

#[test]
fn arguments_are_an_object() {
    for value in [json!(null), json!("agent-42"), json!(["agent-42"]), json!([]), json!(1)] {
        assert_eq!(refusal(SnapshotRequest::decode(&value)).code(), Code::InvalidArgument, "{value}");
        assert_eq!(refusal(RestoreRequest::decode(&value)).code(), Code::InvalidArgument, "{value}");
    }
}

#[test]
fn a_compression_is_an_object_too() {
    for value in [json!([]), json!(["gzip"]), json!(["gzip", 2])] {
        invalid("compression", value);
    }
}

#[test]
fn a_compression_may_say_one_thing_only() {
    assert_eq!(decoded("compression", json!({})).compression, Some(Compression { format: None, threads: None }));
    for (name, format) in
        [("gzip", CompressionFormat::Gzip), ("lz4", CompressionFormat::Lz4), ("zstd", CompressionFormat::Zstd)]
    {
        let compression = decoded("compression", json!({ "format": name, "threads": null })).compression;
        assert_eq!(compression, Some(Compression { format: Some(format), threads: None }));
    }
}

#[test]
fn a_time_to_live_is_one_in_which_the_backup_can_be_restored() {
    for ttl in [0, 1, 60, MAX_TTL + 1, u64::MAX] {
        assert!(invalid("ttl", json!(ttl)).contains(&ttl.to_string()));
    }
    for ttl in [61, 259_200, MAX_TTL] {
        assert_eq!(decoded("ttl", json!(ttl)).ttl, Some(ttl));
    }
}

#[test]
fn a_pattern_is_one_line_of_something() {
    for pattern in ["", "a\0b", "a\nb", "\n"] {
        invalid("excludes", json!(["fine", pattern]));
    }
    for pattern in ["node_modules", "*.log", "a b", "-x", "ä/**"] {
        assert_eq!(decoded("excludes", json!([pattern])).excludes, [pattern]);
    }
}

#[test]
fn a_sandbox_id_a_directory_and_a_label_have_errors_of_their_own() {
    let codes = [("sandboxId", Code::InvalidSandboxId), ("dir", Code::InvalidDirectory), ("label", Code::InvalidLabel)];
    for (field, code) in codes {
        assert_eq!(refusal(SnapshotRequest::decode(&arguments(field, json!("")))).code(), code, "{field}");
    }
}

#[test]
fn a_restore_takes_a_ref_and_nothing_else() {
    let whole = json!({
        "providerId": "cloudflare-sandbox",
        "ref": {
            "schemaVersion": 1,
            "snapshotId": "snap-abcdefghij012345",
            "originId": "agent-42",
            "rootId": "agent-42",
            "backup": { "id": "b1", "dir": "/workspace" },
            "createdAt": "2026-11-20T05:00:00.000Z",
        }
    });
    assert_eq!(json!(RestoreRequest::decode(&json!({ "ref": whole })).unwrap().snapshot), whole);
    for wrong in [json!({}), whole.clone(), json!({ "ref": whole, "sandboxId": "agent-42" })] {
        assert_eq!(refusal(RestoreRequest::decode(&wrong)).code(), Code::InvalidArgument, "{wrong}");
    }
}

#[test]
fn what_is_wrong_with_a_ref_has_its_own_code() {
    let codes = [
        (json!(null), Code::InvalidRef),
        (json!({ "providerId": "e2b" }), Code::ForeignRef),
        (json!({ "providerId": "cloudflare-sandbox", "ref": { "schemaVersion": 2 } }), Code::UnsupportedRefVersion),
    ];
    for (value, code) in codes {
        assert_eq!(refusal(RestoreRequest::decode(&json!({ "ref": value }))).code(), code, "{value}");
    }
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn a_time_to_live_is_taken_or_refused_by_its_bounds(ttl: u64) {
        let taken = SnapshotRequest::decode(&arguments("ttl", json!(ttl))).is_ok();
        prop_assert_eq!(taken, (61..=MAX_TTL).contains(&ttl));
    }
}
