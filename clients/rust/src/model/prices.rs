//! Cloudflare's list prices, beyond the included usage of a plan, as of [`PRICES_OF`].
//!
//! | what | price in US dollars |
//! |---|---|
//! | R2, standard storage | 0.015 for a GB and month |
//! | R2, operations of class A (put, list) | 4.50 for a million |
//! | R2, operations of class B (get, head) | 0.36 for a million |
//! | Containers, memory | 0.0000025 for a GiB and second |
//! | Containers, disk | 0.00000007 for a GB and second |
//!
//! Sources: <https://developers.cloudflare.com/r2/pricing/>, <https://developers.cloudflare.com/containers/pricing/> and
//! <https://developers.cloudflare.com/containers/platform/limits/>. The number of operations of R2 for each capture and
//! restore is measured: see the table of costs in `docs/benchmarks.md`.

use serde::{Deserialize, Serialize};

use super::usage::OperationCounts;
use super::{Error, Result};

/// The month of the prices.
pub const PRICES_OF: &str = "2026-11";

/// The currency of the prices.
pub const CURRENCY: &str = "USD";

/// What the costs leave out.
pub const LEAVES_OUT: &[&str] = &[
    "The included usage of a plan, which is free.",
    "The processor time of containers, which Cloudflare bills by actual use, and their network traffic.",
    "The requests, rows and durations of Durable Objects, and the requests and processor time of Workers.",
    "Platform snapshots, and sandboxes that belong to no named workspace.",
    "Parts of large uploads to R2, and operations that only read snapshots, such as lists, checks and downloads.",
];

const GB: f64 = 1e9;
const MILLION: f64 = 1e6;
const R2_GB_MONTH: f64 = 0.015;
const R2_CLASS_A: f64 = 4.50 / MILLION;
const R2_CLASS_B: f64 = 0.36 / MILLION;
const MEMORY_GIB_SECOND: f64 = 0.000_002_5;
const DISK_GB_SECOND: f64 = 0.000_000_07;

/// The operations of R2 of one capture, by class: the archive and its metadata; two reads of them and one check.
const CAPTURE: (f64, f64) = (2.0, 3.0);

/// The operations of R2 of one restore, by class.
const RESTORE: (f64, f64) = (0.0, 4.0);

/// A type of containers, which has a memory and a disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub enum InstanceType {
    /// 256 MiB and 2 GB. The platform's default.
    #[default]
    Lite,
    /// 1 GiB and 4 GB.
    Basic,
    /// 4 GiB and 8 GB.
    #[serde(rename = "standard-1")]
    Standard1,
    /// 6 GiB and 12 GB.
    #[serde(rename = "standard-2")]
    Standard2,
    /// 8 GiB and 16 GB.
    #[serde(rename = "standard-3")]
    Standard3,
    /// 12 GiB and 20 GB.
    #[serde(rename = "standard-4")]
    Standard4,
}

impl InstanceType {
    /// All types, with their names.
    pub const ALL: [(&str, Self); 6] = [
        ("lite", Self::Lite),
        ("basic", Self::Basic),
        ("standard-1", Self::Standard1),
        ("standard-2", Self::Standard2),
        ("standard-3", Self::Standard3),
        ("standard-4", Self::Standard4),
    ];

    /// Parses the name of a type.
    ///
    /// # Errors
    /// [`Code::InvalidArgument`](super::Code::InvalidArgument) for any other text.
    pub fn parse(text: &str) -> Result<Self> {
        let found = Self::ALL.iter().find(|(name, _)| *name == text);
        found.map(|(_, instance)| *instance).ok_or_else(|| {
            let names = Self::ALL.map(|(name, _)| format!("{name:?}")).join(", ");
            Error::invalid_argument(format!("`instanceType` must be one of {names}"), format!("Pass one of {names}."))
        })
    }

    /// Returns the memory in GiB, and the disk in GB.
    const fn resources(self) -> (f64, f64) {
        match self {
            Self::Lite => (0.25, 2.0),
            Self::Basic => (1.0, 4.0),
            Self::Standard1 => (4.0, 8.0),
            Self::Standard2 => (6.0, 12.0),
            Self::Standard3 => (8.0, 16.0),
            Self::Standard4 => (12.0, 20.0),
        }
    }
}

/// Returns the cost of stored bytes for a month.
#[allow(clippy::cast_precision_loss)] // A cost needs few digits.
pub fn storage_per_month(bytes: u64) -> f64 {
    bytes as f64 / GB * R2_GB_MONTH
}

/// Returns the cost of the operations of R2.
#[allow(clippy::cast_precision_loss)] // A cost needs few digits.
pub fn operations(counts: OperationCounts) -> f64 {
    let cost =
        |count: u64, (class_a, class_b): (f64, f64)| count as f64 * class_a.mul_add(R2_CLASS_A, class_b * R2_CLASS_B);
    cost(counts.captures, CAPTURE) + cost(counts.restores, RESTORE)
}

/// Returns the cost of the memory and the disk of a container.
#[allow(clippy::cast_precision_loss)] // A cost needs few digits.
pub fn running(seconds: u64, instance: InstanceType) -> f64 {
    let (memory, disk) = instance.resources();
    seconds as f64 * memory.mul_add(MEMORY_GIB_SECOND, disk * DISK_GB_SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a cost in millionths of a dollar.
    #[allow(clippy::cast_possible_truncation)] // The costs are small.
    fn micros(cost: f64) -> i64 {
        (cost * 1e6).round() as i64
    }

    #[test]
    fn costs_follow_the_price_list() {
        assert_eq!(micros(storage_per_month(50_000_000_000)), 750_000, "50 GB for a month");
        let counts = OperationCounts { captures: 1_000_000, restores: 0 };
        assert_eq!(micros(operations(counts)), 10_080_000, "2 operations of class A and 3 of class B");
        let counts = OperationCounts { captures: 0, restores: 1_000_000 };
        assert_eq!(micros(operations(counts)), 1_440_000, "4 operations of class B");
        assert_eq!(micros(running(3600, InstanceType::Basic)), 10_008, "an hour of 1 GiB and 4 GB");
        assert_eq!(micros(running(3600, InstanceType::Lite)), 2_754);
    }

    #[test]
    fn names_of_instance_types_are_those_of_the_platform() {
        for (name, instance) in InstanceType::ALL {
            assert_eq!(InstanceType::parse(name).unwrap(), instance);
            assert_eq!(serde_json::to_value(instance).unwrap(), name);
        }
        InstanceType::parse("dev").unwrap_err();
    }
}
