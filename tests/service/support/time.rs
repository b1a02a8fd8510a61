//! Alarms, and what must be left when they have rung.

use sandbox_snapshotter::model::record::Stage as State;
use sandbox_snapshotter::model::{BackupId, Result, Timestamp};
use sandbox_snapshotter::ports::Ledger;

use super::{Running, Stage, sandbox};

/// A minute, in milliseconds.
pub const MINUTE: i64 = 60_000;
/// An hour, in milliseconds.
pub const HOUR: i64 = 60 * MINUTE;
/// A day, in milliseconds.
pub const DAY: i64 = 24 * HOUR;

/// More alarms than a test can have on purpose.
const WITHOUT_END: usize = 2000;

impl Stage {
    /// When the workspace of a sandbox is called by its alarm.
    pub fn alarm_due(&self, id: &str) -> Option<Timestamp> {
        self.ledger(id).alarm().unwrap()
    }

    /// Lets time pass up to the alarm of a sandbox's workspace, which must be set, and rings it.
    pub fn ring(&self, id: &str) -> Result<()> {
        let due = self.alarm_due(id).expect("an alarm is set");
        self.world.pass(due.millis_since(self.world.moment()).max(0));
        self.ledger(id).set_alarm(None).unwrap();
        let snapshotter = self.of(id);
        let outcome = Running::start(async move { snapshotter.alarm().await }).answer();
        self.world.go_on_in_background();
        outcome
    }

    /// Lets time pass, in which alarms ring as they are due. The runtime does not mind when one fails.
    pub fn passes(&self, millis: i64) {
        let end = self.world.moment().plus_millis(millis);
        for _ in 0..WITHOUT_END {
            let due = self.world.workspaces().into_iter().filter_map(|id| Some((self.alarm_due(&id)?, id)));
            match due.min() {
                Some((at, id)) if at <= end => drop(self.ring(&id)),
                _ => return self.world.pass(end.millis_since(self.world.moment()).max(0)),
            }
        }
        panic!("alarms ring without end");
    }

    /// The Worker dies while `work` is under way: nothing of it goes on, and only what was written is left.
    pub fn dies_during<T>(&self, work: Running<T>) {
        drop(work);
        self.restart();
    }

    /// Makes sure that nothing is left over: no row in a passing state, no marked backup that is nobody's, and no minted
    /// sandbox running that nobody got.
    #[track_caller]
    pub fn assert_settled(&self) {
        let ids = self.world.workspaces();
        for id in &ids {
            let ledger = self.ledger(id);
            assert_eq!(ledger.unfinished().unwrap(), [], "snapshots of {id} in a passing state");
            assert_eq!(ledger.unsettled().unwrap(), [], "sandboxes made by {id} in a passing state");
            assert_eq!(ledger.releases().unwrap(), [], "word of {id} that was not passed on");
            assert_eq!(ledger.unanswered().unwrap(), [], "calls to {id} without an answer");
        }
        for backup in self.world.stored() {
            assert!(!self.is_marked(&backup) || self.is_owned(&backup), "{backup} is nobody's");
        }
        for minted in self.world.running().into_iter().filter(|id| is_minted(id)) {
            let had = |id: &String| self.ledger(id).derivation(&sandbox(&minted)).unwrap().is_some();
            assert!(ids.iter().any(had), "{minted} runs, and nobody got it");
        }
    }

    fn is_marked(&self, backup: &str) -> bool {
        let name = self.world.name_of(backup);
        name.is_some_and(|name| name.starts_with("snapshotter/1 "))
    }

    fn is_owned(&self, backup: &str) -> bool {
        let backup = BackupId::parse(backup).unwrap();
        let owns = |id: &String| {
            let rows = self.ledger(id).page(None, None, u32::MAX).unwrap();
            rows.iter().any(|row| matches!(&row.stage, State::Ready { stored } if *stored.backup.id() == backup))
        };
        self.world.workspaces().iter().any(owns)
    }
}

fn is_minted(id: &str) -> bool {
    id.contains("-restored-") || id.contains("-branch-")
}
