//! Files with secrets: found before a capture, and kept, left out or refused.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Result, Runtime};
use sandbox_snapshotter::ports::Ledger;
use serde_json::{Value, json};

use crate::support::{ExpectError, Fixture, HOUR, MINUTE, Method, SECRET};

const ID: &str = "agent-42";

impl Fixture {
    fn snapshot_with_secrets(&self, mode: &str) -> Result<Value> {
        self.run(Operation::Snapshot, &json!({ "sandboxId": ID, "secrets": mode }))
    }

    fn excludes_of_last_backup(&self) -> Vec<String> {
        self.world.backup_options().last().unwrap().excludes.clone()
    }
}

/// Returns a sandbox of a runtime with files, whose container runs for a minute.
fn sandbox_with(runtime: Runtime, files: &[(&str, &str)]) -> Fixture {
    let fixture = Fixture::of_runtime(runtime);
    fixture.start_sandbox(ID);
    fixture.world.write_file(ID, "/workspace/kept", "x");
    for (path, content) in files {
        fixture.world.write_file(ID, &format!("/workspace/{path}"), content);
    }
    fixture.world.advance_clock(MINUTE);
    fixture
}

fn sandboxes_with(files: &[(&str, &str)]) -> [Fixture; 2] {
    Runtime::ALL.map(|runtime| sandbox_with(runtime, files))
}

#[test]
fn without_the_option_nothing_is_searched_or_reported() {
    let fixture = sandbox_with(Runtime::Sdk012, &[(".env", "x")]);
    let taken = fixture.run(Operation::Snapshot, &json!({ "sandboxId": ID })).unwrap();
    assert_eq!(taken["capture"].get("secrets"), None);
    assert_eq!(fixture.world.call_count(Method::FindSecrets), 0);
}

#[test]
fn kept_secrets_are_reported() {
    for fixture in sandboxes_with(&[(".env", "x"), ("src/config.js", SECRET)]) {
        let taken = fixture.snapshot_with_secrets("keep").unwrap();
        let expected = json!({ "mode": "keep", "count": 2, "paths": [".env", "src/config.js"], "excluded": 0 });
        assert_eq!(taken["capture"]["secrets"], expected);
        let manifest = fixture.run(Operation::Manifest, &json!({ "ref": taken })).unwrap();
        assert_eq!(manifest["secrets"], expected);
        assert_eq!(fixture.excludes_of_last_backup(), [] as [String; 0]);
        let restored = fixture.run(Operation::Restore, &json!({ "ref": taken })).unwrap();
        assert_eq!(restored.get("missing"), None);
    }
}

#[test]
fn refused_secrets_are_named_and_nothing_is_stored() {
    for fixture in sandboxes_with(&[(".env", "x"), ("src/config.js", SECRET)]) {
        let error = fixture.snapshot_with_secrets("refuse").expect_code(Code::SecretsFound);
        assert!(
            error.message().contains("2 files") && error.message().contains("\".env\", \"src/config.js\"."),
            "{error}"
        );
        assert!(!error.is_retryable() && !error.message().contains(SECRET));
        assert_eq!(fixture.world.call_count(Method::CreateBackup), 0);
        assert_eq!(fixture.ledger(ID).unfinished_snapshots().unwrap(), []);
        fixture.advance_with_alarms(HOUR);
        fixture.assert_nothing_stored();
        fixture.assert_nothing_pending();
    }
}

#[test]
fn refuse_takes_a_snapshot_where_nothing_is_found() {
    for fixture in sandboxes_with(&[(".env.example", "x")]) {
        let taken = fixture.snapshot_with_secrets("refuse").unwrap();
        let expected = json!({ "mode": "refuse", "count": 0, "paths": [], "excluded": 0 });
        assert_eq!(taken["capture"]["secrets"], expected);
    }
}

#[test]
fn excluded_secrets_are_left_out_by_name_and_reported_by_a_restore() {
    let fixture = sandbox_with(Runtime::Sdk012, &[("app/.env", "x"), (".env", "x"), ("src/config.js", SECRET)]);
    let taken = fixture.snapshot_with_secrets("exclude").unwrap();
    let paths = json!([".env", "app/.env", "src/config.js"]);
    assert_eq!(taken["capture"]["secrets"], json!({ "mode": "exclude", "count": 3, "paths": paths, "excluded": 3 }));
    assert_eq!(fixture.excludes_of_last_backup(), [".env", "config.js"], "no pattern has a slash");
    let manifest = fixture.run(Operation::Manifest, &json!({ "ref": taken })).unwrap();
    assert_eq!(manifest["excludes"], json!([".env", "config.js"]));
    let restored = fixture.run(Operation::Restore, &json!({ "ref": taken })).unwrap();
    assert_eq!(restored["missing"], paths);
}

