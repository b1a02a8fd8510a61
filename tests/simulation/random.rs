//! What a seed decides.

use std::cell::Cell;

/// Numbers that look random and follow from a seed (splitmix64).
pub struct SeededRng(Cell<u64>);

impl SeededRng {
    /// The numbers of a seed.
    pub fn new(seed: u64) -> Self {
        Self(Cell::new(seed))
    }

    /// The next one.
    pub fn next_u64(&self) -> u64 {
        self.0.set(self.0.get().wrapping_add(0x9e37_79b9_7f4a_7c15));
        let mixed = (self.0.get() ^ (self.0.get() >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `count`, which is not 0.
    #[allow(clippy::cast_possible_truncation)] // It is a count.
    pub fn below(&self, count: usize) -> usize {
        (self.next_u64() % count as u64) as usize
    }

    /// Milliseconds, up to so many.
    #[allow(clippy::cast_possible_wrap)] // They are few.
    pub fn millis(&self, up_to: u32) -> i64 {
        (self.next_u64() % (u64::from(up_to) + 1)) as i64
    }

    /// Whether something happens that happens once in so many times.
    pub fn one_in(&self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// Whether something happens that happens so often in 10 000 times.
    pub fn with_probability(&self, in_10_000: u32) -> bool {
        in_10_000 > 0 && self.next_u64() % 10_000 < u64::from(in_10_000)
    }

    /// One of several.
    pub fn pick<T: Clone>(&self, several: &[T]) -> Option<T> {
        if several.is_empty() { None } else { several.get(self.below(several.len())).cloned() }
    }
}

/// How rough the world is in one schedule. All but the counts are in 10 000 times.
#[derive(Clone, Debug)]
pub struct FaultProfile {
    /// A call fails before it has any effect.
    pub failure_rate: u32,
    /// The answer to a call is lost.
    pub lost_answer_rate: u32,
    /// A call takes long.
    pub slow_call_rate: u32,
    /// A call to a sandbox is not answered within its time limit, or never.
    pub hang_rate: u32,
    /// An object in memory dies where its tasks could go on.
    pub crash_rate: u32,
    /// A call is delivered twice.
    pub duplicate_rate: u32,
    /// A container dies when it is used.
    pub container_death_rate: u32,
    /// A minted id is somebody's already.
    pub id_collision_rate: u32,
    /// Whether the image of sandboxes brings a file.
    pub image_has_files: bool,
    /// How many sandboxes an application has.
    pub sandbox_count: usize,
    /// How many callers there are.
    pub caller_count: usize,
    /// How many calls each makes.
    pub calls_per_caller: usize,
    /// How many backups a page of the bucket shows.
    pub page_size: usize,
    /// How often each operation is called, against the others.
    pub weights: Vec<usize>,
}

impl FaultProfile {
    /// Draws the weather for `operations` operations, of which those at the end are `of_names`: calm in some schedules, rough in others, and never all at once.
    pub fn draw(chance: &SeededRng, operations: usize, of_names: usize) -> Self {
        let calm = chance.one_in(6);
        let draw = |levels: [u32; 5]| if calm { 0 } else { levels[chance.below(5)] };
        let has_names = chance.one_in(2);
        let weight = |index: usize| match (has_names, index >= operations - of_names) {
            (false, true) => 0,
            (true, false) => [0, 0, 0, 1, 2][chance.below(5)],
            _ => [0, 1, 2, 5][chance.below(4)],
        };
        Self {
            failure_rate: draw([0, 0, 50, 300, 1200]),
            lost_answer_rate: draw([0, 0, 50, 300, 1200]),
            slow_call_rate: draw([0, 100, 500, 1000, 3000]),
            hang_rate: draw([0, 0, 0, 50, 400]),
            crash_rate: draw([0, 0, 50, 200, 600]),
            duplicate_rate: draw([0, 0, 200, 500, 1000]),
            container_death_rate: draw([0, 0, 0, 100, 500]),
            id_collision_rate: if chance.one_in(4) { 2500 } else { 0 },
            image_has_files: chance.one_in(3),
            sandbox_count: 1 + chance.below(3),
            caller_count: 1 + chance.below(4),
            calls_per_caller: 6 + chance.below(if chance.one_in(4) { 60 } else { 24 }),
            page_size: 1 + chance.below(8),
            weights: (0..operations).map(weight).collect(),
        }
    }
}
