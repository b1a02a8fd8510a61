//! A retention policy.

use std::num::NonZeroU32;

use clap::Args;
use sandbox_snapshotter::model::Policy as Kept;
use sandbox_snapshotter::model::policy::KeepLast;

use super::duration::DurationArg;

/// How long snapshots are kept.
#[derive(Args, Clone)]
#[command(next_help_heading = "Retention")]
pub struct Policy {
    /// How long after its last use a snapshot goes; 0 is never [default: 30d]
    #[arg(long, value_name = "TIME")]
    pub expires: Option<DurationArg>,
    /// Keep no more than so many of the newest
    #[arg(long, value_name = "N")]
    pub keep_last: Option<NonZeroU32>,
    /// How long these are kept, in the place of --expires
    #[arg(long, value_name = "TIME", requires = "keep_last")]
    pub keep_last_expires: Option<DurationArg>,
    /// Let the others go when they expire, not at once
    #[arg(long, requires = "keep_last")]
    pub keep_evicted: bool,
    /// Keep the newest of each of so many days
    #[arg(long, value_name = "N")]
    pub keep_daily: Option<u32>,
    /// Keep the newest of each of so many weeks
    #[arg(long, value_name = "N")]
    pub keep_weekly: Option<u32>,
}

impl Policy {
    /// Whether anything was said.
    pub const fn is_given(&self) -> bool {
        self.expires.is_some() || self.keep_last.is_some() || self.keep_daily.is_some() || self.keep_weekly.is_some()
    }

    /// The policy, with what was not said as by default.
    pub fn to_policy(&self) -> Kept {
        let usual = Kept::default();
        Kept {
            keep_last: self.keep_last.map(|count| KeepLast {
                count,
                expiration_seconds: self.keep_last_expires.map(|span| span.0),
                delete_evicted: !self.keep_evicted,
            }),
            expiration_seconds: self.expires.map_or(usual.expiration_seconds, |span| span.0),
            keep_daily: self.keep_daily.unwrap_or(usual.keep_daily),
            keep_weekly: self.keep_weekly.unwrap_or(usual.keep_weekly),
        }
    }
}
