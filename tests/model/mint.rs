//! The ids of sandboxes that are made from snapshots.

use proptest::prelude::*;
use sandbox_snapshotter::model::{DerivationKind, SandboxId, ShortId, mint_sandbox_id, root_of};

use super::support::{any_sandbox, any_short_id, cases, sandbox, utf16_units};

/// Mints the id of a restore of `origin` with the short id `aaaaaaaa`.
fn minted(origin: &str) -> String {
    mint_sandbox_id(&sandbox(origin), DerivationKind::Restored, &ShortId::from_random(&[0; 8]).unwrap())
        .unwrap()
        .to_string()
}

fn kind() -> impl Strategy<Value = DerivationKind> {
    prop::sample::select(&DerivationKind::ALL)
}

/// Returns the suffix of a minted id.
fn suffix(kind: DerivationKind, short: &ShortId) -> String {
    format!("-{}-{}", kind.as_str(), short.as_str())
}

/// The number of UTF-16 units that remain for the part before the suffix.
fn max_stem_units(kind: DerivationKind) -> usize {
    SandboxId::MAX - kind.as_str().len() - 10
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn minted_id_is_a_valid_sandbox_id(origin in any_sandbox(), kind in kind(), short in any_short_id()) {
        let minted = mint_sandbox_id(&origin, kind, &short).unwrap();
        prop_assert_eq!(SandboxId::parse(minted.as_str()).unwrap(), minted);
    }

    #[test]
    fn minted_id_ends_in_its_kind_and_its_short_id(
        origin in any_sandbox(), kind in kind(), short in any_short_id(),
    ) {
        let minted = mint_sandbox_id(&origin, kind, &short).unwrap();
        prop_assert!(minted.as_str().ends_with(&suffix(kind, &short)));
    }

    #[test]
    fn different_short_ids_mint_different_ids(origin in any_sandbox(), kind in kind(), a in any_short_id(), b in any_short_id()) {
        prop_assume!(a != b);
        prop_assert_ne!(mint_sandbox_id(&origin, kind, &a).unwrap(), mint_sandbox_id(&origin, kind, &b).unwrap());
    }

    #[test]
    fn branch_and_restored_ids_are_different(origin in any_sandbox(), a in any_short_id(), b in any_short_id()) {
        prop_assert_ne!(mint_sandbox_id(&origin, DerivationKind::Restored, &a).unwrap(), mint_sandbox_id(&origin, DerivationKind::Branch, &b).unwrap());
    }

    #[test]
    fn origin_that_fits_is_kept_whole(origin in any_sandbox(), kind in kind(), short in any_short_id()) {
        prop_assume!(utf16_units(origin.as_str()) <= max_stem_units(kind));
        let minted = mint_sandbox_id(&origin, kind, &short).unwrap();
        prop_assert_eq!(minted.as_str(), origin.to_string() + &suffix(kind, &short));
    }

    #[test]
    fn root_that_does_not_fit_is_cut_and_gets_a_hash_of_six_characters(
        origin in any_sandbox(), kind in kind(), short in any_short_id(),
    ) {
        let root = root_of(&origin);
        prop_assume!(utf16_units(root.as_str()) > max_stem_units(kind));
        let minted = mint_sandbox_id(&origin, kind, &short).unwrap();
        let stem = minted.as_str().strip_suffix(&suffix(kind, &short)).unwrap();
        let (kept, hash) = stem.rsplit_once('-').unwrap();
        prop_assert!(root.as_str().starts_with(kept));
        prop_assert!(hash.len() == 6 && hash.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()), "{}", hash);
        // A character of two units may leave one unit unused.
        prop_assert!((62..=63).contains(&utf16_units(minted.as_str())), "{}", minted);
    }

    #[test]
    fn root_of_a_root_is_itself(id in any_sandbox()) {
        prop_assert_eq!(root_of(&root_of(&id)), root_of(&id));
    }

    #[test]
    fn minted_id_that_keeps_its_origin_keeps_its_root(
        origin in any_sandbox(), kind in kind(), short in any_short_id(),
    ) {
        prop_assume!(utf16_units(root_of(&origin).as_str()) <= max_stem_units(kind));
        prop_assert_eq!(root_of(&mint_sandbox_id(&origin, kind, &short).unwrap()), root_of(&origin));
    }
}

