//! Alarms, and what must be left when they have rung.

use sandbox_snapshotter::model::named::{Address, NamedRecord, Stamp, State as Doing};
use sandbox_snapshotter::model::record::Stage as State;
use sandbox_snapshotter::model::{BackupId, Result, Timestamp};
use sandbox_snapshotter::ports::{Home, Index, Ledger};

use super::{Running, Stage, sandbox};

/// A minute, in milliseconds.
pub const MINUTE: i64 = 60_000;
/// An hour, in milliseconds.
pub const HOUR: i64 = 60 * MINUTE;
/// A day, in milliseconds.
pub const DAY: i64 = 24 * HOUR;

/// More alarms than a test can have on purpose.
const WITHOUT_END: usize = 2000;

/// Whose alarm rings.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Alarm {
    Sandbox(String),
    Name(Address),
}

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
        let outcome = Running::start_by(&self.world, async move { snapshotter.alarm().await }).answer();
        self.world.go_on_in_background();
        outcome
    }

    /// Lets time pass up to the alarm of a named workspace, which must be set, and rings it.
    pub fn ring_named(&self, address: &Address) -> Result<()> {
        let home = self.world.home(address);
        let due = home.alarm().unwrap().expect("an alarm is set");
        self.world.pass(due.millis_since(self.world.moment()).max(0));
        home.set_alarm(None).unwrap();
        let named = self.workers.named(address);
        Running::start_in(&self.world, async move { named.alarm().await }).answer()
    }

    /// Lets time pass, in which alarms ring as they are due. The runtime does not mind when one fails.
    pub fn passes(&self, millis: i64) {
        let end = self.world.moment().plus_millis(millis);
        for _ in 0..WITHOUT_END {
            match self.next_alarm() {
                Some((at, Alarm::Sandbox(id))) if at <= end => drop(self.ring(&id)),
                Some((at, Alarm::Name(address))) if at <= end => drop(self.ring_named(&address)),
                _ => return self.world.pass(end.millis_since(self.world.moment()).max(0)),
            }
        }
        panic!("alarms ring without end");
    }

    fn next_alarm(&self) -> Option<(Timestamp, Alarm)> {
        let sandboxes = self.world.workspaces().into_iter();
        let sandboxes = sandboxes.filter_map(|id| Some((self.alarm_due(&id)?, Alarm::Sandbox(id))));
        let names = self.world.names().into_iter();
        let names = names.filter_map(|name| Some((self.world.home(&name).alarm().unwrap()?, Alarm::Name(name))));
        sandboxes.chain(names).min()
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
        self.assert_names_settled();
    }

    /// Makes sure that nobody is at work on a named workspace, that nothing is left to be done for one, that its Directory
    /// knows it, and that no container runs but those of active ones.
    #[track_caller]
    fn assert_names_settled(&self) {
        let names = self.world.names();
        let records: Vec<_> = names.iter().filter_map(|name| self.world.home(name).named().unwrap()).collect();
        for record in &records {
            let Address { tenant, name } = &record.address;
            assert!(!record.state.is_passing(), "{name} is still {}", record.state);
            assert_eq!(record.chores, [], "chores of {name}");
            let listed = self.world.directory(tenant).entry(name).unwrap().expect("the Directory knows it");
            assert_eq!((listed.state, listed.version), (record.state, record.version), "what is listed of {name}");
        }
        for id in self.world.running() {
            // One that woke by itself, or at a look, is seen to when its workspace is started or stopped.
            let woke = self.world.stamp_on(&id).is_none_or(|stamp| matches!(stamp, Stamp::Kept(_)));
            let may_run = |record: &NamedRecord| record.state == Doing::Active || (record.exists() && woke);
            let is_current = records.iter().any(|record| record.sandbox_id.as_str() == id && may_run(record));
            let stands = self.ledger(&id).workspace().unwrap().is_some_and(|workspace| workspace.standing.is_some());
            assert!(!stands || is_current, "{id} runs, and its workspace is not active");
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
