//! The authorization of tools: tokens, and the query of the URL. The input has two parts: a line with an `Authorization`
//! header, and either lines of `name=value` or a toolset as JSON, for which a token is issued.

use sandbox_snapshotter::api::mcp::{AllowedOrigins, authorized_toolset};
use sandbox_snapshotter::api::tools::grant::{issue_token, verify_token};
use sandbox_snapshotter::model::request::{GrantRequest, Toolset};
use sandbox_snapshotter::model::{Code, Timestamp, json};

use super::input;
use super::rules::assert_legible;

/// The configured `API_TOKEN`.
const API_TOKEN: Option<&str> = Some("a token of the fuzzing");

/// See the module.
pub fn read(data: &[u8]) {
    let Some((authorization, rest)) = input::line(data) else { return };
    match input::json(rest).as_ref().map(GrantRequest::decode) {
        Some(Ok(request)) => check_grant(&request, authorization),
        Some(Err(error)) => assert_legible(&error),
        None => {
            let query: Vec<_> = String::from_utf8_lossy(rest).lines().map(pair).collect();
            check_request(authorization, &query);
        }
    }
}

fn pair(line: &str) -> (String, String) {
    let (name, value) = line.split_once('=').unwrap_or((line, ""));
    (name.to_owned(), value.to_owned())
}

fn now() -> Timestamp {
    Timestamp::from_millis(1_795_150_800_000)
}

/// Asserts that a token grants its toolset until it expires, and that an altered token grants nothing.
fn check_grant(request: &GrantRequest, header: &str) {
    let grant = issue_token(API_TOKEN, request, now()).expect("a grant");
    let verify = |token: &str, at| verify_token(API_TOKEN, token, at);
    assert_eq!(verify(&grant.token, now()), Ok(Some(request.toolset.clone())));
    assert_eq!(verify(&grant.token, grant.expires_at).map_err(|error| error.code()), Err(Code::Unauthorized));
    assert!(verify_token(Some("another"), &grant.token, now()).is_err());
    let altered = format!("{}{header}", grant.token);
    assert!(header.is_empty() || verify(&altered, now()).is_err());
    let own = authorized_toolset(API_TOKEN, Some(&format!("Bearer {}", grant.token)), &[], now())
        .expect("an authorized request");
    assert_eq!(own, json::to_value(&request.toolset).map_err(|_| unreachable!()));
}

fn check_request(authorization: &str, query: &[(String, String)]) {
    let token = authorization.split_once(' ').map(|(_, token)| token.trim());
    assert!(token.is_none_or(|token| !matches!(verify_token(API_TOKEN, token, now()), Ok(Some(_)))), "a forged token");
    match authorized_toolset(API_TOKEN, Some(authorization), query, now()) {
        // Only the API token itself is accepted.
        Ok(_) => assert_eq!(token, API_TOKEN),
        Err(error) => {
            assert!(API_TOKEN.is_some_and(|token| !error.message().contains(token)));
            assert_legible(&error);
        }
    }
    match authorized_toolset(API_TOKEN, Some("Bearer a token of the fuzzing"), query, now())
        .expect("an authorized request")
    {
        Ok(toolset) => assert!(Toolset::decode(&toolset).is_ok()),
        Err(error) => assert_legible(&error),
    }
    for (list, origin) in query {
        let origins = AllowedOrigins::parse(Some(list));
        let is_allowed = origins.allows(origin, "https://snapshotter.example.com/mcp");
        let is_listed = list.split(',').any(|one| one.trim().trim_end_matches('/').eq_ignore_ascii_case(origin));
        assert!(!is_allowed || is_listed || origin.eq_ignore_ascii_case("https://snapshotter.example.com"));
    }
}
