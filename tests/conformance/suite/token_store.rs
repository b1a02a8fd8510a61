//! The access tokens of a tenant.

use sandbox_snapshotter::model::Label;
use sandbox_snapshotter::model::named::{Tenant, WorkspaceName};
use sandbox_snapshotter::model::token::{Permission, Token, TokenId};
use sandbox_snapshotter::model::token_record::{TokenHash, TokenRecord};
use sandbox_snapshotter::ports::TokenStore;

use super::Case;
use super::ledger::rows::minute_after_start;

pub fn cases<S: TokenStore>() -> Vec<Case<S>> {
    vec![
        case!(new_store_has_no_tokens),
        case!(token_is_stored_and_replaced_completely),
        case!(tokens_are_listed_in_the_order_of_their_ids),
        case!(deleted_token_is_gone),
    ]
}

fn new_store_has_no_tokens(store: &impl TokenStore) {
    assert_eq!(store.tokens().unwrap(), []);
    assert_eq!(store.token(&id("aaaaaaaaaaaa")).unwrap(), None);
    assert!(!store.delete_token(&id("aaaaaaaaaaaa")).unwrap());
}

fn token_is_stored_and_replaced_completely(store: &impl TokenStore) {
    let first = record("aaaaaaaaaaaa");
    store.put_token(&first).unwrap();
    assert_eq!(store.token(&first.token.id).unwrap(), Some(first.clone()));
    let token = Token {
        tenant: Tenant::parse("acme.dev_1").unwrap(),
        label: Some(Label::parse("it's a label 🗝").unwrap()),
        permissions: Permission::ALL.to_vec(),
        workspaces: Some(vec![WorkspaceName::parse("a-b.c_d").unwrap()]),
        expires_at: minute_after_start(5),
        ..first.token
    };
    let second = TokenRecord { token, hash: TokenHash::of("another") };
    store.put_token(&second).unwrap();
    assert_eq!(store.tokens().unwrap(), [second]);
}

fn tokens_are_listed_in_the_order_of_their_ids(store: &impl TokenStore) {
    for text in ["bbbbbbbbbbbb", "000000000000", "aaaaaaaaaaaa"] {
        store.put_token(&record(text)).unwrap();
    }
    let ids: Vec<_> = store.tokens().unwrap().into_iter().map(|record| record.token.id.to_string()).collect();
    assert_eq!(ids, ["000000000000", "aaaaaaaaaaaa", "bbbbbbbbbbbb"]);
}

fn deleted_token_is_gone(store: &impl TokenStore) {
    store.put_token(&record("aaaaaaaaaaaa")).unwrap();
    store.put_token(&record("bbbbbbbbbbbb")).unwrap();
    assert!(store.delete_token(&id("aaaaaaaaaaaa")).unwrap());
    assert!(!store.delete_token(&id("aaaaaaaaaaaa")).unwrap());
    assert_eq!(store.token(&id("aaaaaaaaaaaa")).unwrap(), None);
    assert_eq!(store.tokens().unwrap(), [record("bbbbbbbbbbbb")]);
}

fn id(text: &str) -> TokenId {
    TokenId::parse(text).unwrap()
}

fn record(text: &str) -> TokenRecord {
    let token = Token {
        id: id(text),
        tenant: Tenant::default_tenant(),
        label: None,
        permissions: vec![Permission::Read],
        workspaces: None,
        created_at: minute_after_start(0),
        expires_at: minute_after_start(1),
    };
    TokenRecord { token, hash: TokenHash::of(text) }
}
