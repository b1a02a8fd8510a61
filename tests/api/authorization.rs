//! Which tools a request has, by its token and its URL.

use sandbox_snapshotter::api::mcp;
use sandbox_snapshotter::api::tools::grant::issue_token;
use sandbox_snapshotter::model::request::{GrantRequest, Toolset};
use sandbox_snapshotter::model::{Code, Error, Result, Timestamp};
use serde_json::{Value, json};

use super::support::{expect_error, sandbox_toolset};

const API_TOKEN: &str = "a long and random text";
const NOW: Timestamp = Timestamp::from_millis(1_790_000_000_000);

fn scope(authorization: Option<&str>, query: &[(&str, &str)]) -> Result<Result<Value>> {
    let query: Vec<_> = query.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    mcp::authorized_toolset(Some(API_TOKEN), authorization, &query, NOW)
}

/// The tools of whoever has the API token.
fn authorized_toolset(query: &[(&str, &str)]) -> Result<Toolset> {
    let arguments = scope(Some(&format!("Bearer {API_TOKEN}")), query).unwrap()?;
    Toolset::decode(&arguments)
}

fn token() -> String {
    issue_token(Some(API_TOKEN), &GrantRequest::decode(&sandbox_toolset()).unwrap(), NOW).unwrap().token
}

#[track_caller]
fn expect_invalid(query: &[(&str, &str)]) -> Error {
    let error = expect_error(authorized_toolset(query));
    assert_eq!(error.code(), Code::InvalidArgument, "{error}");
    error
}

#[test]
fn the_api_token_gives_the_tools_that_the_url_names() {
    let expected = json!({ "workspaces": [{ "name": "agent-42", "snapshot": true, "sandboxId": "agent-42" }] });
    assert_eq!(authorized_toolset(&[("sandbox", "agent-42")]).unwrap(), Toolset::decode(&expected).unwrap());

    let query =
        [("style", "flat"), ("sandbox", "a"), ("sandbox", "b"), ("readOnly", "true"), ("dir", "/workspace/app")];
    let expected = json!({ "style": "flat", "readOnly": true, "workspaces": [
        { "name": "a", "snapshot": true, "sandboxId": "a", "dir": "/workspace/app" },
        { "name": "b", "snapshot": true, "sandboxId": "b", "dir": "/workspace/app" },
    ] });
    assert_eq!(authorized_toolset(&query).unwrap(), Toolset::decode(&expected).unwrap());

    let expected = json!({ "workspaces": [
        { "name": "project", "snapshot": true, "workspace": "project", "tenant": "acme" },
        { "name": "agent-42", "snapshot": true, "sandboxId": "agent-42" },
    ] });
    let query = [("workspace", "project"), ("tenant", "acme"), ("sandbox", "agent-42")];
    assert_eq!(authorized_toolset(&query).unwrap(), Toolset::decode(&expected).unwrap());
}

#[test]
fn a_url_that_names_no_workspace_gives_no_tools() {
    for query in [&[][..], &[("style", "flat")], &[("tenant", "acme")]] {
        assert!(expect_invalid(query).remediation().contains("/mcp?sandbox="));
    }
}

#[test]
fn a_url_with_what_nobody_knows_gives_no_tools() {
    let sandbox = ("sandbox", "agent-42");
    expect_invalid(&[sandbox, ("readonly", "true")]);
    expect_invalid(&[sandbox, ("style", "nested")]);
    expect_invalid(&[sandbox, sandbox]);
    for twice in [("readOnly", "true"), ("style", "flat"), ("dir", "/workspace"), ("tenant", "acme")] {
        expect_invalid(&[sandbox, twice, twice]);
    }
    expect_invalid(&[sandbox, ("dir", "../app")]);
}

#[test]
fn what_cant_be_in_the_name_of_a_tool_is_called_by_something_like_it() {
    let name = |kind: &str, value: &str| authorized_toolset(&[(kind, value)]).unwrap().workspaces[0].name.clone();
    assert_eq!(name("workspace", "my.project"), "my-project");
    assert_eq!(name("sandbox", "agent 42/ö"), "agent-42--");
    assert_eq!(name("sandbox", &"a".repeat(63)), "a".repeat(35));
}

#[test]
fn who_may_only_read_is_never_given_more_by_mistake() {
    let read_only =
        |value: &str| authorized_toolset(&[("sandbox", "agent-42"), ("readOnly", value)]).map(|tools| tools.read_only);
    assert!(read_only("true").unwrap());
    assert!(!read_only("false").unwrap());
    for value in ["", "1", "yes", "True"] {
        assert_eq!(expect_error(read_only(value)).code(), Code::InvalidArgument, "{value:?}");
    }
}

#[test]
fn a_granted_token_gives_its_tools() {
    let arguments = scope(Some(&format!("Bearer {}", token())), &[]).unwrap().unwrap();
    assert_eq!(Toolset::decode(&arguments).unwrap(), Toolset::decode(&sandbox_toolset()).unwrap());
}

#[test]
fn a_granted_token_leaves_the_url_nothing_to_say() {
    let outcome = scope(Some(&format!("Bearer {}", token())), &[("sandbox", "another")]).unwrap();
    assert_eq!(expect_error(outcome).code(), Code::InvalidArgument);
}

#[test]
fn without_a_token_nobody_has_tools() {
    let basic = format!("Basic {API_TOKEN}");
    let granted = format!("Basic {}", token());
    let altered = format!("Bearer {}x", token());
    for header in
        [None, Some(""), Some("Bearer"), Some("Bearer wrong"), Some(&*basic), Some(&*granted), Some(&*altered)]
    {
        let error = expect_error(scope(header, &[("sandbox", "agent-42")]));
        assert_eq!(error.code(), Code::Unauthorized, "{header:?}");
    }
}

#[test]
fn without_an_api_token_nobody_has_tools_either() {
    for header in [None, Some("Bearer "), Some(&*format!("Bearer {}", token()))] {
        let error = expect_error(mcp::authorized_toolset(None, header, &[], NOW));
        assert_eq!(error.code(), Code::ApiTokenMissing, "{header:?}");
    }
}
