//! When the automatic saves of a workspace are due. The times follow from the record alone, so that a check which finds
//! nothing stores nothing.

use crate::model::Timestamp;
use crate::model::named::autosave::MIN_SECONDS;
use crate::model::named::{NamedRecord, State};
use crate::service::tasks::backoff::Backoff;

/// The delay of a save after the end of a turn, in milliseconds: the ends of other turns share it.
const TURN_DELAY_MILLIS: i64 = 2_000;

/// How late an alarm may be, in milliseconds: until then, no call moves the alarm of a check to the next one.
const ALARM_DELAY_MILLIS: i64 = 30_000;

/// After how many intervals without activity only each second check runs, and after how many only each fourth.
const QUIET_INTERVALS: [i64; 2] = [3, 12];

/// Returns when the next check is due that follows the check at `checked_at`, if automatic saves are on. Without
/// `checked_at`, the first one that follows the last save.
pub(super) fn save_due(record: &NamedRecord, checked_at: Option<Timestamp>) -> Option<Timestamp> {
    due(record, checked_at, checked_at)
}

/// As [`save_due`], for an alarm that is set at `now`: an alarm that is already due stays.
pub(super) fn next_save_alarm(
    record: &NamedRecord,
    checked_at: Option<Timestamp>,
    now: Timestamp,
) -> Option<Timestamp> {
    due(record, checked_at, Some(checked_at.unwrap_or(now.plus_millis(-ALARM_DELAY_MILLIS))))
}

/// Returns when the next check is due. Intervals that ended until `counted_until` have had their check.
fn due(record: &NamedRecord, checked_at: Option<Timestamp>, counted_until: Option<Timestamp>) -> Option<Timestamp> {
    if record.state != State::Active || !record.settings.autosave.is_on() {
        return None;
    }
    let saved_at = save_base(record);
    let after = counted_until.map_or(saved_at, |at| at.max(saved_at));
    let turn = || {
        let ended_at = record.turn_ended_at?;
        // A check that came after the turn could not save its files.
        let previous = checked_at.filter(|at| *at >= ended_at).map_or(saved_at, |at| at.max(saved_at));
        Some(ended_at.plus_millis(TURN_DELAY_MILLIS).max(previous.plus_millis(min_millis())))
    };
    let retry = record.unsaved_since.map(|since| Backoff::FAILED_SAVE.next_after(since, after));
    // After a failure, the next attempt includes the changes of the turn.
    let turn = if retry.is_some() { None } else { turn() };
    [turn, retry, next_interval(record, saved_at, after)].into_iter().flatten().min()
}

/// Returns since when the intervals count: since the last save, or the last start.
fn save_base(record: &NamedRecord) -> Timestamp {
    let started_at = record.started_at.unwrap_or(record.created_at);
    record.last_saved_at.map_or(started_at, |at| at.max(started_at))
}

/// Returns the end of the first interval after `after` at which a check runs. Where there was no activity for a while,
/// fewer checks run.
fn next_interval(record: &NamedRecord, saved_at: Timestamp, after: Timestamp) -> Option<Timestamp> {
    let seconds = i64::try_from(record.settings.autosave.every_seconds).ok().filter(|seconds| *seconds > 0)?;
    let every = seconds.saturating_mul(1000);
    let quiet_since = saved_at.max(record.active_at);
    let passed = after.millis_since(saved_at).max(0) / every;
    (passed + 1..).find_map(|number| {
        let at = saved_at.plus_millis(number.saturating_mul(every));
        let quiet = at.millis_since(quiet_since) / every;
        let step = 1 << QUIET_INTERVALS.iter().filter(|intervals| quiet > **intervals).count();
        (number % step == 0).then_some(at)
    })
}

fn min_millis() -> i64 {
    i64::try_from(MIN_SECONDS).unwrap_or(i64::MAX).saturating_mul(1000)
}
