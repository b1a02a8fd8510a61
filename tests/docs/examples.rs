//! The examples in the documentation are valid.

use sandbox_snapshotter::api::downloads::NAMES as DOWNLOADS;
use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::Policy;
use serde_json::Value;

use super::markdown::{page, pages};

#[test]
fn every_named_operation_exists() {
    let mut unknown = Vec::new();
    for page in pages() {
        // An example of an error message may name an operation that does not exist.
        let lines = page.text.lines().filter(|line| !line.trim_start().starts_with("> "));
        let named: Vec<&str> = lines
            .flat_map(named_operations)
            .filter(|name| !DOWNLOADS.contains(name) && Operation::by_name(name).is_none())
            .collect();
        unknown.extend(named.into_iter().map(|name| format!("{}: {name}", page.path.display())));
    }
    assert!(unknown.is_empty(), "{unknown:#?}");
}

#[test]
fn every_operation_is_documented() {
    let text: String = pages().into_iter().map(|page| page.text).collect();
    for operation in Operation::ALL {
        let name = operation.name();
        let (group, method) = name.split_once('/').unwrap_or(("", name));
        let dotted = format!("{group}.{method}");
        let is_named =
            text.contains(&format!("`{name}`")) || text.contains(&dotted) || text.contains(&format!("`{method}`"));
        assert!(is_named, "no page of the documentation names the operation {name}");
    }
}

#[test]
fn every_shell_call_passes_an_object_to_an_operation() {
    let mut calls = 0;
    for page in pages() {
        for block in page.blocks().into_iter().filter(|block| block.language == "sh") {
            for call in block.code.lines().filter_map(|line| line.strip_prefix("call ")) {
                let (operation, options) = call.split_once(' ').expect("options");
                assert!(Operation::by_name(operation).is_some(), "{operation}");
                let options: Value = serde_json::from_str(options.trim_matches('\'')).expect(call);
                assert!(options.is_object(), "{call}");
                calls += 1;
            }
        }
    }
    assert!(calls >= 3, "{calls}");
}

#[test]
fn json_without_ellipsis_is_valid() {
    for page in pages() {
        for block in page.blocks() {
            if block.language == "json" && !block.code.contains('…') {
                let parsed = serde_json::from_str::<Value>(&block.code);
                assert!(parsed.is_ok(), "{}: {parsed:?} of {}", page.path.display(), block.code);
            }
        }
    }
}

#[test]
fn every_recommended_policy_is_valid() {
    let section = page("docs/operations.md").section("Retention");
    let policies: Vec<&str> = section.split('`').skip(1).step_by(2).filter(|code| code.starts_with('{')).collect();
    assert!(policies.len() >= 4, "{policies:?}");
    for text in policies {
        let policy: Policy = serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert!(policy.check().is_ok(), "{text}");
    }
}

/// The operations that a line names, by route or by group and name.
fn named_operations(line: &str) -> Vec<&str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '<' | '>' | '.' | '_' | '-');
    let words = line.split(|c| !is_part(c)).map(|word| word.trim_end_matches('.'));
    let of_word = |word: &'_ str| {
        if let Some((_, route)) = word.split_once("/v1/") {
            return Some(route.to_owned()).filter(|route| !route.is_empty() && !route.contains('<'));
        }
        let (group, method) = word.split_once('/')?;
        let is_operation = ["workspaces", "checkpoints", "tools"].contains(&group)
            && method.chars().all(|c| c.is_ascii_alphabetic())
            && !method.is_empty();
        is_operation.then(|| word.to_owned())
    };
    words
        .filter(|word| of_word(word).is_some())
        .map(|word| word.split_once("/v1/").map_or(word, |(_, name)| name))
        .collect()
}
