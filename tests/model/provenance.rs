//! The text of a provenance, and its differences.

use sandbox_snapshotter::model::Provenance;
use serde_json::json;

fn parsed(text: &str) -> Provenance {
    Provenance::parse(text).unwrap()
}

#[test]
fn text_is_read_as_it_is_written() {
    for text in [
        "0.12.10 0123",
        "unknown 0123",
        "0.12.10 unknown",
        "unknown 0123 0.1.0 debian:12",
        "unknown 0123 0.1.0 unknown",
    ] {
        assert_eq!(parsed(text).to_string(), text);
    }
}

#[test]
fn text_that_tells_nothing_is_no_provenance() {
    for text in ["", "unknown", "unknown unknown", "unknown e3b0c44298fc1c14", " ", "unknown unknown unknown unknown"] {
        assert_eq!(Provenance::parse(text), None, "{text:?}");
    }
}

#[test]
fn part_with_a_space_or_a_control_character_is_not_known() {
    let odd = ["a b", "a\nb", "a\tb", ""];
    assert!(odd.iter().all(|odd| Provenance::with_class(None, Some(odd), Some(odd)).is_none()));
    let long = Provenance::with_class(None, Some(&"x".repeat(1000)), None).unwrap();
    assert_eq!(long.image.map(|image| image.len()), Some(255));
}

#[test]
fn only_what_is_known_of_both_differs() {
    let then = parsed("0.12.10 0123");
    assert_eq!(then.changes(&parsed("0.12.10 0123 0.1.0 debian:12")), [""; 0]);
    assert_eq!(then.changes(&parsed("unknown 0123")), [""; 0]);
    let expected = "the sandbox's package hash is \"4567\", and was \"0123\" at the snapshot";
    assert_eq!(then.changes(&parsed("0.12.10 4567")), [expected]);
    let changes = parsed("a b c d").changes(&parsed("e f g h"));
    assert_eq!(changes.len(), 4, "{changes:?}");
    assert!(changes[0].contains("image") && changes[3].contains("class version"), "{changes:?}");
}

#[test]
fn unknown_members_are_absent() {
    assert_eq!(json!(parsed("unknown 0123")), json!({ "packages": "0123" }));
}
