//! The rules of ids, directories and labels.

use std::collections::BTreeMap;

use proptest::prelude::*;
use sandbox_snapshotter::model::{
    BackupId, Code, Directory, Label, SandboxId, ShortId, SigningKey, SnapshotId, is_minted_with, mint_snapshot_id,
};

use super::support::{assert_all_refused, cases, expect_error, key, sandbox};

/// The first id that key 1 mints.
const MINTED: &str = "snap-aaaaaaaa7do03pyi";

/// The characters of an id.
const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789";

#[test]
fn sandbox_id_is_kept_as_it_is_spelled() {
    let ids = ["a", "Agent-42", "AGENT", "agent 42", " a ", "a_b.c/d", "ä€😀", "wwww", "api2", "a--b", "0", "snap-x"];
    for id in ids {
        assert_eq!(sandbox(id).as_str(), id);
    }
}

#[test]
fn sandbox_id_has_1_to_63_characters() {
    assert_all_refused(SandboxId::parse, Code::InvalidSandboxId, &["", &"x".repeat(64)]);
    assert!(SandboxId::parse(&"x".repeat(63)).is_ok());
}

#[test]
fn sandbox_id_length_is_counted_in_utf16_units() {
    assert!(SandboxId::parse(&"€".repeat(63)).is_ok());
    assert!(SandboxId::parse(&format!("x{}", "😀".repeat(31))).is_ok());
    assert_all_refused(SandboxId::parse, Code::InvalidSandboxId, &[&"😀".repeat(32)]);
}

#[test]
fn sandbox_id_with_a_leading_or_trailing_dash_is_refused() {
    assert_all_refused(SandboxId::parse, Code::InvalidSandboxId, &["-", "-a", "a-", "-a-"]);
}

#[test]
fn sandbox_id_that_is_a_reserved_name_is_refused_in_any_case() {
    let reserved =
        ["www", "api", "admin", "root", "system", "cloudflare", "workers", "WWW", "Api", "rOOt", "CloudFlare"];
    assert_all_refused(SandboxId::parse, Code::InvalidSandboxId, &reserved);
}

#[test]
fn sandbox_id_with_control_characters_is_refused() {
    assert_all_refused(SandboxId::parse, Code::InvalidSandboxId, &["a\nb", "a\0", "\u{7f}a", "a\u{85}", "\ta"]);
}

#[test]
fn refused_id_is_quoted_escaped_and_truncated() {
    let message = expect_error(SandboxId::parse(&"\u{1b}".repeat(10_000))).message().to_owned();
    assert!(message.len() < 1000 && !message.contains('\u{1b}'), "{message}");
}

#[test]
fn snapshot_id_is_snap_and_16_characters() {
    assert!(SnapshotId::parse("snap-abcdefghij012345").is_ok());
    let wrong = [
        "",
        "snap-",
        "abcdefghij012345",
        "snap-abcdefghij01234",
        "snap-abcdefghij0123456",
        "snap-ABCDEFGHIJ012345",
        "Snap-abcdefghij012345",
        "snap_abcdefghij012345",
        "snap-abcdefghij01234-",
        "snap-abcdefghij01234ä",
        " snap-abcdefghij012345",
    ];
    assert_all_refused(SnapshotId::parse, Code::InvalidRef, &wrong);
}

#[test]
fn backup_id_has_only_characters_that_are_safe_in_a_key() {
    for id in ["6b1f0c1e-0000-4000-8000-000000000001", "A_b-9", &"x".repeat(128)] {
        assert_eq!(BackupId::parse(id).unwrap().as_str(), id);
    }
    assert_all_refused(
        BackupId::parse,
        Code::InvalidRef,
        &["", "a/b", "..", "a b", "a.b", "a%2f", "ä", "a\0", "a\n", &"x".repeat(129)],
    );
}

#[test]
fn directory_is_at_or_under_one_that_the_sdk_backs_up() {
    for dir in ["/workspace", "/home", "/tmp", "/var/tmp", "/app", "/workspace/", "/workspace/a b/…", "/home/x"] {
        assert_eq!(Directory::parse(dir).unwrap().as_str(), dir);
    }
    let elsewhere =
        ["/", "/var", "/workspaces", "/workspace2", "/etc", "/root", "/var/tmpx", "/Workspace", "//workspace"];
    assert_all_refused(Directory::parse, Code::InvalidDirectory, &elsewhere);
}

