//! The retention policy.

use std::num::NonZeroU32;

use clap::Args;
use sandbox_snapshotter_client::model::Policy as RetentionPolicy;
use sandbox_snapshotter_client::model::policy::KeepLast;

use super::duration::DurationArg;
use super::number::{number, positive};

/// The rules of a retention policy.
#[derive(Args, Clone)]
#[command(next_help_heading = "Retention")]
pub struct Policy {
    /// A snapshot expires this long after its last use; 0 means never [default: 30d]
    #[arg(long, value_name = "TIME")]
    pub expires: Option<DurationArg>,
    /// Keep only the newest N snapshots, and pinned ones; a label protects none
    #[arg(long, value_name = "N", value_parser = positive)]
    pub keep_last: Option<NonZeroU32>,
    /// Keep all snapshots until they expire: remove the rule of --keep-last
    #[arg(long, conflicts_with = "keep_last")]
    pub no_keep_last: bool,
    /// The expiration of the newest N snapshots, instead of --expires
    #[arg(long, value_name = "TIME", requires = "keep_last")]
    pub keep_last_expires: Option<DurationArg>,
    /// Keep the other snapshots until they expire, instead of deleting them at once
    #[arg(long, requires = "keep_last")]
    pub keep_evicted: bool,
    /// Keep the newest snapshot of each of the last N days that have snapshots
    #[arg(long, value_name = "N", value_parser = number)]
    pub keep_daily: Option<u32>,
    /// Keep the newest snapshot of each of the last N weeks that have snapshots
    #[arg(long, value_name = "N", value_parser = number)]
    pub keep_weekly: Option<u32>,
}

impl Policy {
    /// Returns whether a rule is given.
    pub const fn is_given(&self) -> bool {
        self.expires.is_some()
            || self.keep_last.is_some()
            || self.no_keep_last
            || self.keep_daily.is_some()
            || self.keep_weekly.is_some()
    }

    /// Returns the policy. Rules that are not given are those of `present`.
    pub fn to_policy(&self, present: &RetentionPolicy) -> RetentionPolicy {
        let keep_last = self.keep_last.map(|count| KeepLast {
            count,
            expiration_seconds: self.keep_last_expires.map(|duration| duration.0),
            delete_evicted: !self.keep_evicted,
        });
        RetentionPolicy {
            keep_last: keep_last.or(present.keep_last.filter(|_| !self.no_keep_last)),
            expiration_seconds: self.expires.map_or(present.expiration_seconds, |duration| duration.0),
            keep_daily: self.keep_daily.unwrap_or(present.keep_daily),
            keep_weekly: self.keep_weekly.unwrap_or(present.keep_weekly),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;

    #[test]
    fn rules_that_are_not_given_stay() {
        let none = Policy {
            expires: None,
            keep_last: None,
            no_keep_last: false,
            keep_last_expires: None,
            keep_evicted: false,
            keep_daily: None,
            keep_weekly: None,
        };
        let three = KeepLast { count: NonZeroU32::MIN, expiration_seconds: Some(7), delete_evicted: false };
        let present = RetentionPolicy { keep_last: Some(three), expiration_seconds: 0, keep_daily: 2, keep_weekly: 3 };
        assert_eq!(none.to_policy(&present), present);
        let daily = Policy { keep_daily: Some(9), ..none.clone() }.to_policy(&present);
        assert_eq!(daily, RetentionPolicy { keep_daily: 9, ..present.clone() });
        let without = Policy { no_keep_last: true, ..none }.to_policy(&present);
        assert_eq!(without, RetentionPolicy { keep_last: None, ..present });
    }
}
