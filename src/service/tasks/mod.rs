//! Deferred work of a Workspace object: what an operation did not finish, and what is due at a later time.
//!
//! Every operation writes a row to the ledger before it touches a sandbox, R2 or another object. A row in a transient
//! state is itself the task that completes it or rolls it back. No list of tasks is stored beside the rows, because it
//! could disagree with them.
//!
//! Each attempt is in the file of its area. It reads its row again, because a call may have changed the row since the
//! task was listed, and it does nothing while a call in progress holds the subject (`in_process.rs`).
//!
//! - [`run`]: runs the tasks, and recovers what an earlier object left
//! - [`alarm`]: runs what is due, and sets the next alarm
//! - [`backoff`]: the delays before the attempts

mod alarm;
pub(super) mod backoff;
mod run;

use self::backoff::RETRY_DELAY_MILLIS;
use crate::model::record::Stage;
use crate::model::{Result, SandboxId, SnapshotId, Timestamp};
use crate::ports::{Ledger, Ports};
use crate::service::CloudflareSandboxSnapshotter;

/// A task of a Workspace object.
struct Task {
    /// When the task runs next. How often it has run is in its row.
    due_at: Timestamp,
    kind: Kind,
}

/// The kind of a task, with its subject: what the row says, and what an attempt does.
enum Kind {
    /// A snapshot is being created. Completes it if its backup and its container are verified; otherwise deletes its
    /// backup, or searches R2 for one by the owner mark.
    Capture(SnapshotId),
    /// A snapshot is being deleted. Deletes its objects in R2.
    Deletion(SnapshotId),
    /// A sandbox is being created or destroyed. Destroys it, and checks it again, because a restore may still run in
    /// it.
    Sandbox(SandboxId),
    /// A release for another workspace is due. Delivers it.
    Release(SnapshotId),
    /// A call has no answer. Deletes its record, so that the call can be repeated.
    UnansweredCall(String),
    /// A named workspace is being started or stopped. Ends its container, unless the restore finished.
    StartOrStop,
    /// A container is unverified. Measures whether the container is older than that state.
    UnverifiedContainer,
    /// Retention protects a snapshot. Ends the protection when it has expired.
    Protection,
}

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Returns all tasks, in the order in which they run.
    fn tasks(&self) -> Result<Vec<Task>> {
        let ledger = self.ledger()?;
        let mut tasks = Vec::new();
        let mut add = |due_at, kind| tasks.push(Task { due_at, kind });
        for row in ledger.unfinished_snapshots()? {
            match row.stage {
                Stage::Creating(progress) => add(progress.task.due_at, Kind::Capture(row.snapshot_id)),
                Stage::Deleting { task, .. } => add(task.due_at, Kind::Deletion(row.snapshot_id)),
                Stage::Ready { .. } | Stage::Deleted { .. } => {}
            }
        }
        for row in ledger.unfinished_sandboxes()? {
            if let Some(task) = row.task() {
                add(task.due_at, Kind::Sandbox(row.sandbox_id));
            }
        }
        for row in ledger.releases()? {
            add(row.task.due_at, Kind::Release(row.snapshot_id));
        }
        for row in ledger.unanswered_calls()? {
            add(row.at.plus_millis(RETRY_DELAY_MILLIS), Kind::UnansweredCall(row.key));
        }
        let workspace = self.workspace()?;
        if let Some(task) = workspace.binding.and_then(|binding| binding.restore_task) {
            add(task.due_at, Kind::StartOrStop);
        }
        if let Some(unverified) = workspace.unverified {
            add(unverified.due_at, Kind::UnverifiedContainer);
        }
        if let Some(protected) = workspace.protected {
            add(protected.until, Kind::Protection);
        }
        Ok(tasks)
    }
}
