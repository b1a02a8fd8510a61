//! Tokens that give some tools.

use sandbox_snapshotter::api::tools::grant::{issue_token, verify_token};
use sandbox_snapshotter::model::request::{GrantRequest, Toolset};
use sandbox_snapshotter::model::{Code, Timestamp};
use serde_json::json;

use super::support::{expect_error, extended, named_toolset, sandbox_toolset};

const API_TOKEN: Option<&str> = Some("a long and random text");
const NOW: Timestamp = Timestamp::from_millis(1_790_000_000_000);
const MINUTE: i64 = 60_000;

/// A token for a minute.
fn token() -> String {
    let request = GrantRequest::decode(&extended(sandbox_toolset(), json!({ "expirationSeconds": 60 }))).unwrap();
    issue_token(API_TOKEN, &request, NOW).unwrap().token
}

#[test]
fn a_token_gives_the_tools_that_it_was_made_for() {
    for toolset in [sandbox_toolset(), extended(named_toolset(), json!({ "style": "flat", "readOnly": true }))] {
        let granted_tools = issue_token(API_TOKEN, &GrantRequest::decode(&toolset).unwrap(), NOW).unwrap();
        let read = verify_token(API_TOKEN, &granted_tools.token, NOW).unwrap();
        assert_eq!(read, Some(Toolset::decode(&toolset).unwrap()));
    }
}

#[test]
fn a_token_can_be_a_header_and_is_told_from_others_by_its_beginning() {
    let token = token();
    assert!(token.starts_with("snapshotter-tools."));
    assert!(token.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)), "{token}");
}

#[test]
fn a_token_ends_when_it_says() {
    let request = GrantRequest::decode(&extended(sandbox_toolset(), json!({ "expirationSeconds": 60 }))).unwrap();
    let made = issue_token(API_TOKEN, &request, NOW).unwrap();
    assert_eq!(made.expires_at, NOW.plus_millis(MINUTE));
    assert!(verify_token(API_TOKEN, &made.token, NOW.plus_millis(MINUTE - 1)).unwrap().is_some());
    let error = expect_error(verify_token(API_TOKEN, &made.token, NOW.plus_millis(MINUTE)));
    assert_eq!(error.code(), Code::Unauthorized);
    assert!(error.message().contains("expired"), "{error}");
}

#[test]
fn a_token_that_was_altered_is_refused() {
    let token = token();
    let prefix = "snapshotter-tools.".len();
    for index in prefix..token.len() {
        let other = if token.as_bytes()[index] == b'A' { "B" } else { "A" };
        let altered = format!("{}{other}{}", &token[..index], &token[index + 1..]);
        assert_eq!(expect_error(verify_token(API_TOKEN, &altered, NOW)).code(), Code::Unauthorized, "{index}");
    }
    for altered in [&token[..token.len() - 1], &format!("{token}A"), &token[..prefix], &format!("{token}.")] {
        assert_eq!(expect_error(verify_token(API_TOKEN, altered, NOW)).code(), Code::Unauthorized, "{altered}");
    }
}

#[test]
fn the_body_of_one_token_does_not_go_with_the_signature_of_another() {
    let other = issue_token(API_TOKEN, &GrantRequest::decode(&named_toolset()).unwrap(), NOW).unwrap().token;
    let (body, _) = other.rsplit_once('.').unwrap();
    let token = token();
    let (_, signature) = token.rsplit_once('.').unwrap();
    assert_eq!(expect_error(verify_token(API_TOKEN, &format!("{body}.{signature}"), NOW)).code(), Code::Unauthorized);
}

#[test]
fn whoever_changes_the_api_token_takes_all_tokens_back() {
    assert_eq!(expect_error(verify_token(Some("another one"), &token(), NOW)).code(), Code::Unauthorized);
}

#[test]
fn blanks_around_the_api_token_make_no_difference() {
    assert!(verify_token(Some(" a long and random text\n"), &token(), NOW).unwrap().is_some());
}

#[test]
fn without_an_api_token_there_is_nothing_to_sign_with() {
    let request = GrantRequest::decode(&sandbox_toolset()).unwrap();
    for none in [None, Some(""), Some(" \n")] {
        assert_eq!(expect_error(issue_token(none, &request, NOW)).code(), Code::ApiTokenMissing);
        assert_eq!(expect_error(verify_token(none, &token(), NOW)).code(), Code::ApiTokenMissing);
    }
}

#[test]
fn what_begins_otherwise_is_another_sort_of_token() {
    for other in ["a long and random text", "", "snapshotter-tools", "Snapshotter-tools.x.y", "x snapshotter-tools.x.y"]
    {
        assert_eq!(verify_token(API_TOKEN, other, NOW).unwrap(), None, "{other:?}");
    }
}
