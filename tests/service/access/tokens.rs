//! Tokens are created, listed and revoked; the wrong ones are refused.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::named::Tenant;
use sandbox_snapshotter::model::token::TokenText;
use sandbox_snapshotter::model::{Code, Failure, Result};
use sandbox_snapshotter::ports::TokenStore;
use sandbox_snapshotter::service::access::authenticate::{CACHE_MILLIS, TokenCache};
use sandbox_snapshotter::service::access::tokens::MAX_TOKENS;
use serde_json::{Value, json};

use crate::support::{ExpectError, Fixture, MINUTE, Method};

fn text(created: &Value) -> String {
    created["token"].as_str().unwrap().to_owned()
}

fn tokens_of(fixture: &Fixture, tenant: &str) -> Vec<Value> {
    let listed = fixture.run(Operation::ListTokens, &json!({ "tenant": tenant })).unwrap();
    listed["tokens"].as_array().unwrap().clone()
}

fn verify(fixture: &Fixture, token: &str) -> Result<()> {
    fixture.authenticate(&TokenCache::default(), token).map(drop)
}

#[test]
fn token_names_its_tenant_and_its_id() {
    let fixture = Fixture::empty();
    let created = fixture.create_token(&json!({ "permissions": ["read"], "tenant": "acme.dev_1" }));
    let parts: Vec<_> = created["token"].as_str().unwrap().rsplitn(3, '.').collect();
    assert_eq!(parts[2], "snapshotter-token.acme.dev_1");
    assert_eq!(parts[1], created["id"].as_str().unwrap());
    assert_eq!(parts[0].len(), 43, "256 bits in base64url");
    let token = fixture.authenticate(&TokenCache::default(), &text(&created)).unwrap();
    assert_eq!(token.tenant.as_str(), "acme.dev_1");
}

#[test]
fn list_shows_tokens_of_a_tenant_newest_first_without_secrets() {
    let fixture = Fixture::empty();
    let first = fixture
        .create_token(&json!({ "permissions": ["work", "read", "work"], "workspaces": ["a", "b"], "label": "CI" }));
    fixture.world.advance_clock(MINUTE);
    let second = fixture.create_token(&json!({ "permissions": ["admin"], "expirationSeconds": 60 }));
    fixture.create_token(&json!({ "permissions": ["read"], "tenant": "acme" }));
    let listed = tokens_of(&fixture, "default");
    assert_eq!(listed.iter().map(|token| &token["id"]).collect::<Vec<_>>(), [&second["id"], &first["id"]]);
    assert_eq!(
        listed[1],
        json!({
            "id": first["id"],
            "tenant": "default",
            "label": "CI",
            "permissions": ["read", "work"],
            "workspaces": ["a", "b"],
            "createdAt": first["createdAt"],
            "expiresAt": first["expiresAt"],
        })
    );
}

#[test]
fn storage_contains_a_hash_and_not_the_token() {
    let fixture = Fixture::empty();
    let created = fixture.create_token(&json!({ "permissions": ["read"] }));
    let stored = fixture.world.directory(&Tenant::default_tenant()).tokens().unwrap();
    let row = serde_json::to_string(&stored).unwrap();
    let secret = created["token"].as_str().unwrap().rsplit('.').next().unwrap();
    assert!(row.contains(created["id"].as_str().unwrap()) && !row.contains(secret));
}

#[test]
fn debug_output_omits_the_secret() {
    let created = Fixture::empty().create_token(&json!({ "permissions": ["read"] }));
    let token = TokenText::parse(&text(&created)).unwrap();
    let secret = created["token"].as_str().unwrap().rsplit('.').next().unwrap();
    assert!(!format!("{token:?}").contains(secret));
}

#[test]
fn altered_token_is_refused() {
    let fixture = Fixture::empty();
    let token = text(&fixture.create_token(&json!({ "permissions": ["read"] })));
    verify(&fixture, &token).unwrap();
    let other = text(&fixture.create_token(&json!({ "permissions": ["admin"] })));
    let (start, secret) = token.rsplit_once('.').unwrap();
    let (other_start, _) = other.rsplit_once('.').unwrap();
    let last = if secret.ends_with('A') { "E" } else { "A" };
    for forged in [
        format!("{other_start}.{secret}"),
        format!("{start}.{}{last}", &secret[..secret.len() - 1]),
        format!("{start}.{}", &secret[1..]),
        format!("{start}."),
        start.to_owned(),
        token.replace("default", "Default"),
        format!("{token} "),
        format!("{token}="),
        token.to_uppercase(),
        "snapshotter-token...".to_owned(),
        "snapshotter-token.".to_owned(),
        "snapshotter-token.../../default.aaaaaaaaaaaa.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA".to_owned(),
    ] {
        verify(&fixture, &forged).expect_code(Code::Unauthorized);
    }
}

#[test]
fn token_of_one_tenant_is_unknown_in_another() {
    let fixture = Fixture::empty();
    let token = text(&fixture.create_token(&json!({ "permissions": ["admin"], "tenant": "acme" })));
    fixture.create_token(&json!({ "permissions": ["admin"], "tenant": "globex" }));
    verify(&fixture, &token).unwrap();
    verify(&fixture, &token.replace("acme", "globex")).expect_code(Code::Unauthorized);
}

#[test]
fn expired_token_is_refused_even_if_it_is_cached() {
    let fixture = Fixture::empty();
    let token = text(&fixture.create_token(&json!({ "permissions": ["read"], "expirationSeconds": 60 })));
    let cache = TokenCache::default();
    fixture.world.advance_clock(59_000);
    fixture.authenticate(&cache, &token).unwrap();
    fixture.world.advance_clock(1000);
    let error = fixture.authenticate(&cache, &token).expect_code(Code::Unauthorized);
    assert_eq!(error.message(), "The token has expired.");
    assert_eq!(tokens_of(&fixture, "default"), [json!(null); 0]);
}

