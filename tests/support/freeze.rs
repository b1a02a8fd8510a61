//! The freezes of files during captures.

use std::rc::Rc;

use sandbox_snapshotter::model::freeze::{Freeze, FreezeReport};
use sandbox_snapshotter::model::freeze_call::FreezeFailed;
use sandbox_snapshotter::model::{Directory, SandboxId, SnapshotId};

use super::commands::{CommandResult, HookCall, run_default};
use super::{Event, Scheduler, World};

/// Files that are frozen.
pub(super) struct FrozenFiles {
    snapshot_id: SnapshotId,
    /// When the container thaws them by itself, in milliseconds since 1970.
    thaws_at: i64,
    dir: String,
    thaw: String,
}

impl<S: Scheduler> World<S> {
    /// Ends an earlier freeze, and runs the freeze command. If that fails, also runs the thaw command.
    pub(super) fn freeze_files(
        self: &Rc<Self>,
        id: &SandboxId,
        dir: &Directory,
        snapshot_id: &SnapshotId,
        freeze: &Freeze,
    ) -> Result<(), FreezeFailed> {
        self.thaw_frozen(id);
        let CommandResult { exit_code, output } = self.run_freeze_command(id, dir.as_str(), &freeze.freeze);
        if exit_code != Some(0) {
            self.run_freeze_command(id, dir.as_str(), &freeze.thaw);
            return Err(FreezeFailed { exit_code, output });
        }
        let thaws_at = self.with_container(id, |container, now| {
            let thaws_at = now + i64::from(freeze.timeout_seconds) * 1000;
            let (snapshot_id, dir, thaw) = (snapshot_id.clone(), dir.to_string(), freeze.thaw.clone());
            container.frozen = Some(FrozenFiles { snapshot_id, thaws_at, dir, thaw });
            thaws_at
        });
        S::observe(self, Event::Frozen(id, Some(thaws_at)));
        Ok(())
    }

    /// Runs the thaw command of a freeze, unless it ran before.
    pub(super) fn thaw_files(self: &Rc<Self>, id: &SandboxId, snapshot_id: &SnapshotId) -> FreezeReport {
        let is_frozen = self.with_container(id, |container, _| {
            container.frozen.as_ref().is_some_and(|frozen| frozen.snapshot_id == *snapshot_id)
        });
        if is_frozen { self.thaw_frozen(id) } else { FreezeReport::default() }
    }

    fn thaw_frozen(self: &Rc<Self>, id: &SandboxId) -> FreezeReport {
        let frozen = self.with_container(id, |container, now| Some((now, container.frozen.take()?)));
        let Some((now, FrozenFiles { thaws_at, dir, thaw, .. })) = frozen else { return FreezeReport::default() };
        S::observe(self, Event::Frozen(id, None));
        let thawed = self.run_freeze_command(id, &dir, &thaw).exit_code == Some(0);
        FreezeReport { consistent: now < thaws_at, thawed }
    }

    fn run_freeze_command(self: &Rc<Self>, id: &SandboxId, dir: &str, command: &str) -> CommandResult {
        let env = self.with_sandbox(id, |sandbox, _| sandbox.env.clone());
        let call = HookCall { sandbox: id.to_string(), name: command.to_owned(), dir: dir.to_owned(), env };
        S::observe(self, Event::Command(&call));
        let planned = self.commands.borrow().get(command).cloned();
        planned.map_or_else(|| run_default(command), |effect| effect(self, &call))
    }
}