#[test]
fn directory_has_a_parent_if_the_image_may_lack_that_parent() {
    let parent = |path: &str| Directory::parse(path).unwrap().parent().map(String::from);
    for path in ["/workspace", "/workspace/", "/workspace/a", "/workspace//a/", "/home/me", "/var/tmp", "/var/tmp/x"] {
        assert_eq!(parent(path), None, "{path}");
    }
    assert_eq!(parent("/workspace/a/b").as_deref(), Some("/workspace/a"));
    assert_eq!(parent("/workspace/a//b//").as_deref(), Some("/workspace/a"));
    assert_eq!(parent("/var/tmp/x/y").as_deref(), Some("/var/tmp/x"));
}

#[test]
fn directory_with_files_of_the_sdk_is_parsed_but_not_restorable() {
    let in_use =
        ["/tmp", "/tmp/", "/tmp//.", "/var/tmp", "/var/tmp/", "/tmp/session-default-1", "/tmp/sandbox-internal/a"];
    for dir in in_use {
        let error = Directory::parse(dir).unwrap().check_restorable().unwrap_err();
        assert_eq!(error.code(), Code::InvalidDirectory, "{dir}");
        assert!(error.message().contains(&format!("{dir:?}")) && error.message().contains("store"), "{error}");
    }
}

#[test]
fn directory_of_the_caller_is_restorable() {
    for dir in ["/workspace", "/home", "/home/x", "/app", "/tmp/work", "/tmp/work/session-1", "/var/tmp/work"] {
        Directory::parse(dir).unwrap().check_restorable().unwrap();
    }
}

#[test]
fn directory_that_is_relative_or_has_two_dots_is_refused() {
    let wrong = ["", ".", "workspace", "./workspace", "/workspace/..", "/workspace/../etc", "/workspace/a/../b"];
    assert_all_refused(Directory::parse, Code::InvalidDirectory, &wrong);
}

#[test]
fn two_dots_within_a_name_are_accepted() {
    for dir in ["/workspace/a..b", "/workspace/...", "/workspace/..a"] {
        assert!(Directory::parse(dir).is_ok(), "{dir}");
    }
}

#[test]
fn directory_that_linux_cannot_have_is_refused() {
    assert_all_refused(Directory::parse, Code::InvalidDirectory, &["/tmp/a\0b", &format!("/tmp/{}", "x".repeat(4092))]);
    assert!(Directory::parse(&format!("/tmp/{}", "x".repeat(4091))).is_ok());
}

#[test]
fn label_has_1_to_128_characters() {
    assert!(Label::parse(&"😀".repeat(128)).is_ok());
    assert_all_refused(Label::parse, Code::InvalidLabel, &["", &"x".repeat(129)]);
}

#[test]
fn label_is_kept_as_it_is_spelled() {
    for label in ["x", "Before the Change", "vor der Änderung 😀", "a  b"] {
        assert_eq!(Label::parse(label).unwrap().as_str(), label);
    }
}

#[test]
fn label_with_control_characters_or_outer_blanks_is_refused() {
    assert_all_refused(
        Label::parse,
        Code::InvalidLabel,
        &["a\nb", "a\u{7}", "\u{85}x", " a", "a ", " ", "\u{a0}a", "a\u{3000}"],
    );
}

#[test]
fn short_id_characters_are_equally_likely() {
    let mut bytes_of = BTreeMap::<char, usize>::new();
    for byte in 0..252 {
        let short = ShortId::from_random(&[byte; 8]).unwrap();
        *bytes_of.entry(short.as_str().chars().next().unwrap()).or_default() += 1;
    }
    assert!(bytes_of.keys().copied().eq(('0'..='9').chain('a'..='z')), "{bytes_of:?}");
    assert!(bytes_of.values().all(|count| *count == 7), "{bytes_of:?}");
}

#[test]
fn short_id_skips_bytes_that_would_favor_some_characters() {
    let usable = [1, 2, 3, 4, 5, 6, 7, 8];
    let mixed = [252, 1, 253, 2, 3, 254, 4, 5, 255, 6, 7, 255, 8];
    assert_eq!(ShortId::from_random(&mixed), ShortId::from_random(&usable));
}

