//! Signed tokens that grant a toolset.

use sandbox_snapshotter::api::tools::grant::{issue_token, verify_token};
use sandbox_snapshotter::model::request::{GrantRequest, Toolset};
use sandbox_snapshotter::model::{Code, Timestamp};
use serde_json::json;

use super::support::{expect_error, extended, named_toolset, sandbox_toolset};

const API_TOKEN: Option<&str> = Some("a long and random text");
const NOW: Timestamp = Timestamp::from_millis(1_790_000_000_000);
const MINUTE: i64 = 60_000;

/// A token that expires after a minute.
fn token() -> String {
    let request = GrantRequest::decode(&extended(sandbox_toolset(), json!({ "expirationSeconds": 60 }))).unwrap();
    issue_token(API_TOKEN, &request, NOW).unwrap().token
}

#[test]
fn token_grants_its_toolset() {
    for toolset in [sandbox_toolset(), extended(named_toolset(), json!({ "style": "flat", "readOnly": true }))] {
        let granted = issue_token(API_TOKEN, &GrantRequest::decode(&toolset).unwrap(), NOW).unwrap();
        let verified = verify_token(API_TOKEN, &granted.token, NOW).unwrap();
        assert_eq!(verified, Some(Toolset::decode(&toolset).unwrap()));
    }
}

#[test]
fn token_fits_in_a_header_and_has_a_prefix() {
    let token = token();
    assert!(token.starts_with("snapshotter-tools."));
    assert!(token.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)), "{token}");
}

#[test]
fn token_expires_at_its_expiration_time() {
    let request = GrantRequest::decode(&extended(sandbox_toolset(), json!({ "expirationSeconds": 60 }))).unwrap();
    let granted = issue_token(API_TOKEN, &request, NOW).unwrap();
    assert_eq!(granted.expires_at, NOW.plus_millis(MINUTE));
    assert!(verify_token(API_TOKEN, &granted.token, NOW.plus_millis(MINUTE - 1)).unwrap().is_some());
    let error = expect_error(verify_token(API_TOKEN, &granted.token, NOW.plus_millis(MINUTE)));
    assert_eq!(error.code(), Code::Unauthorized);
    assert!(error.message().contains("expired"), "{error}");
}

#[test]
fn altered_token_is_refused() {
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
fn signature_of_another_token_is_refused() {
    let other = issue_token(API_TOKEN, &GrantRequest::decode(&named_toolset()).unwrap(), NOW).unwrap().token;
    let (body, _) = other.rsplit_once('.').unwrap();
    let token = token();
    let (_, signature) = token.rsplit_once('.').unwrap();
    assert_eq!(expect_error(verify_token(API_TOKEN, &format!("{body}.{signature}"), NOW)).code(), Code::Unauthorized);
}

#[test]
fn change_of_the_api_token_revokes_all_tokens() {
    assert_eq!(expect_error(verify_token(Some("another one"), &token(), NOW)).code(), Code::Unauthorized);
}

#[test]
fn whitespace_around_the_api_token_is_ignored() {
    assert!(verify_token(Some(" a long and random text\n"), &token(), NOW).unwrap().is_some());
}

#[test]
fn grants_require_an_api_token() {
    let request = GrantRequest::decode(&sandbox_toolset()).unwrap();
    for none in [None, Some(""), Some(" \n")] {
        assert_eq!(expect_error(issue_token(none, &request, NOW)).code(), Code::ApiTokenMissing);
        assert_eq!(expect_error(verify_token(none, &token(), NOW)).code(), Code::ApiTokenMissing);
    }
}

#[test]
fn token_without_the_prefix_is_not_a_grant() {
    for other in ["a long and random text", "", "snapshotter-tools", "Snapshotter-tools.x.y", "x snapshotter-tools.x.y"]
    {
        assert_eq!(verify_token(API_TOKEN, other, NOW).unwrap(), None, "{other:?}");
    }
}
