//! Random numbers that follow from a seed.

use std::cell::Cell;

/// A pseudorandom number generator (splitmix64).
pub struct SeededRng(Cell<u64>);

impl SeededRng {
    /// Returns the generator of a seed.
    pub fn new(seed: u64) -> Self {
        Self(Cell::new(seed))
    }

    /// Returns the next number.
    pub fn next_u64(&self) -> u64 {
        self.0.set(self.0.get().wrapping_add(0x9e37_79b9_7f4a_7c15));
        let mixed = (self.0.get() ^ (self.0.get() >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns 32 random bytes.
    pub fn bytes(&self) -> [u8; 32] {
        let mut bytes = [0; 32];
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.next_u64().to_le_bytes());
        }
        bytes
    }

    /// Returns a number below `count`, which must not be 0.
    #[allow(clippy::cast_possible_truncation)] // The result is below `count`.
    pub fn below(&self, count: usize) -> usize {
        (self.next_u64() % count as u64) as usize
    }

    /// Returns a number of milliseconds from 0 to `up_to`.
    #[allow(clippy::cast_possible_wrap)] // The result fits into a `u32`.
    pub fn millis(&self, up_to: u32) -> i64 {
        (self.next_u64() % (u64::from(up_to) + 1)) as i64
    }

    /// Returns `true` once in `times` calls on average.
    pub fn one_in(&self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// Returns `true` `in_10_000` times in 10 000 calls on average.
    pub fn with_probability(&self, in_10_000: u32) -> bool {
        in_10_000 > 0 && self.next_u64() % 10_000 < u64::from(in_10_000)
    }

    /// Returns one of `several`, or `None` if there are none.
    pub fn pick<T: Clone>(&self, several: &[T]) -> Option<T> {
        if several.is_empty() { None } else { several.get(self.below(several.len())).cloned() }
    }
}
