//! Every setting of a deployment is documented.

use sandbox_snapshotter::model::backup_credentials::backup_credentials;
use std::collections::BTreeSet;

use sandbox_snapshotter::cloudflare::deployment::VARS;

use super::markdown::page;

const WRANGLER: &str = include_str!("../../wrangler.toml");
const WRANGLER_OF_CONTAINERS: &str = include_str!("../../wrangler.container.toml");
const METRICS: &str = include_str!("../../src/cloudflare/metrics.rs");

/// The names in the tables of `docs/configuration.md`.
fn documented_settings() -> BTreeSet<String> {
    let section = page("docs/configuration.md").section("Configuration");
    let first = |line: &str| line.strip_prefix("| ")?.split_once(" | ").map(|(cell, _)| cell.to_owned());
    let cells: Vec<String> = section.lines().filter_map(first).collect();
    cells.iter().flat_map(|cell| cell.split('`').skip(1).step_by(2)).map(str::to_owned).collect()
}

#[test]
fn every_var_of_the_code_is_documented() {
    for (var, _) in VARS {
        assert!(documented_settings().contains(var), "{var}");
    }
}

#[test]
fn every_binding_is_documented() {
    let named = |line: &'static str| {
        let (key, value) = line.split_once(" = ")?;
        ["name", "binding"].contains(&key).then(|| value.trim_matches('"'))
    };
    let (_, tables) = WRANGLER.split_once("[[").expect("tables");
    let bindings: Vec<&str> = tables.lines().filter_map(named).collect();
    assert!(bindings.len() >= 5, "{bindings:?}");
    for binding in bindings {
        assert!(documented_settings().contains(binding), "{binding}");
    }
    let (_, metrics) = METRICS.split_once("const BINDING: &str = \"").expect("the binding of the dataset");
    assert!(documented_settings().contains(metrics.split('"').next().unwrap()));
}

#[test]
fn every_var_of_wrangler_toml_is_documented() {
    for config in [WRANGLER, WRANGLER_OF_CONTAINERS] {
        let (_, vars) = config.split_once("[vars]\n").expect("vars");
        let (vars, _) = vars.split_once("\n[").expect("their end");
        for (var, _) in vars.lines().filter_map(|line| line.split_once(" = ")) {
            assert!(documented_settings().contains(var), "{var}");
        }
    }
}

#[test]
fn backup_credentials_are_documented() {
    // With only one credential present, the check lists the others as missing.
    let detail = backup_credentials(None, |name| (name == "R2_ACCESS_KEY_ID").then(|| "a key".to_owned())).detail;
    let is_name = |word: &&str| word.len() > 4 && word.chars().all(|c| c.is_ascii_uppercase() || "_2".contains(c));
    let words: Vec<&str> = detail.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).filter(is_name).collect();
    assert!(words.len() >= 4, "{detail}");
    for name in words.iter().chain(&["R2_ACCESS_KEY_ID"]) {
        assert!(documented_settings().contains(*name), "{name}");
    }
}
