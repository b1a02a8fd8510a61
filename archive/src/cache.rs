//! A cache with a limited size.

use std::collections::BTreeMap;

/// Values by their position in the archive. The least recently used ones are removed first.
pub(crate) struct Cache<V> {
    slots: BTreeMap<u64, Slot<V>>,
    bytes: usize,
    capacity: usize,
    clock: u64,
}

struct Slot<V> {
    value: V,
    bytes: usize,
    used_at: u64,
}

/// The memory of a slot without its value, in bytes.
const OVERHEAD: usize = 128;

impl<V> Cache<V> {
    /// Creates a cache of at most `capacity` bytes.
    pub fn new(capacity: usize) -> Self {
        Self { slots: BTreeMap::new(), bytes: 0, capacity, clock: 0 }
    }

    /// Returns the value at a position.
    pub fn get(&mut self, position: u64) -> Option<&V> {
        let slot = self.slots.get_mut(&position)?;
        self.clock += 1;
        slot.used_at = self.clock;
        Some(&slot.value)
    }

    /// Removes values until a value of `bytes` can be inserted.
    fn reserve(&mut self, bytes: usize) {
        while self.bytes + bytes + OVERHEAD > self.capacity {
            let oldest = self.slots.iter().min_by_key(|(_, slot)| slot.used_at);
            let Some((&position, _)) = oldest else { return };
            self.remove(position);
        }
    }

    /// Inserts a value that has a size in bytes.
    pub fn insert(&mut self, position: u64, value: V, bytes: usize) {
        self.remove(position);
        self.reserve(bytes);
        self.clock += 1;
        let bytes = bytes + OVERHEAD;
        self.slots.insert(position, Slot { value, bytes, used_at: self.clock });
        self.bytes += bytes;
    }

    /// Removes the value at a position.
    fn remove(&mut self, position: u64) {
        if let Some(slot) = self.slots.remove(&position) {
            self.bytes -= slot.bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn least_recently_used_value_is_removed_first() {
        let mut cache = Cache::new(3 * (100 + OVERHEAD));
        for position in [1, 2, 3] {
            cache.insert(position, position, 100);
        }
        assert_eq!(cache.get(1), Some(&1));
        cache.insert(4, 4, 100);
        let present = |cache: &mut Cache<u64>| [1, 2, 3, 4].map(|position| cache.get(position).is_some());
        assert_eq!(present(&mut cache), [true, false, true, true]);
        cache.insert(4, 5, 200);
        assert_eq!(present(&mut cache), [false, false, true, true]);
        assert_eq!(cache.bytes, 300 + 2 * OVERHEAD);
    }
}
