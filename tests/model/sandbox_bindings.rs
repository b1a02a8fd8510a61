//! The bindings of the sandboxes, from the vars of the deployment.

use sandbox_snapshotter::model::{Code, Runtime, SandboxBindings};
use serde_json::{Value, json};

use crate::support::expect_error;

fn both() -> Value {
    json!([
        { "binding": "Sandbox", "runtime": "sdk-0.12" },
        { "binding": "SnapshotSandbox", "runtime": "container", "default": true },
    ])
}

#[test]
fn deployment_without_the_var_has_one_binding_of_an_unnamed_runtime() {
    for (sandbox_binding, name) in [(None, "Sandbox"), (Some("Boxes"), "Boxes")] {
        let bindings = SandboxBindings::parse(None, sandbox_binding).unwrap();
        assert_eq!(bindings.iter().collect::<Vec<_>>(), [bindings.default_binding()]);
        assert_eq!(
            (bindings.default_binding().name.as_str(), bindings.for_new(None), bindings.of_row(None)),
            (name, Ok(None), None)
        );
        assert_eq!(bindings.of(None).unwrap().name, name);
    }
}

#[test]
fn unnamed_runtime_can_not_be_requested() {
    let bindings = SandboxBindings::parse(None, None).unwrap();
    let error = expect_error(bindings.for_new(Some(Runtime::Container)));
    assert_eq!(error.code(), Code::InvalidArgument);
    assert!(error.remediation().contains("SANDBOXES = ["), "{error}");
}

#[test]
fn new_sandboxes_are_in_the_requested_or_the_default_runtime() {
    let bindings = SandboxBindings::parse(Some(&both()), None).unwrap();
    assert_eq!(bindings.for_new(None), Ok(Some(Runtime::Container)));
    assert_eq!(bindings.for_new(Some(Runtime::Sdk012)), Ok(Some(Runtime::Sdk012)));
}

#[test]
fn row_without_a_runtime_is_in_the_binding_of_earlier_releases() {
    let bindings = SandboxBindings::parse(Some(&both()), None).unwrap();
    assert_eq!(bindings.of_row(None), Some(Runtime::Sdk012));
    assert_eq!(bindings.of_row(Some(Runtime::Container)), Some(Runtime::Container));
    let bindings = SandboxBindings::parse(Some(&both()), Some("SnapshotSandbox")).unwrap();
    assert_eq!(bindings.of_row(None), Some(Runtime::Container));
}

#[test]
fn row_without_a_runtime_is_refused_if_the_binding_of_earlier_releases_is_not_listed() {
    let bindings = SandboxBindings::parse(Some(&both()), Some("Boxes")).unwrap();
    let error = expect_error(bindings.of(bindings.of_row(None)).cloned());
    assert_eq!(error.code(), Code::SandboxBindingMissing);
    assert!(error.message().contains("\"Boxes\"") && error.remediation().contains("SANDBOX_BINDING"), "{error}");
}

#[test]
fn only_binding_is_the_default() {
    let only = json!([{ "binding": "Sandbox", "runtime": "sdk-0.12" }]);
    assert_eq!(SandboxBindings::parse(Some(&only), None).unwrap().for_new(None), Ok(Some(Runtime::Sdk012)));
}

#[test]
fn text_is_read_as_json() {
    let text = Value::String(both().to_string());
    assert_eq!(SandboxBindings::parse(Some(&text), None), SandboxBindings::parse(Some(&both()), None));
}

#[test]
fn invalid_list_is_refused_with_the_valid_form() {
    let sdk = json!({ "binding": "Sandbox", "runtime": "sdk-0.12" });
    for invalid in [
        json!([]),
        json!({}),
        json!("Sandbox"),
        json!([{ "binding": "Sandbox" }]),
        json!([{ "binding": "Sandbox", "runtime": "sdk-1.0" }]),
        json!([{ "binding": "", "runtime": "container" }]),
        json!([{ "binding": "Workspace", "runtime": "container" }]),
        json!([{ "binding": "Sandbox", "runtime": "container", "class": "Sandbox" }]),
        json!([sdk, { "binding": "SnapshotSandbox", "runtime": "container" }]),
        json!([sdk, { "binding": "Sandbox", "runtime": "container", "default": true }]),
        json!([sdk, { "binding": "Other", "runtime": "sdk-0.12", "default": true }]),
        json!([
            { "binding": "Sandbox", "runtime": "sdk-0.12", "default": true },
            { "binding": "SnapshotSandbox", "runtime": "container", "default": true },
        ]),
    ] {
        let error = expect_error(SandboxBindings::parse(Some(&invalid), None));
        assert_eq!(error.code(), Code::ConfigInvalid, "{invalid}");
        assert!(error.message().contains("SANDBOXES") && error.remediation().contains("runtime = "), "{error}");
    }
}

#[test]
fn binding_of_the_workers_own_objects_is_refused() {
    for name in ["Workspace", "NamedWorkspace", "Directory"] {
        assert_eq!(expect_error(SandboxBindings::parse(None, Some(name))).code(), Code::ConfigInvalid);
    }
}
