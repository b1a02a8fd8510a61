//! The checks of the workspaces of a tenant.

use sandbox_snapshotter_client::model::Runtime;
use sandbox_snapshotter_client::model::named::answer::{WorkspaceDescription, WorkspaceEntry, WorkspacePage};
use sandbox_snapshotter_client::model::named::{State, StoragePolicy, Tenant};
use sandbox_snapshotter_client::model::request::ListWorkspacesRequest;
use serde_json::json;

use crate::failure::Failure;
use crate::output::answer::Answer;
use crate::output::health::Check;
use crate::transport::Server;

/// The number of active workspaces whose containers are checked. The list does not know of a container that has ended.
const MAX_ASKED: usize = 20;

/// Checks the workspaces of a tenant: which runtime they are in, which of them need their present image or have a problem, and
/// whose containers have ended without a stop.
pub(super) fn check(server: &Server, tenant: Option<&str>) -> Vec<Check> {
    let request = tenant.map_or_else(|| Ok(Tenant::default_tenant()), Tenant::parse).map_err(Failure::from);
    let request = request.map(|tenant| ListWorkspacesRequest {
        limit: ListWorkspacesRequest::MAX_LIMIT,
        ..ListWorkspacesRequest::of(tenant)
    });
    let page = request.and_then(|request| server.call("workspaces/list", json!(request)).and_then(Answer::of));
    match page.map(|answer: Answer<WorkspacePage>| answer.value) {
        Ok(page) => {
            let runtimes = describe_runtimes(&page).map(|detail| Check::passed("runtimes", detail));
            let ended = containers_check(&page, |entry| has_ended(server, tenant, entry));
            runtimes.into_iter().chain(images_check(&page)).chain(problems_check(&page)).chain(ended).collect()
        }
        Err(failure) => vec![Check { ok: None, ..Check::from_failure("runtimes", &failure) }],
    }
}

/// Returns the names of the workspaces that another image would strand: their files are only in a platform snapshot, which
/// only its own image restores.
fn images_check(page: &WorkspacePage) -> Option<Check> {
    let stranded = page.workspaces.iter().filter(|entry| entry.storage == StoragePolicy::Platform);
    let names: Vec<_> = stranded.map(|entry| entry.name.to_string()).collect();
    let detail = format!("With another image, these workspaces can't be started: {}.{}", names.join(", "), more(page));
    let remediation =
        "Before you deploy another image: `snapshotter workspace update NAME --storage both`, start and stop.";
    (!names.is_empty()).then(|| Check::undetermined("images", detail, remediation))
}

/// Returns the names of the workspaces that have a problem, such as a stop that fails at each attempt.
fn problems_check(page: &WorkspacePage) -> Option<Check> {
    let problems = page.workspaces.iter().filter_map(|entry| Some(format!("{} ({})", entry.name, entry.problem_code?)));
    let problems: Vec<_> = problems.collect();
    let detail = format!("These workspaces have a problem: {}.{}", problems.join(", "), more(page));
    let remediation = "`snapshotter workspace show NAME` shows the problem of a workspace, and how to correct it.";
    (!problems.is_empty()).then(|| Check::undetermined("problems", detail, remediation))
}

/// Returns the names of the workspaces whose container ended without a stop. Asks the first [`MAX_ASKED`] active ones.
fn containers_check(page: &WorkspacePage, has_ended: impl Fn(&WorkspaceEntry) -> bool) -> Option<Check> {
    let is_active = |entry: &&WorkspaceEntry| entry.state == State::Active;
    let asked = page.workspaces.iter().filter(is_active).take(MAX_ASKED).filter(|entry| has_ended(entry));
    let ended = page.workspaces.iter().filter(|entry| entry.container_ended).chain(asked);
    let names: Vec<_> = ended.map(|entry| entry.name.to_string()).collect();
    let left_out = page.workspaces.iter().filter(is_active).count().saturating_sub(MAX_ASKED);
    let rest = if left_out > 0 { format!(" {left_out} active workspaces were not asked.") } else { String::new() };
    let detail = format!("The containers of these workspaces ended without a stop: {}.{rest}", names.join(", "));
    let remediation = "Changes that are in no snapshot may be lost. `snapshotter workspace start NAME` restores the newest snapshot of all files.";
    (!names.is_empty()).then(|| Check::undetermined("containers", detail, remediation))
}

/// Returns whether the container of an active workspace has ended; `false` if that is not known.
fn has_ended(server: &Server, tenant: Option<&str>, entry: &WorkspaceEntry) -> bool {
    let arguments = json!({ "name": entry.name, "tenant": tenant });
    let description = server.call("workspaces/getByName", arguments).and_then(Answer::<WorkspaceDescription>::of);
    description.is_ok_and(|answer| answer.value.container_ended)
}

