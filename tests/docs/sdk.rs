//! `docs/sdk-1.md` names every method that the Worker calls on a sandbox.

use std::collections::BTreeSet;

use super::markdown::page;

const SANDBOXES: &str = include_str!("../../src/cloudflare/sandboxes.rs");
const STUBS: &str = include_str!("../../src/cloudflare/sandbox_stubs.rs");
const SESSION: &str = include_str!("../../src/cloudflare/sdk_session.rs");

/// The methods that a source calls: the first string literal among the arguments of each call.
fn called_methods(source: &str) -> BTreeSet<&str> {
    let (code, _) = source.split_once("#[cfg(test)]").unwrap_or((source, ""));
    let calls = ["call(", "call::<"].into_iter().flat_map(|start| code.split(start).skip(1));
    let statements = calls.map(|rest| rest.split(';').next().unwrap_or_default());
    let is_name = |text: &&str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphabetic());
    statements.filter_map(|statement| statement.split('"').nth(1)).filter(is_name).collect()
}

#[test]
fn every_method_called_on_a_sandbox_is_documented() {
    let section = page("docs/sdk-1.md").section("Required methods");
    let methods: BTreeSet<&str> = [SANDBOXES, STUBS, SESSION].into_iter().flat_map(called_methods).collect();
    for expected in ["getSession", "createBackup", "getState", "execWithSessionToken"] {
        assert!(methods.contains(expected), "{methods:?}");
    }
    for method in methods {
        assert!(section.contains(&format!("`{method}(")), "{method}");
    }
}
