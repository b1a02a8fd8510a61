//! The toolset of an MCP request, by its token and its URL.

use sandbox_snapshotter::api::mcp;
use sandbox_snapshotter::api::tools::grant::issue_token;
use sandbox_snapshotter::model::request::{GrantRequest, Toolset};
use sandbox_snapshotter::model::{Code, Error, Result, Timestamp};
use serde_json::{Value, json};

use super::support::{expect_error, sandbox_toolset};

const API_TOKEN: &str = "a long and random text";
const NOW: Timestamp = Timestamp::from_millis(1_790_000_000_000);

fn authorize(authorization: Option<&str>, query: &[(&str, &str)]) -> Result<Result<Value>> {
    let query: Vec<_> = query.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    mcp::authorized_toolset(Some(API_TOKEN), authorization, &query, NOW)
}

/// The toolset of a caller with the API token.
fn authorized_toolset(query: &[(&str, &str)]) -> Result<Toolset> {
    let arguments = authorize(Some(&format!("Bearer {API_TOKEN}")), query).unwrap()?;
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
fn api_token_gives_the_tools_named_by_the_url() {
    let expected = json!({ "workspaces": [{ "name": "agent-42", "snapshot": true, "sandboxId": "agent-42" }] });
    assert_eq!(authorized_toolset(&[("sandbox", "agent-42")]).unwrap(), Toolset::decode(&expected).unwrap());

    let query =
        [("style", "flat"), ("sandbox", "a"), ("sandbox", "b"), ("readOnly", "true"), ("dir", "/workspace/app")];
    let expected = json!({ "style": "flat", "readOnly": true, "workspaces": [
        { "name": "a", "snapshot": true, "sandboxId": "a", "dir": "/workspace/app" },
        { "name": "b", "snapshot": true, "sandboxId": "b", "dir": "/workspace/app" },
    ] });
    assert_eq!(authorized_toolset(&query).unwrap(), Toolset::decode(&expected).unwrap());

    let expected =
        json!({ "workspaces": [{ "name": "agent-42", "snapshot": true, "branch": false, "sandboxId": "agent-42" }] });
    let query = [("sandbox", "agent-42"), ("branch", "false")];
    assert_eq!(authorized_toolset(&query).unwrap(), Toolset::decode(&expected).unwrap());

    let expected = json!({ "workspaces": [
        { "name": "project", "snapshot": true, "workspace": "project", "tenant": "acme" },
        { "name": "agent-42", "snapshot": true, "sandboxId": "agent-42" },
    ] });
    let query = [("workspace", "project"), ("tenant", "acme"), ("sandbox", "agent-42")];
    assert_eq!(authorized_toolset(&query).unwrap(), Toolset::decode(&expected).unwrap());
}

#[test]
fn url_without_a_workspace_is_rejected() {
    for query in [&[][..], &[("style", "flat")], &[("tenant", "acme")]] {
        assert!(expect_invalid(query).remediation().contains("/mcp?sandbox="));
    }
}

#[test]
fn url_with_unknown_or_duplicate_parameters_is_rejected() {
    let sandbox = ("sandbox", "agent-42");
    expect_invalid(&[sandbox, ("readonly", "true")]);
    expect_invalid(&[sandbox, ("style", "nested")]);
    expect_invalid(&[sandbox, sandbox]);
    for twice in
        [("readOnly", "true"), ("branch", "false"), ("style", "flat"), ("dir", "/workspace"), ("tenant", "acme")]
    {
        expect_invalid(&[sandbox, twice, twice]);
    }
    expect_invalid(&[sandbox, ("dir", "../app")]);
}

#[test]
fn invalid_characters_of_a_tool_name_are_replaced() {
    let name = |kind: &str, value: &str| authorized_toolset(&[(kind, value)]).unwrap().workspaces[0].name.clone();
    assert_eq!(name("workspace", "my.project"), "my-project");
    assert_eq!(name("sandbox", "agent 42/ö"), "agent-42--");
    assert_eq!(name("sandbox", &"a".repeat(63)), "a".repeat(35));
}

#[test]
fn read_only_parameter_must_be_true_or_false() {
    let read_only =
        |value: &str| authorized_toolset(&[("sandbox", "agent-42"), ("readOnly", value)]).map(|tools| tools.read_only);
    assert!(read_only("true").unwrap());
    assert!(!read_only("false").unwrap());
    for value in ["", "1", "yes", "True"] {
        assert_eq!(expect_error(read_only(value)).code(), Code::InvalidArgument, "{value:?}");
    }
}

#[test]
fn granted_token_gives_its_toolset() {
    let arguments = authorize(Some(&format!("Bearer {}", token())), &[]).unwrap().unwrap();
    assert_eq!(Toolset::decode(&arguments).unwrap(), Toolset::decode(&sandbox_toolset()).unwrap());
}

#[test]
fn granted_token_rejects_parameters_of_the_url() {
    let outcome = authorize(Some(&format!("Bearer {}", token())), &[("sandbox", "another")]).unwrap();
    assert_eq!(expect_error(outcome).code(), Code::InvalidArgument);
}

#[test]
fn missing_or_wrong_token_is_unauthorized() {
    let basic = format!("Basic {API_TOKEN}");
    let granted = format!("Basic {}", token());
    let altered = format!("Bearer {}x", token());
    for header in
        [None, Some(""), Some("Bearer"), Some("Bearer wrong"), Some(&*basic), Some(&*granted), Some(&*altered)]
    {
        let error = expect_error(authorize(header, &[("sandbox", "agent-42")]));
        assert_eq!(error.code(), Code::Unauthorized, "{header:?}");
    }
}

#[test]
fn requests_require_a_configured_api_token() {
    for header in [None, Some("Bearer "), Some(&*format!("Bearer {}", token()))] {
        let error = expect_error(mcp::authorized_toolset(None, header, &[], NOW));
        assert_eq!(error.code(), Code::ApiTokenMissing, "{header:?}");
    }
}