/// Returns the names of the workspaces in each runtime.
fn describe_runtimes(page: &WorkspacePage) -> Option<String> {
    let names = |runtime: Runtime| {
        let entries = page.workspaces.iter().filter(|entry| entry.runtime == Some(runtime));
        entries.map(|entry| entry.name.to_string()).collect::<Vec<_>>().join(", ")
    };
    let lists = Runtime::ALL.map(|runtime| (runtime, names(runtime)));
    let lists: Vec<String> = lists
        .into_iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(runtime, names)| format!("{runtime}: {names}."))
        .collect();
    (!lists.is_empty()).then(|| lists.join(" ") + more(page))
}

/// Returns a sentence that refers to the list if the page is not the only one.
fn more(page: &WorkspacePage) -> &'static str {
    page.cursor.as_ref().map_or("", |_| " There are more: see `snapshotter workspace list`.")
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn workspaces_are_listed_by_their_runtime() {
        let entry = |name: &str, runtime: Option<&str>| {
            json!({
                "name": name, "state": "stopped", "sandboxId": name, "createdAt": "2026-11-20T05:00:00.000Z",
                "updatedAt": "2026-11-20T05:00:00.000Z", "version": 1, "runtime": runtime,
            })
        };
        let page = |entries: Value, cursor: Option<&str>| {
            serde_json::from_value::<WorkspacePage>(json!({ "workspaces": entries, "cursor": cursor })).unwrap()
        };
        let both = json!([entry("a", Some("container")), entry("b", Some("sdk-0.12")), entry("c", Some("container"))]);
        assert_eq!(describe_runtimes(&page(both.clone(), None)).as_deref(), Some("sdk-0.12: b. container: a, c."));
        assert!(describe_runtimes(&page(both, Some("c"))).unwrap().contains("workspace list"));
        assert_eq!(describe_runtimes(&page(json!([entry("a", None)]), None)), None);
    }

    #[test]
    fn workspaces_that_another_image_would_strand_are_listed() {
        let entry = |name: &str, storage: &str| {
            json!({
                "name": name, "state": "stopped", "sandboxId": name, "storage": storage, "version": 1,
                "createdAt": "2026-11-20T05:00:00.000Z", "updatedAt": "2026-11-20T05:00:00.000Z",
            })
        };
        let page = |entries: Value| serde_json::from_value(json!({ "workspaces": entries })).unwrap();
        let all = [entry("a", "platform"), entry("b", "both"), entry("c", "archive"), entry("d", "platform")];
        let check = images_check(&page(json!(all))).unwrap();
        assert_eq!(check.ok, None);
        assert!(check.detail.contains("can't be started: a, d."), "{}", check.detail);
        assert_eq!(images_check(&page(json!([entry("b", "both")]))), None);
    }

    #[test]
    fn workspaces_whose_container_ended_are_listed() {
        let entry = |name: &str, state: &str, ended: bool| {
            json!({
                "name": name, "state": state, "sandboxId": name, "containerEnded": ended, "version": 1,
                "createdAt": "2026-11-20T05:00:00.000Z", "updatedAt": "2026-11-20T05:00:00.000Z",
            })
        };
        let page = |entries: Value| serde_json::from_value(json!({ "workspaces": entries })).unwrap();
        let all = [entry("a", "active", false), entry("b", "stopped", true), entry("c", "stopped", false)];
        let check = containers_check(&page(json!(all)), |entry| entry.name.as_str() != "b").unwrap();
        assert!(check.detail.ends_with(": b, a."), "{}", check.detail);
        assert_eq!(containers_check(&page(json!([entry("a", "active", false)])), |_| false), None);
        let many: Vec<_> = (0..MAX_ASKED + 2).map(|number| entry(&format!("w{number}"), "active", false)).collect();
        let check = containers_check(&page(json!(many)), |_| true).unwrap();
        assert!(check.detail.ends_with("w19. 2 active workspaces were not asked."), "{}", check.detail);
    }

    #[test]
    fn workspaces_with_a_problem_are_listed() {
        let entry = |name: &str, problem: Value| {
            json!({
                "name": name, "state": "active", "sandboxId": name, "problemCode": problem, "version": 1,
                "createdAt": "2026-11-20T05:00:00.000Z", "updatedAt": "2026-11-20T05:00:00.000Z",
            })
        };
        let page = |entries: Value| serde_json::from_value(json!({ "workspaces": entries })).unwrap();
        let healthy = entry("a", Value::Null);
        let check = problems_check(&page(json!([healthy, entry("b", json!("INVALID_DIRECTORY"))]))).unwrap();
        assert_eq!(check.ok, None);
        assert!(check.detail.contains(": b (INVALID_DIRECTORY)."), "{}", check.detail);
        assert_eq!(problems_check(&page(json!([healthy]))), None);
    }
}
