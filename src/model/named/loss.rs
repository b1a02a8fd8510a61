//! Which files of a workspace may be lost, and whether that was reported: in an answer that a caller has received.

use serde::{Deserialize, Serialize};

use super::binding::LastRestore;
use super::{NamedRecord, Task};
use crate::model::Timestamp;

/// How often callers received a report of a restore, which says whether files may be lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RestoreReport {
    /// No answer to a start has reported it yet.
    Due,
    /// The answer to the start reported it. That answer may have been lost.
    #[default]
    First,
    /// The answer to a stop is to report it again, and no caller has received it yet.
    DueByStop,
    /// A later answer reported it again, together with each loss that was known then.
    Again,
}

impl RestoreReport {
    #[allow(clippy::trivially_copy_pass_by_ref)] // The signature that serde requires.
    pub(super) fn is_first(&self) -> bool {
        *self == Self::First
    }

    /// Returns whether at most one answer has reported it, which may have been lost.
    const fn may_be_unknown(self) -> bool {
        matches!(self, Self::Due | Self::First)
    }
}

impl NamedRecord {
    pub(super) fn record_restore(&mut self, restore: Option<&LastRestore>) {
        let may_have_lost = |restore: Option<&LastRestore>| restore.is_some_and(|restore| restore.may_have_lost);
        self.forget_reported_loss();
        // The next start reports nothing if it adopts files or is empty.
        if self.restore_report.may_be_unknown() && may_have_lost(self.last_restore.as_ref()) {
            let since = self.last_restore.as_ref().and_then(|restore| restore.lost_since);
            self.note_loss(since);
        }
        self.last_restore = restore.cloned();
        if let Some(restore) = restore {
            self.last_saved_at = Some(restore.created_at);
        }
        if restore.is_some() {
            self.restore_report = RestoreReport::Due;
        } else if self.restore_report == RestoreReport::Again {
            self.restore_report = RestoreReport::First;
        }
        self.unreported_loss &= !may_have_lost(restore);
        self.unreported_since = self.unreported_since.filter(|_| self.unreported_loss);
    }

    /// Records that files may be lost since a time, if it is known, and that no answer has certainly reported it.
    pub fn note_loss(&mut self, since: Option<Timestamp>) {
        self.forget_reported_loss();
        if self.restore_report == RestoreReport::Again {
            self.restore_report = RestoreReport::First;
        }
        let is_known = !self.unreported_loss || self.unreported_since.is_some();
        let earliest = since.map(|since| self.unreported_since.map_or(since, |known| known.min(since)));
        self.unreported_since = earliest.filter(|_| is_known);
        self.unreported_loss = true;
    }

    /// Forgets a noted loss that two answers reported.
    fn forget_reported_loss(&mut self) {
        if self.restore_report == RestoreReport::Again {
            (self.unreported_loss, self.unreported_since) = (false, None);
        }
    }

    /// Records that an answer reports the last start, and whether files may be lost. Returns whether this is one of the reports: a
    /// caller that finds the sandbox running gets the report once more, in case the first answer was lost.
    pub fn note_report(&mut self, is_running: bool) -> bool {
        self.restore_report = match self.restore_report {
            RestoreReport::Due => RestoreReport::First,
            RestoreReport::First | RestoreReport::DueByStop if is_running => RestoreReport::Again,
            RestoreReport::First | RestoreReport::DueByStop | RestoreReport::Again => return false,
        };
        true
    }

    /// Returns whether files may be lost, and another answer is to report it.
    pub fn has_loss_to_report(&self) -> bool {
        let may_have_lost = self.last_restore.as_ref().is_some_and(|restore| restore.may_have_lost);
        self.restore_report != RestoreReport::Again && (may_have_lost || self.may_have_lost_elsewhere())
    }

    /// Records that the answer to a stop, which begins, is to report a possible loss.
    pub fn begin_reported_stop(&mut self) {
        let may_have_lost = self.last_restore.as_ref().is_some_and(|restore| restore.may_have_lost);
        if may_have_lost && self.restore_report.may_be_unknown() {
            self.restore_report = RestoreReport::DueByStop;
        }
    }

    /// Returns whether files may be lost that the ledger of the present sandbox does not know of: those of a former
    /// sandbox, those of the workspace that this one was created from, or those that a stop was to report whose answer
    /// no caller received.
    pub fn may_have_lost_elsewhere(&self) -> bool {
        self.may_have_lost_before() || self.restore_report == RestoreReport::DueByStop
    }

    /// Returns whether files of a former sandbox, or of the workspace that this one was created from, may be lost, and no answer
    /// has certainly reported it.
    pub(super) fn may_have_lost_before(&self) -> bool {
        let is_unsaved = |task: &Task| matches!(task, Task::StopUnused(id) if self.former_sandbox_ids.contains(id));
        let is_unreported = self.unreported_loss && self.restore_report != RestoreReport::Again;
        is_unreported || self.tasks.iter().any(is_unsaved)
    }

    /// Returns whether the last start, or what preceded it, may have lost files, reported or not: each description says so until the
    /// next start. Absent if nothing was restored and nothing is lost.
    pub fn may_have_lost(&self) -> Option<bool> {
        let is_lost = self.unreported_loss || self.may_have_lost_before();
        match &self.last_restore {
            Some(restore) => Some(restore.may_have_lost || is_lost || self.may_have_lost_elsewhere()),
            None => is_lost.then_some(true),
        }
    }

    /// Returns since when the files of [`may_have_lost_elsewhere`](Self::may_have_lost_elsewhere) may be lost, if that is known.
    pub fn lost_since_elsewhere(&self) -> Option<Timestamp> {
        if self.may_have_lost_elsewhere() { self.lost_since() } else { None }
    }

    /// Returns since when files may be lost, reported or not, if that is known.
    pub(super) fn lost_since(&self) -> Option<Timestamp> {
        let is_unsaved = |task: &Task| matches!(task, Task::StopUnused(id) if self.former_sandbox_ids.contains(id));
        if self.tasks.iter().any(is_unsaved) {
            return None;
        }
        if self.unreported_loss {
            return self.unreported_since;
        }
        self.last_restore.as_ref().and_then(|restore| restore.lost_since)
    }
}
