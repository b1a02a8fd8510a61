//! Timestamps, as text and at their limits.

use proptest::prelude::*;
use sandbox_snapshotter::model::{Timestamp, json};
use serde_json::json;

use super::support::cases;

fn read(text: &str) -> Timestamp {
    json::from_value(&json!(text)).unwrap()
}

#[test]
fn time_beyond_four_digit_years_is_clamped() {
    assert_eq!(read("9999-12-31T23:59:59.999-23:59"), Timestamp::MAX);
    assert_eq!(read("0000-01-01T00:00:00+23:59"), Timestamp::MIN);
    assert_eq!(Timestamp::MAX.plus_millis(1), Timestamp::MAX);
    assert_eq!(Timestamp::MIN.plus_millis(i64::MIN), Timestamp::MIN);
}

#[test]
fn min_and_max_are_written_with_four_digit_years() {
    assert_eq!(Timestamp::MIN.to_string(), "0000-01-01T00:00:00.000Z");
    assert_eq!(Timestamp::MAX.to_string(), "9999-12-31T23:59:59.999Z");
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn every_time_round_trips(millis in any::<i64>(), later in any::<i64>()) {
        let time = Timestamp::from_millis(millis).plus_millis(later);
        prop_assert_eq!(read(&time.to_string()), time);
    }
}
