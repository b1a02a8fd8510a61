//! The suggestion of a workspace, after a name that no workspace has.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Error, Result};
use serde_json::{Value, json};

use crate::support::{ExpectError, Fixture};

/// The workspace `notebook`, and its fork `attempt`.
fn notebook() -> Fixture {
    let fixture = Fixture::empty();
    fixture.create_workspace("notebook", &json!({})).unwrap();
    fixture.fork_workspace("notebook", &json!({ "newName": "attempt" })).unwrap();
    fixture
}

#[track_caller]
fn assert_suggested(answer: Result<Value>, similar: &str) {
    let error: Error = answer.expect_code(Code::WorkspaceNotFound);
    let suggestion = format!("Did you mean the workspace {similar:?}? ");
    assert!(error.remediation().starts_with(&suggestion), "{}", error.remediation());
}

#[test]
fn similar_workspace_is_suggested_for_an_unknown_name() {
    let fixture = notebook();
    for operation in [Operation::GetWorkspaceByName, Operation::StartWorkspace, Operation::Snapshot, Operation::List] {
        assert_suggested(fixture.run(operation, &json!({ "name": "notebok" })), "notebook");
    }
    assert_suggested(fixture.run(Operation::ListCheckpoints, &json!({ "workspace": "notebok" })), "notebook");
}

#[test]
fn similar_workspace_is_suggested_for_an_unknown_source() {
    let fixture = notebook();
    assert_suggested(
        fixture.run(Operation::PromoteWorkspace, &json!({ "name": "notebook", "from": "atempt" })),
        "attempt",
    );
    let snapshot = |name: &str| json!({ "name": name, "label": "good" });
    let diff = json!({ "from": snapshot("notebok"), "to": snapshot("notebook") });
    assert_suggested(fixture.run(Operation::Diff, &diff), "notebook");
}

#[test]
fn nothing_is_suggested_without_a_similar_name_and_in_another_tenant() {
    let fixture = notebook();
    for options in [json!({ "name": "website" }), json!({ "name": "notebok", "tenant": "other" })] {
        let error = fixture.run(Operation::StartWorkspace, &options).expect_code(Code::WorkspaceNotFound);
        assert!(!error.remediation().contains("Did you mean"), "{}", error.remediation());
    }
}

#[test]
fn workspace_that_the_caller_may_not_see_is_not_suggested() {
    let fixture = notebook();
    let access = fixture.access_to(&["notebok", "other"]);
    let answer = fixture.run_as(&access, Operation::StartWorkspace, &json!({ "name": "notebok" }));
    let error = answer.expect_code(Code::WorkspaceNotFound);
    assert!(!error.remediation().contains("Did you mean"), "{}", error.remediation());
}
