//! Test values and helpers.

use std::fmt::Debug;

use proptest::prelude::*;
use sandbox_snapshotter::model::{Code, DerivationKind, Error, Result, SandboxId, ShortId, SigningKey};
use serde_json::{Value, json};

/// The configuration of a property test with `cases` cases.
pub fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, max_global_rejects: 100 * cases, ..ProptestConfig::default() }
}

/// Parses a sandbox id.
pub fn sandbox(id: &str) -> SandboxId {
    SandboxId::parse(id).unwrap()
}

/// Counts the UTF-16 units of a text, as the SDK does.
pub fn utf16_units(text: &str) -> usize {
    text.encode_utf16().count()
}

/// Generates sandbox ids: short and long ones, in any script, and with chains of restored and branch suffixes.
pub fn any_sandbox() -> impl Strategy<Value = SandboxId> {
    let letter = prop_oneof![
        4 => any::<char>(),
        4 => prop::sample::select("az09AZ-_. ".chars().collect::<Vec<_>>()),
        1 => prop::sample::select("äßı€😀👩\u{200d}\u{10ffff}\u{301}".chars().collect::<Vec<_>>()),
    ];
    let text =
        prop::collection::vec(letter, 1..70).prop_map(|letters| truncate_id(&letters.into_iter().collect::<String>()));
    let longest = text.clone().prop_map(|text| truncate_id(&text.repeat(63)));
    let suffix = (prop::sample::select(&DerivationKind::ALL), any_short_id())
        .prop_map(|(l, s)| format!("-{}-{}", l.as_str(), s.as_str()));
    let chain = (text.clone(), prop::collection::vec(suffix, 1..4)).prop_map(|(root, suffixes)| {
        let suffixes = suffixes.concat();
        let root: String = root.chars().take(63_usize.saturating_sub(suffixes.len()) / 2).collect();
        root + &suffixes
    });
    prop_oneof![text, longest, chain].prop_filter_map("an invalid id", |text| SandboxId::parse(&text).ok())
}

/// Removes control characters, and truncates the text to the maximum length of a sandbox id.
fn truncate_id(text: &str) -> String {
    let mut left = SandboxId::MAX;
    let kept = text.chars().filter(|c| !c.is_control()).take_while(|c| {
        let fits = c.len_utf16() <= left;
        left -= c.len_utf16().min(left);
        fits
    });
    kept.collect()
}

/// Generates short ids.
pub fn any_short_id() -> impl Strategy<Value = ShortId> {
    prop::collection::vec(0..252_u8, 8).prop_map(|bytes| ShortId::from_random(&bytes).unwrap())
}

/// Returns the error of a refusal.
#[track_caller]
pub fn expect_error<T: Debug>(outcome: Result<T>) -> Error {
    outcome.expect_err("the call must be refused")
}

/// Asserts that each of `texts` is refused with `code`.
#[track_caller]
pub fn assert_all_refused<T: Debug>(parse: impl Fn(&str) -> Result<T>, code: Code, texts: &[&str]) {
    for text in texts {
        match parse(text) {
            Ok(parsed) => panic!("{text:?} must be refused, but parses as {parsed:?}"),
            Err(error) => assert_eq!(error.code(), code, "{text:?}"),
        }
    }
}

/// Returns the signing key with a number. Each has its own secret.
pub fn key(number: u32) -> SigningKey {
    SigningKey::new(number, [u8::try_from(number).unwrap(); 32])
}

/// A snapshot ref in the form that callers store and every release reads.
pub fn full_ref() -> Value {
    json!({
        "providerId": "cloudflare-sandbox",
        "ref": {
            "schemaVersion": 1,
            "snapshotId": "snap-abcdefghij012345",
            "originId": "agent-42",
            "rootId": "agent-42",
            "backup": { "id": "6b1f0c1e-0000-4000-8000-000000000001", "dir": "/workspace" },
            "createdAt": "2026-11-20T05:00:00.000Z",
            "signature": "1.h9swbdj2cYIBfKq62qHyWhWCx8D5qrXC9R1qVeCUDBs",
        }
    })
}
