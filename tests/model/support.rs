//! Values to test with.

use std::fmt::Debug;

use proptest::prelude::*;
use sandbox_snapshotter::model::{Code, DerivationKind, Error, Result, SandboxId, ShortId, SigningKey};
use serde_json::{Value, json};

/// How properties are tested.
pub fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, max_global_rejects: 100 * cases, ..ProptestConfig::default() }
}

/// A sandbox's id.
pub fn sandbox(id: &str) -> SandboxId {
    SandboxId::parse(id).unwrap()
}

/// The length that the SDK counts.
pub fn utf16_units(text: &str) -> usize {
    text.encode_utf16().count()
}

/// Every sort of sandbox id: short and long, of any script, and chains of restored and branch suffixes.
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

/// As much of the beginning as a sandbox id may have, less control characters.
fn truncate_id(text: &str) -> String {
    let mut left = SandboxId::MAX;
    let kept = text.chars().filter(|c| !c.is_control()).take_while(|c| {
        let fits = c.len_utf16() <= left;
        left -= c.len_utf16().min(left);
        fits
    });
    kept.collect()
}

/// Any short id.
pub fn any_short_id() -> impl Strategy<Value = ShortId> {
    prop::collection::vec(0..252_u8, 8).prop_map(|bytes| ShortId::from_random(&bytes).unwrap())
}

/// The code of a refusal.
#[track_caller]
pub fn expect_error<T: Debug>(outcome: Result<T>) -> Error {
    outcome.expect_err("it should be refused")
}

/// Makes sure that each of `texts` is refused with `code`.
#[track_caller]
pub fn assert_all_refused<T: Debug>(parse: impl Fn(&str) -> Result<T>, code: Code, texts: &[&str]) {
    for text in texts {
        match parse(text) {
            Ok(parsed) => panic!("{text:?} should be refused, and is {parsed:?}"),
            Err(error) => assert_eq!(error.code(), code, "{text:?}"),
        }
    }
}

/// The key of that number; each has its own secret.
pub fn key(number: u32) -> SigningKey {
    SigningKey::new(number, [u8::try_from(number).unwrap(); 32])
}

/// A snapshot ref as callers keep it, of the form that every release reads.
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
