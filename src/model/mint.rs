//! The ids that the Worker creates: of snapshots, and of sandboxes that are made from them.
//!
//! The id of such a sandbox is `<originId>-restored-<shortId>`, or `-branch-` for a branch. When the result would exceed
//! the length limit of sandbox ids, a chain of such suffixes is first reduced to its root. If it is still too long, the
//! root is cut and ends in `-` and 6 characters of its hash, so that roots with a common prefix stay distinct.

use sha2::{Digest, Sha256};

use super::ids::{ALPHABET, is_in_alphabet, random_text};
use super::{DerivationKind, Result, SandboxId, SigningKey, SnapshotId};

/// The random suffix of a minted sandbox id: 8 characters of a–z 0–9.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ShortId(String);

impl ShortId {
    /// The length, in characters.
    pub const LENGTH: usize = 8;

    /// Draws a short id uniformly from random bytes; `None` if too few of them are usable. With 32 bytes this happens
    /// with a probability of 1 in 10^35.
    pub fn from_random(random: &[u8]) -> Option<Self> {
        random_text(random, Self::LENGTH).map(Self)
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Mints the id of a sandbox that is made from a snapshot of `origin`.
///
/// The result is a valid id for every valid origin, so an error is a defect of this function.
pub fn mint_sandbox_id(origin: &SandboxId, kind: DerivationKind, short: &ShortId) -> Result<SandboxId> {
    let suffix = format!("-{}-{}", kind.as_str(), short.as_str());
    let space = SandboxId::MAX - suffix.len();
    let root = root_of(origin);
    let stem = [origin.as_str(), root.as_str()].into_iter().find(|stem| utf16_length(stem) <= space);
    match stem {
        Some(stem) => SandboxId::parse(&format!("{stem}{suffix}")),
        None => SandboxId::parse(&format!("{}{suffix}", truncate_with_hash(root.as_str(), space))),
    }
}

/// Mints the id of a snapshot: its second half is derived from the first with `key`. With it, a ledger distinguishes the
/// ids that it created from those of another deployment, even after it has deleted their rows. `None` if too few of the
/// random bytes are usable.
pub fn mint_snapshot_id(random: &[u8], key: &SigningKey) -> Option<SnapshotId> {
    let first = random_text(random, SnapshotId::RANDOM_LENGTH / 2)?;
    let second = second_half(&first, key)?;
    SnapshotId::parse(&format!("{}{first}{second}", SnapshotId::PREFIX)).ok()
}

/// Whether a snapshot id was minted with `key`. A random id passes with a probability of 1 in 36^8.
pub fn is_minted_with(id: &SnapshotId, key: &SigningKey) -> bool {
    let random = id.as_str().strip_prefix(SnapshotId::PREFIX);
    let halves = random.and_then(|random| random.split_at_checked(SnapshotId::RANDOM_LENGTH / 2));
    halves.is_some_and(|(first, second)| second_half(first, key).is_some_and(|minted| minted == second))
}

fn second_half(first: &str, key: &SigningKey) -> Option<String> {
    random_text(&key.tag(first.as_bytes()), SnapshotId::RANDOM_LENGTH / 2)
}

/// Returns how the sandbox with a minted id was made from a snapshot; `None` for an id that was not minted.
pub fn derivation_kind_of(id: &SandboxId) -> Option<DerivationKind> {
    let (rest, _) = id.as_str().rsplit_once('-')?;
    parent_of(id.as_str())?;
    DerivationKind::ALL.into_iter().find(|kind| rest.ends_with(kind.as_str()))
}

/// Returns the root of a lineage, as far as the form of the id shows it: the id without its restored and branch
/// suffixes.
pub fn root_of(id: &SandboxId) -> SandboxId {
    let mut stem = id.as_str();
    while let Some(shorter) = parent_of(stem) {
        stem = shorter;
    }
    SandboxId::parse(stem).unwrap_or_else(|_| id.clone())
}

fn parent_of(id: &str) -> Option<&str> {
    let (rest, short) = id.rsplit_once('-')?;
    let stem = DerivationKind::ALL.iter().find_map(|kind| rest.strip_suffix(kind.as_str())?.strip_suffix('-'))?;
    (short.len() == ShortId::LENGTH && is_in_alphabet(short) && SandboxId::parse(stem).is_ok()).then_some(stem)
}

fn truncate_with_hash(root: &str, space: usize) -> String {
    let hash: String = Sha256::digest(root.as_bytes())
        .iter()
        .take(6)
        .filter_map(|byte| ALPHABET.get(usize::from(byte % 36)))
        .map(|byte| char::from(*byte))
        .collect();
    let mut remaining = space - hash.len() - 1;
    let prefix: String = root
        .chars()
        .take_while(|c| {
            let is_kept = c.len_utf16() <= remaining;
            remaining = if is_kept { remaining - c.len_utf16() } else { 0 };
            is_kept
        })
        .collect();
    format!("{prefix}-{hash}")
}

/// Returns the length that the SDK counts, in UTF-16 code units.
fn utf16_length(text: &str) -> usize {
    text.encode_utf16().count()
}