#[test]
fn revoked_token_is_refused_after_30_seconds_at_the_latest() {
    let fixture = Fixture::empty();
    let created = fixture.create_token(&json!({ "permissions": ["read"] }));
    let (token, cache) = (text(&created), TokenCache::default());
    fixture.authenticate(&cache, &token).unwrap();
    let revoke = |fixture: &Fixture| fixture.run(Operation::RevokeToken, &json!({ "id": created["id"] })).unwrap();
    assert_eq!(revoke(&fixture), json!({ "id": created["id"], "revoked": true }));
    assert_eq!(revoke(&fixture)["revoked"], json!(false));
    verify(&fixture, &token).expect_code(Code::Unauthorized);
    fixture.world.advance_clock(CACHE_MILLIS - 1000);
    fixture.authenticate(&cache, &token).unwrap();
    fixture.world.advance_clock(1000);
    fixture.authenticate(&cache, &token).expect_code(Code::Unauthorized);
    assert_eq!(CACHE_MILLIS, 30_000);
}

#[test]
fn verified_token_is_looked_up_once_in_30_seconds() {
    let fixture = Fixture::empty();
    let token = text(&fixture.create_token(&json!({ "permissions": ["read"] })));
    let cache = TokenCache::default();
    fixture.world.reset_calls();
    for _ in 0..3 {
        fixture.authenticate(&cache, &token).unwrap();
    }
    assert_eq!(fixture.world.call_count(Method::CallTokens), 1);
    fixture.world.advance_clock(CACHE_MILLIS);
    fixture.authenticate(&cache, &token).unwrap();
    assert_eq!(fixture.world.call_count(Method::CallTokens), 2);
}

#[test]
fn nothing_is_permitted_while_the_tokens_cannot_be_read() {
    let fixture = Fixture::empty();
    let token = text(&fixture.create_token(&json!({ "permissions": ["admin"] })));
    let cache = TokenCache::default();
    fixture.authenticate(&cache, &token).unwrap();
    fixture.world.advance_clock(CACHE_MILLIS);
    fixture.world.before(Method::CallTokens).fail_with(Failure::new("Error", "The object is down"));
    let error = fixture.authenticate(&cache, &token).expect_code(Code::TokensUnavailable);
    assert!(error.is_retryable());
}

#[test]
fn tenant_has_a_maximum_number_of_tokens_that_have_not_expired() {
    let fixture = Fixture::empty();
    let create = |fixture: &Fixture| {
        fixture.run(Operation::CreateToken, &json!({ "permissions": ["read"], "expirationSeconds": 60 }))
    };
    for _ in 0..MAX_TOKENS {
        create(&fixture).unwrap();
    }
    create(&fixture).expect_code(Code::TooManyTokens);
    fixture.create_token(&json!({ "permissions": ["read"], "tenant": "acme" }));
    fixture.world.advance_clock(MINUTE);
    create(&fixture).unwrap();
    let stored = fixture.world.directory(&Tenant::default_tenant()).tokens().unwrap();
    assert_eq!(stored.len(), 1, "the expired tokens are deleted");
}

#[test]
fn token_of_a_tenant_manages_only_the_tokens_of_its_tenant() {
    let fixture = Fixture::empty();
    let admin = fixture.access_of(&json!({ "permissions": ["admin"], "tenant": "acme" }));
    let of = |tenant: &str, mut options: Value| {
        options["tenant"] = json!(tenant);
        options
    };
    for (operation, options) in [
        (Operation::CreateToken, json!({ "permissions": ["read"] })),
        (Operation::ListTokens, json!({})),
        (Operation::RevokeToken, json!({ "id": "abcdefghijkl" })),
    ] {
        fixture.run_as(&admin, operation, &of("acme", options.clone())).unwrap();
        for tenant in ["default", "globex"] {
            fixture.run_as(&admin, operation, &of(tenant, options.clone())).expect_code(Code::NotPermitted);
        }
    }
}

#[test]
fn invalid_options_are_refused() {
    let fixture = Fixture::empty();
    for (options, code) in [
        (json!({}), Code::InvalidArgument),
        (json!({ "permissions": [] }), Code::InvalidArgument),
        (json!({ "permissions": ["write"] }), Code::InvalidArgument),
        (json!({ "permissions": ["read"], "workspaces": [] }), Code::InvalidArgument),
        (json!({ "permissions": ["read"], "workspaces": ["../etc"] }), Code::InvalidWorkspaceName),
        (json!({ "permissions": ["read"], "workspaces": ["a/b"] }), Code::InvalidWorkspaceName),
        (json!({ "permissions": ["read"], "workspaces": vec!["a"; 101] }), Code::InvalidArgument),
        (json!({ "permissions": ["admin"], "workspaces": ["a"] }), Code::InvalidArgument),
        (json!({ "permissions": ["read"], "tenant": "../acme" }), Code::InvalidWorkspaceName),
        (json!({ "permissions": ["read"], "label": "\u{1b}[31mred" }), Code::InvalidLabel),
        (json!({ "permissions": ["read"], "expirationSeconds": 59 }), Code::InvalidArgument),
        (json!({ "permissions": ["read"], "expirationSeconds": 31_536_001 }), Code::InvalidArgument),
    ] {
        fixture.run(Operation::CreateToken, &options).expect_code(code);
    }
    fixture.run(Operation::RevokeToken, &json!({ "id": "../../tokens" })).expect_code(Code::InvalidArgument);
    assert_eq!(tokens_of(&fixture, "default"), [json!(null); 0]);
}