#[test]
fn minted_id_names_its_origin() {
    let short = ShortId::from_random(&[10, 33, 5, 35, 23, 28, 0, 1]).unwrap();
    assert_eq!(
        mint_sandbox_id(&sandbox("agent-42"), DerivationKind::Restored, &short).unwrap().as_str(),
        "agent-42-restored-k7f9x2ab"
    );
    assert_eq!(
        mint_sandbox_id(&sandbox("agent-42"), DerivationKind::Branch, &short).unwrap().as_str(),
        "agent-42-branch-k7f9x2ab"
    );
}

#[test]
fn origin_of_45_characters_is_the_longest_that_is_kept_whole() {
    let origin = "x".repeat(45);
    assert_eq!(minted(&origin), format!("{origin}-restored-aaaaaaaa"));
    assert_eq!(minted(&"x".repeat(46)).len(), 63);
    assert!(!minted(&"x".repeat(46)).starts_with(&origin));
}

#[test]
fn chain_that_fits_is_kept() {
    assert_eq!(minted("agent-42-restored-k3f9x2ab"), "agent-42-restored-k3f9x2ab-restored-aaaaaaaa");
}

#[test]
fn chain_that_is_too_long_is_reduced_to_its_root() {
    let chain = "agent-42-restored-k3f9x2ab-branch-00000000-restored-zzzzzzzz";
    assert_eq!(minted(chain), "agent-42-restored-aaaaaaaa");
}

#[test]
fn hash_of_a_root_is_the_same_in_every_release() {
    assert_eq!(minted(&"x".repeat(63)), format!("{}-j8l97w-restored-aaaaaaaa", "x".repeat(38)));
    assert_eq!(minted(&"€".repeat(63)), format!("{}-eynvwc-restored-aaaaaaaa", "€".repeat(38)));
}

#[test]
fn chain_with_a_long_root_is_cut_like_its_root() {
    let root = "x".repeat(46);
    assert_eq!(minted(&format!("{root}-branch-00000000")), minted(&root));
}

#[test]
fn long_origins_with_a_common_prefix_mint_different_ids() {
    let common = "x".repeat(60);
    assert_ne!(minted(&format!("{common}001")), minted(&format!("{common}002")));
}

#[test]
fn root_is_cut_between_characters() {
    let minted = minted(&format!("x{}", "😀".repeat(31)));
    assert!(minted.starts_with(&format!("x{}-", "😀".repeat(18))), "{minted}");
}

#[test]
fn root_is_the_id_without_its_suffixes() {
    let roots = [
        ("agent-42", "agent-42"),
        ("agent-42-restored-k3f9x2ab", "agent-42"),
        ("agent-42-branch-00000000-restored-zzzzzzzz", "agent-42"),
        ("a-restored-k3f9x2ab-b", "a-restored-k3f9x2ab-b"),
    ];
    for (id, root) in roots {
        assert_eq!(root_of(&sandbox(id)).as_str(), root);
    }
}

#[test]
fn text_that_only_resembles_a_suffix_belongs_to_the_root() {
    let ids = [
        "a-restored-k3f9x2a",
        "a-restored-k3f9x2abc",
        "a-restored-K3F9X2AB",
        "a-restored-k3f9x2ä",
        "a-Restored-k3f9x2ab",
        "arestored-k3f9x2ab",
        "a-restoredk3f9x2ab",
        "a-forked-k3f9x2ab",
        "restored-k3f9x2ab",
    ];
    for id in ids {
        assert_eq!(root_of(&sandbox(id)).as_str(), id);
    }
}

#[test]
fn root_is_always_a_valid_sandbox_id() {
    for id in ["api-restored-k3f9x2ab", "a--restored-k3f9x2ab"] {
        assert_eq!(root_of(&sandbox(id)).as_str(), id);
    }
}
