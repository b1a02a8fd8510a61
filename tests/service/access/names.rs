//! A token for some workspaces gives new workspaces only names of its own. Another name may be one that another caller is
//! about to use: its files would then be accessible to the token.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Result};
use sandbox_snapshotter::service::access::Access;
use serde_json::{Value, json};

use crate::support::{ExpectError, Fixture, MINUTE, WORKSPACE, no_expiry};

/// The workspace `work`, with a snapshot.
struct Named {
    fixture: Fixture,
    snapshot: Value,
}

impl Named {
    fn new() -> Self {
        let fixture = Fixture::with_workspace();
        let snapshot =
            fixture.run(Operation::Snapshot, &json!({ "sandboxId": fixture.sandbox_of(WORKSPACE) })).unwrap();
        Self { fixture, snapshot }
    }

    /// Makes a workspace with a name from the workspace `work`, in each way; its name ends with the number of the way.
    fn make(&self, access: &Access, name: &str) -> Vec<Result<Value>> {
        let by_ref = json!({ "ref": self.snapshot["shortRef"] });
        [
            (Operation::ForkWorkspace, json!({ "name": WORKSPACE, "newName": format!("{name}1") })),
            (Operation::CreateWorkspace, json!({ "name": format!("{name}2"), "sourceWorkspace": WORKSPACE })),
            (Operation::CreateWorkspace, json!({ "name": format!("{name}3"), "sourceSnapshot": by_ref })),
        ]
        .map(|(operation, options)| self.fixture.run_as(access, operation, &options))
        .into()
    }

    fn fork(&self, access: &Access, name: &str, count: u32) -> Result<Value> {
        let options = json!({ "name": WORKSPACE, "newName": name, "count": count });
        self.fixture.run_as(access, Operation::ForkWorkspace, &options)
    }
}

#[test]
fn name_that_begins_with_no_workspace_of_the_token_is_refused() {
    let it = Named::new();
    let access = it.fixture.access_to(&[WORKSPACE]);
    for name in ["user-4", "workshop-", "a-work-", "Work-", "work_"] {
        for made in it.make(&access, name) {
            let error = made.expect_code(Code::NotPermitted);
            assert!(error.remediation().contains("\"work-\""), "{error}");
        }
    }
    let page = it.fixture.run(Operation::ListWorkspaces, &json!({})).unwrap();
    assert_eq!(page["workspaces"].as_array().unwrap().len(), 1);
}

#[test]
fn workspace_that_is_not_made_from_one_of_the_token_is_refused_with_how_to_make_one() {
    let it = Named::new();
    it.fixture.create_workspace("spare", &no_expiry()).unwrap();
    let access = it.fixture.access_to(&[WORKSPACE]);
    for options in [json!({}), json!({ "sourceWorkspace": "spare" })] {
        let error =
            it.fixture.run_on(&access, Operation::CreateWorkspace, "new", &options).expect_code(Code::NotPermitted);
        for part in ["`sourceWorkspace`, such as \"work\"", "\"work-2\""] {
            assert!(error.remediation().contains(part), "{}", error.remediation());
        }
    }
    let advised = json!({ "sourceWorkspace": WORKSPACE });
    it.fixture.run_on(&access, Operation::CreateWorkspace, "work-2", &advised).unwrap();
}

#[test]
fn workspace_that_another_caller_creates_later_is_not_accessible() {
    let it = Named::new();
    let (mallory, user) = (it.fixture.access_to(&[WORKSPACE]), it.fixture.access_to(&["user-42"]));
    it.fork(&mallory, "user-42", 1).expect_code(Code::NotPermitted);
    it.fixture.run_on(&user, Operation::GetOrCreateWorkspace, "user-42", &no_expiry()).unwrap();
    let command = json!({ "command": "env" });
    it.fixture.run_on(&mallory, Operation::Exec, "user-42", &command).expect_code(Code::NotPermitted);
}

#[test]
fn name_that_begins_with_a_workspace_of_the_token_is_permitted() {
    let it = Named::new();
    let access = it.fixture.access_to(&[WORKSPACE, "spare"]);
    for made in it.make(&access, "work-").into_iter().chain(it.make(&access, "spare-x")) {
        made.unwrap();
    }
    it.fork(&access, "spare", 1).unwrap();
    it.fixture.run_as(&access, Operation::ForkWorkspace, &json!({ "name": WORKSPACE })).unwrap();
}

#[test]
fn each_name_of_several_forks_must_be_permitted() {
    let it = Named::new();
    it.fork(&Access::Everything, "user", 1).unwrap();
    let access = it.fixture.access_to(&[WORKSPACE]);
    // The workspace `user` was made from `work`, and `user-1` may be that of another user.
    it.fork(&access, "user", 1).expect_code(Code::NameTaken);
    it.fork(&access, "user", 2).expect_code(Code::NotPermitted);
    it.fork(&access, WORKSPACE, 2).unwrap();
}

#[test]
fn token_without_workspaces_gives_any_name() {
    let it = Named::new();
    for made in it.make(&it.fixture.access(&["snapshot"]), "any-") {
        made.unwrap();
    }
}

#[test]
fn workspace_with_the_name_of_a_deleted_one_gives_no_access_to_its_snapshots() {
    let it = Named::new();
    it.fixture.create_workspace("work-2", &no_expiry()).unwrap();
    it.fixture.world.advance_clock(MINUTE);
    it.fixture.write_workspace_file("work-2", "secret");
    let former = it.fixture.sandbox_of("work-2");
    let kept = it.fixture.run(Operation::Snapshot, &json!({ "sandboxId": former })).unwrap();
    let by_id = json!({ "sandboxId": former, "snapshotId": kept["snapshotId"] });
    it.fixture.run(Operation::Pin, &by_id).unwrap();
    it.fixture.delete_workspace("work-2").unwrap();
    let access = it.fixture.access_to(&[WORKSPACE]);
    it.fork(&access, "work-2", 1).unwrap();
    it.fixture.run_on(&access, Operation::Exec, "work-2", &json!({ "command": "true" })).unwrap();
    for operation in [Operation::Get, Operation::Restore, Operation::ListFiles] {
        it.fixture.run_as(&access, operation, &by_id).expect_code(Code::NotPermitted);
        it.fixture.run(operation, &by_id).unwrap();
    }
}
