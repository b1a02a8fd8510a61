//! `docs/errors.md` agrees with the error codes in the sources.

use std::collections::BTreeSet;

use sandbox_snapshotter::api::status;
use sandbox_snapshotter::model::Code;
use serde_json::json;

use super::markdown::{Page, page};
use super::messages::Messages;

const CLIENT: &str = include_str!("../../client/src/codes.ts");

fn errors() -> Page {
    page("docs/errors.md")
}

/// The codes that only the clients return, read from the type of the TypeScript client.
fn client_codes() -> Vec<&'static str> {
    let (_, rest) = CLIENT.split_once("export type ClientCode =").expect("the type");
    let (codes, _) = rest.split_once(';').expect("its end");
    codes.split('\'').skip(1).step_by(2).collect()
}

fn is_code(heading: &str) -> bool {
    heading.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

/// The codes that have an entry, in the order of the page.
fn documented_codes(page: &Page) -> Vec<&str> {
    page.headings(2).into_iter().filter(|heading| is_code(heading)).collect()
}

#[test]
fn every_code_has_exactly_one_entry_and_every_entry_has_a_code() {
    let page = errors();
    let mut expected: Vec<&str> = Code::ALL.iter().map(Code::as_str).chain(client_codes()).collect();
    expected.sort_unstable();
    assert_eq!(documented_codes(&page), expected, "the entries are in alphabetical order");
}

#[test]
fn entry_states_kind_status_and_retryability() {
    let page = errors();
    for code in Code::ALL {
        let retryable = if code.is_retryable() { "retryable" } else { "not retryable" };
        let kind = json!(code.kind());
        let expected = format!("{} · HTTP {} · {retryable}", kind.as_str().unwrap(), status(*code));
        assert_eq!(page.section(code.as_str()).trim().lines().next(), Some(expected.as_str()), "{code}");
    }
}

#[test]
fn entry_of_client_code_is_marked_as_client_only() {
    let page = errors();
    for code in client_codes() {
        let entry = page.section(code);
        assert!(entry.trim().lines().next().is_some_and(|line| line.contains(" · client only · ")), "{code}");
    }
}

#[test]
fn entry_has_a_meaning_an_example_and_a_remediation() {
    let page = errors();
    for code in documented_codes(&page) {
        let entry = page.section(code);
        let parts: Vec<&str> = entry.trim().split("\n\n").collect();
        let example = parts.iter().position(|part| part.starts_with("> "));
        assert!(example.is_some_and(|at| at >= 2 && at + 1 < parts.len()), "{code}");
    }
}

#[test]
fn every_example_is_a_message_of_the_sources() {
    let page = errors();
    let messages = Messages::from_sources();
    let unknown: Vec<&str> =
        page.prose().filter_map(|line| line.strip_prefix("> ")).filter(|line| !messages.matches(line)).collect();
    assert!(unknown.is_empty(), "{unknown:#?}");
}

#[test]
fn message_that_no_source_contains_does_not_match() {
    let messages = Messages::from_sources();
    assert!(messages.matches("The bearer token is wrong."));
    for unknown in ["The bearer token is green.", "The archive of \"agent-42\" was eaten.", ""] {
        assert!(!messages.matches(unknown), "{unknown}");
    }
}

#[test]
fn table_at_the_top_links_to_every_entry_once() {
    let page = errors();
    let (top, _) = page.text.split_once("\n## ").unwrap();
    let top = Page { path: page.path.clone(), text: top.to_owned() };
    let linked: Vec<&str> =
        top.links().into_iter().filter(|link| link.starts_with('#') && *link != "#the-parts-of-an-error").collect();
    let unique: BTreeSet<String> = linked.iter().map(|link| (*link).to_owned()).collect();
    let expected: BTreeSet<String> =
        documented_codes(&page).iter().map(|code| format!("#{}", code.to_lowercase())).collect();
    assert_eq!(unique, expected);
    assert_eq!(linked.len(), expected.len(), "each code is in exactly one row");
}
