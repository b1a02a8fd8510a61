//! Automatic saves: a snapshot of the running workspace after a time, or after an agent's turn, if files have changed.
//!
//! The alarm of the workspace runs them, outside of the operation lock: no call waits for a save. A save that finds
//! nothing to do stores nothing. It is no use of the workspace, so it never postpones an automatic stop.

use super::NamedWorkspace;
use super::save_schedule::save_due;
use crate::model::named::messages::{AutosaveRequest, Autosaved};
use crate::model::named::{NamedRecord, State, TurnEnded};
use crate::model::{Error, Result, Timestamp};
use crate::ports::{Ports, SandboxLedgerClient};

impl<P: Ports> NamedWorkspace<P> {
    /// Notes that an agent's turn has ended, so that its files are saved soon. Calls before that save share it. Announces no
    /// save where turns are not saved: the save of an earlier turn may not have the files of this one.
    pub async fn turn_ended(&self) -> Result<TurnEnded> {
        self.ensure_configured()?;
        let mut record = self.existing()?;
        // A save that has begun may not have all files of the turn.
        let checked_at = self.in_process.checked_at.get();
        let is_noted = record.turn_ended_at.is_some_and(|at| checked_at.is_none_or(|checked_at| at > checked_at));
        let saves_turns = record.state == State::Active && record.settings.autosave.after_turn;
        if saves_turns && !is_noted {
            let now = self.now();
            record = self.update_record(|record| record.turn_ended_at = Some(now))?;
        }
        // Without an answer, the check of the save finds out.
        let container_ended = self.has_container_ended(&record).await.unwrap_or(false);
        let save_due_at = save_due(&record, self.in_process.checked_at.get()).filter(|_| saves_turns);
        Ok(TurnEnded {
            state: record.state,
            container_ended,
            save_due_at: save_due_at.filter(|_| !container_ended),
            last_saved_at: record.last_saved_at,
            unsaved_since: record.unsaved_since,
        })
    }

    /// Saves the files of the workspace if a save is due.
    pub(super) async fn save_if_due(&self) -> Result<()> {
        let Some(record) = self.record()? else { return Ok(()) };
        let began_at = self.now();
        if save_due(&record, self.in_process.checked_at.get()).is_none_or(|due_at| due_at > began_at) {
            return Ok(());
        }
        self.in_process.checked_at.set(Some(began_at));
        let request = AutosaveRequest {
            address: record.address.clone(),
            only_if_changed: record.settings.autosave.only_if_changed,
            keep_last: record.settings.autosave.keep_last,
        };
        let outcome = self.ports.sandbox_ledgers()?.autosave(&record.sandbox_id, &request).await;
        self.record_save(&record, began_at, &outcome)
    }

    /// Records the outcome of a save, unless the workspace was started or stopped in the meantime.
    fn record_save(&self, before: &NamedRecord, began_at: Timestamp, outcome: &Result<Autosaved>) -> Result<()> {
        let Some(record) = self.record()?.filter(|record| record.version == before.version) else { return Ok(()) };
        let has_turn = record.turn_ended_at.is_some_and(|at| at <= began_at);
        let is_news = match outcome {
            Ok(Autosaved::Saved(_)) => true,
            Ok(Autosaved::Unchanged) => record.unsaved_since.is_some(),
            Ok(Autosaved::NotRunning) => false,
            // The files of the turn are still to be saved.
            Ok(Autosaved::Busy) => return Ok(()),
            Err(_) => record.unsaved_since.is_none(),
        };
        if !has_turn && !is_news {
            return Ok(());
        }
        let problem = outcome.as_ref().err().map(|error: &Error| self.problem(error));
        self.update_record(|record| {
            record.turn_ended_at = record.turn_ended_at.filter(|at| *at > began_at);
            if !is_news {
                return;
            }
            match outcome {
                Ok(Autosaved::Saved(snapshot)) => record.note_saved(snapshot.created_at, Some(snapshot.size_bytes)),
                Ok(_) => record.end_unsaved(),
                Err(_) => (record.unsaved_since, record.problem) = (Some(began_at), problem),
            }
            record.version += 1;
        })?;
        if is_news {
            self.notify_directory();
        }
        Ok(())
    }
}
