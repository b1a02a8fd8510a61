//! The ids of sandboxes that are made from snapshots.
//!
//! The form is `<originId>-restored-<shortId>`, or `-branch-` for a branch. When the result would exceed the length
//! limit of sandbox ids, a chain of such suffixes is first reduced to its root. If it is still too long, the root is
//! cut and ends in `-` and 6 characters of its hash, so that roots with a common prefix stay distinct.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::ids::{ALPHABET, is_in_alphabet};
use super::{Result, SandboxId, ShortId};

/// How a sandbox was made from a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum DerivationKind {
    /// Restored, to recover an earlier state.
    Restored,
    /// Branched, to continue separately from the same state.
    Branch,
}

impl DerivationKind {
    /// Both kinds.
    pub const ALL: [Self; 2] = [Self::Restored, Self::Branch];

    /// Returns the word between the origin id and the short id.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Restored => "restored",
            Self::Branch => "branch",
        }
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