#[test]
fn too_few_usable_bytes_make_no_id() {
    assert_eq!(ShortId::from_random(&[0; 7]), None);
    assert_eq!(ShortId::from_random(&[255; 32]), None);
    assert_eq!(ShortId::from_random(&[]), None);
    assert_eq!(SnapshotId::draw(&[0; 15]), None);
    assert_eq!(mint_snapshot_id(&[0; 7], &key(1)), None);
    assert_eq!(mint_snapshot_id(&[255; 32], &key(1)), None);
}

#[test]
fn second_half_of_a_minted_id_follows_from_the_first_half_and_the_key() {
    let minted = |random: [u8; 8], number| mint_snapshot_id(&random, &key(number)).unwrap().to_string();
    let (one, other) = (minted([0; 8], 1), minted([0; 8], 2));
    assert_eq!((one.get(..13), other.get(..13)), (Some("snap-aaaaaaaa"), Some("snap-aaaaaaaa")));
    assert_ne!(one, other);
    assert_eq!(one, minted([0; 8], 1));
    assert_ne!(one.get(13..), minted([1; 8], 1).get(13..));
}

#[test]
fn minted_id_is_recognized_by_every_release() {
    let id = SnapshotId::parse(MINTED).unwrap();
    assert_eq!(mint_snapshot_id(&[0; 8], &key(1)).unwrap(), id);
    assert!(is_minted_with(&id, &key(1)));
}

#[test]
fn minted_id_does_not_depend_on_the_number_of_the_key() {
    let id = mint_snapshot_id(&[7; 32], &key(1)).unwrap();
    assert!(is_minted_with(&id, &SigningKey::new(2, [1; 32])));
}

#[test]
fn id_of_an_earlier_release_is_not_recognized_as_minted() {
    for earlier in ["snap-abcdefghij012345", "snap-0000000000000000", "snap-0123456789abcdef"] {
        let id = SnapshotId::parse(earlier).unwrap();
        assert!((0..100).all(|number| !is_minted_with(&id, &key(number))), "{earlier}");
    }
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn drawn_ids_are_valid(random in any::<[u8; 32]>()) {
        if let Some(short) = ShortId::from_random(&random) {
            prop_assert_eq!(short.as_str().len(), ShortId::LENGTH);
        }
        if let Some(id) = SnapshotId::draw(&random) {
            prop_assert_eq!(SnapshotId::parse(id.as_str()).unwrap(), id);
        }
    }

    #[test]
    fn minted_ids_are_valid_and_recognized_only_with_their_key(random: [u8; 32], secret: [u8; 32], other: [u8; 32]) {
        let (id_key, other) = (SigningKey::new(0, secret), SigningKey::new(0, other));
        if let Some(id) = mint_snapshot_id(&random, &id_key) {
            prop_assert_eq!(&SnapshotId::parse(id.as_str()).unwrap(), &id);
            prop_assert!(is_minted_with(&id, &id_key));
            prop_assert_eq!(is_minted_with(&id, &other), id_key == other);
        }
    }

    #[test]
    fn drawn_ids_are_not_recognized_as_minted(random: [u8; 32], secret: [u8; 32]) {
        if let Some(id) = SnapshotId::draw(&random) {
            prop_assert!(!is_minted_with(&id, &SigningKey::new(0, secret)));
        }
    }

    #[test]
    fn minted_id_with_an_altered_character_is_not_recognized(
        random: [u8; 32], secret: [u8; 32], place in 5..21_usize, letter in prop::sample::select(LETTERS),
    ) {
        let id_key = SigningKey::new(0, secret);
        let Some(id) = mint_snapshot_id(&random, &id_key) else { return Ok(()) };
        let mut text = id.to_string();
        text.replace_range(place..=place, &char::from(letter).to_string());
        let altered = SnapshotId::parse(&text).unwrap();
        prop_assert_eq!(is_minted_with(&altered, &id_key), altered == id);
    }

    #[test]
    fn parsed_texts_are_unchanged(text in any::<String>()) {
        if let Ok(id) = SandboxId::parse(&text) {
            prop_assert_eq!(id.as_str(), text.as_str());
        }
        if let Ok(dir) = Directory::parse(&text) {
            prop_assert_eq!(dir.as_str(), text.as_str());
        }
        if let Ok(label) = Label::parse(&text) {
            prop_assert_eq!(label.as_str(), text.as_str());
        }
    }
}
