//! `docs/tokens.md` states the permission of each operation.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::request::CreateTokenRequest;
use sandbox_snapshotter::model::token::{Permission, TokenText};
use sandbox_snapshotter::service::access::authenticate::CACHE_MILLIS;
use sandbox_snapshotter::service::access::tokens::MAX_TOKENS;

use super::markdown::page;

#[test]
fn table_has_the_permission_of_each_operation() {
    let section = page("docs/tokens.md").section("Permissions");
    let cells = |line: &str| line.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    let rows = section.lines().skip_while(|line| !line.starts_with("| operation")).skip(2);
    let documented: Vec<_> =
        rows.take_while(|line| line.starts_with('|')).map(|line| cells(line)[1..3].to_vec()).collect();
    let row = |operation: &Operation| {
        let permission = operation.permission().map_or("API_TOKEN", Permission::as_str);
        vec![format!("`{}`", operation.name()), format!("`{permission}`")]
    };
    assert_eq!(documented, Operation::ALL.iter().map(row).collect::<Vec<_>>());
}

#[test]
fn each_limit_of_tokens_matches_the_code() {
    let security = page("docs/tokens.md").section("Security");
    assert!(security.contains(&format!("at most {MAX_TOKENS} tokens")));
    assert!(security.contains(&format!("at most {} seconds", CACHE_MILLIS / 1000)));
    assert!(security.contains(&format!("`{}<tenant>.<id>.<secret>`", TokenText::PREFIX)));
    assert_eq!(CreateTokenRequest::DEFAULT_EXPIRATION, 30 * 24 * 3600);
    assert_eq!(CreateTokenRequest::MAX_EXPIRATION, 365 * 24 * 3600);
}
