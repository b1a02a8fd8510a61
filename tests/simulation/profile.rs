//! The faults and the load of a schedule.

use sandbox_snapshotter::model::{ArchiveFormat, Runtime};

use crate::memory::SeededRng;

/// The faults and the load of one schedule. Rates are per 10 000.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools)] // They are independent.
pub struct FaultProfile {
    /// A call fails before it has any effect.
    pub failure_rate: u32,
    /// The answer to a call is lost.
    pub lost_answer_rate: u32,
    /// A step of a call is slow.
    pub slow_call_rate: u32,
    /// A call to a sandbox is not answered within its time limit, or never at all.
    pub hang_rate: u32,
    /// An object in memory crashes before one of its ready tasks is polled.
    pub crash_rate: u32,
    /// A call is delivered twice.
    pub duplicate_rate: u32,
    /// A container ends when it is used.
    pub container_end_rate: u32,
    /// A minted id is already in use.
    pub id_collision_rate: u32,
    /// Whether the image of the sandboxes contains a file in the workspace's directory.
    pub image_has_files: bool,
    /// Whether the class of the sandboxes has platform snapshots.
    pub has_platform: bool,
    /// The runtime of the sandboxes.
    pub runtime: Runtime,
    /// Whether the deployment names the runtime.
    pub names_runtime: bool,
    /// The format of the archives that the image of the sandboxes can make.
    pub archive_format: ArchiveFormat,
    /// Whether snapshots are incremental. They are full if the runtime mounts its archives.
    pub incremental: bool,
    /// The number of sandboxes of the application.
    pub sandbox_count: usize,
    /// The number of callers.
    pub caller_count: usize,
    /// The number of calls of each caller.
    pub calls_per_caller: usize,
    /// The number of backups on a page of the bucket's list.
    pub page_size: usize,
    /// The relative frequency of each operation.
    pub weights: Vec<usize>,
}

impl FaultProfile {
    /// Draws the profile of a schedule with `operations` operations, of which the last `of_workspaces` are about named
    /// workspaces. Each fault has its own rate, and some schedules have no faults.
    pub fn draw(rng: &SeededRng, operations: usize, of_workspaces: usize) -> Self {
        let is_fault_free = rng.one_in(6);
        let draw = |levels: [u32; 5]| if is_fault_free { 0 } else { levels[rng.below(5)] };
        let has_workspaces = rng.one_in(2);
        let weight = |index: usize| match (has_workspaces, index >= operations - of_workspaces) {
            (false, true) => 0,
            (true, false) => [0, 0, 0, 1, 2][rng.below(5)],
            _ => [0, 1, 2, 5][rng.below(4)],
        };
        let runtime = if rng.one_in(2) { Runtime::Container } else { Runtime::Sdk012 };
        let archive_format = match runtime {
            Runtime::Container if rng.one_in(4) => ArchiveFormat::TarZstd,
            Runtime::Container if rng.one_in(4) => ArchiveFormat::DirectoryBackup,
            _ => ArchiveFormat::Squashfs,
        };
        Self {
            failure_rate: draw([0, 0, 50, 300, 1200]),
            lost_answer_rate: draw([0, 0, 50, 300, 1200]),
            slow_call_rate: draw([0, 100, 500, 1000, 3000]),
            hang_rate: draw([0, 0, 0, 50, 400]),
            crash_rate: draw([0, 0, 50, 200, 600]),
            duplicate_rate: draw([0, 0, 200, 500, 1000]),
            container_end_rate: draw([0, 0, 0, 100, 500]),
            id_collision_rate: if rng.one_in(4) { 2500 } else { 0 },
            image_has_files: rng.one_in(3),
            has_platform: runtime == Runtime::Container && rng.one_in(2),
            runtime,
            names_runtime: rng.one_in(2),
            archive_format,
            incremental: !rng.one_in(3),
            sandbox_count: 1 + rng.below(3),
            caller_count: 1 + rng.below(4),
            calls_per_caller: 6 + rng.below(if rng.one_in(4) { 60 } else { 24 }),
            page_size: 1 + rng.below(8),
            weights: (0..operations).map(weight).collect(),
        }
    }
}
