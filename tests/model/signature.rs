//! Signatures of refs, and the keys that make them.

use base64ct::{Base64UrlUnpadded, Encoding};
use proptest::prelude::*;
use sandbox_snapshotter::model::{SigningKey, SnapshotRef, is_signed_by};
use serde_json::json;

use super::support::{cases, full_ref, key};

fn reference() -> SnapshotRef {
    SnapshotRef::decode(&full_ref()).unwrap()
}

fn signed_by(number: u32) -> SnapshotRef {
    let it = reference();
    SnapshotRef::new(
        it.snapshot_id().clone(),
        it.origin_id().clone(),
        it.root_id().clone(),
        it.backup().clone(),
        it.created_at(),
        |message| key(number).sign(message),
    )
}

#[test]
fn signature_is_accepted_by_every_release() {
    assert!(is_signed_by(&reference(), &[key(1)]));
    assert_eq!(signed_by(1), reference());
}

#[test]
fn signature_is_the_number_of_the_key_and_a_tag() {
    let signature = key(7).sign(b"message");
    let (number, tag) = signature.split_once('.').unwrap();
    assert_eq!((number, tag.len()), ("7", 43));
    assert!(tag.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_'), "{tag}");
}

#[test]
fn ref_is_accepted_by_its_own_key_only() {
    let it = signed_by(1);
    assert!(is_signed_by(&it, &[key(2), key(1)]));
    assert!(!is_signed_by(&it, &[key(3), key(2)]));
    assert!(!is_signed_by(&it, &[]));
}

#[test]
fn key_with_the_same_number_and_another_secret_is_refused() {
    let same_number = SigningKey::new(1, [9; 32]);
    assert!(!is_signed_by(&signed_by(1), &[same_number]));
}

#[test]
fn key_with_the_same_secret_and_another_number_is_refused() {
    let renumbered = SigningKey::new(2, [1; 32]);
    assert!(!renumbered.verify(b"message", &key(1).sign(b"message")));
}

#[test]
fn signature_in_another_notation_is_refused() {
    let right = key(1).sign(b"message");
    let tag = right.strip_prefix("1.").unwrap();
    let wrong = [
        String::new(),
        tag.to_owned(),
        format!("01.{tag}"),
        format!("+1.{tag}"),
        format!("1.{tag}="),
        format!("1.{tag}."),
        format!(" {right}"),
        format!("1.{}", &tag[1..]),
        right.replace('.', ":"),
        "1.".to_owned(),
        ".".to_owned(),
    ];
    for signature in wrong {
        assert!(!key(1).verify(b"message", &signature), "{signature:?}");
    }
    assert!(key(1).verify(b"message", &right));
}

#[test]
fn key_round_trips_through_json() {
    let stored = serde_json::to_value(key(3)).unwrap();
    assert_eq!(serde_json::from_value::<SigningKey>(stored).unwrap(), key(3));
}

#[test]
fn invalid_key_is_not_read() {
    let secret = serde_json::to_value(key(3)).unwrap()["secret"].clone();
    for value in [
        json!(null),
        json!({ "number": 3 }),
        json!({ "number": 3, "secret": "" }),
        json!({ "number": 3, "secret": "AAAA" }),
        json!({ "number": -3, "secret": secret }),
        json!({ "number": 3, "secret": secret, "more": 1 }),
    ] {
        assert!(serde_json::from_value::<SigningKey>(value.clone()).is_err(), "{value}");
    }
}

#[test]
fn debug_output_of_a_key_hides_its_secret() {
    let shown = format!("{:?}", key(3));
    assert_eq!(shown, "SigningKey(3, …)");
}

#[test]
fn signature_contains_the_tag_of_its_message() {
    let tag = Base64UrlUnpadded::encode_string(&key(7).tag(b"message"));
    assert_eq!(key(7).sign(b"message"), format!("7.{tag}"));
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn each_message_and_secret_have_their_own_tag(
        one: (Vec<u8>, [u8; 32]), other: (Vec<u8>, [u8; 32]), number: u32,
    ) {
        let tag = |(message, secret): &(Vec<u8>, [u8; 32])| SigningKey::new(number, *secret).tag(message);
        prop_assert_eq!(tag(&one) == tag(&other), one == other);
        prop_assert_eq!(SigningKey::new(0, one.1).tag(&one.0), tag(&one));
    }

    #[test]
    fn each_message_has_its_own_signature(secret: [u8; 32], one: Vec<u8>, other: Vec<u8>) {
        let key = SigningKey::new(1, secret);
        let signature = key.sign(&one);
        prop_assert!(key.verify(&one, &signature));
        prop_assert_eq!(key.verify(&other, &signature), one == other);
    }

    #[test]
    fn verification_accepts_any_text_as_input(text in any::<String>()) {
        prop_assert!(!key(1).verify(b"message", &text));
    }

    #[test]
    fn signature_with_an_altered_character_is_refused(place in 0..45_usize, letter in prop::char::range('!', '~')) {
        let right = key(1).sign(b"message");
        let mut letters: Vec<char> = right.chars().collect();
        letters[place] = letter;
        let text: String = letters.into_iter().collect();
        prop_assert_eq!(key(1).verify(b"message", &text), text == right);
    }
}

#[test]
fn short_signature_is_accepted_by_its_own_key_and_message_only() {
    let short = key(7).sign_short(b"message");
    let (number, tag) = short.split_once('.').unwrap();
    assert_eq!((number, tag.len()), ("7", 22));
    assert!(key(7).verify_short(b"message", &short));
    assert!(!key(7).verify_short(b"massage", &short));
    assert!(!key(8).verify_short(b"message", &short));
    assert!(!SigningKey::new(7, [9; 32]).verify_short(b"message", &short));
}

#[test]
fn signatures_of_other_lengths_are_refused() {
    let (full, short) = (key(7).sign(b"message"), key(7).sign_short(b"message"));
    assert!(full.starts_with(&short[..short.len() - 1]));
    assert!(!key(7).verify(b"message", &short));
    for signature in [full.as_str(), &short[..short.len() - 1], "7.", "7.AAAA", "", &format!("0{short}")] {
        assert!(!key(7).verify_short(b"message", signature), "{signature}");
    }
}