#[test]
fn class_for_containers_leaves_single_paths_out() {
    let files = [("app/.env", "x"), (".env", "x"), ("src/config.js", SECRET), ("test/config.js", "x")];
    let fixture = sandbox_with(Runtime::Container, &files);
    let taken = fixture.snapshot_with_secrets("exclude").unwrap();
    assert_eq!(taken["capture"]["secrets"]["excluded"], 3);
    assert_eq!(fixture.excludes_of_last_backup(), [".env", "app/.env", "src/config.js"]);
}

#[test]
fn file_whose_name_others_have_is_not_excluded() {
    let refused = [
        sandbox_with(Runtime::Sdk012, &[("src/config.js", SECRET), ("test/config.js", "x")]),
        sandbox_with(Runtime::Container, &[("config.js", SECRET), ("test/config.js", "x")]),
    ];
    for fixture in refused {
        let error = fixture.snapshot_with_secrets("exclude").expect_code(Code::ExcludeUnsupported);
        assert!(error.message().contains("\"test/config.js\"."), "{error}");
        assert_eq!(fixture.world.call_count(Method::CreateBackup), 0);
        assert_eq!(fixture.ledger(ID).unfinished_snapshots().unwrap(), []);
    }
}

#[test]
fn file_that_a_pattern_cannot_name_is_not_excluded() {
    for path in ["[a].pem", "a*.pem", "-x.pem", "#.pem", " .pem", "line\nbreak.pem"] {
        let fixture = sandbox_with(Runtime::Sdk012, &[(path, "x")]);
        fixture.snapshot_with_secrets("exclude").expect_code(Code::ExcludeUnsupported);
        assert_eq!(fixture.snapshot_with_secrets("keep").unwrap()["capture"]["secrets"]["paths"], json!([path]));
    }
}

#[test]
fn exclude_without_secrets_changes_nothing() {
    let fixture = sandbox_with(Runtime::Sdk012, &[]);
    let taken = fixture.snapshot_with_secrets("exclude").unwrap();
    assert_eq!(taken["capture"]["secrets"], json!({ "mode": "exclude", "count": 0, "paths": [], "excluded": 0 }));
    assert_eq!(fixture.excludes_of_last_backup(), [] as [String; 0]);
}

#[test]
fn report_has_the_first_hundred_paths() {
    let names: Vec<String> = (0..150).map(|number| format!("{number:03}.pem")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "x")).collect();
    let fixture = sandbox_with(Runtime::Sdk012, &files);
    let report = fixture.snapshot_with_secrets("exclude").unwrap()["capture"]["secrets"].take();
    assert_eq!((&report["count"], &report["excluded"]), (&json!(150), &json!(150)));
    assert_eq!((report["paths"].as_array().unwrap().len(), &report["paths"][99]), (100, &json!("099.pem")));
    assert_eq!(fixture.excludes_of_last_backup().len(), 150);
}

#[test]
fn failed_search_fails_the_capture_unless_secrets_are_kept() {
    let fixture = sandbox_with(Runtime::Sdk012, &[(".env", "x")]);
    fixture.world.before(Method::FindSecrets).fail_transiently();
    for mode in ["exclude", "refuse"] {
        fixture.snapshot_with_secrets(mode).expect_code(Code::SandboxUnavailable);
        assert_eq!(fixture.world.call_count(Method::CreateBackup), 0);
    }
    let taken = fixture.snapshot_with_secrets("keep").unwrap();
    assert_eq!(taken["capture"].get("secrets"), None);
}

#[test]
fn container_started_by_the_search_is_not_captured() {
    for fixture in sandboxes_with(&[(".env", "x")]) {
        fixture.world.before(Method::FindSecrets).nth(1).run(|world| world.end_container_unnoticed(ID));
        fixture.snapshot_with_secrets("refuse").expect_code(Code::SandboxReplaced);
        fixture.advance_with_alarms(HOUR);
        fixture.assert_nothing_stored();
    }
}

#[test]
fn other_values_are_refused() {
    let fixture = sandbox_with(Runtime::Sdk012, &[]);
    let error = fixture.snapshot_with_secrets("ignore").expect_code(Code::InvalidArgument);
    assert!(error.message().contains("`secrets`"), "{error}");
}
