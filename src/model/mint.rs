//! The ids of sandboxes that are made from snapshots.
//!
//! `<originId>-restored-<shortId>`, or `-branch-` for a branch. Where that would be longer than a sandbox id may
//! be, a chain of such suffixes is first reduced to its root; if that is still too long, the root is cut and
//! ends in `-` and 6 characters of its hash, so that roots with a common beginning stay apart.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::ids::{ALPHABET, is_minted};
use super::{Result, SandboxId, ShortId};

/// How a sandbox came from a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Lineage {
    /// To recover an earlier state.
    Restored,
    /// To try something else from the same state.
    Branch,
}

impl Lineage {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::Restored, Self::Branch];

    /// The word between origin and short id.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Restored => "restored",
            Self::Branch => "branch",
        }
    }
}

/// Mints the id of a sandbox that comes from a snapshot of `origin`.
///
/// The result is a valid id for every valid origin; the error can only be a defect.
pub fn mint(origin: &SandboxId, lineage: Lineage, short: &ShortId) -> Result<SandboxId> {
    let suffix = format!("-{}-{}", lineage.word(), short.as_str());
    let space = SandboxId::MAX - suffix.len();
    let root = root_of(origin);
    let stem = [origin.as_str(), root.as_str()].into_iter().find(|stem| units(stem) <= space);
    match stem {
        Some(stem) => SandboxId::parse(&format!("{stem}{suffix}")),
        None => SandboxId::parse(&format!("{}{suffix}", cut(root.as_str(), space))),
    }
}

/// How the sandbox of a minted id came from a snapshot; `None` for an id that was not minted.
pub fn lineage_of(id: &SandboxId) -> Option<Lineage> {
    let (rest, _) = id.as_str().rsplit_once('-')?;
    parent(id.as_str())?;
    Lineage::ALL.into_iter().find(|lineage| rest.ends_with(lineage.word()))
}

/// The root of a lineage as far as the id's shape tells: the id without its restored and branch suffixes.
pub fn root_of(id: &SandboxId) -> SandboxId {
    let mut stem = id.as_str();
    while let Some(shorter) = parent(stem) {
        stem = shorter;
    }
    SandboxId::parse(stem).unwrap_or_else(|_| id.clone())
}

fn parent(id: &str) -> Option<&str> {
    let (rest, short) = id.rsplit_once('-')?;
    let stem = Lineage::ALL.iter().find_map(|lineage| rest.strip_suffix(lineage.word())?.strip_suffix('-'))?;
    (short.len() == ShortId::LENGTH && is_minted(short) && SandboxId::parse(stem).is_ok()).then_some(stem)
}

fn cut(root: &str, space: usize) -> String {
    let hash: String = Sha256::digest(root.as_bytes())
        .iter()
        .take(6)
        .filter_map(|byte| ALPHABET.get(usize::from(byte % 36)))
        .map(|byte| char::from(*byte))
        .collect();
    let mut left = space - hash.len() - 1;
    let kept: String = root
        .chars()
        .take_while(|c| {
            let fits = c.len_utf16() <= left;
            left = if fits { left - c.len_utf16() } else { 0 };
            fits
        })
        .collect();
    format!("{kept}-{hash}")
}

/// The length that the SDK counts: UTF-16 code units.
fn units(text: &str) -> usize {
    text.encode_utf16().count()
}
