//! Alarms, and the checks of the state after them.

use sandbox_snapshotter::model::named::{Address, ContainerMarker, NamedRecord, State as WorkspaceState};
use sandbox_snapshotter::model::record::{SnapshotRecord, Stage};
use sandbox_snapshotter::model::{BackupId, Result, Timestamp};
use sandbox_snapshotter::ports::{DirectoryStore, Ledger, WorkspaceStore};

use super::{Fixture, PendingOperation, sandbox};

/// A minute, in milliseconds.
pub const MINUTE: i64 = 60_000;
/// An hour, in milliseconds.
pub const HOUR: i64 = 60 * MINUTE;
/// A day, in milliseconds.
pub const DAY: i64 = 24 * HOUR;

/// The maximum number of alarms in one call of `advance_with_alarms`. More alarms mean an endless loop.
const MAX_ALARMS: usize = 2000;

/// The object whose alarm fires.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Alarm {
    Sandbox(String),
    Workspace(Address),
}

impl Fixture {
    /// Returns the time of the alarm of a sandbox's ledger.
    pub fn alarm_at(&self, id: &str) -> Option<Timestamp> {
        self.ledger(id).alarm.due()
    }

    /// Advances the clock to the alarm of a sandbox's ledger, which must be set, and fires it.
    pub fn fire_alarm(&self, id: &str) -> Result<()> {
        let due = self.alarm_at(id).expect("an alarm is set");
        self.world.advance_clock_to(due);
        self.ledger(id).alarm.fire();
        let snapshotter = self.snapshotter(id);
        let outcome =
            PendingOperation::start_with_clock(&self.world, async move { snapshotter.alarm().await }).answer();
        self.world.run_background();
        outcome
    }

    /// Advances the clock to the alarm of a named workspace, which must be set, and fires it.
    pub fn fire_workspace_alarm(&self, address: &Address) -> Result<()> {
        let store = self.world.workspace_store(address);
        self.world.advance_clock_to(store.alarm.due().expect("an alarm is set"));
        store.alarm.fire();
        let named = self.world.named_workspace(address)?;
        PendingOperation::start_with_background(&self.world, async move { named.alarm().await }).answer()
    }

    /// Advances the clock, and fires each alarm when it is due. Ignores the errors of alarms, as the runtime does.
    pub fn advance_with_alarms(&self, millis: i64) {
        let end = self.world.current_time().plus_millis(millis);
        for _ in 0..MAX_ALARMS {
            match self.next_alarm() {
                Some((at, Alarm::Sandbox(id))) if at <= end => drop(self.fire_alarm(&id)),
                Some((at, Alarm::Workspace(address))) if at <= end => drop(self.fire_workspace_alarm(&address)),
                _ => return self.world.advance_clock_to(end),
            }
        }
        panic!("more than {MAX_ALARMS} alarms fired");
    }

    fn next_alarm(&self) -> Option<(Timestamp, Alarm)> {
        let sandboxes = self.world.sandbox_ids().into_iter();
        let sandboxes = sandboxes.filter_map(|id| Some((self.alarm_at(&id)?, Alarm::Sandbox(id))));
        let addresses = self.world.workspace_addresses().into_iter();
        let addresses = addresses
            .filter_map(|address| Some((self.world.workspace_store(&address).alarm.due()?, Alarm::Workspace(address))));
        sandboxes.chain(addresses).min()
    }

    /// Crashes the Worker while `work` runs: the work stops, and only what it has written remains.
    pub fn crash_during<T>(&self, work: PendingOperation<T>) {
        drop(work);
        self.crash_worker();
    }

    /// Verifies that nothing is left over: no row in a transient state, no marked backup without a snapshot, and no
    /// running minted sandbox without a row.
    #[track_caller]
    pub fn assert_nothing_pending(&self) {
        let ids = self.world.sandbox_ids();
        for id in &ids {
            let ledger = self.ledger(id);
            assert_eq!(ledger.unfinished_snapshots().unwrap(), [], "snapshots of {id} in a transient state");
            assert_eq!(ledger.unfinished_sandboxes().unwrap(), [], "sandboxes derived by {id} in a transient state");
            assert_eq!(ledger.releases().unwrap(), [], "releases of {id} that were not delivered");
            assert_eq!(ledger.unanswered_calls().unwrap(), [], "calls to {id} without an answer");
        }
        for backup in self.world.backup_ids() {
            assert!(!self.is_marked(&backup) || self.is_owned(&backup), "{backup} belongs to no snapshot");
        }
        for minted in self.world.running_sandboxes().into_iter().filter(|id| is_minted(id)) {
            let minted = minted.trim_start_matches("container:").to_owned();
            let is_derived = |id: &String| self.ledger(id).derived_sandbox(&sandbox(&minted)).unwrap().is_some();
            assert!(ids.iter().any(is_derived), "{minted} runs, and no ledger has a row for it");
        }
        self.assert_no_workspace_pending();
    }

    /// Verifies that no operation on a named workspace is in progress, that it has no tasks, that its Directory entry is
    /// current, and that only active workspaces have a container.
    #[track_caller]
    fn assert_no_workspace_pending(&self) {
        let addresses = self.world.workspace_addresses();
        let records: Vec<_> =
            addresses.iter().filter_map(|address| self.world.workspace_store(address).record().unwrap()).collect();
        for record in &records {
            let Address { tenant, name } = &record.address;
            assert!(!record.state.is_in_transition(), "{name} is still {}", record.state);
            assert_eq!(record.tasks, [], "tasks of {name}");
            let listed = self.world.directory(tenant).entry(name).unwrap().expect("the Directory has an entry");
            assert_eq!((listed.state, listed.version), (record.state, record.version), "the entry of {name}");
        }
        for id in self.world.running_sandboxes() {
            // A container that cold-started, by itself or at a probe, stays until its workspace is started or stopped.
            let may_be_cold_started =
                self.world.marker_on(&id).is_none_or(|marker| matches!(marker, ContainerMarker::Adopted(_)));
            let may_run = |record: &NamedRecord| {
                record.state == WorkspaceState::Active || (record.exists() && may_be_cold_started)
            };
            let is_current = records.iter().any(|record| record.sandbox_id.as_str() == id && may_run(record));
            let is_bound = self.ledger(&id).sandbox().unwrap().is_some_and(|sandbox| sandbox.binding.is_some());
            assert!(!is_bound || is_current, "{id} runs, and its workspace is not active");
        }
    }

    fn is_marked(&self, backup: &str) -> bool {
        let name = self.world.name_of(backup);
        name.is_some_and(|name| name.starts_with("snapshotter/1 "))
    }

    fn is_owned(&self, backup: &str) -> bool {
        let backup = BackupId::parse(backup).unwrap();
        let is_in_ledger = |id: &String| {
            let rows = self.ledger(id).snapshot_page(None, None, u32::MAX).unwrap();
            let ready = rows.iter().filter(|row| matches!(row.stage, Stage::Ready { .. }));
            ready.filter_map(SnapshotRecord::stored).any(|stored| {
                let base = stored.backup.delta().map(|delta| delta.base.backup.id());
                *stored.backup.id() == backup || base == Some(&backup)
            })
        };
        self.world.sandbox_ids().iter().any(is_in_ledger)
    }
}

fn is_minted(id: &str) -> bool {
    id.contains("-restored-") || id.contains("-branch-")
}
