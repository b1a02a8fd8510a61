//! Sets of paths that need little memory: hundreds of thousands of paths have tens of megabytes.

use sha2::{Digest, Sha256};

use crate::{Error, Result};

/// The maximum number of paths in a set. A capture with more than 500,000 entries is full.
const MAX_PATHS: usize = 700_000;

/// The first bytes of the SHA-256 of each path. They stand for the path: to find two paths with the same ones takes 2⁴⁸ attempts.
#[derive(Default)]
pub(crate) struct Digests(Vec<[u8; 12]>);

impl Digests {
    /// Adds a path of a type.
    pub fn push(&mut self, path_type: u8, path: &[u8]) -> Result<()> {
        if self.0.len() == MAX_PATHS {
            return Err(Error::Unsupported("it changes more than 700,000 paths"));
        }
        if self.0.len() == self.0.capacity() {
            self.0.reserve_exact(1024.max(self.0.len() / 4));
        }
        self.0.push(digest(path_type, path));
        Ok(())
    }

    /// Completes the set.
    pub fn sort(&mut self) {
        self.0.sort_unstable();
    }

    /// Whether the set, which is complete, has a path of a type.
    pub fn contains(&self, path_type: u8, path: &[u8]) -> bool {
        self.0.binary_search(&digest(path_type, path)).is_ok()
    }
}

fn digest(path_type: u8, path: &[u8]) -> [u8; 12] {
    let digest = Sha256::new().chain_update([path_type]).chain_update(path).finalize();
    digest.first_chunk().copied().unwrap_or_default()
}
