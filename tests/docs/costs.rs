//! The example of a cost agrees with the prices in the code.

use sandbox_snapshotter::model::prices::{InstanceType, running, storage_per_month};

use super::markdown::page;

const SECONDS: u64 = 30 * 2 * 3600;

/// The cells of the row whose first cell begins with a text, after an empty one.
fn row(of: &str) -> Vec<String> {
    let section = page("docs/usage.md").section("Estimate a cost in advance");
    let line = section.lines().find(|line| line.strip_prefix("| ").is_some_and(|cells| cells.starts_with(of)));
    line.unwrap_or_else(|| panic!("no row for {of}")).split('|').map(|cell| cell.trim().to_owned()).collect()
}

/// The processor time of the example costs its price for each second of use.
fn processor(vcpu: f64) -> f64 {
    216_000.0 * vcpu * 0.2 * 0.000_02
}

#[test]
fn example_of_a_cost_follows_the_price_list() {
    let columns = [(InstanceType::Basic, 0.25, "`basic`"), (InstanceType::Standard1, 0.5, "`standard-1`")];
    for (index, (instance, vcpu, name)) in columns.into_iter().enumerate() {
        let cell = |of: &str| row(of)[index + 2].clone();
        let storage = storage_per_month(30_000_000_000);
        let sum = running(SECONDS, instance) + processor(vcpu) + storage;
        assert!(cell("part").starts_with(name));
        assert_eq!(cell("Memory and disk: 216,000 s "), format!("${:.2}", running(SECONDS, instance)));
        assert_eq!(cell("Processor at 20 % use"), format!("${:.2}", processor(vcpu)));
        assert_eq!(cell("Storage in R2: 30 snapshots"), format!("${storage:.2}"));
        assert_eq!(cell("Sum"), format!("${sum:.2}"));
    }
}
