//! The patterns of `excludes`: those that the SDK supports, and those that would exclude more than they name.

use sandbox_snapshotter::model::exclude::{IgnoredNames, MAX_IGNORED_NAMES, MAX_QUOTED, check_patterns};
use sandbox_snapshotter::model::{Code, Error};

fn refusal(pattern: &str) -> Option<Error> {
    check_patterns(&["fine".to_owned(), pattern.to_owned()]).err()
}

#[test]
fn pattern_of_one_name_is_accepted() {
    for pattern in ["node_modules", "*.log", ".env", "a b", "[ab]", "\\*", "...", "**", "a**", "!(keep)", "... a"] {
        assert_eq!(refusal(pattern), None, "{pattern}");
    }
}

#[test]
fn pattern_that_the_sdk_reduces_to_one_name_is_accepted() {
    for pattern in ["**/node_modules", "**/**/a", "a/**", "**/a/**", "a/", "a//", "**/a/", "**/", "/**", "/"] {
        assert_eq!(refusal(pattern), None, "{pattern}");
    }
}

#[test]
fn pattern_that_keeps_a_slash_is_refused_and_quoted() {
    let patterns =
        ["a/b", "/a", "./a", "../a", "a/*", "a/**/b", "/**/a", "**/a/b", "a/b/**", "a//b", "[a/b]", "a\\/b", "... a/b"];
    for pattern in patterns {
        let error = refusal(pattern).unwrap_or_else(|| panic!("{pattern}"));
        assert_eq!(error.code(), Code::ExcludeUnsupported);
        assert!(error.message().ends_with(&format!(": {pattern:?}.")), "{error}");
    }
}

#[test]
fn message_quotes_at_most_ten_patterns_and_truncates_each() {
    let of = |count: usize| (0..count).map(|n| format!("a/{n}")).collect::<Vec<_>>();
    let ten = check_patterns(&of(MAX_QUOTED)).unwrap_err();
    assert!(ten.message().ends_with(r#""a/8", "a/9"."#), "{ten}");
    let eleven = check_patterns(&of(MAX_QUOTED + 1)).unwrap_err();
    assert!(eleven.message().ends_with(r#""a/8", "a/9", and more."#), "{eleven}");
    let long = check_patterns(&vec![format!("a/{}", "\u{202e}x".repeat(10_000)); 20]).unwrap_err();
    assert!(long.message().len() < 10_000 && !long.message().contains('\u{202e}'), "{} bytes", long.message().len());
}

#[test]
fn paths_with_the_names_of_ignored_ones_are_refused_and_quoted() {
    let of = |names: usize, kept: &[&str]| IgnoredNames {
        names: (0..names).map(|name| name.to_string()).collect(),
        kept: kept.iter().map(ToString::to_string).collect(),
    };
    of(MAX_IGNORED_NAMES, &[]).check("/workspace").unwrap();
    let error = of(1, &["src/out", "it's \"odd\"/x"]).check("/workspace").unwrap_err();
    assert_eq!(error.code(), Code::ExcludeUnsupported);
    assert!(error.message().contains("/workspace") && error.message().ends_with(r#": "src/out", "it's \"odd\"/x"."#));
    let many = of(MAX_IGNORED_NAMES + 1, &[]).check("/workspace").unwrap_err();
    assert!(many.message().contains("more than 500 names"), "{many}");
}
